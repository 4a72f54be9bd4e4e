"""The loop around the solver: it runs in slices, and between two slices Python is in charge."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any, TypeVar

import numpy as np

from softmargin import _core
from softmargin.formulations import Array, Dual, Formulation, Model
from softmargin.kernels import CORES
from softmargin.planning import Plan
from softmargin.solution import Solution, StopReason

SLICE_SECONDS = 0.05
ENDED_EARLY = (StopReason.MAX_ITER, StopReason.TIME_LIMIT, StopReason.INTERRUPTED)

_STOP_REASONS = {
    _core.Outcome.optimal: StopReason.CONVERGED,
    _core.Outcome.no_progress: StopReason.NO_PROGRESS,
    _core.Outcome.stuck: StopReason.STUCK,
    _core.Outcome.unbounded: StopReason.UNBOUNDED,
}


Watcher = Callable[[Any, float], StopReason | None]
_watcher: ContextVar[Watcher | None] = ContextVar("watcher", default=None)


@contextmanager
def watched(watcher: Watcher) -> Iterator[None]:
    """Has `watcher` called between the slices of every fit in this context.

    It gets the solver's status and the seconds since the start of the problem; a reason to stop
    that it returns ends the fit there, with what has been reached.  Fits of several problems at a
    time call it from several threads.
    """
    token = _watcher.set(watcher)
    try:
        yield
    finally:
        _watcher.reset(token)


def current_watcher() -> Watcher | None:
    return _watcher.get()


@dataclass(frozen=True)
class Settings:
    """How to solve every problem of a fit."""

    tol: float
    shrinking: bool
    cache_bytes: int
    threads: int
    max_iter: int
    report: Callable[[Any, float], None] | None = None
    """Called between slices with the solver's status and the seconds since the start."""
    watcher: Watcher | None = field(default_factory=current_watcher)
    """That of the context in which the fit began: its threads have contexts of their own."""
    abandoned: threading.Event = field(default_factory=threading.Event)
    """Set when the fit has failed or was interrupted elsewhere."""


@dataclass
class Effort:
    """What the solvers of one problem have done, added up."""

    iterations: int = 0
    kernel_rows: int = 0
    kernel_evaluations: int = 0
    cache_hits: int = 0

    def add(self, status: Any) -> None:
        self.iterations += status.iterations
        self.kernel_rows += status.kernel_rows
        self.kernel_evaluations += status.kernel_evaluations
        self.cache_hits += status.cache_hits


def train(
    formulation: Formulation,
    source: Callable[[str], tuple[Any, Any]],
    plan: Plan,
    settings: Settings,
) -> tuple[Model, Solution]:
    """Solves one problem; `source` gives the core's row source in a precision."""
    begin = time.perf_counter()
    dual, effort, precision = formulation.dual(), Effort(), plan.precision
    start = [part.start for part in dual.parts]
    solver, status, reason = _solve(dual, start, source, precision, plan, settings, effort, begin)
    beta = [solver.beta(s) for s in range(len(dual.parts))]
    if plan.may_refine and reason not in ENDED_EARLY:
        rows, ids = source(precision)
        if rounding(beta, rows.rounding(ids)) > settings.tol:
            del solver, rows
            precision = "float64"
            solver, status, reason = _solve(
                dual, beta, source, precision, plan, settings, effort, begin
            )
            beta = [solver.beta(s) for s in range(len(dual.parts))]
    model = formulation.model(beta, solver.gradient())
    return model, Solution(
        dual_objective=float(model.dual_objective),
        primal_objective=float(model.primal_objective),
        kkt_violation=status.violation,
        iterations=effort.iterations,
        kernel_rows=effort.kernel_rows,
        kernel_evaluations=effort.kernel_evaluations,
        cache_hits=effort.cache_hits,
        seconds=time.perf_counter() - begin,
        stop_reason=reason,
        working_set=plan.working_set.name,
        working_set_reason=plan.reason,
        precision=precision,
    )


def _solve(
    dual: Dual,
    start: list[Array],
    source: Callable[[str], tuple[Any, Any]],
    precision: str,
    plan: Plan,
    settings: Settings,
    effort: Effort,
    begin: float,
) -> tuple[Any, Any, StopReason]:
    """Runs the core in slices until it is done, from a feasible start."""
    rule, (rows, ids) = plan.working_set, source(precision)
    solver = CORES[precision].Solver(
        rows,
        ids,
        dual.p,
        [
            (beta, part.lower, part.upper, part.offset)
            for beta, part in zip(start, dual.parts, strict=True)
        ],
        dual.separate,
        rule.name,
        *rule.options(),
        settings.tol,
        settings.shrinking,
        settings.cache_bytes,
        settings.threads,
    )
    limit = settings.max_iter - effort.iterations if settings.max_iter >= 0 else 2**62
    status, stop = solver.run(0, 0.0), None
    while status.outcome == _core.Outcome.running and status.iterations < limit:
        if settings.watcher:
            stop = settings.watcher(status, time.perf_counter() - begin)
        if stop:
            break
        status = solver.run(limit - status.iterations, SLICE_SECONDS)
        if settings.report:
            settings.report(status, time.perf_counter() - begin)
        if settings.abandoned.is_set():
            break
    reason = stop or _STOP_REASONS.get(status.outcome, StopReason.MAX_ITER)
    if reason is StopReason.UNBOUNDED:
        raise ValueError(f"{reason.cause} {reason.remedy}")
    status = solver.finish()
    effort.add(status)
    return solver, status, StopReason.CONVERGED if status.violation <= settings.tol else reason


def rounding(beta: list[Array], kernel_error: float) -> float:
    """About how much rounded kernel values move a decision value: errors that add up at random."""
    return 4 * kernel_error * float(np.sqrt(sum(b @ b for b in beta)))


Answer = TypeVar("Answer")


def run_all(
    tasks: Sequence[Callable[[], Answer]], at_once: int, settings: Settings
) -> list[Answer]:
    """The answers of all tasks, some of them side by side; the first failure ends them all."""
    if at_once == 1:
        return [task() for task in tasks]
    with ThreadPoolExecutor(at_once) as pool:
        futures = [pool.submit(task) for task in tasks]
        try:
            return [future.result() for future in futures]
        except BaseException:
            settings.abandoned.set()
            for future in futures:
                future.cancel()
            raise
