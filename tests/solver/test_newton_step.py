"""Newton steps on the free variables: the optimum that quadprog finds, and the promises that every
other step keeps (slices, threads, a certificate from the full gradient)."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.metrics.pairwise import pairwise_kernels

from softmargin import SVC, SVR, NuSVC, NuSVR, OneClassSVM, _core
from softmargin._core import MOST_FREE
from softmargin.estimator.kernel_machine import useful_bytes
from softmargin.problem.formulations import CSupportVectorClassification
from softmargin.working_sets import Block, SecondOrder
from tests.oracles.quadprog_optimum import ESTIMATORS, minimum, statement

AGREEMENT = 1e-10
core = _core.float64


def examples(n, features, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, features))
    z = X[:, 0] + np.sin(2 * X[:, 1]) + 0.5 * rng.normal(size=n)
    return X, np.where(z > np.median(z), 1.0, -1.0), z, rng.uniform(0.5, 2.0, n)


def case(name):
    """Examples and a kernel whose optimum is at a degenerate vertex, or not unique, or both."""
    X, y, z, weight = examples(48, 2)
    if name == "repeated rows":
        group = np.arange(len(X)) // 3
        return X[group], y[group], z[group], weight, {"kernel": "rbf", "gamma": 0.5}
    if name == "zero curvature":  # of most directions: rank 3
        X = np.column_stack([X, np.full(len(X), 3.0)])  # off the origin, for the one-class machine
        return X, y, z, weight, {"kernel": "linear"}
    if name == "nearly singular":  # the smallest eigenvalues are lost in rounding
        return X, y, z, weight, {"kernel": "rbf", "gamma": 1e-3}
    grid = np.round(X)  # on a lattice, many constraints meet in one point
    return grid, y, np.round(z), weight, {"kernel": "poly", "gamma": 1.0, "coef0": 1.0, "degree": 2}


CASES = ["repeated rows", "zero curvature", "nearly singular", "degenerate vertices"]
RULES = {
    "whole problem": Block(64, newton=True),
    "blocks": Block(16, newton=True),
    "pairs": SecondOrder(newton=True),
}


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_optimum(estimator, name, rule):
    X, y, z, weight, kernel = case(name)
    settings = {key: value for key, value in kernel.items() if key != "kernel"}
    K = pairwise_kernels(X, metric=kernel["kernel"], **settings)
    problem, equalities, totals, machine, target = statement(estimator, K, y, z, weight)
    machine.set_params(**kernel, tol=1e-9, working_set=RULES[rule])
    machine.fit(X, target, sample_weight=weight)
    optimum = -minimum(problem, equalities, totals)
    scale = max(abs(optimum), 1e-3)
    assert machine.solution_.dual_objective == pytest.approx(optimum, abs=AGREEMENT * scale)


HARD = {"kernel": "rbf", "gamma": 2.0**-5, "C": 2.0**11}


@pytest.mark.parametrize(
    ("with_newton", "without"),
    [
        (Block(700, newton=True), Block(700)),
        (Block(256, newton=True), Block(256)),
        (SecondOrder(newton=True), SecondOrder()),
    ],
    ids=["whole problem", "blocks", "pairs"],
)
def test_far_fewer_iterations_on_a_hard_problem(with_newton, without):
    X, y, _, _ = examples(600, 8)
    fast = SVC(**HARD, working_set=with_newton).fit(X, y)
    slow = SVC(**HARD, working_set=without).fit(X, y)
    assert fast.solution_.converged
    assert fast.solution_.iterations < slow.solution_.iterations / 4
    assert fast.solution_.dual_objective == pytest.approx(slow.solution_.dual_objective, rel=1e-6)


def test_more_than_a_thousand_free_variables():
    """Without a tube, and with a C that no variable reaches, all are free: the dual is one linear
    system, K beta + b = z with a sum of zero."""
    X, _, z, _ = examples(1050, 6)
    K = pairwise_kernels(X, metric="rbf", gamma=0.3)
    system = np.block([[K, np.ones((len(z), 1))], [np.ones((1, len(z))), np.zeros((1, 1))]])
    beta = np.linalg.solve(system, np.append(z, 0.0))[:-1]
    rule = Block(512, newton=True)
    machine = SVR(C=1e6, epsilon=0.0, gamma=0.3, tol=1e-9, precision="float64", working_set=rule)
    solution = machine.fit(X, z).solution_
    assert np.abs(beta).max() < 1e6
    assert solution.dual_objective == pytest.approx(z @ beta - 0.5 * beta @ K @ beta, rel=AGREEMENT)


@pytest.mark.parametrize("examples", [1500, 2000, MOST_FREE, 2 * MOST_FREE])
def test_memory_for_a_step_on_all_variables(examples):
    """With cache_size="auto", of which the matrix of a step takes at most a quarter."""
    size = min(examples, MOST_FREE)
    assert useful_bytes(examples) >= max(4 * 8 * size**2, 8 * examples**2)


@pytest.mark.parametrize("shrinking", [False, True])
def test_the_violation_is_that_of_the_variables(shrinking):
    """The gradient that Newton steps keep is the one that the variables give."""
    X, y, _, _ = examples(500, 6)
    for rule in (Block(200, newton=True), SecondOrder(newton=True)):
        machine = SVC(**HARD, working_set=rule, shrinking=shrinking, tol=1e-6).fit(X, y)
        K = pairwise_kernels(X, metric="rbf", gamma=HARD["gamma"])
        beta = np.zeros(len(y))
        beta[machine.support_] = machine.dual_coef_[0]
        value = y - K @ beta
        may_rise = beta < np.where(y > 0, HARD["C"], 0.0)
        may_fall = beta > np.where(y > 0, 0.0, -HARD["C"])
        assert value[may_rise].max() - value[may_fall].min() <= 2e-6
        assert abs(beta.sum()) <= 1e-9 * HARD["C"]


@pytest.mark.parametrize("seed", range(12))
def test_both_sums_of_a_nu_regression_are_kept(seed):
    """More features than examples and weights of zero: the kernel matrix on the free variables of
    both parts is singular, and rounding must not reach the sums."""
    rng = np.random.RandomState(42 + seed)
    X, y, weight = rng.rand(15, 30), rng.randint(0, 3, 15).astype(float), rng.randint(0, 5, 15)
    order = rng.permutation(15) if seed else np.random.RandomState(0).permutation(15)
    X, y, weight = X[order], y[order], weight[order].astype(float)
    fits = [
        NuSVR(tol=1e-9, working_set=rule).fit(X, y, sample_weight=weight)
        for rule in (Block(15, newton=True), Block(15))
    ]
    objectives = [fit.solution_.dual_objective for fit in fits]
    assert objectives[0] == pytest.approx(objectives[1], rel=1e-8)
    assert abs(fits[0].dual_coef_.sum()) <= 1e-12 * weight.sum()


def hard_solver(X, y, working_set):
    dual = CSupportVectorClassification(y, np.full(len(y), HARD["C"])).dual()
    parts = [(part.start, part.lower, part.upper, part.offset) for part in dual.parts]
    K = pairwise_kernels(X, metric="rbf", gamma=HARD["gamma"])
    ids = np.arange(len(y), dtype=np.int32)
    options = (*working_set.options().values(), 1e-3, True, 10**8, 1)
    return core.Solver(core.Rows.precomputed(K), ids, dual.p, parts, dual.separate, *options)


@pytest.mark.parametrize(
    "rule", [Block(400, newton=True), Block(128, newton=True), SecondOrder(newton=True)]
)
def test_slices_of_any_length_give_the_same_steps(rule):
    X, y, _, _ = examples(300, 6)
    at_once, in_slices = hard_solver(X, y, rule), hard_solver(X, y, rule)
    whole = at_once.run(10**9, 1e9)
    state = in_slices.run(0, 0.0)
    while state.outcome == _core.Outcome.running:
        state = in_slices.run(10**9, 0.0)
    assert whole.outcome == _core.Outcome.optimal
    assert state.iterations == whole.iterations
    np.testing.assert_array_equal(in_slices.beta(0), at_once.beta(0))


def test_the_number_of_threads_changes_no_bit():
    X, y, _, _ = examples(1300, 6)
    one, two = (
        SVC(**HARD, working_set=Block(newton=True), n_jobs=threads).fit(X, y) for threads in (1, 2)
    )
    assert one.solution_.iterations == two.solution_.iterations
    np.testing.assert_array_equal(one.dual_coef_, two.dual_coef_)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_no_step_without_curvature_and_bound():
    """Rounding alone would end such a step: variables would run away to 1e20."""
    X, y, _, _ = examples(120, 2)
    machine = SVC(kernel="linear", C=np.inf, working_set=Block(newton=True)).fit(X, y)
    assert machine.solution_.kkt_violation < 1e6


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize(
    "machine", [SVC(C=100.0), SVR(C=100.0), NuSVR(C=100.0), OneClassSVM(nu=0.3)]
)
def test_a_kernel_that_is_not_positive_semidefinite(machine):
    """There is no Newton step, or one on variables where the kernel is: the fit ends either way."""
    X, y, z, _ = examples(200, 3)
    target = {"SVR": z, "NuSVR": z}.get(type(machine).__name__, y)
    machine.set_params(kernel="sigmoid", gamma=0.5, coef0=0.5, max_iter=20_000)
    machine.set_params(working_set=Block(newton=True))
    machine.fit(X, None if isinstance(machine, OneClassSVM) else target)
    assert np.isfinite(machine.solution_.dual_objective)


@pytest.mark.parametrize("n", [40, 900], ids=["together or whole", "blocks"])
def test_a_margin_of_zero_is_no_error(n):
    """Both classes have the same rows: the true margin is 0. Pair steps end slightly above it, and
    so must a fit with Newton steps, which end on either side of it."""
    X, _, _, _ = examples(n // 2, 2)
    X, y = np.vstack([X, X]), np.repeat([-1.0, 1.0], n // 2)

    def outcome(working_set):
        try:
            return NuSVC(nu=0.3, gamma=0.5, working_set=working_set).fit(X, y).predict(X).shape
        except ValueError as error:
            return type(error)

    assert outcome("auto") == outcome(Block(800 if n < 800 else 512))
