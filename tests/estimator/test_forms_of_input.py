"""The same data in another form give the same machine: dense and CSR, types, memory layouts.  And
the same row has the same value alone and in a batch."""

from __future__ import annotations

import os
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.datasets import load_digits, make_blobs, make_classification

from softmargin import SVC, SVR, NuSVC, NuSVR, OneClassSVM
from tests.cases.forms import (
    duplicated,
    field_of_records,
    unsorted,
    with_index_type,
    with_strides,
)

MACHINES = {
    "SVC": SVC(C=2.0),
    "NuSVC": NuSVC(nu=0.2),
    "SVR": SVR(C=2.0),
    "NuSVR": NuSVR(C=2.0),
    "OneClassSVM": OneClassSVM(nu=0.3),
}
KERNELS = ["linear", "poly", "rbf", "sigmoid"]


@pytest.fixture(scope="module")
def data():
    """Values that float32 holds exactly, a third of them zero."""
    rng = np.random.default_rng(0)
    X = rng.integers(-16, 17, size=(60, 7)) / 16 * (rng.random((60, 7)) < 2 / 3)
    X[:, 3] = 0.0
    X[5] = 0.0
    y = np.digitize(X[:, 0] + X[:, 1], [-0.3, 0.3])
    return X, y, rng.integers(-16, 17, size=(30, 7)) / 16


def values(machine, new):
    method = getattr(machine, "decision_function", machine.predict)
    return method(new)


