"""Running the linear solver, in the slices of :mod:`softmargin.fitting.slices`.

A problem can have more than one solver: one after another, with weights in float32 first; or in
parallel, if the classes are separate problems.
"""

from __future__ import annotations

import math
import time
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from softmargin import _core
from softmargin.checkpoint import Recorder
from softmargin.fitting import local_blocks, newton, sparse_weights
from softmargin.fitting.linear_problem import Array, Dual, Problem, no_variables
from softmargin.fitting.memory import available_bytes
from softmargin.fitting.newton import Progress
from softmargin.fitting.side_by_side import run_all
from softmargin.fitting.slices import LONGEST_SLICE, Effort, Point, in_slices
from softmargin.solution import Solution, StopReason
from softmargin.watching import Watch

FLOAT32_GAP = 1e-4  # float32 weights make reliable progress down to this relative gap
NEAR_CACHE_BYTES = 2**20  # weights of at most this size are read no faster in float32

BYTES_PER_VARIABLE = 16
MANY_VARIABLES_BYTES = 2**28  # up to here, free memory is not checked
SAMPLE = 1 / 64  # of the examples: so many visits tell how long one takes


@dataclass(frozen=True)
class Settings:
    """The settings that do not depend on the problem."""

    tol: float
    max_iter: int
    shrinking: bool
    precision: str
    seed: int
    watch: Watch
    dual: bool | str = "auto"
    blocks: int = 1
    """Blocks of examples that descend at once, on `threads` threads."""
    threads: int = 1
    continued: bool = False
    """Whether a later fit starts from the dual variables: W is then exactly theirs."""
    recorder: Recorder | None = None


@dataclass(frozen=True)
class Result:
    solution: Solution
    weights: Array
    """W, features x columns."""
    dual: Dual


def descend(parts: list[Problem], starts: dict[int, Point], settings: Settings) -> Result:
    """Solves the parts of a problem in parallel; `starts` are the points to continue from."""
    tasks = [
        partial(_descend_part, part, number, starts.get(number), settings)
        for number, part in enumerate(parts)
    ]
    results: list[Result] = run_all(tasks, len(parts), settings.watch.abandoned)
    if settings.recorder:
        settings.recorder.close(all(r.solution.stop_reason.final for r in results))
    if len(results) == 1:
        return results[0]
    return Result(
        _combine([result.solution for result in results]),
        np.hstack([result.weights for result in results]),
        _merge([result.dual for result in results], parts),
    )


def weights_precision(problem: Problem, asked: str) -> str:
    """The initial precision of the weights; "auto" decides by their size."""
    if asked != "auto":
        return asked
    bytes_of_weights = 8 * problem.X.shape[1] * problem.columns
    return "float32" if bytes_of_weights > NEAR_CACHE_BYTES else "float64"


def _descend_part(problem: Problem, number: int, start: Point | None, settings: Settings) -> Result:
    if problem.penalty == "l1":
        solution, weights = sparse_weights.solve_part(problem, number, start, settings)
        return Result(solution, weights, no_variables(len(problem.upper)))
    if settings.blocks > 1:
        at_once = settings.blocks, settings.threads
        return Result(*local_blocks.solve(problem, number, start, settings, *at_once))
    run = _Run(problem, problem.rows(), number, settings)
    began, point = time.perf_counter(), start or Point([], settings.precision)
    before = point.effort.seconds
    by_newton = problem.free_intercept or (
        newton.pays(problem, settings.dual) and not run.optimal(point)
    )
    if by_newton:
        point, progress = run.newton(point)
        reason = run.newtons_end(point, progress)
        if problem.free_intercept or not (run.by_dual or reason is StopReason.NO_PROGRESS):
            return run.newtons_result(point, progress, reason)
    elif point.precision == "float32":
        point = replace(run.solve(point)[-1], precision="float64")
    solver, status, stop, point = run.solve(point)
    status = run.checked(solver, status)
    seconds = before + time.perf_counter() - began
    return run.result(solver, status, stop, point, seconds, by_newton)


