"""The lines that scripts read from svm-train, compared with those of LIBSVM itself."""

import re
import subprocess
import sys

import numpy as np
import pytest

from softmargin import cli
from softmargin.io import write_data

pytest.importorskip("libsvm.svmutil", reason="libsvm-official is not installed")

LIBSVM = """
import sys
from libsvm.svmutil import svm_read_problem, svm_train
y, x = svm_read_problem(sys.argv[2])
svm_train(y, x, sys.argv[1])
"""


@pytest.fixture(autouse=True)
def files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(3)
    X = rng.standard_normal((60, 3)).round(3)
    noise = 0.3 * rng.standard_normal(60)
    two = np.where(X[:, 0] + noise > 0, 1, 2)
    # LIBSVM takes classes in the order of the file: here that of their labels.
    write_data("two", X[np.argsort(two)], np.sort(two))
    three = np.digitize(X[:, 0] + noise, [-0.4, 0.4])
    write_data("three", X[np.argsort(three)], np.sort(three))
    write_data("numbers", X, X[:, 0] + noise)


def told(text):
    """The numbers behind each name, in order."""
    pattern = r"(obj|rho|nSV|nBSV|Total nSV|(?<!\S)C) = (-?[\d.]+)"
    return [(name, float(value)) for name, value in re.findall(pattern, text)]


@pytest.mark.parametrize(
    "options",
    [
        *("-s 0 -c 2 two", "-s 0 -c 2 -w1 3 two", "-s 0 -c 2 three", "-s 1 -n 0.3 two"),
        *("-s 1 -n 0.3 three", "-s 2 -n 0.3 two", "-s 3 -c 2 numbers", "-s 4 -n 0.3 -c 2 numbers"),
    ],
)
def test_svm_trains_lines(options, capsys):
    *letters, data = [*options.split()[:-1], "-g", "0.5", "-e", "1e-7", options.split()[-1]]
    done = subprocess.run(
        [sys.executable, "-c", LIBSVM, " ".join(letters), data],
        capture_output=True,
        text=True,
        check=True,
    )
    assert cli.main(["train", *letters, data]) == 0
    ours = capsys.readouterr().out
    assert ours.count("optimization finished, #iter = ") == done.stdout.count("optimization fin")
    expected = told(done.stdout)
    assert expected
    found = told(ours)
    assert [name for name, _ in found] == [name for name, _ in expected]
    np.testing.assert_allclose(
        [value for _, value in found], [value for _, value in expected], rtol=1e-5, atol=2e-6
    )


def test_the_report_alone_without_letters(capsys):
    assert cli.main(["train", "two"]) == 0
    assert "nSV" not in capsys.readouterr().out
    assert cli.main(["train", "--cost", "2", "two"]) == 0
    assert "nSV" not in capsys.readouterr().out
