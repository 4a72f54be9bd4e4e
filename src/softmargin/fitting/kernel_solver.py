"""Solving one kernel problem: running the core in slices, in the first arithmetic that is precise
enough, and computing the certificate."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial, reduce
from typing import Any

import numpy as np
from numpy.typing import NDArray

from softmargin import _core
from softmargin.fitting.certificate_cost import CertificateCost
from softmargin.fitting.planning import Plan
from softmargin.fitting.slices import NO_LIMIT, Effort, Point, in_slices
from softmargin.fitting.tolerances import Tolerances
from softmargin.problem.convexity import ConvexityCheck
from softmargin.problem.formulations import Array, Dual, Formulation, Model, Models
from softmargin.problem.kernels import CORES, DIFFERENCES
from softmargin.solution import Solution, StopReason, relative_gap
from softmargin.watching import Watch

STOPPED = 0.01
"""In a stopped fit, the rounding error of decision values may be up to this fraction of the
violation."""

ENOUGH = {"float32": 1.0, "float64": 0.01}
"""The estimated rounding of a decision value may reach this fraction of the tolerance."""

GAP, OBJECTIVE = 0.04, 4e-6
"""The estimated rounding of a converged fit's duality gap may reach this fraction of the gap, or of
the objective.  The estimate assumes that all kernel values are near 1, so it is too large: real
errors were a fifth of it on MNIST, and less on other data sets."""

SAMPLE, SAFETY = 32, 3.0
"""Rounding is measured at about this many decision values; the root of their mean squared error,
times the factor, stands for the error of any of them."""

NEVER_SHOWS = 1e-9
"""A rounding error of a decision value that is too small to matter (the margin is 1), so that no
slower arithmetic is used because of it."""

FEW_EXAMPLES, MANY_PROBLEMS = 200, 500
"""With fewer examples or more problems than this, the objectives of a problem's start are not
recorded: computing them would take a noticeable part of the fit's time."""

OUTCOMES = {
    _core.Outcome.optimal: StopReason.CONVERGED,
    _core.Outcome.no_progress: StopReason.NO_PROGRESS,
    _core.Outcome.stuck: StopReason.STUCK,
    _core.Outcome.unbounded: StopReason.UNBOUNDED,
    _core.Outcome.imprecise: StopReason.NO_PROGRESS,  # in this arithmetic: the next one follows
}


@dataclass(frozen=True)
class Settings:
    """How to solve every problem of a fit."""

    tolerances: Tolerances
    shrinking: bool
    cache_bytes: int
    threads: int
    max_iter: int
    watch: Watch
    convexity: ConvexityCheck
    save: Callable[[int, Callable[[], Point]], None] | None = None
    """Called between two slices with the problem's number and a function that returns its point."""

    def core_tolerances(self, size: int) -> dict[str, float]:
        """For problems of at most this many examples."""
        return self.tolerances.for_core(gap_counts=self.convexity.is_possible(size))


def train(
    formulation: Formulation,
    source: Callable[[str], tuple[Any, Any]],
    plan: Plan,
    settings: Settings,
    problem: int = 0,
    start: Point | None = None,
    at_end: Callable[[Any], None] | None = None,
) -> tuple[Model, Solution, Point]:
    """Solves one problem of a fit, from `start` or from the problem's own start.  `source` maps an
    arithmetic to the core's row source.  Also returns the point at which the problem ended.  At the
    end, `at_end` is called with the solver, whose cache still holds the computed kernel rows."""
    dual = formulation.dual()
    point = start or Point([part.start for part in dual.parts], plan.arithmetics[0])
    run = _Run(formulation, dual, source, plan, settings, problem, at_end is not None)
    end = run.solve_in_range(run.in_sight_of_tolerance(point))
    while more_exact := run.more_exact(end.point, end.enough):
        end = run.solve_in_range(replace(end.point, precision=more_exact))
    model, status, reason, point = end.model, end.status, end.reason, end.point
    if model.fault and reason.final and (plainer := plan.without_newton()):
        return train(formulation, source, plainer, settings, problem, start, at_end)
    objective = max(abs(model.dual_objective), abs(model.primal_objective))
    convexity, allowance = settings.convexity(problem, point.beta, float(objective))
    solution = Solution(
        **vars(point.effort),
        dual_objective=float(model.dual_objective),
        primal_objective=float(model.primal_objective),
        kkt_violation=status.violation,
        stop_reason=reason,
        working_set=plan.working_set.name,
        working_set_reason=plan.reason,
        precision=point.precision,
        convexity=convexity,
        curvature_allowance=allowance,
    )
    solution = replace(solution, stop_reason=settings.tolerances.verdict(solution))
    settings.watch.done(problem, solution, active=status.active)
    if at_end:
        at_end(end.solver)
    return model, solution, point