def assert_same_machine(one, other, new, new_of_other=None):
    """The path does not depend on rounding, so that all attributes agree to rounding."""
    np.testing.assert_array_equal(one.support_, other.support_)
    dense = [
        m.dual_coef_.toarray() if sp.issparse(m.dual_coef_) else m.dual_coef_ for m in (one, other)
    ]
    np.testing.assert_allclose(*dense, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(one.intercept_, other.intercept_, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(
        values(one, new), values(other, new if new_of_other is None else new_of_other), atol=1e-9
    )
    assert one.solution_.iterations == other.solution_.iterations


def assert_same_solution(one, other, new, new_of_other):
    """Kernel values may differ in the last bit and send the solver along another path, but both
    certify the same optimum."""
    for objective in ("dual_objective", "primal_objective"):
        ours, theirs = (getattr(m.solution_, objective) for m in (one, other))
        assert ours == pytest.approx(theirs, rel=1e-7)
    difference = np.abs(values(one, new) - values(other, new_of_other)).max()
    assert difference <= 1e-5 * np.abs(values(one, new)).max()


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("name", MACHINES)
def test_dense_and_sparse(name, kernel, data):
    X, y, new = data
    settings = {"kernel": kernel, "tol": 1e-9}
    if kernel == "sigmoid":
        settings["gamma"] = 0.02  # small arguments: nearly linear, so nearly positive definite
    dense = clone(MACHINES[name]).set_params(**settings).fit(X, y)
    for container in (sp.csr_matrix, sp.csr_array, sp.csc_matrix, sp.lil_array, sp.coo_array):
        sparse = clone(dense).fit(container(X), y)
        assert sp.issparse(sparse.support_vectors_)
        assert_same_solution(dense, sparse, new, sp.csr_matrix(new))
        np.testing.assert_allclose(
            values(sparse, new), values(sparse, sp.csr_matrix(new)), rtol=0, atol=1e-12
        )
        if kernel == "linear":
            np.testing.assert_allclose(sparse.coef_.toarray(), dense.coef_, atol=1e-6)


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize(
    ("X", "y"),
    [make_blobs(80, centers=10, random_state=0), make_classification(90, 6, random_state=3)],
    ids=["blobs", "classification"],
)
def test_dense_and_sparse_with_many_classes(X, y, kernel):
    settings = {"kernel": kernel, "gamma": 0.01, "decision_function_shape": "ovo", "tol": 1e-9}
    dense, sparse = SVC(**settings).fit(X, y), SVC(**settings).fit(sp.csr_matrix(X), y)
    # Where no variable of a pair is free, its intercept may be anywhere in an interval.
    for one, other in zip(
        dense.solution_.problems or [dense.solution_],
        sparse.solution_.problems or [sparse.solution_],
        strict=True,
    ):
        assert one.dual_objective == pytest.approx(other.dual_objective, rel=1e-9)
        assert one.primal_objective == pytest.approx(other.primal_objective, rel=1e-7)
    np.testing.assert_array_equal(dense.predict(X), sparse.predict(sp.csr_matrix(X)))


@pytest.mark.parametrize("name", MACHINES)
def test_any_csr(name, data):
    X, y, new = data
    X = sp.csr_matrix(X)
    plain = clone(MACHINES[name]).fit(X, y)
    variants = {
        "int64 indices": with_index_type(X, np.int64),
        "unsorted indices": unsorted(X),
        "duplicate indices": duplicated(X),
        "strided arrays": with_strides(X),
        "explicit zeros": sp.csr_matrix(
            (
                np.concatenate([X.data, [0.0]]),
                np.append(X.indices, 6),
                np.append(X.indptr[:-1], X.nnz + 1),
            ),
            shape=X.shape,
        ),
    }
    for variant in variants.values():
        before = variant.copy()
        assert_same_machine(plain, clone(plain).fit(variant, y), new)
        np.testing.assert_array_equal(variant.data, before.data)  # the user's matrix is not changed
        np.testing.assert_array_equal(variant.indices, before.indices)
    for variant in (with_index_type(X, np.int64), unsorted(X), duplicated(X), with_strides(X)):
        np.testing.assert_allclose(values(plain, variant), values(plain, X), atol=1e-12)


FAR = 2**31 - 2


@pytest.mark.parametrize("name", MACHINES)
@pytest.mark.parametrize("kernel", KERNELS)
def test_columns_without_entries_cost_nothing(name, kernel, data):
    """Memory for two billion columns would exceed the address space."""
    X, y, new = data
    machine = clone(MACHINES[name]).set_params(kernel=kernel, gamma=0.3)
    wide = [
        sp.csr_matrix(
            (Z.data, np.where(Z.indices == 6, FAR, Z.indices), Z.indptr), (Z.shape[0], FAR + 1)
        )
        for Z in (sp.csr_matrix(X), sp.csr_matrix(new))
    ]
    with limited_address_space(4 * 2**30):
        far = clone(machine).fit(wide[0], y)
        found = values(far, wide[1])
        coef = far.coef_ if kernel == "linear" else None
    near = machine.fit(sp.csr_matrix(X), y)
    np.testing.assert_array_equal(found, values(near, sp.csr_matrix(new)))
    if kernel == "linear":
        np.testing.assert_array_equal(coef.data, near.coef_.data)
        np.testing.assert_array_equal(
            np.where(coef.indices == FAR, 6, coef.indices), near.coef_.indices
        )
    assert far.support_vectors_.shape[1] == FAR + 1


@contextmanager
def limited_address_space(more):
    """Allows `more` bytes beyond what is in use now, if the system supports such limits."""
    if not os.path.exists("/proc/self/statm"):
        yield
        return
    import resource

    now = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    before = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (now + more, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, before)


def memory_mapped(X, folder):
    np.save(folder / "X.npy", X)
    return np.load(folder / "X.npy", mmap_mode="r")


@pytest.mark.parametrize("kernel", [*KERNELS, "precomputed"])
@pytest.mark.parametrize("name", MACHINES)
def test_any_dense_array(name, kernel, data, tmp_path):
    X, y, new = data
    if kernel == "precomputed":
        X, new = X @ X.T, new @ X.T
    machine = clone(MACHINES[name]).set_params(kernel=kernel, gamma=0.02)
    plain = clone(machine).fit(X, y)
    read_only = X.copy()
    read_only.flags.writeable = False
    wide = np.zeros((2 * X.shape[0], 3 * X.shape[1]))
    wide[::2, ::3] = X
    variants = {
        "Fortran order": np.asfortranarray(X),
        "read-only": read_only,
        "memory-mapped": memory_mapped(X, tmp_path),
        "strided": wide[::2, ::3],
        "negative strides": X[::-1, ::-1].copy()[::-1, ::-1],
        "field of records": field_of_records(X),
        "list of lists": X.tolist(),
        "float32": X.astype(np.float32),
        "float32, Fortran order": np.asfortranarray(X.astype(np.float32)),
        "big-endian": X.astype(">f8"),
    }
    for variant in variants.values():
        assert_same_machine(plain, clone(machine).fit(variant, y), new)
    np.testing.assert_array_equal(values(plain, field_of_records(new)), values(plain, new))


@pytest.mark.parametrize("features", [1, 7, 16, 19, 37])
@pytest.mark.parametrize("working_set", ["auto", "second-order"])
def test_float32_examples_take_the_same_path_to_the_bit(features, working_set):
    """What a compiler fuses into one rounding must not depend on the type of the examples."""
    rng = np.random.default_rng(features)
    X = rng.normal(size=(80, features)).astype(np.float32)
    y = X[:, 0] ** 2 + rng.normal(size=80)
    machine = SVR(C=2.0, gamma=1.0 / features, precision="float64", working_set=working_set)
    wide, narrow = (clone(machine).fit(X.astype(kind), y) for kind in (np.float64, np.float32))
    np.testing.assert_array_equal(wide.dual_coef_, narrow.dual_coef_)
    assert wide.solution_.dual_objective == narrow.solution_.dual_objective


def test_integers_are_numbers(data):
    X, y, new = data
    whole = (X * 16).astype(int)
    assert_same_machine(SVC().fit(whole * 1.0, y), SVC().fit(whole, y), new * 16)


def test_float32_is_kept(data):
    X, y, new = data
    machine = SVC().fit(X.astype(np.float32), y)
    assert machine.support_vectors_.dtype == np.float32
    assert machine.decision_function(new.astype(np.float32)).dtype == np.float64


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("kernel", [*KERNELS, "callable"])
def test_a_row_alone_and_in_a_batch(kernel, sparse):
    X, y = load_digits(return_X_y=True)
    X = X / 16
    machine = SVC(kernel=kernel, decision_function_shape="ovo", C=10.0)
    if kernel == "callable":
        machine.set_params(
            kernel=lambda A, B: np.asarray((A @ B.T).todense() if sparse else A @ B.T)
        )
    container = sp.csr_matrix if sparse else np.asarray
    machine.fit(container(X[:300]), y[:300])
    new = container(X[300:600])
    batch = machine.decision_function(new)
    for size in (1, 2, 3, 17, 63, 64, 65, 128, 299):
        for start in (0, 1, 100):
            rows = slice(start, min(start + size, 300))
            difference = np.abs(machine.decision_function(new[rows]) - batch[rows]).max()
            assert difference <= 1e-12 * np.abs(batch).max()


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("name", ["SVC", "SVR"])
def test_a_row_alone_where_coefficients_cancel(name):
    """Coefficients of a million, whose products with the kernel nearly cancel."""
    rng = np.random.default_rng(0)
    X, new = rng.normal(size=(80, 3)), rng.normal(size=(70, 3))
    machine = clone(MACHINES[name]).set_params(gamma=0.05, C=1e6, max_iter=3000)
    machine.fit(X, rng.integers(0, 2, 80))
    batch = values(machine, new)
    alone = np.concatenate([values(machine, row[None]) for row in new])
    assert np.abs(alone - batch).max() <= 1e-12 * np.abs(batch).max()


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("name", MACHINES)
def test_two_fits_are_identical_to_the_bit(name, sparse, data):
    X, y, new = data
    X = sp.csr_matrix(X) if sparse else X
    one, other = (clone(MACHINES[name]).fit(X, y) for _ in range(2))
    for attribute in ("support_", "intercept_", "n_support_"):
        np.testing.assert_array_equal(getattr(one, attribute), getattr(other, attribute))
    assert (one.dual_coef_ != other.dual_coef_).sum() == 0
    np.testing.assert_array_equal(values(one, new), values(other, new))
    for field in ("dual_objective", "primal_objective", "kkt_violation", "iterations"):
        assert getattr(one.solution_, field) == getattr(other.solution_, field)
