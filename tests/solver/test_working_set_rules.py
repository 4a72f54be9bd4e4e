"""The working-set rules: the steps of their twins, the paper's examples, and the same optimum."""

from __future__ import annotations

import pickle
import warnings
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics.pairwise import pairwise_kernels

from softmargin import SVC, SVR, NuSVC, NuSVR, OneClassSVM, _core
from softmargin.problem import formulations
from softmargin.solution import StopReason
from softmargin.working_sets import (
    BY_NAME,
    Block,
    HybridMaximumGain,
    MaximumGain,
    MostViolatingPair,
    SecondOrder,
)
from tests.cases.duals import FORMULATIONS, beta_of, make_case, random_data
from tests.oracles import naive, naive_rules

core = _core.float64
TOL = 1e-4
NEVER_STUCK = [
    MostViolatingPair(),
    SecondOrder(),
    HybridMaximumGain(),
    HybridMaximumGain("one"),
    HybridMaximumGain("cached"),
]
RULES = [*NEVER_STUCK, MaximumGain(), MaximumGain("one"), MaximumGain("cached")]


def make_solver(formulation, K, rule, *, tol=TOL, shrinking=False, cache_bytes=10**8):
    dual = formulation.dual()
    parts = [(part.start, part.lower, part.upper, part.offset) for part in dual.parts]
    ids = np.arange(len(dual.p), dtype=np.int32)
    options = (*rule.options().values(), tol, shrinking, cache_bytes, 1)
    rows = core.Rows.precomputed(np.ascontiguousarray(K))
    return core.Solver(rows, ids, dual.p, parts, dual.separate, *options)


def rbf_case(name, seed=0, n=14, C=None):
    n = n // 2 + 1 if name.endswith("svr") else n  # it has two variables an example
    X, y, rng = random_data(seed, name, n=n)
    K = pairwise_kernels(X, metric="rbf", gamma=0.5)
    return make_case(name, K, y, rng.uniform(1.0, 10.0, n) if C is None else C), K


# --- every step is the twin's --------------------------------------------------------------------


def as_in_the_core(problem):
    """Which of two variables is first depends on the sign of y. The core takes alpha* - alpha, the
    coefficients of a regression, for y alpha."""
    return replace(problem, y=-problem.y) if len(problem.p) > problem.vectors else problem


class Watcher:
    """Looks at the core from outside, one step at a time, and says which pairs the rule might have
    chosen: the best by the twin's scores, and what rounding cannot tell from the best."""

    def __init__(self, case, rule, tol=TOL):
        self.problem, self.rule, self.tol = as_in_the_core(case.twin), rule, tol
        self.previous: dict[int, list[int]] = {}  # the last pair of each class, the new one last
        self.seen: set[int] = set()  # training vectors whose row is cached
        self.steps = 0
        self.own_rule_fired: int | None = None  # after how many steps

    def choices(self, alpha):
        G = naive_rules.gradient(self.problem, alpha)
        if isinstance(self.rule, SecondOrder):
            return self.second_order(alpha, G)
        if isinstance(self.rule, MaximumGain) and self.previous:
            return self.maximum_gain(alpha, G)
        return self.most_violating(alpha, G)

    def most_violating(self, alpha, G):
        return near_best(naive_rules.violations(self.problem, alpha, G), np.abs(G).max())

    def second_order(self, alpha, G):
        firsts = {b1 for b1, _ in self.most_violating(alpha, G)}
        return [
            pair
            for b1 in firsts
            for pair in near_best(naive_rules.second_order(self.problem, alpha, G, b1))
        ]

    def maximum_gain(self, alpha, G):
        kept = slice(1, 2) if self.rule.rows == "one" else slice(0, 2)
        last = [b for pair in self.previous.values() for b in pair[kept]]
        if isinstance(self.rule, HybridMaximumGain) and naive_rules.in_corner(
            self.problem, alpha, last, self.rule.eta
        ):
            return self.most_violating(alpha, G)
        if self.rule.rows == "cached":
            n = self.problem.vectors
            last = [t for t in range(len(alpha)) if t % n in self.seen]
        best = near_best(naive_rules.gains(self.problem, alpha, G, last), np.abs(G).max() ** 2)
        starts = self.start_of_a_class(alpha, G, best)
        if starts:
            return starts
        lengths = [abs(naive_rules.steps(self.problem, alpha, G, *pair)[0]) for pair in best]
        long_enough = [pair for pair, mu in zip(best, lengths, strict=True) if mu > self.tol]
        if min(lengths) <= self.tol * (1 + 1e-9):  # its own rule fires: the certificate decides
            if self.own_rule_fired is None:
                self.own_rule_fired = self.steps
            return long_enough + self.most_violating(alpha, G)
        return long_enough

    def start_of_a_class(self, alpha, G, best):
        """The first pair of a class, where steps stay within one, is its most violating; it comes
        first when it violates more than the pair of largest gain."""
        violations = naive_rules.violations(self.problem, alpha, G)
        of_best = max(abs(G @ naive_rules.direction(self.problem, *pair)) for pair in best)
        new = [part for p, part in enumerate(self.problem.parts) if p not in self.previous]
        pairs = {pair: v for pair, v in violations.items() if any(part[pair[0]] for part in new)}
        starts = near_best(pairs, np.abs(G).max()) if pairs else []
        return [pair for pair in starts if pairs[pair] > of_best]

    def note(self, pair):
        key = next(p for p, part in enumerate(self.problem.parts) if part[pair[0]])
        before = self.previous.get(key, [None, None])
        new = [b for b in pair if b != before[1]]
        self.previous[key] = [next(b for b in pair if b != new[0]), new[0]]
        self.seen |= {b % self.problem.vectors for b in pair}
        self.steps += 1


