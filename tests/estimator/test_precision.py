"""Right answers for data that are not scaled: decision values, labels and certificates against
kernel values from sums of squared differences in extended precision."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.preprocessing import scale

from softmargin import SVC, SVR, OneClassSVM, load
from softmargin.estimator.scaling import largest_feature, warn_unless_scaled
from softmargin.problem.kernels import DIFFERENCES, ENOUGH
from tests.oracles import certificates

FORMS = [
    pytest.param(container, kind, id=f"{'CSR' if container is sp.csr_matrix else 'dense'}-{kind}")
    for container in (np.asarray, sp.csr_matrix)
    for kind in ("float32", "float64")
]
GAMMAS = ["scale", 0.001, 0.1, 10.0, 1000.0]
MACHINES = {
    "SVC": (SVC(), certificates.of_svc),
    "SVR": (SVR(), certificates.of_svr),
    "OneClassSVM": (OneClassSVM(nu=0.2), certificates.of_one_class),
}


def exact_rbf(A, B, gamma):
    A, B = (np.asarray(X.toarray() if sp.issparse(X) else X, dtype=np.longdouble) for X in (A, B))
    distances = np.zeros((len(A), len(B)), dtype=np.longdouble)
    for a, b in zip(A.T, B.T, strict=True):
        distances += np.subtract.outer(a, b) ** 2
    return np.exp(-np.longdouble(gamma) * distances)


def dense(X):
    return X.toarray() if sp.issparse(X) else X


def data(name, rows=90):
    """Rows, to fit and a third more to predict, and targets that are +1 and -1."""
    rng = np.random.default_rng(7)
    X = rng.normal(size=(rows + rows // 3, 4))
    y = np.where(X[:, 0] + X[:, 1] ** 2 > 0.7, 1.0, -1.0)
    kind, _, size = name.partition(" ")
    if kind == "offset":
        X = X + float(size)
    elif kind == "column":
        X[:, 2] = float(size) * X[:, 2]
    elif kind == "time":  # seconds since 1970, with or without rows that lack it
        X[:, 2] = 1.7e9 + np.round(X[:, 2], 1)
        if size:
            X[rng.random(len(X)) < 0.05, 2] = 0.0
    elif kind == "duplicates":
        X = np.round(X[rng.integers(0, 20, len(X))], 1) + 1e4
        y = np.where(X[:, 0] > 1e4, 1.0, -1.0)
    elif kind == "subnormals":
        X = X * float(size)
    return X, y


def decision(machine, X):
    return getattr(machine, "decision_function", machine.predict)(X)


def exact_decision(machine, X):
    K = exact_rbf(X, machine.support_vectors_, machine._gamma)
    values = K @ dense(machine.dual_coef_)[0] + machine.intercept_[0]
    return values.astype(np.float64)


def assert_right(machine, X, kind):
    """Decision values are right to the rounding that is documented; so are labels."""
    values, exact = decision(machine, X), exact_decision(machine, X)
    largest = max(1.0, np.abs(exact).max())
    allowed = ENOUGH[kind] * largest
    assert np.abs(values - exact).max() <= allowed
    differ = (values >= 0) != (exact >= 0)
    assert not (differ & (np.abs(exact) > 1e-12 * largest)).any()


def assert_certified(machine, certificate, X, y):
    K = exact_rbf(X, X, machine._gamma).astype(np.float64)
    weight = np.ones(len(y))
    arguments = {
        "of_svc": (y, weight * machine.get_params().get("C", 1.0)),
        "of_svr": (y, weight * machine.get_params().get("C", 1.0), 0.1),
        "of_one_class": (weight, 0.2),
    }[certificate.__name__]
    if sp.issparse(machine.dual_coef_):
        machine.dual_coef_ = machine.dual_coef_.toarray()
    exact = certificate(machine, K, *arguments)
    gap = exact.primal - exact.dual
    off = abs(machine.solution_.duality_gap - gap)
    assert off <= max(0.01 * gap, 1e-6 * abs(exact.primal))


@pytest.mark.filterwarnings("ignore:The data are too large")
@pytest.mark.parametrize(("container", "kind"), FORMS)
@pytest.mark.parametrize("machine", MACHINES)
@pytest.mark.parametrize(
    "name",
    ["scaled", "offset 1e2", "offset 1e4", "offset 1e6", "column 1e6", "time", "time with zeros",
     "duplicates", "subnormals 1e-30", "subnormals 1e-310"],
)  # fmt: skip
def test_decision_values_and_certificates(name, machine, container, kind):
    X, y = data(name)
    X = container(X.astype(kind))
    for gamma in GAMMAS:
        estimator, certificate = MACHINES[machine]
        estimator = estimator.__class__(**{**estimator.get_params(), "gamma": gamma})
        estimator.fit(X[:90], y[:90])
        assert_right(estimator, X, kind)
        assert_certified(estimator, certificate, X[:90], y[:90])


@pytest.mark.filterwarnings("ignore:The data are too large")
@pytest.mark.parametrize(("container", "kind"), FORMS)
@pytest.mark.parametrize("name", ["scaled", "offset 1e4", "column 1e6", "time"])
def test_fits_that_begin_in_float32(name, container, kind):
    X, y = data(name, 1050)
    X = container(X.astype(kind))
    for gamma in ("scale", 10.0):
        machine = SVC(gamma=gamma).fit(X[:1050], y[:1050])
        assert_right(machine, X[1000:1200], kind)
        assert_certified(machine, certificates.of_svc, X[:1050], y[:1050])


def test_large_coefficients_in_float32():
    """Kernel values that are all close to 1, with coefficients of 1e8."""
    X, y = load_iris(return_X_y=True)
    X = scale(X).astype(np.float32)
    machine = SVC(C=1e8, gamma=1e-7).fit(X, y)
    assert machine.score(X, y) == machine.score(X.astype(np.float64), y) > 0.97


@pytest.mark.filterwarnings("ignore:The data are too large")
def test_rows_of_float32_that_float32_cannot_tell_apart():
    rng = np.random.default_rng(0)
    X = rng.integers(0, 3_000_000, size=(600, 5)).astype(np.float32)
    y = rng.integers(0, 2, 600)
    for container in (np.asarray, sp.csr_matrix):
        rows = container(X)
        assert SVC(gamma=0.1).fit(rows, y).score(rows, y) == 1.0


@pytest.mark.parametrize("container", [np.asarray, sp.csr_matrix])
def test_a_product_of_many_terms_in_float32(container):
    """One large feature before hundreds of small ones: every addition is off by a unit of the large
    one, and for a support vector and itself all of it shows."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 300))
    X[:, 0] = 128 * rng.integers(-15, 15, size=40)
    X, y = X.astype(np.float32), np.where(np.arange(40) % 2, 1.0, -1.0)
    for gamma in (1e-4, 3e-4, 1e-3):
        machine = SVC(gamma=gamma).fit(container(X), y)
        assert_right(machine, container(X), "float32")


