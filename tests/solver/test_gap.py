"""A fit is done when its KKT violation is at most tol and its relative duality gap at most gap_tol;
the intercept is the one with the smallest gap."""

import itertools
import warnings
from dataclasses import replace

import numpy as np
import pytest
from sklearn.datasets import make_classification
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics.pairwise import pairwise_kernels

from softmargin import SVC, SVR, LinearSVC, NuSVC, NuSVR, OneClassSVM, _core
from softmargin.fitting.tolerances import Tolerances
from softmargin.problem.formulations import CSupportVectorClassification, Part, Segments
from softmargin.solution import Certificates, Convexity, StopReason
from softmargin.working_sets import BY_NAME, Block, SecondOrder
from tests.cases.duals import FORMULATIONS, beta_of, make_case, random_data

RNG = np.random.default_rng(0)
X = RNG.normal(size=(150, 4))
SCORE = np.sin(2 * X[:, 0]) + 0.5 * X[:, 1] ** 2 + 0.1 * RNG.normal(size=150)
SIGN = np.where(np.median(SCORE) < SCORE, 1, -1)
THREE = np.digitize(SCORE, np.quantile(SCORE, [0.3, 0.7]))


def hard():
    """Fits that end with a relative gap above 1e-3 if only tol counts.  Newton steps would end them
    far below."""
    pairs = {"working_set": "second-order"}
    return [
        (SVC(C=1e4, **pairs), SIGN),
        (SVC(C=1e4, **pairs), THREE),
        (NuSVC(nu=0.3, tol=0.05, **pairs), SIGN),
        (SVR(C=1e4, **pairs), SCORE),
        (NuSVR(C=1e4, nu=0.1, **pairs), SCORE),
        (OneClassSVM(nu=0.1, tol=1.0, **pairs), None),
    ]


def with_gap_tol(machine, gap_tol):
    return type(machine)(**{**machine.get_params(), "gap_tol": gap_tol})


@pytest.mark.parametrize("case", range(6))
def test_the_gap_is_part_of_being_done(case):
    machine, y = hard()[case]
    loose = with_gap_tol(machine, None).fit(X, y).solution_
    assert loose.converged
    assert loose.relative_gap > 1e-3
    for gap_tol in (1e-3, 1e-6):
        fitted = with_gap_tol(machine, gap_tol).fit(X, y)
        assert fitted.solution_.converged
        assert fitted.solution_.kkt_violation <= machine.tol
        for one in fitted.solution_.problems or [fitted.solution_]:
            assert one.relative_gap <= gap_tol
        assert fitted.solution_.dual_objective >= loose.dual_objective
    assert type(machine)().gap_tol == 1e-3


def test_the_linear_machine_takes_the_smaller_of_its_two_limits():
    assert LinearSVC(random_state=0).fit(X, SIGN).solution_.relative_gap <= 1e-3
    for tol, gap_tol in itertools.product((1e-2, 1e-5), (None, 1e-4)):
        machine = LinearSVC(C=0.1, tol=tol, gap_tol=gap_tol, random_state=0, max_iter=100_000)
        solution = machine.fit(X, SIGN).solution_
        assert solution.converged
        assert solution.relative_gap <= min(tol, gap_tol or 1.0)


@pytest.mark.parametrize("rule", [*BY_NAME.values(), SecondOrder(newton=True), Block(8)], ids=str)
@pytest.mark.parametrize("shrinking", [True, False])
def test_every_rule_continues_to_the_gap(rule, shrinking):
    machine = SVC(C=1e3, working_set=rule, shrinking=shrinking, max_iter=2_000_000)
    if rule.name == "maximum-gain":  # may get stuck
        warnings.simplefilter("ignore", ConvergenceWarning)
    solution = machine.fit(X, SIGN).solution_
    assert solution.stop_reason in (StopReason.CONVERGED, StopReason.STUCK)
    if solution.converged:
        assert solution.relative_gap <= 1e-3


def test_a_gap_that_is_small_at_once_costs_nothing():
    easy = [(SVC(), SIGN), (NuSVC(), SIGN), (SVR(), SCORE), (NuSVR(), SCORE), (OneClassSVM(), None)]
    for machine, y in easy:
        fitted = machine.fit(X, y).solution_
        assert fitted.iterations == with_gap_tol(machine, None).fit(X, y).solution_.iterations