def near_best(scores, scale=0.0):
    best = max(scores.values(), default=0.0)
    return [pair for pair, score in scores.items() if score >= best * (1 - 1e-9) - 1e-13 * scale]


def up_first(problem, pair, before, after):
    """The pair with the variable of which y alpha rose in front: with one row it is the one that
    the core takes for new, where both are."""
    i, j = pair
    return (i, j) if problem.y[i] * (after[i] - before[i]) > 0 else (j, i)


def watch(case, solver, rule, tol=TOL):
    """Runs the core to its end; every step must be one that the twin would take."""
    watcher = Watcher(case, rule, tol)
    alpha, status = case.alpha(beta_of(case, solver)), solver.run(0, 0.0)
    while True:
        choices = {frozenset(pair) for pair in watcher.choices(alpha)}
        status = solver.run(1, 60.0)
        after = case.alpha(beta_of(case, solver))
        changed = np.flatnonzero(after != alpha)
        if status.outcome != _core.Outcome.running:
            return watcher, status
        assert frozenset(changed) in choices
        pair = up_first(watcher.problem, changed, alpha, after)
        check_step(watcher.problem, alpha, after, pair)
        watcher.note(pair)
        alpha = after


def check_step(problem, before, after, pair):
    """The pair moved to its optimum, and f rose by equation 3."""
    G = naive_rules.gradient(problem, before)
    _, mu = naive_rules.steps(problem, before, G, *pair)
    scale = np.abs(before).max() + abs(mu)
    expected = before + mu * naive_rules.direction(problem, *pair)
    np.testing.assert_allclose(after, expected, rtol=0, atol=1e-9 * scale)
    gained = naive_rules.objective(problem, after) - naive_rules.objective(problem, before)
    gain = naive_rules.gain(problem, before, G, *pair)
    f = abs(naive_rules.objective(problem, before)) + 1.0
    np.testing.assert_allclose(gained, gain, rtol=1e-6, atol=1e-12 * f)


@pytest.mark.parametrize("rule", RULES, ids=repr)
@pytest.mark.parametrize("name", FORMULATIONS)
def test_every_step_is_the_twins(name, rule):
    case, K = rbf_case(name)
    watcher, status = watch(case, make_solver(case.formulation, K, rule), rule)
    if status.outcome == _core.Outcome.stuck:
        assert type(rule) is MaximumGain
    else:
        assert status.outcome == _core.Outcome.optimal
        assert status.violation <= TOL
        assert status.iterations > 10
    if watcher.own_rule_fired is not None:
        assert status.rule_stop == watcher.own_rule_fired


