"""The core takes the steps of the twin in naive.py, round by round, and ends where it ends.

Each goes its own way with its own rounding errors, which is why a path must not depend on them: see
naive.rounding and naive.at_bound.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from sklearn.metrics.pairwise import pairwise_kernels

from softmargin import SVC, _core, formulations
from tests import naive

core = _core.float64
FORMULATIONS = ["c_svc", "nu_svc", "one_class", "epsilon_svr", "nu_svr"]
KERNELS: dict[str, dict[str, Any]] = {
    "linear": {},
    "poly": {"gamma": 0.1, "coef0": 0.5, "degree": 3},
    "rbf": {"gamma": 0.5},
    "sigmoid": {"gamma": 0.05, "coef0": 0.0},
}
TOL = 1e-4
ROUNDING = 1e-10


@dataclass
class Case:
    """One problem, stated for the twin and for the core."""

    twin: naive.Problem
    formulation: Any
    model: Any  # from the solved twin to (coefficients, intercept)

    def alpha(self, beta):
        """The paper's variables from the core's signed ones."""
        if len(self.twin.p) == 2 * self.twin.vectors:
            return np.concatenate([beta[0], -beta[1]])
        return self.twin.y * sum(beta)


def make_case(name, K, y, C, nu=0.3, epsilon=0.1):
    if name == "c_svc":
        stated = formulations.CSupportVectorClassification(y, C)
        return Case(naive.c_svc(K, y, C), stated, naive.classifier)
    if name == "nu_svc":
        stated = formulations.NuSupportVectorClassification(y, C, nu)
        return Case(naive.nu_svc(K, y, C, nu), stated, naive.classifier)
    if name == "one_class":
        return Case(
            naive.one_class(K, C, nu), formulations.OneClass(C, nu), naive.one_class_function
        )
    if name == "epsilon_svr":
        stated = formulations.EpsilonSupportVectorRegression(y, C, epsilon)
        return Case(naive.epsilon_svr(K, y, C, epsilon), stated, naive.regressor)
    stated = formulations.NuSupportVectorRegression(y, C, nu)
    return Case(naive.nu_svr(K, y, C, nu), stated, naive.regressor)


def make_solver(case, rows, shrinking, tol=TOL):
    dual = case.formulation.dual()
    parts = [(part.start, part.lower, part.upper, part.offset) for part in dual.parts]
    ids = np.arange(len(dual.p), dtype=np.int32)
    rule = "most-violating-pair"
    return core.Solver(rows, ids, dual.p, parts, dual.separate, rule, tol, shrinking, 10**8)


def beta_of(case, solver):
    return [solver.beta(s) for s in range(len(case.formulation.dual().parts))]


def run_both(case, solver, twin):
    """Runs both round by round; returns the smallest number of active training vectors."""
    smallest = twin.active
    while not (twin.optimal or twin.stuck):
        twin.advance()
        status = solver.run(1, 60.0)
        assert status.iterations == twin.iterations
        assert status.active == twin.active
        alpha = case.alpha(beta_of(case, solver))
        np.testing.assert_allclose(alpha, twin.alpha, rtol=0, atol=ROUNDING * twin.problem.C.max())
        smallest = min(smallest, twin.active)
    assert (status.outcome == _core.Outcome.optimal) == twin.optimal
    return smallest


def random_data(seed, name, n=20, features=3):
    """Off the origin and with classes apart, so that no optimum is zero."""
    rng = np.random.default_rng(seed)
    X = 1.0 + rng.normal(size=(n, features))
    z = X[:, 0] + 0.3 * rng.normal(size=n)
    classes = np.where(z > np.median(z), 1.0, -1.0)
    X[:, 0] += 0.5 * classes
    return X, z if name.endswith("svr") else classes, rng


@pytest.mark.parametrize("shrinking", [False, True])
@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("name", FORMULATIONS)
def test_every_step_is_the_twins(name, kernel, shrinking):
    X, y, rng = random_data(7, name)
    K = pairwise_kernels(X, metric=kernel, **KERNELS[kernel])
    settings = {"gamma": 1.0, "coef0": 0.0, "degree": 1} | KERNELS[kernel]
    for C in (np.full(len(y), 0.5), rng.uniform(1.0, 10.0, len(y))):
        case = make_case(name, K, y, C)
        rows = core.Rows.examples(core.Examples.dense(X, np.empty(0)), kernel, **settings)
        solver = make_solver(case, rows, shrinking)
        twin = naive.Decomposition(case.twin, TOL, shrinking)
        run_both(case, solver, twin)
        assert twin.optimal
        check_end(case, solver, twin)


def check_end(case, solver, twin):
    """Gradient, objective and decision function at the end."""
    status = solver.finish()
    twin.reconstruct()
    scale = np.abs(twin.G).max()
    model = case.formulation.model(beta_of(case, solver), solver.gradient())
    np.testing.assert_allclose(model.dual_objective, -twin.objective, rtol=1e-9)
    np.testing.assert_allclose(status.objective, twin.objective, rtol=1e-9)
    coef, intercept = case.model(twin)
    np.testing.assert_allclose(model.coef, coef, rtol=1e-9)
    np.testing.assert_allclose(model.intercept, intercept, rtol=1e-9, atol=1e-10 * scale)


@pytest.mark.parametrize("name", FORMULATIONS)
def test_wrong_shrinking_is_repaired_as_by_the_twin(name):
    """A tight tolerance after early shrinking: gradients are rebuilt, variables come back."""
    shrunk, reconstructions = 0, 0
    for seed in range(4):
        X, y, _ = random_data(seed, name, n=25, features=2)
        K = pairwise_kernels(X, metric="rbf", gamma=1.0)
        case = make_case(name, K, y, np.full(len(y), 10.0))
        solver = make_solver(case, core.Rows.precomputed(K), True, tol=1e-6)
        twin = naive.Decomposition(case.twin, 1e-6, True)
        shrunk += run_both(case, solver, twin) < len(y)
        reconstructions += twin.reconstructions
        check_end(case, solver, twin)
    assert shrunk == 4
    assert reconstructions >= 4


@pytest.mark.parametrize("shrinking", [False, True])
@pytest.mark.parametrize("name", FORMULATIONS)
def test_repeated_rows_and_constant_columns(name, shrinking):
    """Ties that are not broken by the data, and pairs without curvature."""
    for seed, metric in [(0, "rbf"), (1, "linear")]:
        X, y, _ = random_data(seed, name)
        X = np.column_stack([X, np.full(len(X), 0.7)])
        X[1::2] = X[::2]
        K = pairwise_kernels(X, metric=metric)
        case = make_case(name, K, y, np.full(len(y), 0.3))
        solver = make_solver(case, core.Rows.precomputed(K), shrinking)
        run_both(case, solver, naive.Decomposition(case.twin, TOL, shrinking))


@pytest.mark.parametrize("shrinking", [False, True])
@pytest.mark.parametrize("name", FORMULATIONS)
def test_exact_arithmetic_gives_the_same_bits(name, shrinking):
    """Rows of the unit matrix, repeated: curvatures are 2 or 0, steps halves, and ties abound."""
    for seed in range(10):
        rng = np.random.default_rng(seed)
        X = np.eye(6)[rng.integers(0, 6, size=24)]
        K = X @ X.T
        y = rng.permutation(np.repeat([1.0, -1.0], 12))
        if name.endswith("svr"):
            y = rng.integers(-4, 5, size=24) / 4
        case = make_case(name, K, y, np.full(24, 2.0), nu=0.375, epsilon=0.25)
        solver = make_solver(case, core.Rows.precomputed(K), shrinking)
        twin = naive.Decomposition(case.twin, TOL, shrinking)
        while not (twin.optimal or twin.stuck):
            twin.advance()
            status = solver.run(1, 60.0)
            assert status.active == twin.active
            np.testing.assert_array_equal(case.alpha(beta_of(case, solver)), twin.alpha)
        assert status.iterations == twin.iterations > 0
        assert twin.optimal
        assert status.outcome == _core.Outcome.optimal


@pytest.mark.parametrize("shrinking", [False, True])
def test_slices_of_any_length_give_the_same_bits(shrinking):
    X, y, _ = random_data(3, "c_svc", n=60)
    K = pairwise_kernels(X, metric="rbf", gamma=0.5)
    case = make_case("c_svc", K, y, np.full(len(y), 10.0))
    at_once = make_solver(case, core.Rows.precomputed(K), shrinking)
    at_once.run(10**9, 60.0)
    expected = at_once.finish()
    for length in (1, 7, 100):
        sliced = make_solver(case, core.Rows.precomputed(K), shrinking)
        while sliced.run(length, 60.0).outcome == _core.Outcome.running:
            pass
        assert sliced.finish().iterations == expected.iterations
        np.testing.assert_array_equal(sliced.beta(0), at_once.beta(0))


def test_one_against_one_is_the_twins():
    rng = np.random.default_rng(0)
    X, new = rng.normal(size=(60, 2)), rng.normal(size=(200, 2))
    labels = np.array(["d", "b", "a", "c"])[rng.integers(0, 4, 60)]
    K = pairwise_kernels(X, metric="rbf", gamma=1.0)
    K_new = pairwise_kernels(new, X, metric="rbf", gamma=1.0)

    def solve(K, y):
        problem = naive.c_svc(K, y, np.full(len(y), 2.0))
        return naive.classifier(naive.Decomposition(problem, 1e-10, shrinking=False).run())

    models = naive.one_against_one(K, labels, solve)
    machine = SVC(C=2.0, gamma=1.0, tol=1e-10, decision_function_shape="ovo").fit(X, labels)
    values = np.column_stack([K_new[:, ids] @ coef + b for ids, coef, b in models.values()])
    np.testing.assert_allclose(machine.decision_function(new), values, atol=1e-8)
    np.testing.assert_array_equal(machine.predict(new), naive.vote(models, K_new))