@dataclass(frozen=True)
class _Run:
    """Runs the core on one problem."""

    problem: Problem
    rows: Any
    number: int
    settings: Settings

    def optimal(self, start: Point) -> bool:
        """Whether a warm start needs no improvement."""
        return bool(start.beta) and self._solver(start).finish().relative_gap <= self.settings.tol

    @property
    def by_dual(self) -> bool:
        """Whether W has to be that of the dual variables, from which another fit continues."""
        return self.settings.continued and not self.problem.free_intercept

    @property
    def newtons_reason(self) -> str:
        if self.problem.free_intercept:
            return "Newton's method: the intercept is not regularised"
        few = self.problem.X.shape[1] < newton.MOST_FEATURES
        return f"Newton's method: there are {'few features' if few else 'many examples'}"

    def newtons_end(self, point: Point, progress: Progress) -> StopReason:
        if progress.relative_gap <= self.settings.tol:
            return StopReason.CONVERGED
        if stop := self.settings.watch.expired():
            return stop
        used_up = point.effort.iterations >= self.settings.max_iter
        return StopReason.MAX_ITER if used_up else StopReason.NO_PROGRESS

    def newtons_result(self, point: Point, progress: Progress, reason: StopReason) -> Result:
        """What Newton's method found: it has measured the gap on all examples itself."""
        solution = Solution(
            **vars(point.effort),
            dual_objective=float(progress.dual.sum()),
            primal_objective=float(progress.primal.sum()),
            kkt_violation=float(progress.violation.max()),
            stop_reason=reason,
            working_set="all examples",
            working_set_reason=self.newtons_reason,
            precision="float64",
        )
        self.settings.watch.done(self.number, solution, active=len(self.problem.upper))
        if self.settings.recorder:
            self.settings.recorder.left(self.number, point)
        return Result(solution, progress.weights, tuple(point.beta))

    def newton(self, start: Point) -> tuple[Point, Progress]:
        """Newton's method from `start`."""
        began, before, settings = time.perf_counter(), start.effort, self.settings

        def point(progress: Progress) -> Point:
            seconds = before.seconds + time.perf_counter() - began
            effort = Effort(before.iterations + int(progress.steps.max()), seconds=seconds)
            return Point(list(newton.as_dual(progress.beta)), "float64", effort)

        def look(progress: Progress) -> bool:
            if settings.recorder:
                settings.recorder.note(self.number, lambda: point(progress))
            stop = settings.watch.look(
                self.number,
                iterations=before.iterations + int(progress.steps.max()),
                violation=progress.relative_gap if progress.steps.any() else math.inf,
                tol=settings.tol,
                objective=float(progress.dual.sum()),
                active=len(self.problem.upper),
                kernel_rows=0,
                cache_hits=0,
            )
            return stop is not None

        limit = settings.max_iter - before.iterations
        goal = newton.Goal(settings.tol, limit, self.by_dual)
        dual = tuple(start.beta) if start.beta else None
        progress = newton.solve(self.problem, self.rows, dual, goal, look)
        return point(progress), progress

    def solve(self, start: Point) -> tuple[Any, Any, StopReason | None, Point]:
        """Runs in slices until the core is done, out of passes, or stopped."""
        began, before = time.perf_counter(), start.effort
        solver = self._solver(start)
        ready = time.perf_counter()
        limit = self.settings.max_iter - before.iterations

        def point(status: Any) -> Point:
            seconds = before.seconds + time.perf_counter() - began
            effort = Effort(before.iterations + status.passes, seconds=seconds)
            return Point(list(solver.dual_variables()), start.precision, effort)

        def running(status: Any) -> bool:
            return not (status.optimal or status.stuck) and status.passes < limit

        def run(status: Any, seconds: float) -> Any:
            return solver.run(limit - status.passes, seconds)

        def look(status: Any) -> StopReason | None:
            _check_room_for_variables(status.entries, self.problem)
            self._reserve(status, time.perf_counter() - ready, start.precision)
            if self.settings.recorder:
                self.settings.recorder.note(self.number, lambda: point(status))
            return self._look(status, before)

        status, stop = in_slices(solver.run(0, 0.0), run, running, look, self.settings.watch)
        return solver, status, stop, point(status)

    def checked(self, solver: Any, status: Any) -> Any:
        """The status after the check of all examples, or when there is no more time for it."""
        while not status.checked and not self.settings.watch.overdue():
            status = solver.finish(LONGEST_SLICE)
        return status

    def result(
        self,
        solver: Any,
        status: Any,
        stop: StopReason | None,
        point: Point,
        seconds: float,
        by_newton: bool,
    ) -> Result:
        """What the descent found; `by_newton`: it started where Newton's method had ended."""
        settings = self.settings
        solution = Solution(
            **vars(replace(point.effort, seconds=seconds)),
            dual_objective=status.dual,
            primal_objective=status.primal if status.checked else math.inf,
            kkt_violation=status.violation if status.checked else math.inf,
            stop_reason=_stop_reason(status, stop),
            working_set="all examples" if by_newton else "one example",
            working_set_reason=(
                self.newtons_reason
                if by_newton
                else "block coordinate descent: an example is a block"
            ),
            precision=settings.precision,
        )
        settings.watch.done(self.number, solution, active=int(status.active))
        if settings.recorder:
            settings.recorder.left(self.number, point)
        return Result(solution, solver.take_weights(), tuple(point.beta))

    def _solver(self, start: Point) -> Any:
        narrow, settings = start.precision == "float32", self.settings
        solver_type = _core.linear.SolverFloat32 if narrow else _core.linear.SolverFloat64
        solver = solver_type(
            self.rows,
            self.problem.column,
            self.problem.upper,
            self.problem.columns,
            machine=self.problem.machine,
            tolerance=max(settings.tol, FLOAT32_GAP) if narrow else settings.tol,
            shrinking=settings.shrinking,
            extrapolation=True,
            seed=settings.seed,
            own_upper=self.problem.own_upper,
            targets=self.problem.target,
            epsilon=self.problem.epsilon,
        )
        if start.beta:
            solver.start_from(*start.beta)
        return solver

    def _reserve(self, status: Any, seconds: float, precision: str) -> None:
        """Reserves time for the certificate, which makes a complete visit to every example; weights
        in float64 are twice as large as in float32.  The first visits do not tell how long one
        takes: before them, all examples are put in random order."""
        wide, all_examples = status.visits - status.support_visits, len(self.problem.upper)
        if self.settings.watch.time_limit is not None and wide > SAMPLE * all_examples:
            visit = seconds / wide * (2 if precision == "float32" else 1)
            self.settings.watch.reserve(self.number, visit * all_examples)

    def _look(self, status: Any, before: Effort) -> StopReason | None:
        return self.settings.watch.look(
            self.number,
            iterations=before.iterations + status.passes,
            # The gap is summed up during a pass, so it is unknown before the first one ends.
            violation=status.estimated_gap if status.passes else math.inf,
            tol=self.settings.tol,
            objective=status.dual,
            active=status.active,
            kernel_rows=0,
            cache_hits=0,
        )