@pytest.mark.parametrize(("seed", "tol"), [(6, 0.05), (11, 0.02)])
def test_a_step_that_a_bound_cuts_short_is_no_end(seed, tol):
    """The rule's own end is a short way to the free optimum, not a variable near its bound."""
    case, K = rbf_case("c_svc", seed=seed, n=40, C=np.full(40, 0.3))
    rule = HybridMaximumGain()
    watcher, status = watch(case, make_solver(case.formulation, K, rule, tol=tol), rule, tol)
    assert status.rule_stop == watcher.own_rule_fired
    solver = make_solver(case.formulation, K, rule, tol=tol)
    lengths, before = [], solver.beta(0)
    for _ in range(status.rule_stop):
        solver.run(1, 60.0)
        lengths.append(np.abs(solver.beta(0) - before).max())
        before = solver.beta(0)
    assert min(lengths) < tol


@pytest.mark.parametrize("rule", [HybridMaximumGain(), HybridMaximumGain(eta=0.0)], ids=repr)
def test_steps_without_an_upper_bound(rule):
    """C = inf: only zero is a corner, whatever eta."""
    X, y, _ = random_data(1, "c_svc")
    K = pairwise_kernels(X, metric="rbf", gamma=2.0)
    case = make_case("c_svc", K, y, np.full(len(y), np.inf))
    _, status = watch(case, make_solver(case.formulation, K, rule), rule)
    assert status.outcome == _core.Outcome.optimal


# --- the paper's claims ---------------------------------------------------------------------------


def theorem_7(C):
    """Kernel, labels and bound of the counter-example; the variables in the order 2, 1, 4, 3, so
    that the first working set, the last of either label, is {1, 3}."""
    r = np.sqrt(3.0)
    Q = np.array([[2, r, 1, r], [r, 4, r, 3], [1, r, 2, r], [r, 3, r, 4]])
    y = np.array([-1.0, -1.0, 1.0, 1.0])
    order = [1, 0, 3, 2]
    return {"kernel": "precomputed", "C": C}, (np.outer(y, y) * Q)[np.ix_(order, order)], y[order]


@pytest.mark.parametrize("shrinking", [False, True])
def test_theorem_7_maximum_gain_gets_stuck_and_says_so(shrinking):
    parameters, K, y = theorem_7(C=0.1)
    machine = SVC(**parameters, working_set="maximum-gain", shrinking=shrinking)
    with pytest.warns(ConvergenceWarning, match="hybrid-maximum-gain"):
        machine.fit(K, y)
    assert machine.solution_.stop_reason is StopReason.STUCK
    assert machine.solution_.working_set == "maximum-gain"
    np.testing.assert_array_equal(machine.support_, [1, 3])  # the paper's 1 and 3
    np.testing.assert_array_equal(np.abs(machine.dual_coef_), [[0.1, 0.1]])
    # The slope along {2, 4}, of which each has the derivative 1 - sqrt(3) / 5.
    np.testing.assert_allclose(machine.solution_.kkt_violation, 2 - 2 * np.sqrt(3) / 5)


@pytest.mark.parametrize("rows", ["one", "two", "cached"])
@pytest.mark.parametrize("C", [0.1, 0.095])
def test_theorem_7_the_hybrid_reaches_the_optimum(rows, C):
    """Along {2, 4} the slope at (C, v, C, v) is 2 (1 - 2 sqrt(3) C - 7 v). The optimum is the
    (C, C, C, C) of the paper's Figure 5 for C <= 1 / (7 + 2 sqrt(3)) = 0.0956; at its C = 0.1 the
    free optimum, v = 0.0934, comes first."""
    parameters, K, y = theorem_7(C)
    machine = SVC(**parameters, working_set=HybridMaximumGain(rows)).fit(K, y)
    assert machine.solution_.stop_reason is StopReason.CONVERGED
    v = min(C, (1 - 2 * np.sqrt(3) * C) / 7)
    np.testing.assert_allclose(np.abs(machine.dual_coef_), [[v, C, v, C]], rtol=1e-14)
    assert machine.solution_.iterations == 2
    assert (v == C) == (C == 0.095)


def test_lemma_8_has_no_counter_example():
    assert naive_rules.lemma_8(first=0.5) == (9**4 * 3**3 * 2**4, 0)


@pytest.mark.parametrize("first", [0.0, 1.0])
def test_lemma_8_needs_a_free_variable(first):
    """With all of the previous working set at its bounds there are counter-examples."""
    _, counter_examples = naive_rules.lemma_8(first)
    assert counter_examples > 0


