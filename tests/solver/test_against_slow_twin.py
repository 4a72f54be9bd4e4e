"""The core takes the steps of the twin in naive.py.

Two variables that were moved freely have the same gradient, so which of them is selected next is
often a matter of the last bit.  The twin therefore follows the core: in each round both continue
from the same point, and the twin accepts the core's choice only among variables that no rounding
can tell from its own.  Where the arithmetic is exact, nothing is left to rounding and all is equal.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.metrics.pairwise import pairwise_kernels

from softmargin import SVC, _core
from tests.cases.duals import FORMULATIONS, beta_of, make_case, random_data
from tests.oracles import naive

core = _core.float64
KERNELS: dict[str, dict[str, Any]] = {
    "linear": {},
    "poly": {"gamma": 0.1, "coef0": 0.5, "degree": 3},
    "rbf": {"gamma": 0.5},
    "sigmoid": {"gamma": 0.05, "coef0": 0.0},
}
TOL = 1e-4
ROUNDING = 1e-12


def make_solver(case, rows, shrinking, tol=TOL):
    dual = case.formulation.dual()
    parts = [(part.start, part.lower, part.upper, part.offset) for part in dual.parts]
    ids = np.arange(len(dual.p), dtype=np.int32)
    rule = "most-violating-pair"
    options = ("", 0.0, 0, False)
    return core.Solver(
        rows, ids, dual.p, parts, dual.separate, rule, *options, tol, shrinking, 10**8, 1
    )


class Follower(naive.Decomposition):
    """The twin, on the core's path wherever it cannot tell the core's choice from its own."""

    changed: tuple[int, ...] = ()

    def argmax(self, t, value):
        slack = ROUNDING * (np.abs(self.G).max() + np.abs(self.problem.p).max())
        near = t[value >= value.max() - slack]
        agreed = [variable for variable in near if variable in self.changed]
        return agreed[0] if agreed else super().argmax(t, value)

    def continue_from(self, alpha):
        Q, C = self.problem.Q, self.problem.C
        active = self.variables(self.order[: self.active])
        self.G[active] += (Q @ (alpha - self.alpha))[active]
        self.G_bar += Q @ (np.where(alpha == C, C, 0) - np.where(self.alpha == C, C, 0))
        self.alpha = alpha


def follow(case, solver, twin):
    """Runs both step by step; returns the smallest number of active training vectors."""
    alpha, smallest = twin.alpha, twin.active
    while not (twin.optimal or twin.stuck):
        status = solver.run(1, 60.0)
        before, alpha = alpha, case.alpha(beta_of(case, solver))
        twin.changed = tuple(np.flatnonzero(alpha != before))
        twin.next_step()
        assert status.iterations == twin.iterations
        assert status.active == twin.active
        np.testing.assert_allclose(alpha, twin.alpha, rtol=0, atol=ROUNDING * twin.problem.C.max())
        twin.continue_from(alpha)
        smallest = min(smallest, twin.active)
    assert (status.outcome == _core.Outcome.optimal) == twin.optimal
    return smallest


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
        twin = Follower(case.twin, TOL, shrinking)
        follow(case, solver, twin)
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
        twin = Follower(case.twin, 1e-6, True)
        shrunk += follow(case, solver, twin) < len(y)
        reconstructions += twin.reconstructions
        check_end(case, solver, twin)
    assert shrunk == 4
    assert reconstructions >= 4


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
            twin.next_step()
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