def test_a_fit_that_ends_without_the_gap_says_so():
    machine, y = hard()[0]
    done = with_gap_tol(machine, None).fit(X, y).solution_
    machine.set_params(max_iter=done.iterations + 10)
    with pytest.warns(ConvergenceWarning, match=r"max_iter=\d+.* relative; gap_tol=0\.001\)"):
        machine.fit(X, y)
    assert machine.solution_.stop_reason is StopReason.MAX_ITER
    with pytest.warns(ConvergenceWarning, match="for the gap, raise gap_tol"):
        SVC(C=1e4, gap_tol=1e-16, working_set="second-order").fit(X, SIGN)


def test_a_kernel_that_is_not_positive_semidefinite_has_no_gap_to_reach():
    machine = SVC(kernel="sigmoid", gamma=1.0, C=1e3).fit(X, SIGN)
    assert machine.solution_.stop_reason is StopReason.STATIONARY


def test_an_optimum_of_zero_converges():
    """The origin is in the hull of the data, so w = 0, and beside 0 no gap is small."""
    centred = X - X.mean(axis=0)
    for n in (150, 1500):  # the second one in float32 rows
        data = np.tile(centred, (n // 150, 1))
        solution = OneClassSVM(kernel="linear", nu=0.5).fit(data).solution_
        assert solution.converged
        assert solution.duality_gap <= 1e-6 * n**2
    machine = NuSVC(kernel="linear", nu=0.9).fit(np.repeat(X, 2, axis=0), np.tile([1, -1], 150))
    assert machine.solution_.converged


def test_hard_margins_are_judged_by_tol_alone():
    separable, y = make_classification(60, 5, class_sep=3, random_state=0, n_clusters_per_class=1)
    machine = SVC(C=np.inf, kernel="linear").fit(separable, y)
    assert machine.solution_.converged


# --- the best threshold -----------------------------------------------------------------------


def complementarity(b, values, beta, part):
    rise, fall = part.upper - beta, beta - part.lower
    return rise @ np.maximum(0, values - b) + fall @ np.maximum(0, b - values)


def random_terms(rng, size):
    upper = rng.choice([0.5, 1.0, 3.0], size)
    lower = -rng.choice([0.0, 1.0], size)
    beta = np.clip(rng.uniform(-1.5, 3.5, size), lower, upper)
    values = np.round(rng.normal(size=size), int(rng.integers(1, 4)))  # some are equal
    return values, beta, Part(beta, lower, upper)


@pytest.mark.parametrize("seed", range(30))
def test_the_best_threshold_is_that_of_brute_force(seed):
    """For many problems in the same arrays, and for each of them alone."""
    rng = np.random.default_rng(seed)
    some = [random_terms(rng, int(rng.integers(1, 12))) for _ in range(8)]
    starts = np.append(0, np.cumsum([len(values) for values, _, _ in some]))
    part = Part(
        *(
            np.concatenate([getattr(p, a) for *_, p in some])
            for a in vars(some[0][2])
            if a != "offset"
        )
    )
    together = Segments(starts, 0).best_threshold(
        np.concatenate([v for v, _, _ in some]), np.concatenate([b for _, b, _ in some]), part
    )
    for best, (values, beta, own) in zip(together, some, strict=True):
        alone = Segments((), len(values)).best_threshold(values, beta, own)[0]
        assert alone == pytest.approx(best, abs=1e-12)
        least = min(complementarity(b, values, beta, own) for b in values)
        assert complementarity(best, values, beta, own) <= least + 1e-12
        free = (beta > own.lower) & (beta < own.upper)
        if free.any():
            mean = values[free].mean()
            assert complementarity(best, values, beta, own) <= complementarity(
                mean, values, beta, own
            )
            if complementarity(mean, values, beta, own) <= least + 1e-12:
                assert best == pytest.approx(mean, abs=1e-9)


@pytest.mark.parametrize("falling", [False, True])
def test_models_of_joined_problems_are_those_of_each(falling):
    """Also where C differs by a factor of 2^30."""
    rng = np.random.default_rng(1)
    problems, points = [], []
    for C in sorted(2.0 ** np.arange(-15, 16, 3), reverse=falling):
        y = rng.choice([-1.0, 1.0], 60)
        bounds = C * rng.choice([0.0, 1.0, 2.0], 60)
        problems.append(CSupportVectorClassification(y, bounds, [0, 25, 60]))
        beta = y * bounds * np.clip(rng.uniform(-1, 2, 60), 0, 1)
        points.append((beta, np.round(rng.normal(size=60), 1)))  # some are equal
    joined = CSupportVectorClassification.joined(problems).models(
        [np.concatenate([beta for beta, _ in points])], np.concatenate([g for _, g in points])
    )
    each = [one.models([beta], g) for one, (beta, g) in zip(problems, points, strict=True)]
    for name in ("coef", "intercept", "primal_objective", "dual_objective"):
        expected = np.concatenate([getattr(models, name) for models in each])
        np.testing.assert_allclose(getattr(joined, name), expected, rtol=1e-12, err_msg=name)


@pytest.mark.parametrize("name", FORMULATIONS)
def test_the_gap_is_a_sum_over_the_variables(name):
    """At any feasible point: primal minus dual objective is the sum of what each variable still has
    to go, times how far it is on the wrong side of the threshold; so no intercept does better."""
    data, y, rng = random_data(3, name, n=30)
    K = pairwise_kernels(data, metric="rbf", gamma=0.5)
    case = make_case(name, K, y, rng.uniform(1.0, 10.0, len(y)))
    dual = case.formulation.dual()
    for steps in (5, 20, 60):
        solver = _core.float64.Solver(
            rows=_core.float64.Rows.precomputed(K),
            ids=np.arange(len(y), dtype=np.int32),
            p=dual.p,
            parts=[(part.start, part.lower, part.upper, part.offset) for part in dual.parts],
            separate=dual.separate,
            **SecondOrder().options(),
            tolerance=1e-3,
            shrinking=False,
            cache_bytes=2**20,
            threads=1,
        )
        solver.run(steps, 60.0)
        solver.finish()
        beta, gradient = beta_of(case, solver), solver.gradient()
        model = case.formulation.model(beta, gradient)
        if model.fault:
            continue
        values = [-(gradient + part.offset) for part in dual.parts]
        sets = [[s] for s in range(len(beta))] if dual.separate else [list(range(len(beta)))]
        gap = 0.0
        for own in sets:
            part = Part(
                np.empty(0),
                np.concatenate([dual.parts[s].lower for s in own]),
                np.concatenate([dual.parts[s].upper for s in own]),
            )
            v, b = (np.concatenate([arrays[s] for s in own]) for arrays in (values, beta))
            gap += min(complementarity(corner, v, b, part) for corner in v)
        assert model.primal_objective - model.dual_objective == pytest.approx(gap, rel=1e-9)


@pytest.mark.parametrize("gap_tol", [None, 1e-3])
def test_verdicts_of_many_are_those_of_each(gap_tol):
    solved = SVC().fit(X, SIGN).solution_
    some = [
        replace(
            solved,
            kkt_violation=violation,
            primal_objective=primal,
            dual_objective=1.0,
            convexity=convexity,
            stop_reason=reason,
        )
        for violation, primal, convexity, reason in itertools.product(
            (0.0, 1e-3, 0.1, np.nan, np.inf),
            (1.0, 1.0005, 2.0, np.inf),
            (Convexity.BY_CONSTRUCTION, Convexity.REFUTED),
            (StopReason.CONVERGED, StopReason.TIME_LIMIT, StopReason.NO_PROGRESS),
        )
    ]
    tolerances = Tolerances(1e-3, gap_tol)
    together = tolerances.verdicts(Certificates.of(some)).tolist()
    assert together == [tolerances.verdict(one) for one in some]
    assert {StopReason.CONVERGED, StopReason.STATIONARY, StopReason.TIME_LIMIT} <= set(together)


@pytest.mark.parametrize("C", [0.1, 1.0, 10.0])
@pytest.mark.parametrize("kind", [SVC, SVR])
def test_the_gap_of_float32_rows_is_that_of_float64(kind, C):
    rng = np.random.default_rng(1)
    data = 3 + rng.normal(size=(1500, 5))
    y = np.sin(2 * data[:, 0]) + 0.3 * rng.normal(size=len(data))
    y = np.sign(y) if kind is SVC else y
    machine = kind(C=C, gamma=0.3).fit(data, y)
    coef = np.zeros(len(data))
    coef[machine.support_] = machine.dual_coef_[0]
    f = pairwise_kernels(data, metric="rbf", gamma=0.3) @ coef
    error = y - f - machine.intercept_
    slack = y * error if kind is SVC else np.abs(error) - machine.epsilon
    primal = 0.5 * coef @ f + C * np.maximum(0, slack).sum()
    linear = np.abs(coef).sum() if kind is SVC else y @ coef - machine.epsilon * np.abs(coef).sum()
    found = machine.solution_
    assert found.precision == "float32"
    gap = primal - (linear - 0.5 * coef @ f)
    assert found.duality_gap == pytest.approx(gap, rel=0.05, abs=5e-6 * primal)