@st.composite
def feasible_points(draw):
    """Any symmetric Q, box, point in it and pair."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n = draw(st.integers(2, 6))
    factor = rng.normal(size=(n, draw(st.integers(1, n))))
    Q = factor @ factor.T
    if draw(st.booleans()):
        Q -= rng.uniform(0, 2) * np.eye(n)  # directions without positive curvature
    C, y = rng.uniform(0.1, 3.0, n), rng.choice([-1.0, 1.0], n)
    alpha = C * rng.choice([0.0, 1.0, 0.3, 0.8], n)
    p = rng.normal(size=n)
    problem = naive.Problem(Q, p, y, C, alpha, [np.ones(n, dtype=bool)], n)
    return problem, alpha, rng.permutation(n)[:2]


@given(feasible_points())
def test_the_gain_is_the_change_of_f(given_point):
    problem, alpha, (b1, b2) = given_point
    G = naive_rules.gradient(problem, alpha)
    _, mu = naive_rules.steps(problem, alpha, G, b1, b2)
    after = alpha + mu * naive_rules.direction(problem, b1, b2)
    assert (after >= -1e-12).all()
    assert (after <= problem.C + 1e-12).all()
    change = naive_rules.objective(problem, after) - naive_rules.objective(problem, alpha)
    gain = naive_rules.gain(problem, alpha, G, b1, b2)
    assert gain >= -1e-12
    np.testing.assert_allclose(gain, change, rtol=1e-9, atol=1e-9)


@given(feasible_points())
def test_the_core_gains_what_equation_3_says(given_point):
    """One step of the core from any feasible point."""
    problem, alpha, _ = given_point
    lower = np.where(problem.y > 0, 0.0, -problem.C)
    upper = np.where(problem.y > 0, problem.C, 0.0)
    K = np.outer(problem.y, problem.y) * problem.Q
    ids = np.arange(len(alpha), dtype=np.int32)
    part = (problem.y * alpha, lower, upper, 0.0)
    options = ("second-order", "", 0.0, 0, False, TOL, False, 10**6, 1)
    solver = core.Solver(
        core.Rows.precomputed(K), ids, problem.y * problem.p, [part], False, *options
    )
    before = solver.run(0, 0.0).objective
    np.testing.assert_allclose(-before, naive_rules.objective(problem, alpha), atol=1e-9)
    status = solver.run(1, 60.0)
    after = problem.y * solver.beta(0)
    np.testing.assert_allclose(
        -status.objective, naive_rules.objective(problem, after), rtol=1e-9, atol=1e-9
    )
    assert status.objective <= before + 1e-12


# --- kernel rows ----------------------------------------------------------------------------------


@pytest.mark.parametrize("cache_bytes", [0, 10**8])
@pytest.mark.parametrize("rows", ["one", "two", "cached"])
@pytest.mark.parametrize("name", FORMULATIONS)
def test_maximum_gain_computes_at_most_one_row_an_iteration(name, rows, cache_bytes):
    """Also where the cache holds nothing but the rows of the previous working sets. The first pair
    of each class has two new rows, and so may a pair of the certificate, after the rule's end."""
    case, K = rbf_case(name, seed=2, n=40)
    solver = make_solver(case.formulation, K, MaximumGain(rows), cache_bytes=cache_bytes)
    status, new_rows = solver.run(0, 0.0), []
    while status.outcome == _core.Outcome.running and status.rule_stop < 0:
        before, status = status.kernel_rows, solver.run(1, 60.0)
        new_rows.append(status.kernel_rows - before)
    assert len(new_rows) > 10
    assert sum(count > 1 for count in new_rows[:-1]) <= len(case.twin.parts)
    assert max(new_rows[:-1]) <= 2


def test_a_small_cache_does_not_change_the_path():
    case, K = rbf_case("c_svc", seed=3, n=60)
    for rule in (SecondOrder(), HybridMaximumGain(), HybridMaximumGain("one")):
        large, small = (
            make_solver(case.formulation, K, rule, shrinking=True, cache_bytes=budget)
            for budget in (10**8, 0)
        )
        more = small.run(10**9, 60.0).kernel_rows
        assert large.run(10**9, 60.0).kernel_rows < more
        np.testing.assert_array_equal(large.beta(0), small.beta(0))


