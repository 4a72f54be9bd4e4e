"""The command trains and predicts without importing scikit-learn, with the same results."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import softmargin
from softmargin import cli
from softmargin.io import write_data

COMMAND = """
import sys
from softmargin.cli import command
sys.argv[0] = "softmargin"
code = command()
print("sklearn" in sys.modules, file=sys.stderr)
sys.exit(code)
"""


@pytest.fixture(autouse=True)
def files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    X = rng.standard_normal((60, 4)).round(3)
    write_data("three", X, np.argmax(X[:, :3], axis=1))
    write_data("three.csv", X, np.array(["a", "b", "c"])[np.argmax(X[:, :3], axis=1)])
    write_data("two", X, np.where(X[:, 0] > 0, 1, -1))
    write_data("numbers", X, X @ [1, 2, -1, 0])


def as_a_process(command):
    done = subprocess.run(
        [sys.executable, "-c", COMMAND, *command.split()], capture_output=True, text=True
    )
    *told, imported = done.stderr.splitlines()
    return done.returncode, done.stdout, told, imported == "True"


@pytest.mark.parametrize(
    "options",
    [
        *("three m.model", "-s 1 -n 0.2 three m.model", "-s 2 two m.model", "-s 3 numbers m.model"),
        *("-s 4 -t 0 numbers m.model", "-c 3 -w1 2 two m.model", "--threads 2 three m.model"),
        *("--linear one-vs-rest three m.model", "--linear weston-watkins -w1 2 three m.model"),
    ],
)
def test_the_same_model(options):
    code, _, told, imported = as_a_process(f"train -q {options}")
    assert (code, told, imported) == (0, [], False)
    ours = Path("m.model").read_bytes()
    assert cli.main(["train", "-q", *options.split()]) == 0
    assert Path("m.model").read_bytes() == ours
    data = options.split()[-2]
    code, _, _, imported = as_a_process(f"predict {data} m.model out")
    assert (code, imported) == (0, False)


@pytest.mark.parametrize(
    "options", ["three", "-s 2 two", "-s 3 numbers", "--linear one-vs-rest three"]
)
def test_the_same_cross_validation(options, capsys):
    code, out, _, imported = as_a_process(f"train -v 5 {options}")
    assert (code, imported) == (0, False)
    assert cli.main(["train", "-v", "5", *options.split()]) == 0
    assert capsys.readouterr().out == out


def test_easy_and_what_python_makes_of_its_model():
    code, _, told, imported = as_a_process("easy --log2c 0,0,1 --log2g 0,0,1 three.csv three.csv")
    assert (code, told, imported) == (0, [], False)
    machine = softmargin.load("three.csv.softmargin")
    X = softmargin.io.read_data("three.csv").X
    with pytest.warns(UserWarning, match="does not have valid feature names"):
        predicted = machine.predict(X)
    assert predicted.tolist() == Path("three.csv.predict").read_text().split()


@pytest.mark.parametrize(
    "command",
    [
        "train -g -1 two",
        "train -e 0 two",
        "train -c nan two",
        "train -c 0 two",
        "train -s 1 -n 2 two",
        "train --max-iter -5 two",
        "train --time-limit inf two",
        "train -s c-svc numbers",
        "train one-class-only",
        "train no-features",
    ],
)
def test_mistakes_are_told_in_the_same_words(command, capsys):
    Path("one-class-only").write_text("1 1:1\n1 1:2\n")
    Path("no-features").write_text("1\n2\n")
    code, _, told, _ = as_a_process(command)
    assert code == cli.BAD_INPUT
    assert cli.main(command.split()) == cli.BAD_INPUT
    # The choices of a parameter are a set, whose order differs between processes.
    here = [sorted(line) for line in capsys.readouterr().err.splitlines()]
    assert here == [sorted(line) for line in told]


def test_estimators_of_python_are_scikit_learns():
    from sklearn.base import BaseEstimator

    assert issubclass(softmargin.SVC, BaseEstimator)