@pytest.mark.parametrize("container", [np.asarray, sp.csr_matrix])
@pytest.mark.parametrize("machine", [SVC(C=16, gamma=4), SVR(C=10), OneClassSVM(nu=0.2)])
def test_certificates_of_float32_rows_have_exact_gaps(machine, container):
    """The decision values that count in the gap are computed in float64, without a second fit."""
    rng = np.random.default_rng(1)
    X = rng.normal(size=(1300, 6))
    y = np.sin(X[:, 0]) + X[:, 1] * X[:, 2]
    y = y if isinstance(machine, SVR) else np.where(y > 0, 1.0, -1.0)
    machine = clone(machine).fit(container(X), y)
    assert machine.solution_.precision == "float32"
    certificate = MACHINES[type(machine).__name__][1]
    assert_certified(machine, certificate, X, y)


def test_certificates_where_errors_are_dear():
    """With a large C, rounding that is below tol still shows in the gap: examples at the margin
    cost C times the error of their decision values."""
    rng = np.random.default_rng(1)
    X = (rng.random((1050, 20)) < 0.3).astype(float)
    y = scale(X @ rng.normal(size=20))
    machine = SVR(C=1000.0, gamma=0.001).fit(X, y)
    assert_certified(machine, certificates.of_svr, X, y)
    rng = np.random.default_rng(7)
    X = rng.normal(size=(20, 10))
    X[:, 0] = 1.7e9 + np.round(1e5 * X[:, 0])
    y = scale(X[:, 0])
    machine = SVR(C=1000.0, gamma=1e-10).fit(sp.csr_matrix(X), y)
    assert_certified(machine, certificates.of_svr, X, y)


@pytest.mark.parametrize("kernel", ["poly", "sigmoid", "linear"])
@pytest.mark.parametrize("container", [np.asarray, sp.csr_matrix])
def test_other_kernels_in_float32(kernel, container):
    """Their products do not cancel, but rounding grows with the norm of the row."""
    X, y = data("offset 3")
    machine = SVC(kernel=kernel, degree=3, gamma=0.1, coef0=-1.0)
    rows = container(X.astype(np.float32))
    machine.fit(rows[:90], y[:90])
    rows = sp.vstack([rows, rows * 1000]) if sp.issparse(rows) else np.vstack([rows, rows * 1000])
    values, exact = decision(machine, rows), decision(machine, rows.astype(np.float64))
    assert np.abs(values - exact).max() <= ENOUGH["float32"]


