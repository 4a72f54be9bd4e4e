"""The loop around the solver: it runs in slices, and between two slices Python is in charge."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from concurrent.futures import TimeoutError as StillRunning
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, TypeVar

import numpy as np

from softmargin import _core
from softmargin.formulations import Array, Dual, Formulation, Model
from softmargin.kernels import CORES
from softmargin.planning import Plan
from softmargin.solution import Solution, StopReason
from softmargin.watching import Abandoned, Watch, watched

__all__ = ["NO_LIMIT", "Effort", "Point", "Settings", "in_slices", "run_all", "train", "watched"]

FIRST_SLICE, LONGEST_SLICE = 0.002, 0.05
"""Seconds.  Slices double from the first to the longest, so that short fits have a history too."""

NO_LIMIT = 2**62
"""More iterations than any fit takes, and few enough for the core to count."""

STOPPED = 0.01
"""The share of its violation by which rounding may change the certificate of a stopped fit."""

_STOP_REASONS = {
    _core.Outcome.optimal: StopReason.CONVERGED,
    _core.Outcome.no_progress: StopReason.NO_PROGRESS,
    _core.Outcome.stuck: StopReason.STUCK,
    _core.Outcome.unbounded: StopReason.UNBOUNDED,
}


@dataclass
class Effort:
    """What the solvers of one problem have done, added up."""

    iterations: int = 0
    kernel_rows: int = 0
    kernel_evaluations: int = 0
    cache_hits: int = 0
    seconds: float = 0.0

    def plus(self, status: Any, seconds: float) -> Effort:
        return Effort(
            self.iterations + status.iterations,
            self.kernel_rows + status.kernel_rows,
            self.kernel_evaluations + status.kernel_evaluations,
            self.cache_hits + status.cache_hits,
            self.seconds + seconds,
        )


@dataclass(frozen=True)
class Point:
    """Where a problem stands: its variables (by part; those of a linear machine as in CSR), the
    precision that they are worked on with, and the effort so far.  A solver can start from any."""

    beta: list[Any]
    precision: str
    effort: Effort = field(default_factory=Effort)


@dataclass(frozen=True)
class Settings:
    """How to solve every problem of a fit."""

    tol: float
    shrinking: bool
    cache_bytes: int
    threads: int
    max_iter: int
    watch: Watch
    save: Callable[[int, Callable[[], Point]], None] | None = None
    """Given the problem's number and a way to get its point, between two slices."""


def train(
    formulation: Formulation,
    source: Callable[[str], tuple[Any, Any]],
    plan: Plan,
    settings: Settings,
    problem: int = 0,
    start: Point | None = None,
    name: Any = None,
) -> tuple[Model, Solution, Point]:
    """Solves one problem of a fit, from its own start or the given one; `source` gives the core's
    row source in a precision, and `name` tells the user which problem has a fault.  Returns also
    where the problem stands at the end."""
    dual = formulation.dual()
    point = start or Point([part.start for part in dual.parts], plan.precision)
    run = _Run(dual, source, plan, settings, problem)
    solver, status, reason, point = run.solve_in_range(point)
    if plan.may_refine and point.precision == "float32":
        rows, ids = source(point.precision)
        # A fit that was stopped is not gone on with, but certified: rounded rows would make its gap
        # look smaller than it is where they are what is left of the violation.
        enough = settings.tol if reason.final else max(settings.tol, STOPPED * status.violation)
        if rounding(point.beta, rows.rounding(ids)) > enough:
            del solver, rows
            solver, status, reason, point = run.solve(replace(point, precision="float64"))
    model = formulation.model(point.beta, solver.gradient())
    if reason is StopReason.CONVERGED and model.fault:
        raise ValueError(model.fault if name is None else f"Classes {name}: {model.fault}")
    solution = Solution(
        dual_objective=float(model.dual_objective),
        primal_objective=float(model.primal_objective),
        kkt_violation=status.violation,
        iterations=point.effort.iterations,
        kernel_rows=point.effort.kernel_rows,
        kernel_evaluations=point.effort.kernel_evaluations,
        cache_hits=point.effort.cache_hits,
        seconds=point.effort.seconds,
        stop_reason=reason,
        working_set=plan.working_set.name,
        working_set_reason=plan.reason,
        precision=point.precision,
    )
    settings.watch.done(problem, solution, active=status.active)
    return model, solution, point