# --- the same optimum -----------------------------------------------------------------------------

ESTIMATORS: dict[str, Any] = {
    "c_svc": SVC(C=5.0),
    "nu_svc": NuSVC(nu=0.3),
    "one_class": OneClassSVM(nu=0.3),
    "epsilon_svr": SVR(C=5.0, epsilon=0.05),
    "nu_svr": NuSVR(C=5.0, nu=0.4),
}


def total_bound(name, n):
    """The sum of all upper bounds C_t of the dual."""
    return {"c_svc": 5.0, "epsilon_svr": 10.0, "nu_svr": 10.0}.get(name, 1.0) * n


@pytest.mark.parametrize("cache_size", [1e-4, 100])
@pytest.mark.parametrize("shrinking", [False, True])
@pytest.mark.parametrize("name", ESTIMATORS)
def test_all_rules_reach_the_same_objective(name, shrinking, cache_size):
    """A violation of at most tol leaves at most tol times half the size of the box to gain."""
    X, y, _ = random_data(5, name, n=120, features=4)
    machine = clone(ESTIMATORS[name]).set_params(gamma=0.3, precision="float64")
    optimum = clone(machine).set_params(tol=1e-10).fit(X, y).solution_.dual_objective
    machine.set_params(tol=1e-3, shrinking=shrinking, cache_size=cache_size)
    for rule in (*RULES, Block(2), Block(3), Block(9), Block(64)):
        machine.set_params(working_set=rule)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            solution = machine.fit(X, y).solution_
        if solution.stop_reason is StopReason.STUCK:
            assert type(rule) is MaximumGain
            continue
        assert solution.converged
        assert solution.kkt_violation <= 1e-3
        short = optimum - solution.dual_objective
        assert -1e-8 * abs(optimum) <= short <= 1e-3 * total_bound(name, len(y)) / 2


@settings(max_examples=40)
@given(st.integers(0, 2**32 - 1), st.sampled_from(FORMULATIONS), st.sampled_from(RULES))
def test_a_rule_never_selects_a_pair_that_cannot_move(seed, name, rule):
    """Repeated rows and small boxes: most variables are at a bound, most gains are ties."""
    rng = np.random.default_rng(seed)
    X = np.eye(5)[rng.integers(0, 5, 20)] + 0.5 * rng.integers(0, 2, (20, 1))
    y = rng.permutation(np.repeat([1.0, -1.0], 10))
    C = rng.choice([0.5, 1.0, 2.0], 20)
    case = make_case(name, X @ X.T, y, C)
    solver = make_solver(case.formulation, X @ X.T, rule, shrinking=bool(rng.integers(2)))
    before = beta_of(case, solver)
    for _ in range(10_000):
        status = solver.run(1, 60.0)
        after = beta_of(case, solver)
        if status.outcome != _core.Outcome.running:
            break
        assert not np.array_equal(before, after)
        before = after
    assert status.outcome in (_core.Outcome.optimal, _core.Outcome.stuck)
    assert status.outcome == _core.Outcome.optimal or type(rule) is MaximumGain


@pytest.mark.parametrize("rule", RULES, ids=repr)
@pytest.mark.parametrize("name", FORMULATIONS)
def test_steps_keep_the_sums_down_to_rounding(name, rule):
    """At a tolerance near rounding no variable is paired with itself, whose curvature of zero would
    promise any gain."""
    case, K = rbf_case(name, seed=4, n=30)
    solver = make_solver(case.formulation, K, rule, tol=1e-13)
    start = beta_of(case, solver)
    status = solver.run(20_000, 60.0)
    beta, dual = beta_of(case, solver), case.formulation.dual()
    kept = [np.sum(b) for b in beta] if dual.separate else [np.sum(beta)]
    given = [np.sum(b) for b in start] if dual.separate else [np.sum(start)]
    np.testing.assert_allclose(kept, given, rtol=0, atol=1e-9)
    np.testing.assert_allclose(
        status.objective, -naive_rules.objective(case.twin, case.alpha(beta)), rtol=1e-9
    )


