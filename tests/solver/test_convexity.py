"""A certificate is claimed only where the kernel is known to be positive semi-definite.

The oracle: a permutation of the rows is the same problem, so the dual objective of any fit must be
within the claimed gap of any other.  Where the kernel is not positive semi-definite, different
orders end at different stationary points.
"""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer
from sklearn.exceptions import ConvergenceWarning
from sklearn.preprocessing import scale

import softmargin
from softmargin import SVC, SVR, NuSVC, NuSVR, OneClassSVM
from softmargin.solution import Convexity, StopReason


def cancer(count=200):
    X, y = load_breast_cancer(return_X_y=True)
    return scale(X)[:count], y[:count]


def squared_distances(X):
    return ((X[:, None] - X) ** 2).sum(axis=2)


def smallest_eigenvalue(K):
    """On vectors whose sum is zero, which is where the variables can move."""
    centred = K - K.mean(axis=0) - K.mean(axis=1)[:, None] + K.mean()
    return np.linalg.eigvalsh(centred)[0]


def fit_permuted(machine, data, y, order):
    data = data[np.ix_(order, order)] if machine.kernel == "precomputed" else data[order]
    return machine.fit(data, y[order]).solution_


def false_claims(machine, data, y, orders=6):
    """How many fits claim a gap that another fit's dual objective lies outside of."""
    rng = np.random.default_rng(0)
    solutions = [fit_permuted(machine, data, y, rng.permutation(len(y))) for _ in range(orders)]
    best = max(solution.dual_objective for solution in solutions)
    slack = 1e-9 * abs(best)
    return sum(best > s.dual_objective + s.duality_gap + slack for s in solutions)


def test_the_sigmoid_of_the_breast_cancer_data():
    """Its smallest eigenvalue is -1.54; a feasible point has the dual objective 288.8."""
    X, y = cancer()
    solution = SVC(kernel="sigmoid", gamma=0.01, C=10).fit(X, y).solution_
    assert solution.primal_objective < 288
    assert solution.stop_reason is StopReason.STATIONARY
    assert solution.stop_reason.cause.startswith("Stationary, not certified")
    assert solution.converged
    assert not solution.certified
    assert solution.duality_gap == solution.relative_gap == np.inf


@pytest.mark.parametrize("C", [0.1, 10, 1000])
@pytest.mark.parametrize("coef0", [-1, 0, 1])
@pytest.mark.parametrize("gamma", [0.001, 0.01, 0.1])
def test_no_sigmoid_has_a_false_certificate(gamma, coef0, C):
    X, y = cancer(120)
    machine = SVC(kernel="sigmoid", gamma=gamma, coef0=coef0, C=C)
    assert false_claims(machine, X, y) == 0
    solution, smallest = machine.solution_, smallest_eigenvalue(np.tanh(gamma * X @ X.T + coef0))
    needed = max(-smallest, 0.0) * 0.5 * len(y) * (C / 2) ** 2  # at least: no reach is below C / 2
    if solution.certified:
        assert solution.curvature_allowance >= needed - 1e-9 * solution.primal_objective
    else:
        assert solution.duality_gap == np.inf


def test_what_is_known_by_construction():
    X, y = cancer(60)
    for kernel in (
        {"kernel": "linear"},
        {"kernel": "rbf"},
        {"kernel": "poly", "coef0": 1.0},
        {"kernel": "poly", "coef0": -1.0, "degree": 1},
    ):
        solution = SVC(**kernel).fit(X, y).solution_
        assert solution.certified
        assert solution.convexity is Convexity.BY_CONSTRUCTION
        assert solution.curvature_allowance == 0
    solution = SVC(kernel="poly", degree=2, gamma=1.0, coef0=-5.0).fit(X, y).solution_
    assert solution.convexity is Convexity.REFUTED


MACHINES = [SVC(C=10), NuSVC(nu=0.2), SVR(C=10), NuSVR(C=10), OneClassSVM(nu=0.3)]


@pytest.mark.parametrize("machine", MACHINES, ids=lambda machine: type(machine).__name__)
@pytest.mark.parametrize("form", ["precomputed", "function"])
def test_a_matrix_that_is_positive_semidefinite_is_certified_without_a_word(machine, form):
    X, y = cancer(90)
    for K in (np.exp(-0.05 * squared_distances(X)), X @ X.T):
        kernel = "precomputed" if form == "precomputed" else lambda A, B, K=K: K[np.ix_(A, B)]
        data = K if form == "precomputed" else np.arange(len(K))
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            fitted = type(machine)(**{**machine.get_params(), "kernel": kernel}).fit(data, y)
        solution = fitted.solution_
        # A function is not asked for rows that no step needed, unless these are few.
        unknown = solution.kernel_rows < 0.5 * len(K) and form == "function"
        assert solution.convexity is Convexity.CHECKED or unknown
        assert solution.stop_reason is StopReason.CONVERGED
        assert solution.duality_gap == solution.primal_objective - solution.dual_objective


def test_several_classes_are_checked_pair_by_pair():
    X, _ = cancer(90)
    K, y = X @ X.T, np.arange(90) // 30
    solution = SVC(kernel="precomputed").fit(K, y).solution_
    assert [s.convexity for s in solution.problems] == 3 * [Convexity.CHECKED]
    K[0, 1] = K[1, 0] = 1e4  # of the first class
    with pytest.warns(ConvergenceWarning, match="Stationary, not certified"):
        solution = SVC(kernel="precomputed").fit(K, y).solution_
    kinds = [s.convexity for s in solution.problems]
    assert kinds == [Convexity.REFUTED, Convexity.REFUTED, Convexity.CHECKED]
    assert solution.convexity is Convexity.REFUTED
    assert solution.stop_reason is StopReason.STATIONARY