@dataclass(frozen=True)
class _Run:
    """Runs the core on one problem."""

    dual: Dual
    source: Callable[[str], tuple[Any, Any]]
    plan: Plan
    settings: Settings
    problem: int

    def solve_in_range(self, start: Point) -> tuple[Any, Any, StopReason, Point]:
        """As `solve`; kernel values beyond the range of float32 are no error where float64 is an
        alternative."""
        try:
            return self.solve(start)
        except _core.KernelNotFinite as error:
            if start.precision == "float32" and self.plan.may_refine:
                return self.solve_in_range(replace(start, precision="float64"))
            raise ValueError(str(error)) from None

    def solve(self, start: Point) -> tuple[Any, Any, StopReason, Point]:
        """Runs in slices until the core is done or something stops it."""
        begin = time.perf_counter()
        solver = self._solver(start)
        status, reason = self._slices(solver, start, begin)
        if reason is StopReason.UNBOUNDED:
            raise ValueError(f"{reason.cause} {reason.remedy}")
        status = solver.finish()
        if status.violation <= self.settings.tol:
            reason = StopReason.CONVERGED
        return solver, status, reason, self._point(solver, status, start, begin)

    def _solver(self, start: Point) -> Any:
        rule, (rows, ids) = self.plan.working_set, self.source(start.precision)
        return CORES[start.precision].Solver(
            rows,
            ids,
            self.dual.p,
            [
                (beta, part.lower, part.upper, part.offset)
                for beta, part in zip(start.beta, self.dual.parts, strict=True)
            ],
            self.dual.separate,
            rule.name,
            *rule.options(),
            self.settings.tol,
            self.settings.shrinking,
            self.settings.cache_bytes,
            self.settings.threads,
        )

    def _slices(self, solver: Any, start: Point, begin: float) -> tuple[Any, StopReason]:
        max_iter, limit = self.settings.max_iter, NO_LIMIT
        if max_iter >= 0:
            limit = max(max_iter - start.effort.iterations, 0)

        def running(status: Any) -> bool:
            return bool(status.outcome == _core.Outcome.running and status.iterations < limit)

        def run(status: Any, seconds: float) -> Any:
            return solver.run(limit - status.iterations, seconds)

        def look(status: Any) -> StopReason | None:
            stop = self._look(status, start.effort)
            if self.settings.save:
                point = partial(self._point, solver, status, start, begin)
                self.settings.save(self.problem, point)
            return stop

        watch = self.settings.watch
        if watch.expired():
            solver.stop()
        with watch.hurried(self.problem, solver.stop):
            status, stop = in_slices(solver.run(0, 0.0), run, running, look, watch)
        return status, _STOP_REASONS.get(status.outcome, stop or StopReason.MAX_ITER)

    def _look(self, status: Any, before: Effort) -> StopReason | None:
        return self.settings.watch.look(
            self.problem,
            iterations=before.iterations + status.iterations,
            violation=status.violation,
            objective=-status.objective,
            active=status.active,
            kernel_rows=before.kernel_rows + status.kernel_rows,
            cache_hits=before.cache_hits + status.cache_hits,
        )

    def _point(self, solver: Any, status: Any, start: Point, begin: float) -> Point:
        beta = [solver.beta(s) for s in range(len(self.dual.parts))]
        effort = start.effort.plus(status, time.perf_counter() - begin)
        return Point(beta, start.precision, effort)


def in_slices(
    status: Any,
    run: Callable[[Any, float], Any],
    running: Callable[[Any], bool],
    look: Callable[[Any], StopReason | None],
    watch: Watch,
) -> tuple[Any, StopReason | None]:
    """Runs a solver of whichever kind, from `status`, until it is done or something stops the fit.
    ``run(status, seconds)`` goes on for a slice, after which ``look(status)`` says why to stop."""
    stop, seconds = watch.expired(), FIRST_SLICE
    while running(status) and not stop:
        status = run(status, watch.slice(seconds))
        seconds = min(2 * seconds, LONGEST_SLICE)
        stop = look(status)
    return status, stop


def rounding(beta: list[Array], kernel_error: float) -> float:
    """About how much rounded kernel values move a decision value: errors that add up at random."""
    return 4 * kernel_error * float(np.sqrt(sum(b @ b for b in beta)))


Answer = TypeVar("Answer")


def run_all(tasks: Sequence[Callable[[], Answer]], at_once: int, watch: Watch) -> list[Answer]:
    """The answers of all tasks, some of them side by side; the first failure ends them all."""
    if at_once == 1:
        return [task() for task in tasks]
    with ThreadPoolExecutor(at_once) as pool:
        futures = [pool.submit(task) for task in tasks]
        try:
            return [_wait_for(future) for future in futures]
        except BaseException as failure:
            watch.abandoned.set()
            for future in futures:
                future.cancel()
            raise _cause(failure, futures) from None


def _wait_for(future: Future[Answer]) -> Answer:
    """Waits in pieces: where waiting without an end cannot be interrupted, Ctrl-C still works."""
    while True:
        try:
            return future.result(timeout=LONGEST_SLICE)
        except StillRunning:
            if future.done():
                return future.result()


def _cause(failure: BaseException, futures: list[Future[Any]]) -> BaseException:
    """What made the threads give up, if all that is seen here is that one did."""
    if isinstance(failure, Abandoned):
        for future in futures:
            error = None if future.cancelled() or not future.done() else future.exception()
            if error is not None and not isinstance(error, Abandoned):
                return error
    return failure