@pytest.mark.parametrize("rule", RULES, ids=repr)
def test_slices_of_any_length_give_the_same_bits(rule):
    case, K = rbf_case("c_svc", seed=3, n=60, C=np.full(60, 10.0))
    at_once = make_solver(case.formulation, K, rule, shrinking=True)
    expected = at_once.run(10**9, 60.0)
    for length in (1, 7):
        sliced = make_solver(case.formulation, K, rule, shrinking=True)
        status = sliced.run(length, 60.0)
        while status.outcome == _core.Outcome.running:
            status = sliced.run(length, 60.0)
        assert (status.outcome, status.iterations) == (expected.outcome, expected.iterations)
        np.testing.assert_array_equal(sliced.beta(0), at_once.beta(0))


def test_being_stuck_is_decided_among_all_variables():
    """Maximum gain with shrinking gets stuck only where it does without: at a point where no pair
    with a variable of the previous working set gains."""
    stuck = 0
    for seed in range(30):
        rng = np.random.default_rng(seed)
        X = rng.normal(size=(30, 2))
        y = rng.choice([-1.0, 1.0], 30)
        y[:2] = 1.0, -1.0
        K = pairwise_kernels(X, metric="rbf", gamma=0.3)
        stated = formulations.CSupportVectorClassification(y, np.full(30, 0.05))
        problem = naive.c_svc(K, y, np.full(30, 0.05))
        solver = make_solver(stated, K, MaximumGain(), shrinking=True)
        before, previous = np.zeros(30), np.empty(0, dtype=int)
        status = solver.run(1, 60.0)
        while status.outcome == _core.Outcome.running:
            alpha = y * solver.beta(0)
            previous, before = np.flatnonzero(alpha != before), alpha
            status = solver.run(1, 60.0)
        if status.outcome == _core.Outcome.stuck:
            stuck += 1
            G = naive_rules.gradient(problem, before)
            gains = naive_rules.gains(problem, before, G, previous)
            assert max(gains.values()) <= 1e-12
            assert max(naive_rules.violations(problem, before, G).values()) > TOL
    assert stuck > 0


# --- the parameter --------------------------------------------------------------------------------


@pytest.mark.parametrize("rule", [*BY_NAME, HybridMaximumGain("cached", eta=1e-6), Block(16)])
@pytest.mark.parametrize("name", ESTIMATORS)
def test_every_estimator_takes_every_rule(name, rule):
    X, y, _ = random_data(6, name, n=50)
    machine = clone(ESTIMATORS[name]).set_params(working_set=rule)
    copy = clone(machine)
    assert copy.get_params()["working_set"] == rule
    again = pickle.loads(pickle.dumps(copy.fit(X, y)))
    assert again.working_set == rule
    assert again.solution_.working_set == (rule if isinstance(rule, str) else rule.name)
    assert again.solution_.working_set_reason == "as asked"
    np.testing.assert_array_equal(again.predict(X), copy.predict(X))


def test_auto_says_what_it_chose():
    X, y, _ = random_data(6, "c_svc", n=50)
    solution = SVC().fit(X, y).solution_
    assert solution.working_set in BY_NAME
    assert "at most 800 examples" in solution.working_set_reason


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: MaximumGain("three"), "rows='three': use 'one', 'two' or 'cached'"),
        (lambda: HybridMaximumGain(rows=2), "rows=2: use"),
        (lambda: HybridMaximumGain(eta=-1e-9), r"eta=-1e-09: use a number in \[0, 0.5\)"),
        (lambda: HybridMaximumGain(eta=0.5), r"eta=0.5: use a number in \[0, 0.5\)"),
        (lambda: HybridMaximumGain(eta=float("nan")), "eta=nan: use a number"),
        (lambda: HybridMaximumGain(eta="small"), "eta='small': use a number"),
        (lambda: Block(1), "size=1: use an integer from 2 to"),
        (lambda: Block(10**10), "size=10000000000: use an integer from 2 to"),
        (lambda: Block(newton="yes"), "newton='yes': use True or False"),
    ],
)
def test_wrong_options_are_refused(make, message):
    with pytest.raises(ValueError, match=message):
        make()


@pytest.mark.parametrize("working_set", ["maximum_gain", 2, None, SecondOrder])
def test_unknown_rules_are_refused(working_set):
    with pytest.raises(ValueError, match="working_set"):
        SVC(working_set=working_set).fit([[0.0], [1.0]], [0, 1])