def rounding_allowed(model: Model | Models) -> Any:
    """How much rounding may change the duality gap: of one model, or of each of many."""
    gap = model.primal_objective - model.dual_objective
    return np.maximum(GAP * gap, OBJECTIVE * np.abs(model.primal_objective))


def in_sight_of_tolerance(
    plan: Plan, arithmetic: str, rounding: Callable[[str], float], tol: float
) -> str:
    """The first arithmetic, from this one on, whose rounding of kernel values alone is within the
    tolerance.  Numbers beyond the range of float64 are an error that differences would hide."""
    while more_exact := plan.next(arithmetic):
        off = rounding(arithmetic)
        if off <= max(tol, NEVER_SHOWS) or (off == math.inf and more_exact == DIFFERENCES):
            break
        arithmetic = more_exact
    return arithmetic


@dataclass(frozen=True)
class _End:
    """Where a run of the core ended."""

    solver: Any
    """None unless its kernel rows are still needed."""
    model: Model
    status: Any
    reason: StopReason
    point: Point
    enough: float
    """The rounding error of decision values is compared with this violation, times `ENOUGH`."""


@dataclass(frozen=True)
class _Run:
    """Runs the core on one problem."""

    formulation: Formulation
    dual: Dual
    source: Callable[[str], tuple[Any, Any]]
    plan: Plan
    settings: Settings
    problem: int
    keep_rows: bool

    def in_sight_of_tolerance(self, start: Point) -> Point:
        """The start, in the first arithmetic whose rounding alone is within the tolerance."""
        alike = np.full(len(self.dual.p), len(self.dual.p) ** -0.5)
        arithmetic = in_sight_of_tolerance(
            self.plan, start.precision, lambda one: self._rounding(one, [alike]), self.tol
        )
        return replace(start, precision=arithmetic)

    @property
    def tol(self) -> float:
        return self.settings.tolerances.tol

    def enough_if_stopped(self, status: Any) -> float:
        """Like `_End.enough`, for a stopped fit.  Such a fit is certified, not continued, so
        rounding matters only if it is a noticeable part of the violation."""
        return max(self.tol, STOPPED * float(status.violation))

    def more_exact(self, point: Point, enough: float) -> str | None:
        """The next arithmetic, if the rounding error of decision values in the current one is too
        large for the violation `enough`, and the next one has less."""
        more_exact = self.plan.next(point.precision)
        if more_exact is None:
            return None
        coefs = self.dual.coefficients(point.beta)
        rounding = self._rounding(point.precision, coefs)
        if rounding <= max(ENOUGH[point.precision] * enough, NEVER_SHOWS):
            return None
        return more_exact if self._rounding(more_exact, coefs) <= 0.5 * rounding else None

    def certified(
        self, model: Model, gradient: Any, status: Any, point: Point
    ) -> tuple[Model, float]:
        """The model of a solved problem, and the violation that the rounding error of its decision
        values is compared with.  If rounding could affect the gap, a sample of decision values is
        computed again in the next arithmetic to measure the rounding error.  If that is too large,
        all decision values that determine the gap are computed again; usually these are only those
        of the free support vectors.  (Machines with a score for each class do not compute any
        again.)  The violation is 0, which no rounding error satisfies, if the gap is then too
        large."""
        objectives = model.primal_objective, model.dual_objective
        enough = float(self.settings.tolerances.enough(status.violation, *objectives))
        more_exact = self.plan.next(point.precision)
        if more_exact is None:
            return model, enough
        coefs = self.dual.coefficients(point.beta)
        rounding = self._rounding(point.precision, coefs)
        allowed, reach = rounding_allowed(model), math.sqrt(self.dual.reach(point.beta).sum())
        if rounding * reach <= allowed:
            return model, enough
        most = self._most_gap()
        if len(coefs) > 1:
            off = SAFETY * self._measured_rounding(coefs, gradient, more_exact)
            small = off * reach <= allowed and relative_gap(*objectives) <= most
            return model, self.tol if small else 0.0
        exact_gradient = self._exact_gradient(coefs[0], more_exact)
        used = np.flatnonzero(coefs[0])
        some = used[:: max(len(used) // SAMPLE, 1)]
        errors = exact_gradient(some) - gradient[some]
        exact = model
        if SAFETY * math.sqrt(np.mean(errors**2)) * reach > allowed:
            counts = np.flatnonzero(self.dual.in_gap(point.beta, gradient, 2 * rounding))
            gradient = gradient.copy()
            gradient[counts] = exact_gradient(counts)
            exact = self.formulation.model(point.beta, gradient)
        gap = relative_gap(exact.primal_objective, exact.dual_objective)
        return exact, self.tol if gap <= most else 0.0

    def _most_gap(self) -> float:
        """The relative gap of a converged fit; infinite if the gap says nothing about it."""
        for_core = self.settings.core_tolerances(len(self.dual.p))["gap_tolerance"]
        if for_core == math.inf:
            return math.inf
        return self.settings.tolerances.gap_tol or math.inf

    def _exact_gradient(self, coef: Array, arithmetic: str) -> Callable[[NDArray[np.intp]], Array]:
        """A function that computes the gradient of some variables in this arithmetic."""
        (rows, ids), used = self.source(arithmetic), np.flatnonzero(coef)

        def gradient(of: NDArray[np.intp]) -> Array:
            sums: Array = rows.sums(ids[of], ids[used], coef[used], self.settings.threads)
            return sums + self.dual.p[of]

        return gradient

    def _measured_rounding(
        self, coefs: Sequence[Array], scores: Sequence[Array], more_exact: str
    ) -> float:
        """The root mean square of the rounding in differences of two scores, at some support
        vectors; `coefs` and `scores` have a row for each class.  The differences are those of the
        nonzero variables: the score of the example's own class, whose coefficient is positive, and
        that of a class with a negative one."""
        rows, ids = self.source(more_exact)
        some = np.flatnonzero(reduce(np.logical_or, coefs))
        some = some[:: max(len(some) // SAMPLE, 1)]
        errors, at_some = np.empty((2, len(coefs), len(some)))
        for c, (coef, score) in enumerate(zip(coefs, scores, strict=True)):
            used = np.flatnonzero(coef)
            exact = rows.sums(ids[some], ids[used], coef[used], self.settings.threads)
            errors[c], at_some[c] = exact - score[some], coef[some]
        own = errors[at_some.argmax(axis=0), np.arange(len(some))]
        off = (own - errors)[at_some < 0]
        return math.sqrt(np.mean(off**2)) if len(off) else 0.0

    def _rounding(self, arithmetic: str, coefs: Sequence[Array]) -> float:
        """The rounding error of a decision value; with several kernel expansions (one per class),
        that of the difference of two scores."""
        rows, ids = self.source(arithmetic)
        most = max(float(rows.rounding(ids, np.ascontiguousarray(coef))) for coef in coefs)
        return most if len(coefs) == 1 else math.sqrt(2) * most

    def solve_in_range(self, start: Point) -> _End:
        """Like `solve`, but kernel values beyond the range of float32 are computed in float64 if
        the plan allows it."""
        try:
            return self.solve(start)
        except _core.KernelNotFinite as error:
            more_exact = self.plan.next(start.precision)
            if more_exact and more_exact != DIFFERENCES:
                return self.solve_in_range(replace(start, precision=more_exact))
            raise ValueError(str(error)) from None

    def solve(self, start: Point) -> _End:
        """Runs in slices until the core is done or something stops it."""
        begin = time.perf_counter()
        solver = self._solver(start)
        status, reason = self._slices(solver, start, begin)
        if reason is StopReason.UNBOUNDED:
            raise ValueError(f"{reason.cause} {reason.remedy}")
        if status.outcome != _core.Outcome.imprecise:
            status = solver.finish()
        point = self._point(solver, status, start, begin)
        gradient, enough = self.dual.gradient(solver), self.enough_if_stopped(status)
        model = self.formulation.model(point.beta, gradient)
        if reason.final:
            model, enough = self.certified(model, gradient, status, point)
        return _End(solver if self.keep_rows else None, model, status, reason, point, enough)

    def _solver(self, start: Point) -> Any:
        rule, (rows, ids) = self.plan.working_set, self.source(start.precision)
        return self.dual.solver(
            CORES[start.precision],
            start.beta,
            rows=rows,
            ids=ids,
            **rule.options(),
            **self.settings.core_tolerances(len(self.dual.p)),
            shrinking=self.settings.shrinking,
            cache_bytes=self.settings.cache_bytes,
            threads=self.settings.threads,
            most_rounding=self._most_rounding(start.precision),
            keep_rows=self.keep_rows,
        )

    def _most_rounding(self, arithmetic: str) -> float:
        """The rounding error at which the core stops.  If float32 rows cannot reach the tolerance,
        it is best to change to float64 early."""
        if arithmetic != "float32" or self.plan.next(arithmetic) is None:
            return math.inf
        return max(ENOUGH[arithmetic] * self.tol, NEVER_SHOWS)

    def _slices(self, solver: Any, start: Point, begin: float) -> tuple[Any, StopReason]:
        max_iter, limit = self.settings.max_iter, NO_LIMIT
        if max_iter >= 0:
            limit = max(max_iter - start.effort.iterations, 0)

        def running(status: Any) -> bool:
            return bool(status.outcome == _core.Outcome.running and status.iterations < limit)

        def run(status: Any, seconds: float) -> Any:
            return solver.run(limit - status.iterations, seconds)

        limited = self.settings.watch.time_limit is not None
        cost = CertificateCost(len(self.dual.p)) if limited else None

        def look(status: Any) -> StopReason | None:
            if cost:
                now = replace(start, beta=self.dual.variables(solver))
                again = self.more_exact(now, self.enough_if_stopped(status)) is not None
                self.settings.watch.reserve(self.problem, cost.seconds(status, now.beta, again))
            stop = self._look(solver, status, start.effort)
            if self.settings.save:
                point = partial(self._point, solver, status, start, begin)
                self.settings.save(self.problem, point)
            return stop

        watch = self.settings.watch
        if watch.expired():
            solver.stop()
        with watch.hurried(self.problem, solver.stop):
            first = solver.run(0, 0.0)
            watch.began(range(self.problem, self.problem + 1), time.perf_counter() - begin)
            self._tell_start(solver, start)
            status, stop = in_slices(first, run, running, look, watch)
        return status, OUTCOMES.get(status.outcome, stop or StopReason.MAX_ITER)

    def _tell_start(self, solver: Any, start: Point) -> None:
        watch, size = self.settings.watch, len(self.dual.p)
        at_zero = getattr(self.formulation, "at_zero", None)
        if watch.problems > MANY_PROBLEMS:
            return
        if at_zero and not any(beta.any() for beta in start.beta):
            watch.started(self.problem, 0.0, float(at_zero()[0]), active=size)
        elif size >= FEW_EXAMPLES:
            with watch.measured():
                model = self._model(solver)
            objectives = model.dual_objective, model.primal_objective
            watch.started(self.problem, *objectives, active=size)

    def _gap(self, solver: Any, status: Any) -> float:
        """The duality gap, if the gradient is complete and there is time for it, else NaN."""
        watch = self.settings.watch
        ended = status.outcome != _core.Outcome.running  # then the certificate has the gap
        if ended or status.active < len(self.dual.p) or not watch.may_measure():
            return math.nan
        with watch.measured():
            model = self._model(solver)
        return model.primal_objective - model.dual_objective

    def _model(self, solver: Any) -> Model:
        return self.formulation.model(self.dual.variables(solver), self.dual.gradient(solver))

    def _look(self, solver: Any, status: Any, before: Effort) -> StopReason | None:
        return self.settings.watch.look(
            self.problem,
            iterations=before.iterations + status.iterations,
            violation=status.violation,
            tol=status.tolerance,
            objective=-status.objective,
            active=status.active,
            kernel_rows=before.kernel_rows + status.kernel_rows,
            cache_hits=before.cache_hits + status.cache_hits,
            gap=self._gap(solver, status),
        )

    def _point(self, solver: Any, status: Any, start: Point, begin: float) -> Point:
        beta = list(self.dual.variables(solver))
        effort = start.effort.plus(status, time.perf_counter() - begin)
        return Point(beta, start.precision, effort)
