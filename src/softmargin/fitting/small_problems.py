"""Solving many small kernel problems together: one call of the core solves as many as the time of a
slice allows, and the models and certificates of all of them are computed at once."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from softmargin import _core
from softmargin.fitting.held_out import Folds
from softmargin.fitting.kernel_solver import (
    ENOUGH,
    MANY_PROBLEMS,
    NEVER_SHOWS,
    OUTCOMES,
    STOPPED,
    Settings,
    in_sight_of_tolerance,
    rounding_allowed,
)
from softmargin.fitting.planning import Plan
from softmargin.fitting.problems import Stated
from softmargin.fitting.slices import NO_LIMIT, in_slices
from softmargin.problem.formulations import Array, Models
from softmargin.problem.kernels import CORES, Sources
from softmargin.solution import Certificates, Convexity, StopReason
from softmargin.watching import Watch


@dataclass(frozen=True)
class Together:
    """The answers of problems that were solved together."""

    models: Models
    certificates: Certificates
    beta: list[Array]
    held_out: Array | None = None
    """For each variable, the decision value of its example in the fold that holds it out (see
    softmargin.fitting.held_out)."""


def train_together(
    stated: Stated,
    sources: Sources,
    plan: Plan,
    settings: Settings,
    first: int,
    start: list[Array],
    folds: Folds | None = None,
) -> Together:
    """Solves the problems, which are numbered from `first`, and their `folds`.  `start` has the
    start values of all variables, by part.  If rounding of kernel values affects any problem, all
    of them continue from their current points in the next, more precise arithmetic."""
    given, before, begin = start, np.int64(0), time.perf_counter()
    count = len(stated.starts) - 1
    arithmetic: str | None = _first_arithmetic(stated, sources, plan, settings)
    if not any(part.any() for part in start):
        tell_zero_starts(stated, settings.watch, first)
    of_folds = folds.state(range(first, first + count)) if folds else []
    while arithmetic:
        used, (rows, _) = arithmetic, sources(arithmetic, stated.ids)
        solver = _solver(stated, rows, used, plan, settings, start, folds, of_folds)
        settings.watch.began(range(first, first + count), time.perf_counter() - begin)
        stop = _solve(solver, count, settings, first)
        start = [solver.beta(s) for s in range(len(start))]
        counts = before = before + solver.counts()
        reasons = _stop_reasons(solver, settings, stop)
        models = stated.formulation.models(start, solver.gradient())
        arithmetic = plan.next(used)
        if arithmetic:
            roundings = solver.roundings(rows, stated.ids)
            most = ENOUGH[used] * _enough(solver, models, settings, reasons)
            if not _rounding_shows(stated, start, models, reasons, roundings, most):
                break
    if models.faults and not stop and (plainer := plan.without_newton()):
        return train_together(stated, sources, plainer, settings, first, given, folds)
    convexity, allowance = _convexity(stated, start, models, settings, first)
    iterations, kernel_rows, kernel_evaluations, cache_hits = counts.T.copy()
    certificates = Certificates.filled(
        count,
        dual_objective=models.dual_objective,
        primal_objective=models.primal_objective,
        kkt_violation=solver.violations(),
        iterations=iterations,
        kernel_rows=kernel_rows,
        kernel_evaluations=kernel_evaluations,
        cache_hits=cache_hits,
        seconds=solver.seconds(),
        stop_reason=reasons,
        working_set=plan.working_set.name,
        working_set_reason=plan.reason,
        precision=used,
        convexity=convexity,
        curvature_allowance=allowance,
    )
    certificates.columns["stop_reason"] = settings.tolerances.verdicts(certificates)
    settings.watch.done_together(first, certificates, active=np.diff(stated.starts))
    held_out = _held_out(solver, folds, of_folds, len(start)) if folds and not stop else None
    return Together(models, certificates, start, held_out)


def tell_zero_starts(stated: Stated, watch: Watch, first: int) -> None:
    """Reports the objectives of problems that start at zero, unless there are very many."""
    at_zero = getattr(stated.formulation, "at_zero", None)
    if at_zero and watch.problems <= MANY_PROBLEMS:
        watch.started_together(first, np.asarray(at_zero()), np.diff(stated.starts))


def _first_arithmetic(stated: Stated, sources: Sources, plan: Plan, settings: Settings) -> str:
    alike = np.full(len(stated.ids), len(stated.ids) ** -0.5)

    def rounding(arithmetic: str) -> float:
        rows, _ = sources(arithmetic, stated.ids)
        return float(rows.rounding(stated.ids, alike))

    return in_sight_of_tolerance(plan, plan.arithmetics[0], rounding, settings.tolerances.tol)


def _rounding_shows(
    stated: Stated,
    beta: list[Array],
    models: Models,
    reasons: NDArray[Any],
    roundings: Array,
    most: Array,
) -> bool:
    """Whether the estimated rounding of decision values is too large in any problem: larger than
    `most`, or large enough to affect the gap of a solved problem."""
    squares = stated.formulation.dual().reach(beta)
    lengths = np.sqrt(np.add.reduceat(squares, stated.starts[:-1]))
    in_gap = _final(reasons) & (roundings * lengths > rounding_allowed(models))
    return bool((in_gap | (roundings > np.maximum(most, NEVER_SHOWS))).any())


def _held_out(solver: Any, folds: Folds, of_folds: list[Stated], parts: int) -> Array:
    """`Together.held_out`, from the folds that the core has solved."""
    points = [
        ([solver.beta(s, f + 1) for s in range(parts)], solver.gradient(f + 1))
        for f in range(len(of_folds))
    ]
    return folds.values(of_folds, points)


def _final(reasons: NDArray[Any]) -> NDArray[np.bool_]:
    final = {reason: reason.final for reason in set(reasons)}
    return np.array([final[reason] for reason in reasons])


def _enough(solver: Any, models: Models, settings: Settings, reasons: NDArray[Any]) -> Array:
    """For each problem, the violation that the rounding error of its decision values is compared
    with."""
    violations = solver.violations()
    stopped = np.maximum(settings.tolerances.tol, STOPPED * violations)
    objectives = models.primal_objective, models.dual_objective
    return np.where(_final(reasons), settings.tolerances.enough(violations, *objectives), stopped)


def _solver(
    stated: Stated,
    rows: Any,
    arithmetic: str,
    plan: Plan,
    settings: Settings,
    start: list[Array],
    folds: Folds | None,
    of_folds: list[Stated],
) -> Any:
    dual = stated.formulation.dual()
    return CORES[arithmetic].small_problems(
        rows=rows,
        ids=stated.ids,
        starts=stated.starts,
        p=dual.p,
        parts=dual.arrays(start),
        separate=dual.separate,
        **plan.working_set.options(),
        **settings.core_tolerances(int(np.diff(stated.starts).max())),
        shrinking=settings.shrinking,
        cache_bytes=settings.cache_bytes,
        max_iterations=settings.max_iter if settings.max_iter >= 0 else NO_LIMIT,
        threads=settings.threads,
        folds=[fold.formulation.dual().arrays() for fold in of_folds],
        fold_tolerance=folds.tol if folds else math.inf,
        max_fold_iterations=folds.iterations if folds else 0,
    )


def _solve(solver: Any, count: int, settings: Settings, first: int) -> StopReason | None:
    """Runs in slices until all problems have ended, or something stops the fit."""

    def look(ended: int) -> StopReason | None:
        if ended == count:  # `done_together` reports their ends
            return settings.watch.expired()
        status = solver.status(ended)
        return settings.watch.look(
            first + ended,
            iterations=status.iterations,
            violation=status.violation,
            tol=status.tolerance,
            objective=-status.objective,
            active=status.active,
            kernel_rows=status.kernel_rows,
            cache_hits=status.cache_hits,
        )

    def run(ended: int, seconds: float) -> int:
        now_ended: int = solver.run(seconds)
        return now_ended

    _, stop = in_slices(0, run, lambda ended: ended < count, look, settings.watch)
    solver.finish()
    return stop


def _convexity(
    stated: Stated, beta: list[Array], models: Models, settings: Settings, first: int
) -> tuple[NDArray[Any], Array]:
    """What is known about the kernel matrix of each problem, and its curvature allowance."""
    objectives = np.maximum(np.abs(models.dual_objective), np.abs(models.primal_objective))
    allowance = np.zeros(len(objectives))
    convexity = np.full(len(objectives), Convexity.BY_CONSTRUCTION, dtype=object)
    if settings.convexity.kernel.positive_semidefinite:  # avoids a loop over very many problems
        return convexity, allowance
    for k, (begin, end) in enumerate(pairwise(stated.starts)):
        own = [part[begin:end] for part in beta]
        convexity[k], allowance[k] = settings.convexity(first + k, own, float(objectives[k]))
    return convexity, allowance


def _stop_reasons(solver: Any, settings: Settings, stop: StopReason | None) -> NDArray[Any]:
    iterations = solver.counts()[:, 0]
    reasons = np.empty(len(iterations), dtype=object)
    reasons[:] = stop or StopReason.MAX_ITER
    if settings.max_iter >= 0:
        reasons[iterations >= settings.max_iter] = StopReason.MAX_ITER
    outcomes = solver.outcomes()
    for outcome, reason in OUTCOMES.items():
        reasons[outcomes == outcome.value] = reason
    if _core.Outcome.unbounded.value in outcomes:
        raise ValueError(f"{StopReason.UNBOUNDED.cause} {StopReason.UNBOUNDED.remedy}")
    return reasons
