"""LIBSVM's model files: its library predicts the same from ours, and we from its."""

import io

import numpy as np
import pytest
import scipy.sparse as sp

import softmargin
from softmargin.io.models.libsvm import read_libsvm_model, write_libsvm_model
from softmargin.io.models.record import Record
from tests.oracles import libsvm_peer as peer

TASKS = {
    "SVC": ("two", "many"),
    "NuSVC": ("two", "many"),
    "SVR": ("numbers",),
    "NuSVR": ("numbers",),
    "OneClassSVM": ("none",),
}
KERNELS = ("linear", "poly", "rbf", "sigmoid", "precomputed")
CASES = [
    pytest.param(kind, task, kernel, sparse, id=f"{kind}-{task}-{kernel}-{layout}")
    for kind, tasks in TASKS.items()
    for task in tasks
    for kernel in KERNELS
    for layout, sparse in (("dense", False), ("sparse", True))
    if not (sparse and kernel == "precomputed")
]
OPTIONS = "-g 0.2 -r 0.1 -n 0.2"
PARAMETERS = {"gamma": 0.2, "coef0": 0.1}


def problem(task, kernel, seed=3):
    """Training data with labels out of order, and points to predict; 30 % are zeros."""
    rng = np.random.default_rng(seed)
    X, points = (rng.standard_normal((n, 5)) * (rng.random((n, 5)) < 0.7) for n in (60, 40))
    if task == "two":
        y = np.where(X @ [1, -1, 2, 0, 1] > 0, -4, 7)
    elif task == "many":
        y = np.array([5, -2, 9, 1])[np.argmax(X[:, :4], axis=1)]
    else:
        y = X @ [1.0, -1, 2, 0, 1] + 0.1 * rng.standard_normal(60)
    if task == "none":  # with the origin among the data, the linear machine's optimum is zero
        X, points = (np.where(some != 0, some + 2, 0) for some in (X, points))
    if kernel == "precomputed":
        X, points = X @ X.T, points @ X.T
    return X, y, points


def assert_close(values, expected):
    assert np.abs(values - expected).max() <= 1e-9 * np.abs(expected).max()


@pytest.mark.parametrize(("kind", "task", "kernel", "sparse"), CASES)
def test_libsvm_predicts_the_same_from_our_file(tmp_path, kind, task, kernel, sparse):
    pytest.importorskip("libsvm")
    X, y, points = problem(task, kernel)
    machine = fitted(kind, kernel, sp.csr_matrix(X) if sparse else X, y)
    machine.save(tmp_path / "model", format="libsvm")
    labels, values = peer.predict(tmp_path / "model", points)
    ours = sp.csr_matrix(points) if sparse else points
    assert_close(our_values(machine, ours), values)
    if kind in ("SVR", "NuSVR"):
        assert_close(machine.predict(ours), labels)
    else:
        np.testing.assert_array_equal(machine.predict(ours), labels)


@pytest.mark.parametrize(("kind", "task", "kernel", "sparse"), CASES)
def test_we_predict_the_same_from_libsvms_file(tmp_path, kind, task, kernel, sparse):
    pytest.importorskip("libsvm")
    X, y, points = problem(task, kernel)
    peer.train(tmp_path / "model", kind, kernel, X, y, OPTIONS)
    labels, values = peer.predict(tmp_path / "model", points)
    machine = softmargin.load(tmp_path / "model")
    ours = sp.csr_matrix(points) if sparse else points
    if kernel == "precomputed":  # the file does not say how many training examples there were
        ours = ours[:, : machine.n_features_in_]
    assert_close(our_values(machine, ours), values)
    predicted = machine.predict(ours)
    (assert_close if kind in ("SVR", "NuSVR") else np.testing.assert_array_equal)(predicted, labels)
    quick, _ = read_libsvm_model(tmp_path / "model").predict(ours)
    np.testing.assert_array_equal(quick, predicted)
    assert machine.solution_ is None
    machine.save(tmp_path / "again", format="libsvm")
    assert numbers_of(tmp_path / "again") == numbers_of(tmp_path / "model")


def numbers_of(path):
    """The words of a model file, its numbers as numbers."""
    words = path.read_text().replace(":", " : ").split()
    return [word if word[0].isalpha() or word == ":" else float(word) for word in words]


def fitted(kind, kernel, X, y):
    parameters = {**PARAMETERS, "kernel": kernel}
    if kind == "NuSVC":
        parameters["nu"] = 0.2
    if "SVC" in kind:
        parameters["decision_function_shape"] = "ovo"
    return getattr(softmargin, kind)(**parameters).fit(X, y)


def our_values(machine, points):
    """Decision values in LIBSVM's sense: one per pair, above zero for the first class."""
    if not hasattr(machine, "classes_"):
        decide = getattr(machine, "decision_function", machine.predict)
        return decide(points)[:, None]
    machine.decision_function_shape = "ovo"
    values = machine.decision_function(points)
    return -values[:, None] if values.ndim == 1 else values


def test_labels_keep_the_files_order(tmp_path):
    pytest.importorskip("libsvm")
    X, y, _ = problem("many", "rbf")
    peer.train(tmp_path / "model", "SVC", "rbf", X, y, OPTIONS)
    machine = softmargin.load(tmp_path / "model")
    assert machine.classes_.tolist() == list(dict.fromkeys(y.tolist()))


MODEL = """svm_type c_svc
kernel_type rbf
gamma 0.5
nr_class 2
total_sv 2
rho 0.25
label 1 -1
probA -1.5
probB 0.125
nr_sv 1 1
SV
1 1:1 3:2
-1 2:1
"""