@pytest.mark.filterwarnings("ignore:The data are too large")
@pytest.mark.parametrize("name", ["scaled", "offset 1e4", "time", "time with zeros"])
@pytest.mark.parametrize("container", [np.asarray, sp.csr_matrix])
def test_a_row_has_one_answer(name, container, tmp_path):
    """Alone, in a batch, in either type, from the estimator and from a file."""
    X, y = data(name)
    X = X.astype(np.float32)
    machine = SVC(gamma=0.5).fit(container(X[:90]), y[:90])
    machine.save(tmp_path / "model")
    loaded = load(tmp_path / "model")
    exact = decision(machine, container(X.astype(np.float64)))
    for model in (machine, loaded):
        for kind in ("float32", "float64"):
            rows = container(X.astype(kind))
            batch = decision(model, rows)
            alone = np.concatenate([decision(model, rows[i : i + 1]) for i in range(len(y))])
            np.testing.assert_allclose(alone, batch, rtol=0, atol=1e-12)
            assert np.abs(batch - exact).max() <= ENOUGH["float32"]
            np.testing.assert_array_equal(model.predict(rows), machine.predict(container(X)))


@pytest.mark.filterwarnings("ignore:The data are too large")
def test_sparse_rows_of_many_columns():
    """Rows that are too sparse to be made dense, with one column of large numbers."""
    rng = np.random.default_rng(3)
    X = sp.random(80, 500, density=0.03, random_state=5, format="lil")
    X[:, 17] = 1.7e9 + rng.integers(0, 3, size=(80, 1))
    X = X.tocsr()
    light = np.asarray(X[:, 18:].sum(axis=1)).ravel()
    y = np.where(light > np.median(light), 1.0, -1.0)
    backwards = X.copy()
    for row in range(80):
        part = slice(*X.indptr[row : row + 2])
        backwards.indices[part], backwards.data[part] = X.indices[part][::-1], X.data[part][::-1]
    backwards.has_sorted_indices = False
    for rows in (X, backwards):
        machine = SVC(gamma=0.5).fit(rows, y)
        assert machine.solution_.precision == DIFFERENCES
        assert_right(machine, rows, "float64")
        assert_certified(machine, certificates.of_svc, X, y)


def test_differences_are_asked_for_by_unscaled_data_only():
    X, y = data("scaled")
    for precision in ("auto", "float64"):
        assert SVC(precision=precision).fit(X, y).solution_.precision == "float64"
    assert SVC(precision="float32").fit(X, y).solution_.precision == "float32"
    with pytest.warns(UserWarning, match="Scale the data"):
        machine = SVC(gamma=1.0, precision="float64").fit(data("time with zeros")[0], y)
    assert machine.solution_.precision == DIFFERENCES


def test_the_warning_names_the_feature():
    X, y = load_breast_cancer(return_X_y=True)
    X = np.column_stack([scale(X), np.where(np.arange(len(y)) % 20, 1.7e9, 0.0)])
    with pytest.warns(UserWarning, match=r"differences.*feature 30 makes up 100%") as caught:
        machine = SVC(gamma=1.0).fit(X, y)
    assert [warning.filename for warning in caught] == [__file__]
    machine.feature_names_in_ = np.array([f"f{i}" for i in range(30)] + ["time"], dtype=object)
    with pytest.warns(UserWarning, match="feature 'time'"):
        warn_unless_scaled(machine, X, stacklevel=2)
    with pytest.warns(UserWarning, match=r"more than tol=0.001.*feature 30"):
        SVC(kernel="sigmoid", gamma=1.0, max_iter=100_000).fit(X, y)


def test_no_warning_about_scaled_data():
    X, y = data("scaled")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for kernel in ("rbf", "linear", "poly", "sigmoid"):
            SVC(kernel=kernel).fit(X, y)


@pytest.mark.parametrize("container", [np.asarray, sp.csr_matrix])
def test_largest_feature(container):
    X = np.array([[1.0, 50.0, 3e200], [2.0, 50.0, 2e200], [3.0, 50.0, 0.0]])
    assert largest_feature(container(X), centred=True) == (2, pytest.approx(1.0))
    feature, share = largest_feature(container(X[:, :2]), centred=False)
    assert (feature, share) == (1, pytest.approx(7500 / 7514))
    assert largest_feature(container(np.zeros((3, 2))), centred=True) == (0, 1.0)
