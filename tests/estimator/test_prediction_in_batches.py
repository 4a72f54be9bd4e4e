"""Predictions of many classes are made some rows at a time, with the same answers."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.metrics.pairwise import rbf_kernel

from softmargin import SVC, NuSVC
from softmargin.estimator import kernel_expansion, one_vs_one


def blobs(classes, rows):
    rng = np.random.default_rng(0)
    y = np.repeat(np.arange(classes), rows)
    return rng.normal(size=(classes, 3))[y] + rng.normal(size=(len(y), 3)), y


@pytest.mark.thread_unsafe(reason="it changes a constant of the module")
@pytest.mark.parametrize("n_jobs", [1, 3])
@pytest.mark.parametrize(
    "kind", ["dense", "sparse", "float32", "linear", "precomputed", "callable"]
)
def test_batches_change_nothing(kind, n_jobs, monkeypatch):
    X, y = blobs(7, 15)
    points = np.random.default_rng(1).normal(size=(203, 3))
    options = {"n_jobs": n_jobs}
    if kind == "sparse":
        X, points = sp.csr_matrix(X), sp.csr_matrix(points)
    elif kind == "float32":
        X, points = X.astype(np.float32), points.astype(np.float32)
    elif kind == "linear":
        options["kernel"] = "linear"
    elif kind == "callable":
        options["kernel"] = rbf_kernel
    elif kind == "precomputed":
        options["kernel"] = "precomputed"
        X, points = rbf_kernel(X), rbf_kernel(points, X)
    machine = SVC(**options).fit(X, y)
    whole = [machine.predict(points), machine.decision_function(points)]
    machine.set_params(decision_function_shape="ovo")
    whole.append(machine.decision_function(points))
    monkeypatch.setattr(kernel_expansion, "AT_ONCE", 7 * 6 * 20)
    parts = [machine.decision_function(points)]
    machine.set_params(decision_function_shape="ovr")
    parts = [machine.predict(points), machine.decision_function(points), *parts]
    for one, other in zip(whole, parts, strict=True):
        if kind in ("precomputed", "callable"):  # products of another shape, by a BLAS
            np.testing.assert_allclose(one, other, atol=1e-12)
        else:
            np.testing.assert_array_equal(one, other)


def test_votes_are_those_of_the_pairs():
    rng = np.random.default_rng(0)
    for classes in (3, 4, 9):
        sums = rng.integers(-2, 3, size=(50, classes, classes - 1)).astype(float)
        intercept = rng.integers(-1, 2, size=classes * (classes - 1) // 2).astype(float)
        values = one_vs_one.pair_values(sums, intercept)
        votes = np.zeros((50, classes), dtype=int)
        for column, (i, j) in enumerate(one_vs_one.pairs(classes)):
            assert values[0, column] == sums[0, i, j - 1] + sums[0, j, i] + intercept[column]
            votes[:, i] += values[:, column] > 0
            votes[:, j] += values[:, column] <= 0
        for threads in (1, 3):
            found = one_vs_one.vote(sums, intercept, threads)
            np.testing.assert_array_equal(found, votes.argmax(axis=1))


def test_a_vote_of_sums_that_do_not_fit():
    with pytest.raises(ValueError, match="do not fit together"):
        one_vs_one.vote(np.zeros((2, 3, 2)), np.zeros(4))


@pytest.mark.thread_unsafe(reason="it changes a constant of the module")
def test_a_row_that_overflows_is_named_by_its_place_in_all_rows(monkeypatch):
    X, y = blobs(4, 10)
    machine = NuSVC(nu=0.2, kernel="poly", degree=3, gamma=1.0).fit(X, y)
    points = np.zeros((200, 3))
    points[150] = 1e150
    monkeypatch.setattr(kernel_expansion, "AT_ONCE", 1)
    with pytest.raises(ValueError, match="row 150 of X is not finite"):
        machine.predict(points)


PREDICT = """
import resource
import numpy as np
from softmargin import SVC
rng = np.random.default_rng(0)
y = np.repeat(np.arange(100), 3)
X = rng.normal(size=(100, 5))[y] + rng.normal(size=(300, 5))
machine = SVC(n_jobs=1).fit(X, y)
machine.predict(X[:2])
points = rng.normal(size=(5000, 5))
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
machine.predict(points)
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
"""


@pytest.mark.memory
@pytest.mark.skipif(sys.platform != "linux", reason="ru_maxrss is in other units elsewhere")
def test_memory_does_not_grow_with_rows_and_classes():
    """All sums at once would take 400 MB, and the values of the pairs half as much again."""
    child = subprocess.run([sys.executable, "-c", PREDICT], capture_output=True, text=True)
    assert child.returncode == 0, child.stderr
    assert int(child.stdout) < 80_000  # kilobytes