def test_positive_where_the_variables_can_move_is_enough():
    """-|a - b|^2 is not positive semi-definite, but it is on vectors whose sum is zero, where it is
    the same as 2 a'b."""
    X, y = cancer(90)
    linear = SVC(kernel="precomputed", tol=1e-6).fit(2 * X @ X.T, y).solution_
    distances = SVC(kernel="precomputed", tol=1e-6).fit(-squared_distances(X), y).solution_
    assert distances.certified
    np.testing.assert_allclose(distances.dual_objective, linear.dual_objective, rtol=1e-6)


@pytest.mark.parametrize("form", ["precomputed", "function"])
def test_a_matrix_of_the_user_that_is_not_is_warned_of(tmp_path, form):
    X, y = cancer(90)
    K = np.tanh(0.1 * X @ X.T)
    kernel = "precomputed" if form == "precomputed" else lambda A, B: K[np.ix_(A, B)]
    machine = SVC(kernel=kernel, C=10)
    with pytest.warns(ConvergenceWarning, match="Stationary, not certified"):
        machine.fit(K if form == "precomputed" else np.arange(len(K)), y)
    assert machine.fit_status_ == 0
    assert machine.solution_.duality_gap == np.inf
    if form == "precomputed":
        machine.save(tmp_path / "m")
        assert softmargin.load(tmp_path / "m").solution_ == machine.solution_


def test_a_stopped_fit_claims_nothing_either():
    X, y = cancer(90)
    with pytest.warns(ConvergenceWarning, match="the distance to the optimum is not known"):
        machine = SVC(kernel="sigmoid", gamma=0.1, max_iter=3).fit(X, y)
    assert machine.solution_.stop_reason is StopReason.MAX_ITER
    assert machine.solution_.duality_gap == np.inf


def test_rounding_to_float32_is_allowed_for():
    """The matrix is positive semi-definite up to rounding: certified, with a gap that says so."""
    X, y = cancer(200)
    K = (X @ X.T).astype(np.float32)
    K = np.maximum(K, K.T)
    smallest = smallest_eigenvalue(K.astype(np.float64))
    assert smallest < -1e-6
    machine = SVC(kernel="precomputed", C=1.0).fit(K.astype(np.float64), y)
    solution = machine.solution_
    assert solution.convexity is Convexity.CHECKED
    coef = np.zeros(len(y))
    coef[machine.support_] = machine.dual_coef_[0]
    reach = np.maximum(np.abs(coef), 1.0 - np.abs(coef))
    assert solution.curvature_allowance >= -0.5 * smallest * reach @ reach
    gap = solution.primal_objective - solution.dual_objective
    assert solution.duality_gap == gap + solution.curvature_allowance
    assert solution.relative_gap < 1e-2


def test_large_matrices_are_looked_at_in_part():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(1500, 5))
    y = X[:, 0] + 0.3 * rng.normal(size=1500) > 0
    solution = SVC(kernel="precomputed").fit(X @ X.T, y).solution_
    assert solution.convexity is Convexity.ASSUMED
    assert not solution.certified
    assert solution.stop_reason is StopReason.CONVERGED
    assert solution.duality_gap < 0.01 * solution.primal_objective
    with pytest.warns(ConvergenceWarning, match="Stationary"):
        solution = SVC(kernel="precomputed").fit(np.tanh(X @ X.T), y).solution_
    assert solution.convexity is Convexity.REFUTED
    with pytest.warns(ConvergenceWarning, match="Stationary"):
        SVC(kernel=lambda A, B: -(A @ B.T), C=1e-3).fit(X, y)  # seen in a block of the diagonal
    assert SVC(kernel="sigmoid").fit(X, y).solution_.convexity is Convexity.REFUTED


def test_the_check_of_a_function_asks_for_little_more():
    X, y = cancer(300)
    asked = 0

    def kernel(A, B):
        nonlocal asked
        asked += len(A) * len(B)
        return np.exp(-0.01 * ((A[:, None] - B) ** 2).sum(axis=2))

    for C in (0.1, 1e4):  # nearly all rows are asked for, or few of them
        asked = 0
        solution = SVC(kernel=kernel, C=C).fit(X, y).solution_
        diagonal = 4 * 64**2 + 44**2
        assert asked <= 1.1 * solution.kernel_evaluations + diagonal + 64**2
        assert solution.convexity in (Convexity.CHECKED, Convexity.ASSUMED)


def test_asymmetric_matrices_are_refused():
    X, y = cancer(569)
    K = X @ X.T
    i, j = 550, 13
    K[i, j] += 1.0
    K[3, 2] += 0.5
    with pytest.raises(ValueError, match=r"must be symmetric.*K\[550, 13\] = .* K\[13, 550\] = "):
        SVC(kernel="precomputed").fit(K, y)
    K[i, j], K[3, 2] = K[j, i] + 1e-9, K[2, 3]
    assert SVC(kernel="precomputed").fit(K, y).solution_.converged
    with pytest.raises(ValueError, match="must be symmetric"):
        SVC(kernel=lambda A, B: A @ B.T + A[:, :1] - 2 * B[:, 0]).fit(X, y)
