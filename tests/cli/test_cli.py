"""The sub-commands as a user meets them: LIBSVM's options, exit codes, what goes where."""

import errno
import io
import json
import os
import re
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp

import softmargin
from softmargin import cli
from softmargin.cli.cross_validation import splits
from softmargin.cli.machine_options import WORKING_SETS
from softmargin.cli.progress import Progress
from softmargin.cli.wording import in_options
from softmargin.io import read_data, write_data
from softmargin.io.models.formats import read_any_model
from softmargin.solution import StopReason
from softmargin.working_sets import BY_EXAMPLE, BY_NAME

COMMAND = [sys.executable, "-m", "softmargin"]


@pytest.fixture(autouse=True)
def files(tmp_path, monkeypatch):
    """A folder with data for two and three classes, for regression, and kernel values."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    X = rng.standard_normal((80, 4)).round(3)
    two = np.where(X @ [1, 2, -1, 0] + 0.2 * rng.standard_normal(80) > 0, 1, -1)
    write_data("two", X, two)
    write_data("three", X, 2 * np.argmax(X[:, :3], axis=1) + 1)
    write_data("numbers", X, X @ [1, 2, -1, 0])
    write_data("two.csv", X, np.where(two > 0, "yes", "no"))
    K = X @ X.T
    rows = [
        f"{c} 0:{i + 1} " + " ".join(f"{j + 1}:{v!r}" for j, v in enumerate(row.tolist()))
        for i, (c, row) in enumerate(zip(two, K, strict=True))
    ]
    (tmp_path / "kernel").write_text("\n".join(rows) + "\n")
    return X, two


def run(*args):
    return cli.main([str(arg) for arg in args])


LIBSVM_OPTIONS = {
    "-s 0": ("SVC", {}),
    "-s 1 -n 0.3": ("NuSVC", {"nu": 0.3}),
    "-s 2 -n 0.3": ("OneClassSVM", {"nu": 0.3}),
    "-s 3 -p 0.2 -c 5": ("SVR", {"epsilon": 0.2, "C": 5.0}),
    "-s 4 -n 0.3 -c 5": ("NuSVR", {"nu": 0.3, "C": 5.0}),
    "-t 0": ("SVC", {"kernel": "linear"}),
    "-t 1 -d 2 -g 0.5 -r 1": ("SVC", {"kernel": "poly", "degree": 2, "gamma": 0.5, "coef0": 1.0}),
    "-t 2 -g 0.5": ("SVC", {"kernel": "rbf", "gamma": 0.5}),
    "-t 3 -g 0.1 -r -0.5": ("SVC", {"kernel": "sigmoid", "gamma": 0.1, "coef0": -0.5}),
    "-c 3 -w1 2 -w-1 0.5": ("SVC", {"C": 3.0, "class_weight": {1: 2.0, -1: 0.5}}),
    "-e 0.01 -m 50 -h 0": ("SVC", {"tol": 0.01, "cache_size": 50.0, "shrinking": False}),
    "--working-set hybrid-maximum-gain --precision float64 --threads 2": (
        "SVC",
        {"working_set": "hybrid-maximum-gain", "precision": "float64", "n_jobs": 2},
    ),
    "--formulation nu-svr --kernel linear --nu 0.4": ("NuSVR", {"kernel": "linear", "nu": 0.4}),
}


@pytest.mark.parametrize("options", LIBSVM_OPTIONS)
def test_options_mean_what_they_mean_in_libsvm(options, files, capsys):
    X, two = files
    kind, params = LIBSVM_OPTIONS[options]
    assert run("train", *options.split(), "two", "m.softmargin") == 0
    stopped = "Stationary, not certified" if "-t 3" in options else "optimal to the tolerance"
    assert stopped in capsys.readouterr().out
    machine = softmargin.load("m.softmargin")
    assert type(machine).__name__ == kind
    found = machine.get_params()
    assert {name: found[name] for name in params} == params
    expected = getattr(softmargin, kind)(**{"gamma": "auto", **params}).fit(sp.csr_matrix(X), two)
    assert machine.solution_.dual_objective == pytest.approx(
        expected.solution_.dual_objective, rel=1e-12
    )


def test_train_writes_libsvms_format_by_default_and_predict_reads_it(files, capsys):
    X, two = files
    assert run("train", "-q", "two") == 0
    assert capsys.readouterr().out == ""
    assert Path("two.model").read_text().startswith("svm_type c_svc\nkernel_type rbf\ngamma 0.25\n")
    assert run("predict", "two", "two.model", "out") == 0
    predicted = np.loadtxt("out")
    np.testing.assert_array_equal(predicted, softmargin.SVC(gamma="auto").fit(X, two).predict(X))
    right = (predicted == two).sum()
    line = f"Accuracy = {100 * right / 80:g}% ({right}/80) (classification)\n"
    assert capsys.readouterr().out == line
    assert Path("out").read_text().split("\n")[0] in ("1", "-1")


def test_predictions_without_a_file_are_all_of_standard_output(capsys):
    run("train", "-q", "two")
    assert run("predict", "two", "two.model") == 0
    captured = capsys.readouterr()
    assert set(captured.out.split()) == {"1", "-1"}
    assert captured.err.startswith("Accuracy = ")
    assert run("predict", "-q", "--decision-values", "three", "two.model") == 0
    captured = capsys.readouterr()
    assert captured.err == ""
    labels, values = zip(*(line.split() for line in captured.out.splitlines()), strict=True)
    assert all((float(v) >= 0) == (label == "1") for label, v in zip(labels, values, strict=True))


def test_regression_prints_libsvms_lines(capsys):
    run("train", "-q", "-s", "3", "-t", "0", "-c", "10", "numbers", "m")
    assert run("predict", "numbers", "m", "out") == 0
    error, correlation = capsys.readouterr().out.splitlines()
    y, predicted = read_data("numbers").y, np.loadtxt("out")
    assert error == f"Mean squared error = {np.mean((y - predicted) ** 2):g} (regression)"
    expected = np.corrcoef(y, predicted)[0, 1] ** 2
    assert correlation == f"Squared correlation coefficient = {expected:g} (regression)"


@pytest.mark.parametrize("options", ["", "-s 1 -n 0.2", "-s 2", "-t 4"])
def test_cross_validation_ends_with_svm_trains_line(options, capsys):
    data = "kernel" if "-t 4" in options else "two"
    assert run("train", "-v", "5", *options.split(), data) == 0
    last = capsys.readouterr().out.splitlines()[-1]
    assert re.fullmatch(r"Cross Validation Accuracy = \d+(\.\d+)?%", last)
    assert not os.path.exists(f"{data}.model")


def test_cross_validation_is_what_scikit_learn_computes(files, capsys):
    from sklearn.model_selection import cross_val_predict

    X, two = files
    machine = softmargin.SVC(gamma="auto")
    folds = splits(machine, two, 4, 7)
    for label in (-1, 1):  # each fold has its share of each class
        counts = [(two[held_out] == label).sum() for _, held_out in folds]
        assert max(counts) - min(counts) <= 1
    expected = cross_val_predict(machine, X, two, cv=folds)
    assert run("train", "-v", "4", "--seed", "7", "--json", "two") == 0
    result = json.loads(capsys.readouterr().out)
    assert result["correct"] == (expected == two).sum()


def test_regression_cross_validation(capsys):
    assert run("train", "-v", "3", "-s", "3", "numbers") == 0
    first, second = capsys.readouterr().out.splitlines()
    assert first.startswith("Cross Validation Mean squared error = ")
    assert second.startswith("Cross Validation Squared correlation coefficient = ")


def test_precomputed_kernels_as_libsvm_has_them(files, capsys):
    X, two = files
    run("train", "-q", "-t", "4", "kernel", "m.model")
    run("train", "-q", "-t", "0", "two", "linear.model")
    for data, model in (("kernel", "m.model"), ("two", "linear.model")):
        assert run("predict", data, model, f"{model}.out") == 0
    assert Path("m.model.out").read_text() == Path("linear.model.out").read_text()
    # Every second row of the same kernel: serial numbers still name its columns.
    lines = Path("kernel").read_text().splitlines()
    Path("half").write_text("\n".join(lines[::2]))
    run("train", "-q", "-t", "4", "half", "half.softmargin")
    record = read_any_model("half.softmargin")
    assert (record.attributes["support_"] % 2 == 0).all()
    expected = softmargin.SVC(kernel="linear").fit(X[::2], two[::2]).decision_function(X)
    _, values = record.predict(X @ X.T)
    np.testing.assert_allclose(values, expected, atol=2e-3)
    assert run("train", "-t", "4", "two") == cli.BAD_INPUT
    assert "expected 0:serial first" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("name", "multi_class"),
    [("one-vs-rest", "ovr"), ("weston-watkins", "weston_watkins")],
)
def test_more_than_two_classes(name, multi_class, files, capsys):
    """A score for each class does not fit into LIBSVM's format, so softmargin's is the default."""
    assert run("train", "-g", "0.5", "--multi-class", name, "three") == cli.OK
    assert f"multi_class {multi_class}" in capsys.readouterr().out
    data = read_data("three")
    expected = softmargin.SVC(gamma=0.5, multi_class=multi_class).fit(data.X, data.y)
    assert run("predict", "three", "three.softmargin", "out") == cli.OK
    np.testing.assert_array_equal(np.loadtxt("out"), expected.predict(data.X))
    assert run("train", "-q", "-b", "1", "--multi-class", name, "three") == cli.OK
    assert run("predict", "-q", "-b", "1", "three", "three.softmargin", "out") == cli.OK
    assert Path("out").read_text().startswith("labels ")


def test_names_as_classes(capsys):
    assert run("train", "-q", "two.csv", "m.softmargin") == 0
    assert run("predict", "two.csv", "m.softmargin", "out") == 0
    assert set(Path("out").read_text().split()) == {"yes", "no"}
    assert "Accuracy = " in capsys.readouterr().out
    assert run("train", "-q", "two.csv", "m.model") == cli.BAD_INPUT
    assert "integers as classes" in capsys.readouterr().err


def test_json(capsys):
    assert run("train", "--json", "three", "m.softmargin") == 0
    trained = json.loads(capsys.readouterr().out)
    assert run("info", "--json", "m.softmargin") == 0
    info = json.loads(capsys.readouterr().out)
    assert info["certificate"] == trained["certificate"]
    assert info["certificate"]["converged"]
    assert info["classes"] == [1, 3, 5]
    assert sum(info["support_vectors_by_class"]) == info["support_vectors"]
    assert run("predict", "--json", "three", "m.softmargin") == 0
    result = json.loads(capsys.readouterr().out)
    assert len(result["predictions"]) == result["total"] == 80
    assert run("check", "--json", "three") == 0
    assert json.loads(capsys.readouterr().out)["data"]["rows"] == 80


def test_info_of_both_formats(capsys):
    run("train", "-q", "three", "m.softmargin")
    run("convert", "m.softmargin", "m.model")
    assert "m.model: format libsvm" in capsys.readouterr().out
    run("info", "m.softmargin")
    certified = capsys.readouterr().out
    assert "gap " in certified
    assert "3 problems" in certified
    run("info", "m.model")
    plain = capsys.readouterr().out
    assert "certificate none" in plain
    assert plain.splitlines()[2:4] == certified.splitlines()[2:4]


def test_scale_as_svm_scale(capsys):
    assert run("scale", "-s", "range", "two") == 0
    scaled = capsys.readouterr().out
    Path("scaled").write_text(scaled)
    values = read_data("scaled").X.toarray()
    assert values.min() == -1
    assert values.max() == 1
    assert run("scale", "-r", "range", "two") == 0
    assert capsys.readouterr().out == scaled
    assert run("scale", "-l", "0", "-u", "2", "-y", "0", "1", "-o", "out.csv", "numbers") == 0
    data = read_data("out.csv")
    assert (data.X.min(), data.X.max(), data.y.min(), data.y.max()) == (0, 2, 0, 1)
    Path("more").write_text("1 1:1 9:2\n")
    assert run("scale", "-r", "range", "more") == 0
    assert "left out: features that range does not know" in capsys.readouterr().err
    assert run("scale", "-l", "1", "-u", "0", "two") == cli.BAD_INPUT
    capsys.readouterr()
    assert run("scale", "-r", "range", "-l", "-1", "-u", "3", "-y", "0", "1", "two") == 0
    assert "note: ignored: --upper, --scale-target; range says" in capsys.readouterr().err


def test_check_says_what_is_in_a_file(capsys):
    assert run("check", "three") == 0
    out = capsys.readouterr().out
    assert re.search(r"^rows +80$", out, re.MULTILINE)
    assert re.search(r"^labels +1 \(\d+\), 3 \(\d+\), 5 \(\d+\)$", out, re.MULTILINE)
    Path("broken.csv").write_text("a,label\nx,1\n")
    assert run("check", "broken.csv") == cli.BAD_INPUT
    assert "broken.csv, line 2, column 1: found 'x'" in capsys.readouterr().out


@pytest.mark.parametrize("method", ["0", "1", "stratified", "random"])
def test_subset(method, capsys):
    assert run("subset", "-s", method, "three", "30", "some", "rest") == 0
    some, rest = Path("some").read_text().splitlines(), Path("rest").read_text().splitlines()
    assert len(some) == 30
    assert sorted(some + rest) == sorted(Path("three").read_text().splitlines())
    if method in ("0", "stratified"):
        whole = np.unique(read_data("three").y, return_counts=True)[1]
        part = np.unique(read_data("some").y, return_counts=True)[1]
        assert np.abs(part - whole * 30 / 80).max() < 1
    assert run("subset", "three", "81") == cli.BAD_INPUT
    assert "size 81 must be from 1 to 80" in capsys.readouterr().err


def test_convert_data(capsys):
    assert run("convert", "two", "two.npz") == 0
    assert run("convert", "two.npz", "again") == 0
    assert Path("again").read_text() == Path("two").read_text()
    assert run("convert", "--format", "libsvm", "two", "x") == cli.BAD_INPUT
    assert "--format is for models" in capsys.readouterr().err


def test_easy(capsys):
    run("subset", "three", "60", "train", "test")
    options = ("--log2c", "-1,3,2", "--log2g=1,-5,-2")
    assert run("easy", "--format", "libsvm", *options, "train", "test") == 0
    out = capsys.readouterr().out
    assert re.search(r"best +C=[\d.]+, gamma=[\d.]+: cross-validation accuracy [\d.]+%", out)
    accuracy = re.search(r"Accuracy = .*", out).group()
    assert run("predict", "test.scale", "train.model", "again") == 0
    assert accuracy == capsys.readouterr().out.splitlines()[0]
    assert Path("again").read_text() == Path("test.predict").read_text()
    assert run("scale", "-r", "train.range", "-o", "test.again", "test") == 0
    assert Path("test.again").read_text() == Path("test.scale").read_text()


@pytest.mark.parametrize(
    ("command", "message"),
    [
        ("train nothing", "nothing: No such file or directory"),
        ("train two no/such/folder.model", "the folder .* does not exist; make it first"),
        ("train -g -1 two", "error: --gamma must be .* Got -1.0 instead"),
        ("train -e 0 two", "error: --tolerance must be .* Got 0.0 instead"),
        ("train --time-limit -1 two", "error: --time-limit must be .* Got -1.0 instead"),
        ("train --time-limit 1 -v 5 two", "--time-limit is for a training that writes a model"),
        ("train --format liblinear two", "LIBLINEAR's model format is for linear machines"),
        ("train numbers", "is not a class: did you mean -s epsilon-svr"),
        ("train -s c-svc numbers", "Unknown label type: continuous"),
        ("subset empty 1", "empty: there are no rows"),
        ("subset two 9 some .", "this is a folder"),
        ("convert two.csv names", "found 'labels such as (yes|no)', expected numbers"),
        ("info -", "models are not read from standard input"),
        ("train -s 1 -n 0.99 three", "nu"),
        ("train -v 1 two", "2 folds or more, not 1"),
        ("train -s 1 --multi-class weston-watkins three", "weston-watkins is for c-svc"),
        ("train --multi-class weston-watkins three m.model", "LIBSVM's model format has no"),
        ("train --linear svr --multi-class one-vs-rest three", "is for kernel machines"),
        ("train -w5 2 two", "class weight for '5', but the classes are -1, 1"),
        ("train -s 3 -w1 2 numbers", "class weights are for c-svc"),
        ("train -s 3 two.csv", "epsilon-svr needs numbers as targets"),
        ("train empty", "empty: there are no rows"),
        ("train one-class-only", "all 2 labels are 1: a classifier needs two classes or more"),
        ("predict two missing.model", "missing.model: No such file or directory"),
        ("predict -b 1 two m.softmargin", "has no probabilities"),
        ("predict wide m.softmargin", "wide has 9 features, but m.softmargin was trained on 4"),
        ("predict narrow.csv m.softmargin", "narrow.csv has 2 features, but .* trained on 4"),
        (
            "predict narrow.csv named.softmargin",
            "training data; missing: x1, x2, x3, x4; the columns",
        ),
        ("check --limit 0 two", "--limit 0 must be 1 or more"),
        ("train --target y two", "names a column of a .csv"),
    ],
)
def test_bad_input_is_said_in_one_line(command, message, capsys):
    Path("empty").touch()
    Path("one-class-only").write_text("1 1:1\n1 1:2\n")
    Path("wide").write_text("1 9:1\n")
    Path("narrow.csv").write_text("a,b,label\n1,2,1\n")
    run("train", "-q", "two", "m.softmargin")
    run("train", "-q", "two.csv", "named.softmargin")
    capsys.readouterr()
    assert run(*command.split()) == cli.BAD_INPUT
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith(f"softmargin {command.split()[0]}: error: ")
    assert captured.err.count("\n") == 1
    assert re.search(message, captured.err)


@pytest.mark.parametrize(
    "command",
    [
        "train",
        "train -s 7 two",
        "train -t rfb two",
        "train --shrinking 2 two",
        "train -g x two",
        "train --class-weight 1 two",
        "nonsense",
        "easy --log2c 1,2 two",
        "easy --log2c 1,5,-1 two",
        "easy --log2c 0,2000,1000 two",
        "subset --seed -1 two 5",
        "train --threads 0 two",
        "scale -u inf two",
    ],
)
def test_wrong_usage(command, capsys):
    with pytest.raises(SystemExit) as caught:
        run(*command.split())
    assert caught.value.code == cli.USAGE
    error, *tip, more = capsys.readouterr().err.splitlines()
    name = "softmargin" if command == "nonsense" else f"softmargin {command.split()[0]}"
    assert error.startswith(f"{name}: error: ")
    assert more == f"{name} --help says how it is used"
    assert len(tip) <= 1


@pytest.mark.parametrize("command", cli.SUBCOMMANDS)
def test_help_has_examples(command, capsys):
    with pytest.raises(SystemExit) as caught:
        run(command, "--help")
    assert caught.value.code == 0
    out = capsys.readouterr().out
    assert "exit codes: 0 success, 1 bad input" in out
    assert "examples:" in out or command == "demo"


def test_standard_input_and_notes():
    text = b"1 qid:1 1:1\n-1 qid:1 1:-1\n"
    done = subprocess.run(
        [*COMMAND, "train", "-", "m.model"], input=text, capture_output=True, check=True
    )
    assert b"note: -: 2 qid fields were ignored" in done.stderr
    done = subprocess.run(
        [*COMMAND, "predict", "-q", "-", "m.model"],
        input=b"0 1:5\n",
        capture_output=True,
        check=True,
    )
    assert done.stdout == b"1\n"


def slow_data():
    """Random labels and a huge C, which no solver finishes quickly."""
    rng = np.random.default_rng(0)
    write_data("slow", rng.standard_normal((3000, 3)), rng.integers(0, 2, 3000))
    return ["train", "-c", "1e7", "-g", "1", "-e", "1e-9", "slow", "m.softmargin"]


def test_the_rules_are_all_of_the_solvers():
    assert set(WORKING_SETS) == {"auto", *BY_NAME, *BY_EXAMPLE}


def test_time_limit(capsys):
    assert run(*slow_data(), "--time-limit", "0.3") == 0
    captured = capsys.readouterr()
    assert "note: The fit was stopped by its time limit." in captured.err
    assert softmargin.load("m.softmargin").solution_.stop_reason.name == "TIME_LIMIT"


class Interrupts:
    """Ctrl-C at the first calls."""

    def __init__(self, times=1):
        self.left = times

    def __call__(self, *_):
        if self.left:
            self.left -= 1
            signal.raise_signal(signal.SIGINT)


@pytest.mark.parametrize("save", [False, True])
def test_interrupt(save, monkeypatch, capsys):
    """Ctrl-C in the middle of a fit."""
    monkeypatch.setattr(Progress, "show", Interrupts())
    options = ["--save-on-interrupt"] if save else []
    assert run(*slow_data(), *options) == cli.INTERRUPTED
    assert os.path.exists("m.softmargin") is save
    told = capsys.readouterr().err
    if save:
        solution = softmargin.load("m.softmargin").solution_
        assert solution.stop_reason.name == "INTERRUPTED"
        assert solution.kkt_violation > 1e-9
        assert "note: The fit was interrupted.  Training cannot continue from a model" in told
    else:
        assert told.endswith(
            "interrupted: no model is written (--save-on-interrupt writes the one so far)\n"
        )


def test_a_second_interrupt_ends_also_what_is_to_be_saved(monkeypatch, capsys):
    monkeypatch.setattr(Progress, "show", Interrupts(2))
    assert run(*slow_data(), "--save-on-interrupt") == cli.INTERRUPTED
    assert not os.path.exists("m.softmargin")
    assert capsys.readouterr().err.endswith("interrupted: no model is written\n")


def test_an_interrupt_ends_all_folds_of_a_cross_validation(monkeypatch, capsys):
    """The first fold ends at once, then Ctrl-C arrives: no other fold may finish its fit."""
    fit, ended, first = softmargin.SVC.fit, [], iter([True])

    def counted(self, *args):
        if next(first, False):
            self.set_params(max_iter=0)
        fit(self, *args)
        ended.append(self)
        return self

    monkeypatch.setattr(softmargin.SVC, "fit", counted)
    monkeypatch.setattr(Progress, "show", Interrupts())
    assert run(*slow_data()[:-1], "-v", "5") == cli.INTERRUPTED
    assert len(ended) == 1
    assert capsys.readouterr().err == "softmargin train: interrupted\n"


@pytest.mark.parametrize("reason", StopReason)
def test_remedies_are_those_of_the_command_line(reason):
    told = in_options(f"{reason.cause}  {reason.remedy}")
    if reason is not StopReason.CALLBACK:  # the command line has none
        assert not re.search(r"warm_start|max_iter\b(?!})|(?<!-)\btol\b|working_set|Scaler", told)
    known = {name for a in cli.commands()["train"]._actions for name in a.option_strings}
    assert set(re.findall(r"--[a-z-]+", told)) <= known


@pytest.mark.parametrize("options", [[], ["--linear", "one-vs-rest"]])
def test_a_format_is_checked_before_the_training(options, monkeypatch, capsys):
    monkeypatch.setattr("softmargin.cli.train._fit", lambda *_: pytest.fail("trained"))
    assert run("train", *options, "two.csv", "m.model") == cli.BAD_INPUT
    assert "has integers as classes, not 'no'" in capsys.readouterr().err


def test_what_is_written_to_standard_output_is_alone_there(capsysbinary):
    assert run("train", "two", "-") == 0
    model, report = capsysbinary.readouterr()
    Path("m.model").write_bytes(model)
    assert read_any_model("m.model").kind == "SVC"
    assert b"primal" in report
    assert run("convert", "--json", "m.model", "-") == 0
    again, report = capsysbinary.readouterr()
    assert again == model
    assert json.loads(report)["machine"] == "SVC"
    assert run("predict", "two", "m.model", "-") == 0
    predictions, report = capsysbinary.readouterr()
    assert {*predictions.split()} == {b"-1", b"1"}
    assert report.startswith(b"Accuracy = ")


def test_json_has_no_infinity_and_no_nan(capsys):
    def told(*command):
        assert run(*command, "--json") == 0
        return json.loads(capsys.readouterr().out, parse_constant=pytest.fail)

    assert told("train", "-c", "inf", "two")["C"] is None
    Path("same").write_text("1 1:1\n1 1:2\n")
    run("train", "-q", "-s", "3", "numbers")
    assert told("predict", "same", "numbers.model", "out")["squared_correlation"] is None


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="a POSIX shell, and Linux's /dev/full")
@pytest.mark.parametrize(
    ("command", "code"),
    [
        ("train two 2>&-", 0),
        ("train two >&-", 0),
        ("train - <&-", 1),
        ("scale two >&-", 1),
        ("train two /dev/stdout | grep -q svm_type", 0),
        ("train --max-iter 2 two 2>/dev/full", 0),
    ],
)
def test_streams_that_are_closed_or_no_files(command, code):
    for unbuffered in ("", "1"):
        done = subprocess.run(
            f"{' '.join(COMMAND)} {command}",
            shell=True,
            capture_output=True,
            env=os.environ | {"PYTHONUNBUFFERED": unbuffered},
        )
        assert b"Traceback" not in done.stderr
        assert done.returncode == code, done.stderr


def test_names_that_the_terminal_cannot_show():
    Path("umlaut.csv").write_text("a,label\n1,no\n2,n\u00f6\n", encoding="utf-8")
    environment = {**os.environ, "PYTHONIOENCODING": "ascii"}
    done = subprocess.run([*COMMAND, "check", "umlaut.csv"], env=environment, capture_output=True)
    assert done.returncode == 0, done.stderr
    assert rb"no (1), n\xf6 (1)" in done.stdout


@pytest.mark.skipif(sys.platform != "linux", reason="names of files are any bytes there")
def test_names_of_files_are_shown_as_they_are():
    name = b"caf\xe9"
    shutil.copy("two", name)
    done = subprocess.run([*COMMAND, "train", name], capture_output=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout.endswith(b"model       caf\xe9.model\n")


def test_a_failure_to_write_names_the_file_that_was_asked_for(monkeypatch, capsys):
    real = os.open

    def full(path, flags, *rest, **named):
        if flags & os.O_EXCL:
            raise OSError(errno.ENOSPC, "No space left", os.fspath(path))
        return real(path, flags, *rest, **named)

    monkeypatch.setattr("os.open", full)
    assert run("scale", "-o", "two.scale", "two") == cli.BAD_INPUT
    assert capsys.readouterr().err == "softmargin scale: error: two.scale: No space left\n"


class Terminal(io.StringIO):
    def isatty(self):
        return True


def test_the_line_of_progress_fits_the_terminal(monkeypatch):
    for name, value in (("columns", lambda _: 40), ("PATIENCE", 0), ("INTERVAL", 0)):
        monkeypatch.setattr(f"softmargin.cli.progress.{name}", value)
    monkeypatch.setattr(sys, "stderr", Terminal())
    with Progress("SVC") as progress:
        progress.show("x" * 100, 0.5)
        progress.show("short", 0.5)
    lines = sys.stderr.getvalue().split("\r")
    assert max(map(len, lines)) == 39
    assert lines[1].startswith("SVC:  50%|#####     | 00:00, xxx")


def test_check_reads_standard_input():
    with open("three", "rb") as data:
        done = subprocess.run([*COMMAND, "check", "-"], stdin=data, capture_output=True, check=True)
    assert b"rows        80" in done.stdout


def test_easy_with_names_and_a_test_file_that_is_missing(monkeypatch, capsys):
    options = ("--log2c", "0,0,1", "--log2g", "0,0,1")
    assert run("easy", *options, "two.csv", "two.csv") == 0
    written = re.findall(r"two\.csv\.\w+", capsys.readouterr().out)
    assert written
    assert all(Path(name).exists() for name in written)
    monkeypatch.setattr("softmargin.cli.easy._search", lambda *_: pytest.fail("searched"))
    assert run("easy", "two", "nothing") == cli.BAD_INPUT


@pytest.mark.skipif(os.name == "nt", reason="there is no head on Windows")
def test_a_reader_that_leaves_is_no_error():
    command = f"{sys.executable} -m softmargin scale two | head -1"
    done = subprocess.run(command, shell=True, capture_output=True, check=True)
    assert b"Traceback" not in done.stderr


@pytest.mark.parametrize("shell", ["bash", "zsh"])
def test_completion(shell, capsys):
    assert run("completion", shell) == 0
    script = capsys.readouterr().out
    for word in ("--cross-validate", "--time-limit", "easy", "--decision-values"):
        assert word in script
    # zsh calls the whole file as the function, the first time
    assert shell == "bash" or '= _softmargin ]]; then\n  _softmargin "$@"\n' in script
    if shell == "bash" and os.path.exists("/bin/bash"):
        test = (
            script + "\nCOMP_WORDS=(softmargin train --cross); COMP_CWORD=2; _softmargin\n"
            'echo "${COMPREPLY[@]}"'
        )
        done = subprocess.run(["/bin/bash", "-c", test], capture_output=True, text=True, check=True)
        assert done.stdout.split() == ["--cross-validate"]


@pytest.mark.parametrize(
    ("model", "message"), [(".", "this is a folder"), ("no/m", "make it first")]
)
def test_a_target_is_checked_before_the_training(monkeypatch, capsys, model, message):
    monkeypatch.setattr("softmargin.cli.train.make_machine", lambda *_: pytest.fail("trained"))
    assert run("train", "two", model) == cli.BAD_INPUT
    assert message in capsys.readouterr().err
