"""Fits reach the optimum that quadprog finds (tests/oracles/quadprog_optimum.py)."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.metrics.pairwise import pairwise_kernels

from tests.oracles import naive
from tests.oracles.quadprog_optimum import ESTIMATORS, minimum, statement

AGREEMENT = 1e-8
TOL = 1e-9
KERNELS = {
    "linear": {},
    "poly": {"gamma": 0.3, "coef0": 1.0, "degree": 3},
    "rbf": {"gamma": 0.5},
    "sigmoid": {"gamma": 0.01, "coef0": 0.0},
}


def make_data(kernel):
    """Off the origin; for the sigmoid kernel more features than rows, where it is positive
    definite."""
    rng = np.random.default_rng(1)
    n, features = (16, 24) if kernel == "sigmoid" else (30, 3)
    X = 0.5 + rng.normal(size=(n, features))
    z = X[:, 0] + 0.5 * rng.normal(size=n)
    y = np.where(z > np.median(z), 1.0, -1.0)
    return X, y, z, rng.uniform(0.2, 3.0, n)


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
