"""LIBLINEAR's model files: its library predicts the same from ours, and we from its."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone

import softmargin
from softmargin import cli
from softmargin.io import write_data
from softmargin.io.models.formats import read_any_model
from tests.oracles.libsvm_peer import rows_of

rng = np.random.default_rng(5)
X = rng.standard_normal((80, 6)) * (rng.random((80, 6)) < 0.6)
POINTS = rng.standard_normal((50, 6))
LABELS = {
    "two": np.where(X @ [1, -1, 2, 0, 1, 0] > 0.1, -4, 7),
    "many": np.array([5, -2, 9, 1])[np.argmax(X[:, :4], axis=1)],
}


def peer_predict(path, points):
    liblinear = pytest.importorskip("liblinear.liblinearutil")
    model = liblinear.load_model(str(path))
    labels, _, values = liblinear.predict([], rows_of(points), model, "-q")
    return np.array(labels), np.array(values)


def close(values, expected):
    return np.abs(values - expected).max() <= 1e-9 * np.abs(expected).max()


@pytest.mark.parametrize("layout", [np.asarray, sp.csr_matrix])
@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("machine", ["weston_watkins", "crammer_singer", "ovr"])
@pytest.mark.parametrize("task", LABELS)
def test_liblinear_predicts_the_same_from_our_file(tmp_path, task, machine, intercept, layout):
    fitted = softmargin.LinearSVC(
        multi_class=machine, loss="hinge", fit_intercept=intercept, random_state=0
    )
    fitted.fit(layout(X), LABELS[task]).save(tmp_path / "m", format="liblinear")
    labels, values = peer_predict(tmp_path / "m", POINTS)
    np.testing.assert_array_equal(fitted.predict(layout(POINTS)), labels)
    ours = fitted.decision_function(layout(POINTS))
    assert close(-ours[:, None] if ours.ndim == 1 else ours, values)
    again = softmargin.load(tmp_path / "m")
    np.testing.assert_array_equal(again.decision_function(POINTS), fitted.decision_function(POINTS))


@pytest.mark.parametrize("bias", ["-1", "1", "2.5"])
@pytest.mark.parametrize("solver", [0, 1, 2, 3, 4, 5, 6, 7])
@pytest.mark.parametrize("task", LABELS)
def test_we_predict_the_same_from_liblinears_file(tmp_path, task, solver, bias):
    liblinear = pytest.importorskip("liblinear.liblinearutil")
    y = LABELS[task].tolist()
    model = liblinear.train(y, rows_of(X), f"-q -s {solver} -B {bias}")
    liblinear.save_model(str(tmp_path / "m"), model)
    labels, values = peer_predict(tmp_path / "m", POINTS)
    machine = softmargin.load(tmp_path / "m")
    np.testing.assert_array_equal(machine.predict(POINTS), labels)
    ours = machine.decision_function(POINTS)
    if (solver, task) != (4, "two"):  # Crammer-Singer has two values there; the wrapper gives one
        assert close(-ours[:, None] if ours.ndim == 1 else ours, values)
    record = read_any_model(tmp_path / "m")
    for points in (POINTS, sp.csr_matrix(POINTS), np.hstack([POINTS, POINTS])):
        np.testing.assert_array_equal(record.predict(points)[0], labels)


@pytest.mark.parametrize("bias", ["-1", "2.5"])
@pytest.mark.parametrize("solver", [11, 12, 13])
def test_regressions_of_liblinear(tmp_path, solver, bias):
    liblinear = pytest.importorskip("liblinear.liblinearutil")
    y = X @ [1.0, -1.0, 2.0, 0.0, 1.0, 0.5]
    model = liblinear.train(y.tolist(), rows_of(X), f"-q -s {solver} -B {bias}")
    liblinear.save_model(str(tmp_path / "m"), model)
    values, _ = peer_predict(tmp_path / "m", POINTS)
    machine = softmargin.load(tmp_path / "m")
    assert close(machine.predict(POINTS), values)
    assert close(read_any_model(tmp_path / "m").predict(sp.csr_matrix(POINTS))[0], values)
    machine.save(tmp_path / "again", format="liblinear")
    first, again = ((tmp_path / name).read_text().split("\n")[0] for name in ("m", "again"))
    assert first == again
    assert close(peer_predict(tmp_path / "again", POINTS)[0], values)


@pytest.mark.parametrize("solver", [1, 2, 3, 4, 5])
def test_the_type_of_solver_is_kept(tmp_path, solver):
    liblinear = pytest.importorskip("liblinear.liblinearutil")
    model = liblinear.train(LABELS["many"].tolist(), rows_of(X), f"-q -s {solver}")
    liblinear.save_model(str(tmp_path / "m"), model)
    softmargin.load(tmp_path / "m").save(tmp_path / "again", format="liblinear")
    first, again = ((tmp_path / name).read_text().split("\n")[0] for name in ("m", "again"))
    assert first == again


NUMBERS = {
    "1": ("L2R_L2LOSS_SVC_DUAL", softmargin.LinearSVC(dual=True)),
    "2": ("L2R_L2LOSS_SVC", softmargin.LinearSVC(dual=False)),
    "3": ("L2R_L1LOSS_SVC_DUAL", softmargin.LinearSVC(loss="hinge")),
    "4": ("MCSVM_CS", softmargin.LinearSVC(multi_class="crammer_singer")),
    "5": ("L1R_L2LOSS_SVC", softmargin.LinearSVC(penalty="l1")),
    "11": ("L2R_L2LOSS_SVR", softmargin.LinearSVR(loss="squared_epsilon_insensitive")),
    "12": ("L2R_L2LOSS_SVR_DUAL", softmargin.LinearSVR(loss="squared_epsilon_insensitive")),
    "13": ("L2R_L1LOSS_SVR_DUAL", softmargin.LinearSVR()),
}


@pytest.mark.parametrize("number", NUMBERS)
def test_liblinears_numbers_on_the_command_line(tmp_path, number):
    name, machine = NUMBERS[number]
    regression = isinstance(machine, softmargin.LinearSVR)
    y = X @ [1.0, -1.0, 2.0, 0.0, 1.0, 0.5] if regression else LABELS["many"]
    data, model = str(tmp_path / "data"), tmp_path / "m.model"
    write_data(data, X, y)
    options = ["--linear", number, "-e", "1e-9", "--max-iter", "100000", "-c", "0.5"]
    assert cli.main(["train", "-q", *options, data, str(model)]) == 0
    assert model.read_text().startswith(f"solver_type {name}\n")
    machine = clone(machine).set_params(C=0.5, tol=1e-9, max_iter=10**5, random_state=0)
    if regression:
        machine.set_params(epsilon=0.1)
    expected, found = machine.fit(X, y), softmargin.load(model)
    np.testing.assert_allclose(found.coef_, expected.coef_, atol=1e-4)


def test_native_file_of_a_regression(tmp_path):
    y = X @ [1.0, -1.0, 2.0, 0.0, 1.0, 0.5]
    machine = softmargin.LinearSVR(random_state=0, warm_start=True).fit(X, y)
    machine.save(tmp_path / "m")
    loaded = softmargin.load(tmp_path / "m")
    assert loaded.solution_ == machine.solution_
    np.testing.assert_array_equal(loaded.predict(POINTS), machine.predict(POINTS))
    np.testing.assert_array_equal(
        read_any_model(tmp_path / "m").predict(POINTS)[0], machine.predict(POINTS)
    )
    assert loaded.fit(X, y).n_iter_ == 0


MODEL = "solver_type L2R_LR\nnr_class 2\nlabel 1 -1\nnr_feature 2\nbias -1\nw\n0.5 \n-0.25 \n"


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            ("L2R_LR", "ONECLASS_SVM"),
            "line 1, column 13: found 'ONECLASS_SVM', expected one of L2R",
        ),
        (("nr_class 2", "nr_class 3"), "line 3: found '2 values', expected 3 x an integer"),
        (("nr_class 2", "nr_class 1"), "line 2, column 10: found '1', expected 2 classes or more"),
        (("nr_feature 2", "nr_feature 3"), "expected the 2 rows of weights below"),
        (("nr_feature 2", "nr_feature 1000000000000000000"), "the 2 rows of weights below"),
        (("nr_feature 2", "nr_feature -2"), "line 4, column 12: found '-2'"),
        (("bias -1", "bias 1"), "line 4, column 12: found '2', expected the 2 rows"),
        (("bias -1", "bias nan"), "line 5, column 6: found 'nan'"),
        (("0.5 ", "nan"), "line 7, column 1: found 'nan', expected a finite number"),
        (("0.5 ", "0.5 0.5"), "line 7, column 5: found '0.5', expected index:value"),
        (("-0.25 \n", ""), "expected the 1 rows of weights below"),
        (("w\n", "v\n"), "line 6, column 1: found 'v', expected bias, label"),
    ],
)
def test_broken_files(tmp_path, change, message):
    (tmp_path / "m").write_text(MODEL.replace(*change))
    with pytest.raises(softmargin.io.FileError) as caught:
        softmargin.load(tmp_path / "m")
    assert message in str(caught.value)


def test_kernel_machines_have_no_place_in_it(tmp_path):
    machine = softmargin.SVC(kernel="linear").fit(X, LABELS["two"])
    with pytest.raises(ValueError, match="for linear machines, not SVC"):
        machine.save(tmp_path / "m", format="liblinear")
    machine = softmargin.LinearSVC(multi_class="weston_watkins", random_state=0).fit(
        X, LABELS["two"]
    )
    with pytest.raises(ValueError, match=r"no LinearSVC.*Save in LIBLINEAR's format"):
        machine.save(tmp_path / "m", format="libsvm")


def test_classes_without_a_number_have_no_place_in_it(tmp_path):
    machine = softmargin.LinearSVC(multi_class="weston_watkins", random_state=0).fit(
        X, np.where(LABELS["two"] > 0, "a", "b")
    )
    with pytest.raises(ValueError, match=r"LIBLINEAR's model format has integers .* not 'a'\."):
        machine.save(tmp_path / "m", format="liblinear")


@pytest.mark.parametrize("task", LABELS)
def test_native_file(tmp_path, task):
    machine = softmargin.LinearSVC(
        multi_class="weston_watkins", random_state=0, warm_start=True
    ).fit(X, LABELS[task])
    machine.save(tmp_path / "m")
    loaded = softmargin.load(tmp_path / "m")
    assert vars(loaded).keys() == vars(machine).keys()
    assert loaded.solution_ == machine.solution_
    np.testing.assert_array_equal(
        loaded.decision_function(POINTS), machine.decision_function(POINTS)
    )
    np.testing.assert_array_equal(
        read_any_model(tmp_path / "m").predict(POINTS)[0], machine.predict(POINTS)
    )
    assert loaded.fit(X, LABELS[task]).n_iter_ == 0  # continues from the saved variables
    assert loaded.set_params(C=2.0).fit(X, LABELS[task]).solution_.converged


def test_command_line(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    write_data("data", X, LABELS["many"])
    options = ["--linear", "weston-watkins", "-c", "2", "-w5", "3", "--no-intercept"]
    assert cli.main(["train", "-q", *options, "data"]) == 0
    expected = softmargin.LinearSVC(
        multi_class="weston_watkins",
        tol=1e-3,
        C=2.0,
        class_weight={5: 3.0},
        fit_intercept=False,
        random_state=0,
    ).fit(sp.csr_matrix(X), LABELS["many"])
    labels, values = peer_predict("data.model", POINTS)
    np.testing.assert_array_equal(labels, expected.predict(POINTS))
    assert close(values, expected.decision_function(POINTS))
    assert cli.main(["info", "data.model"]) == 0
    assert "format      liblinear" in capsys.readouterr().out
    assert cli.main(["predict", "data", "data.model", "out"]) == 0
    assert "Accuracy = " in capsys.readouterr().out
    for wrong in (["--linear", "one-vs-rest", "-g", "2"], ["--no-intercept"]):
        assert cli.main(["train", *wrong, "data"]) == cli.BAD_INPUT
    assert "--no-intercept is for linear machines" in capsys.readouterr().err
    assert (
        cli.main(["train", "--linear", "weston-watkins", "--threads", "2", "data"]) == cli.BAD_INPUT
    )
    assert "--threads 2 is for --linear one-vs-rest" in capsys.readouterr().err
    options = ["--linear", "one-vs-rest", "--threads", "2"]
    assert cli.main(["train", "-q", *options, "data", "m.softmargin"]) == 0
    options = ["--linear", "weston-watkins", "--precision", "float32"]
    assert cli.main(["train", "-q", *options, "data", "m.softmargin"]) == 0
    assert softmargin.load("m.softmargin").solution_.precision == "float32"
