"""The optimum, from an independent solver of quadratic programs (quadprog).

quadprog needs a positive definite matrix, which Q is not for repeated rows, a linear kernel or any
regression.  So it solves  1/2 a'Qa + p'a + shift/2 |a - a_k|^2  again and again from its own last
answer a_k: the proximal point method, whose fixed points are the optima of the problem as stated.
"""

from __future__ import annotations

import numpy as np
import pytest
import quadprog
from sklearn.metrics.pairwise import pairwise_kernels

from softmargin import SVC, SVR, NuSVC, NuSVR, OneClassSVM
from tests.oracles import naive

AGREEMENT = 1e-8
TOL = 1e-9
KERNELS = {
    "linear": {},
    "poly": {"gamma": 0.3, "coef0": 1.0, "degree": 3},
    "rbf": {"gamma": 0.5},
    "sigmoid": {"gamma": 0.01, "coef0": 0.0},
}


def minimum(problem, equalities, totals):
    """The least value of 1/2 a'Qa + p'a with 0 <= a <= C and the given equalities."""
    Q, p, count = problem.Q, problem.p, len(problem.p)
    normals = np.vstack([equalities, np.eye(count), -np.eye(count)]).T
    offsets = np.concatenate([totals, np.zeros(count), -problem.C])
    shift = 1e-6 * np.abs(Q).max()
    alpha, least = np.zeros(count), np.inf
    for _ in range(20):
        shifted = Q + shift * np.eye(count)
        alpha = quadprog.solve_qp(shifted, shift * alpha - p, normals, offsets, len(totals))[0]
        before, least = least, 0.5 * alpha @ Q @ alpha + p @ alpha
        if abs(before - least) <= 1e-12 * abs(least):
            return least
    raise AssertionError("the proximal point method did not settle")


def make_data(kernel):
    """Off the origin; for the sigmoid kernel more features than rows, where it is positive
    definite."""
    rng = np.random.default_rng(1)
    n, features = (16, 24) if kernel == "sigmoid" else (30, 3)
    X = 0.5 + rng.normal(size=(n, features))
    z = X[:, 0] + 0.5 * rng.normal(size=n)
    y = np.where(z > np.median(z), 1.0, -1.0)
    return X, y, z, rng.uniform(0.2, 3.0, n)


def statement(name, K, y, z, weight):
    """(twin's problem, equalities, their totals, estimator, target)."""
    n = len(y)
    signs, ones = np.repeat([1.0, -1.0], n), np.ones(2 * n)
    W = weight.sum()
    if name == "SVC":
        return naive.c_svc(K, y, 2.0 * weight), [y], [0.0], SVC(C=2.0), y
    if name == "NuSVC":
        problem = naive.nu_svc(K, y, weight, 0.4)
        return problem, [y, np.ones(n)], [0.0, 0.4 * W], NuSVC(nu=0.4), y
    if name == "OneClassSVM":
        problem = naive.one_class(K, weight, 0.4)
        return problem, [np.ones(n)], [0.4 * W], OneClassSVM(nu=0.4), None
    if name == "SVR":
        problem = naive.epsilon_svr(K, z, 2.0 * weight, 0.1)
        return problem, [signs], [0.0], SVR(C=2.0, epsilon=0.1), z
    problem = naive.nu_svr(K, z, 2.0 * weight, 0.4)
    return problem, [signs, ones], [0.0, 0.4 * 2.0 * W], NuSVR(C=2.0, nu=0.4), z


ESTIMATORS = ["SVC", "NuSVC", "OneClassSVM", "SVR", "NuSVR"]


@pytest.mark.parametrize("kernel", [*KERNELS, "precomputed", "callable"])
@pytest.mark.parametrize("name", ESTIMATORS)
def test_estimators_reach_the_optimum(name, kernel):
    function = kernel if kernel in KERNELS else "rbf"
    settings = KERNELS[function]
    X, y, z, weight = make_data(function)
    K = pairwise_kernels(X, metric=function, **settings)
    problem, equalities, totals, machine, target = statement(name, K, y, z, weight)
    optimum = -minimum(problem, equalities, totals)

    machine.set_params(kernel=kernel, tol=TOL)
    if kernel == "callable":
        machine.set_params(kernel=lambda A, B: pairwise_kernels(A, B, metric="rbf", gamma=0.5))
    elif kernel != "precomputed":
        machine.set_params(**settings)
    for shrinking in (False, True):
        machine.set_params(shrinking=shrinking)
        machine.fit(K if kernel == "precomputed" else X, target, sample_weight=weight)
        assert machine.solution_.converged
        assert machine.solution_.dual_objective == pytest.approx(optimum, rel=AGREEMENT)
        assert machine.solution_.primal_objective == pytest.approx(optimum, rel=AGREEMENT)


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("name", ESTIMATORS)
def test_the_twin_reaches_the_optimum(name, kernel):
    X, y, z, weight = make_data(kernel)
    K = pairwise_kernels(X, metric=kernel, **KERNELS[kernel])
    problem, equalities, totals, _, _ = statement(name, K, y, z, weight)
    solved = naive.Decomposition(problem, 1e-6, shrinking=True).run()
    assert solved.objective == pytest.approx(minimum(problem, equalities, totals), rel=AGREEMENT)


@pytest.mark.parametrize("name", ESTIMATORS)
def test_optimum_with_repeated_rows(name):
    """Rows that are repeated: Q is singular also for the rbf kernel."""
    X, y, z, weight = make_data("rbf")
    group = np.arange(len(X)) // 3
    X, y = X[group], y[group]
    K = pairwise_kernels(X, metric="rbf", gamma=0.5)
    problem, equalities, totals, machine, target = statement(name, K, y, z, weight)
    machine.set_params(gamma=0.5, tol=TOL).fit(X, target, sample_weight=weight)
    optimum = -minimum(problem, equalities, totals)
    assert machine.solution_.dual_objective == pytest.approx(optimum, rel=AGREEMENT)
    assert machine.solution_.primal_objective == pytest.approx(optimum, rel=AGREEMENT)
