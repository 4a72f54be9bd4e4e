"""The loop around the solver: it runs in slices, and between two slices Python is in charge."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any

from softmargin import _core
from softmargin.formulations import Formulation, Model
from softmargin.solution import Solution, StopReason

SLICE_SECONDS = 0.05

_STOP_REASONS = {
    _core.Outcome.optimal: StopReason.CONVERGED,
    _core.Outcome.no_progress: StopReason.NO_PROGRESS,
    _core.Outcome.unbounded: StopReason.UNBOUNDED,
}


@dataclass(frozen=True)
class Settings:
    """How to solve a problem, whatever the problem is."""

    working_set: str
    tol: float
    shrinking: bool
    cache_bytes: int
    max_iter: int
    report: Callable[[Any, float], None] | None = None
    """Called between slices with the solver's status and the seconds since the start."""


Watcher = Callable[[Any, float], StopReason | None]
_watcher: ContextVar[Watcher | None] = ContextVar("watcher", default=None)


@contextmanager
def watched(watcher: Watcher) -> Iterator[None]:
    """Has `watcher` called between the slices of every fit in this context.

    It gets the solver's status and the seconds since the start of the problem; a reason to stop
    that it returns ends the fit there, with what has been reached.
    """
    token = _watcher.set(watcher)
    try:
        yield
    finally:
        _watcher.reset(token)


def stop_reason(status: Any, seconds: float) -> StopReason | None:
    """What the watcher of this context, if there is one, says between two slices."""
    watcher = _watcher.get()
    return watcher(status, seconds) if watcher else None


def train(
    formulation: Formulation, rows: Any, ids: Any, core: Any, settings: Settings
) -> tuple[Model, Solution]:
    """Solves one problem; `rows` is the core's row source, `ids` the rows that take part."""
    start = time.perf_counter()
    dual = formulation.dual()
    solver = core.Solver(
        rows,
        ids,
        dual.p,
        [(part.start, part.lower, part.upper, part.offset) for part in dual.parts],
        dual.separate,
        settings.working_set,
        settings.tol,
        settings.shrinking,
        settings.cache_bytes,
    )
    limit = settings.max_iter if settings.max_iter >= 0 else 2**62
    stop = None
    status = solver.run(0, 0.0)
    while status.outcome == _core.Outcome.running and status.iterations < limit:
        stop = stop_reason(status, time.perf_counter() - start)
        if stop:
            break
        status = solver.run(limit - status.iterations, SLICE_SECONDS)
        if settings.report:
            settings.report(status, time.perf_counter() - start)
    reason = stop or _STOP_REASONS.get(status.outcome, StopReason.MAX_ITER)
    if reason is StopReason.UNBOUNDED:
        raise ValueError(f"{reason.cause} {reason.remedy}")
    status = solver.finish()
    if status.violation <= settings.tol:
        reason = StopReason.CONVERGED
    model = formulation.model([solver.beta(s) for s in range(len(dual.parts))], solver.gradient())
    return model, Solution(
        dual_objective=float(model.dual_objective),
        primal_objective=float(model.primal_objective),
        kkt_violation=status.violation,
        iterations=status.iterations,
        kernel_rows=status.kernel_rows,
        kernel_evaluations=status.kernel_evaluations,
        cache_hits=status.cache_hits,
        seconds=time.perf_counter() - start,
        stop_reason=reason,
        working_set=settings.working_set,
    )