def test_what_a_file_says_is_kept():
    record = read_libsvm_model(io.BytesIO(MODEL.encode()))
    # By hand: exp(-0.5 |x - a|^2) - exp(-0.5 |x - b|^2) - 0.25 at x = a = (1, 0, 2).
    expected = -(1.0 - np.exp(-0.5 * 6) - 0.25)
    predicted, values = record.predict(np.array([[1.0, 0, 2]]))
    assert values[0] == pytest.approx(expected, rel=1e-14)
    assert predicted.tolist() == [1]
    machine = record.estimator()
    assert machine.probA_.tolist() == [-1.5]
    assert machine.probB_.tolist() == [0.125]
    stream = io.BytesIO()
    write_libsvm_model(stream, Record.of(machine))
    assert stream.getvalue().decode() == MODEL


def test_windows_line_ends():
    text = MODEL.replace("\n", "\r\n").encode()
    assert read_libsvm_model(io.BytesIO(text)).attributes["_gamma"] == 0.5


def test_more_features_than_the_support_vectors_have():
    """They count in the distances, as in LIBSVM."""
    record = read_libsvm_model(io.BytesIO(MODEL.encode()))
    _, near = record.predict(sp.csr_matrix([[1.0, 0, 2]]))
    wide = sp.csr_matrix(([1.0, 2.0, 3.0], [0, 2, 10**9], [0, 3]), shape=(1, 10**9 + 1))
    _, far = record.predict(wide)
    expected = np.exp(-0.5 * 9) * (near + 0.25 * -1) + 0.25  # both kernel values shrink alike
    assert far[0] == pytest.approx(expected[0], rel=1e-12)


def test_a_model_without_support_vectors():
    text = MODEL.replace("total_sv 2", "total_sv 0").replace("nr_sv 1 1", "nr_sv 0 0")
    record = read_libsvm_model(io.BytesIO(text[: text.index("SV\n") + 3].encode()))
    predicted, values = record.predict(np.zeros((2, 3)))
    assert values.tolist() == [0.25, 0.25]
    assert predicted.tolist() == [-1, -1]


def test_a_value_of_zero_is_the_second_class(tmp_path):
    """As in LIBSVM and scikit-learn."""
    pytest.importorskip("libsvm")
    from sklearn.svm import SVC

    X, y = np.array([[-1.0], [1.0]]), np.array([3, 8])
    machine = softmargin.SVC(kernel="linear").fit(X, y)
    assert machine.decision_function([[0.0]]) == 0
    machine.save(tmp_path / "model", format="libsvm")
    labels, _ = peer.predict(tmp_path / "model", [[0.0]])
    assert machine.predict([[0.0]]) == labels == SVC(kernel="linear").fit(X, y).predict([[0.0]])


@pytest.mark.parametrize("labels", [["a", "b"], [0.5, 1.5]])
def test_labels_that_libsvm_has_no_room_for(tmp_path, labels):
    machine = softmargin.SVC().fit([[0.0], [1.0]], [0, 1])
    machine.classes_ = np.array(labels)
    with pytest.raises(ValueError, match="integers as classes"):
        machine.save(tmp_path / "model", format="libsvm")
    assert not (tmp_path / "model").exists()


def test_kernel_functions_have_no_place_in_it(tmp_path):
    machine = softmargin.SVC(kernel=lambda A, B: A @ B.T).fit([[0.0], [1.0]], [0, 1])
    with pytest.raises(ValueError, match="no kernel functions"):
        machine.save(tmp_path / "model", format="libsvm")


def test_a_model_makes_room_for_more_features(tmp_path):
    """As docs/files.md says: a feature that no support vector has still adds to distances."""
    X = np.random.default_rng(0).normal(size=(30, 3))
    wide, y = np.hstack([X, X[:, :2] ** 2]), (X[:, 0] > 0).astype(int)
    softmargin.SVC(gamma=0.5).fit(X, y).save(tmp_path / "m", format="libsvm")
    machine = softmargin.load(tmp_path / "m")
    with pytest.raises(ValueError, match="5 features, but SVC is expecting 3"):
        machine.predict(wide)
    machine.support_vectors_.resize((len(machine.support_), 5))
    machine.n_features_in_ = 5
    padded = softmargin.SVC(gamma=0.5).fit(np.hstack([X, np.zeros((30, 2))]), y)
    assert_close(machine.decision_function(wide), padded.decision_function(wide))


@pytest.mark.parametrize("format", ["libsvm", "liblinear"])
@pytest.mark.parametrize(
    "labels",
    [[10**18, -(10**18)], [1e18, 2e18], [2**53 + 1, 2**53], [2**63 - 1, -(2**63)]],
    ids=str,
)
def test_large_labels_come_back(tmp_path, labels, format):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 3))
    y = np.array(labels)[(X[:, 0] > 0).astype(int)]
    machine = (
        softmargin.SVC()
        if format == "libsvm"
        else softmargin.LinearSVC(multi_class="weston_watkins", random_state=0)
    )
    machine.fit(X, y).save(tmp_path / "m", format=format)
    loaded = softmargin.load(tmp_path / "m")
    assert sorted(loaded.classes_.tolist()) == sorted(int(label) for label in labels)
    assert [int(label) for label in machine.predict(X)] == loaded.predict(X).tolist()


def test_labels_that_no_integer_holds_are_refused_before_they_are_lost(tmp_path):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 3))
    labels = np.array([2**64 - 1, 1], dtype=np.uint64)
    machine = softmargin.SVC().fit(X, labels[(X[:, 0] > 0).astype(int)])
    with pytest.raises(
        ValueError, match="integers of 64 bits as classes, not 18446744073709551615"
    ):
        machine.save(tmp_path / "m", format="libsvm")
    assert list(tmp_path.iterdir()) == []