def _check_room_for_variables(count: int, problem: Problem) -> None:
    """Checked during the fit: how many variables become nonzero, up to examples x classes, is not
    known in advance."""
    taken = BYTES_PER_VARIABLE * count
    if taken <= MANY_VARIABLES_BYTES:
        return
    free = available_bytes()
    if free < taken / 8:
        raise MemoryError(
            f"The dual variables of {len(problem.upper)} examples and {problem.columns} classes"
            f" take {taken / 1e9:.3g} GB so far, but only {free / 1e9:.3g} GB are free. Fit fewer"
            " examples or classes, or give the process more memory."
        )


def _stop_reason(status: Any, stop: StopReason | None) -> StopReason:
    if status.optimal:
        return StopReason.CONVERGED
    return StopReason.NO_PROGRESS if status.stuck else stop or StopReason.MAX_ITER


def _combine(solutions: list[Solution]) -> Solution:
    """One certificate for parts that ran in parallel: passes and seconds are maxima, not sums."""
    passes = max(solution.iterations for solution in solutions)
    seconds = max(solution.seconds for solution in solutions)
    return replace(Solution.combine(solutions), iterations=passes, seconds=seconds, problems=())


def _merge(duals: list[Dual], parts: list[Problem]) -> Dual:
    """The dual variables of all columns, merged from those of the parts, by example."""
    count = len(duals[0][0]) - 1
    example = np.concatenate([np.repeat(np.arange(count), np.diff(dual[0])) for dual in duals])
    column = np.concatenate([dual[1] + part.first for dual, part in zip(duals, parts, strict=True)])
    order = np.lexsort((column, example))
    beta = np.concatenate([dual[2] for dual in duals])
    starts = np.concatenate([[0], np.cumsum(np.bincount(example, minlength=count))])
    return starts, column[order].astype(np.int32), beta[order]
