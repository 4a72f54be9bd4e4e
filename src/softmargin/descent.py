"""Running the linear solver, in the slices of :mod:`softmargin.training`.

There are two ways of running more than one solver for a problem: one after the other, weights in
float32 first; and side by side, where the classes are separate problems.
"""

from __future__ import annotations

import math
import time
from dataclasses import dataclass, replace
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from softmargin import _core
from softmargin.checkpoint import Recorder, Take
from softmargin.memory import available_bytes
from softmargin.solution import Solution, StopReason
from softmargin.training import LONGEST_SLICE, Effort, Point, in_slices, run_all
from softmargin.watching import Watch

FLOAT32_GAP = 1e-4  # the relative gap up to which weights in float32 are trusted to make progress
NEAR_CACHE_BYTES = 2**20  # weights that fit are read no faster in float32

BYTES_PER_VARIABLE = 16
MANY_VARIABLES_BYTES = 2**28  # below, there is no need to look how much memory is left

Array = NDArray[np.float64]
Dual = tuple[NDArray[np.int64], NDArray[np.int32], Array]
"""The dual variables that are not zero, by example as in CSR: starts, columns, values."""


@dataclass(frozen=True)
class Problem:
    """What the core needs to know: the examples, their columns of W, their C, and the machine."""

    X: Any
    column: NDArray[np.int32]
    upper: Array
    columns: int
    machine: str
    constant: float
    first: int = 0
    """Where this problem's columns stand in the whole, if it was split."""

    def rows(self) -> Any:
        reader = _core.linear.Rows
        if not sp.issparse(self.X):
            return reader.dense(self.X, self.constant)
        X = self.X
        return reader.csr(X.data, X.indices, X.indptr, X.shape[1], self.constant)

    def split(self, count: int) -> list[Problem]:
        """Up to `count` problems with some of the columns each, where columns are separate."""
        edges = np.linspace(0, self.columns, min(count, self.columns) + 1).astype(int)
        if len(edges) == 2:
            return [self]
        return [
            replace(
                self,
                column=np.where((self.column >= a) & (self.column < b), self.column - a, -1).astype(
                    np.int32
                ),
                columns=int(b - a),
                first=int(a),
            )
            for a, b in pairwise(edges)
        ]

    def select(self, dual: Dual) -> Dual:
        """Of the dual variables of all columns, those of this problem's."""
        starts, column, beta = dual
        mine = (column >= self.first) & (column < self.first + self.columns)
        before = np.concatenate([[0], np.cumsum(mine)])
        return before[starts], (column[mine] - self.first).astype(np.int32), beta[mine]

    coefficients = 0  # what a solved part leaves in a checkpoint is its variables

    def read(self, take: Take) -> list[Any]:
        """The variables in a checkpoint; ValueError for such as the core could not start from."""
        starts = take(len(self.upper) + 1)
        if starts[0] != 0 or not (np.diff(starts) >= 0).all() or (starts % 1 != 0).any():
            raise ValueError("numbers of variables that do not rise")
        column, beta = take(int(starts[-1])), take(int(starts[-1]))
        if not ((column >= 0) & (column < self.columns) & (column % 1 == 0)).all():
            raise ValueError("columns that the weights do not have")
        self._check_variables(np.diff(starts).astype(np.int64), column.astype(np.int32), beta)
        return [starts.astype(np.int64), column.astype(np.int32), beta]

    def _check_variables(self, counts: Any, column: NDArray[np.int32], beta: Array) -> None:
        example = np.repeat(np.arange(len(self.upper)), counts)
        place = example * self.columns + column
        if len(np.unique(place)) < len(place):
            raise ValueError("variables that stand there twice")
        if self.machine != "ovr" and (column == self.column[example]).any():
            raise ValueError("variables of an example's own class")
        simplex = self.machine == "crammer_singer"
        used: Any = np.bincount(example, weights=beta)[example] if simplex else beta
        if not ((beta >= 0) & (used <= self.upper[example] * (1 + 1e-9))).all():
            raise ValueError("variables out of their bounds")


@dataclass(frozen=True)
class Settings:
    """How to solve a problem, whatever the problem is."""

    tol: float
    max_iter: int
    shrinking: bool
    precision: str
    seed: int
    watch: Watch
    recorder: Recorder | None = None


@dataclass(frozen=True)
class Result:
    solution: Solution
    weights: Array
    """W, features x columns."""
    dual: Dual


def descend(parts: list[Problem], starts: dict[int, Point], settings: Settings) -> Result:
    """Solves the parts of a problem side by side; `starts` are the points that they go on from."""
    tasks = [
        partial(_descend_part, part, number, starts.get(number), settings)
        for number, part in enumerate(parts)
    ]
    results: list[Result] = run_all(tasks, len(parts), settings.watch)
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
    """The precision that the weights have at first; "auto" looks at their size."""
    if asked != "auto":
        return asked
    bytes_of_weights = 8 * problem.X.shape[1] * problem.columns
    return "float32" if bytes_of_weights > NEAR_CACHE_BYTES else "float64"


def _descend_part(problem: Problem, number: int, start: Point | None, settings: Settings) -> Result:
    run = _Run(problem, problem.rows(), number, settings)
    began, point = time.perf_counter(), start or Point([], settings.precision)
    before = point.effort.seconds
    if point.precision == "float32":
        solver, _, stop, point = run.solve(point)
        del solver
        point = replace(point, precision="float64")
    solver, status, stop, point = run.solve(point)
    while not status.checked:
        status = solver.finish(LONGEST_SLICE)
    solution = Solution(
        dual_objective=status.dual,
        primal_objective=status.primal,
        kkt_violation=status.violation,
        iterations=point.effort.iterations,
        kernel_rows=0,
        kernel_evaluations=0,
        cache_hits=0,
        seconds=before + time.perf_counter() - began,
        stop_reason=_stop_reason(status, stop),
        working_set="one example",
        working_set_reason="block coordinate descent: an example is a block",
        precision=settings.precision,
    )
    settings.watch.done(number, solution, active=int(status.active))
    if settings.recorder:
        settings.recorder.left(number, point)
    return Result(solution, solver.take_weights(), tuple(point.beta))


@dataclass(frozen=True)
class _Run:
    """Runs the core on one problem."""

    problem: Problem
    rows: Any
    number: int
    settings: Settings

    def solve(self, start: Point) -> tuple[Any, Any, StopReason | None, Point]:
        """Runs in slices until the core is done, out of passes, or stopped."""
        began, before = time.perf_counter(), start.effort
        solver = self._solver(start)
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
            if self.settings.recorder:
                self.settings.recorder.note(self.number, lambda: point(status))
            return self._look(status, before)

        status, stop = in_slices(solver.run(0, 0.0), run, running, look, self.settings.watch)
        return solver, status, stop, point(status)

    def _solver(self, start: Point) -> Any:
        narrow, settings = start.precision == "float32", self.settings
        solver_type = _core.linear.SolverFloat32 if narrow else _core.linear.SolverFloat64
        solver = solver_type(
            self.rows,
            self.problem.column,
            self.problem.upper,
            self.problem.columns,
            machine=self.problem.machine,
            method="newton",
            tolerance=max(settings.tol, FLOAT32_GAP) if narrow else settings.tol,
            shrinking=settings.shrinking,
            extrapolation=True,
            seed=settings.seed,
        )
        if start.beta:
            solver.start_from(*start.beta)
        return solver

    def _look(self, status: Any, before: Effort) -> StopReason | None:
        return self.settings.watch.look(
            self.number,
            iterations=before.iterations + status.passes,
            # It is added up during a pass: before the end of the first, nothing is known.
            violation=status.estimated_gap if status.passes else math.inf,
            objective=status.dual,
            active=status.active,
            kernel_rows=0,
            cache_hits=0,
        )


def _check_room_for_variables(count: int, problem: Problem) -> None:
    """Nobody knows beforehand how many variables will not be zero: up to examples x classes."""
    taken = BYTES_PER_VARIABLE * count
    if taken <= MANY_VARIABLES_BYTES:
        return
    free = available_bytes()
    if free < taken / 8:
        raise MemoryError(
            f"The dual variables of {len(problem.upper)} examples and {problem.columns} classes"
            f" take {taken / 1e9:.3g} GB so far, and {free / 1e9:.3g} GB are free. Fit fewer"
            " examples or classes, or give the process more memory."
        )


def _stop_reason(status: Any, stop: StopReason | None) -> StopReason:
    if status.optimal:
        return StopReason.CONVERGED
    return StopReason.NO_PROGRESS if status.stuck else stop or StopReason.MAX_ITER


def _combine(solutions: list[Solution]) -> Solution:
    """One certificate for parts that ran side by side: each pass of each is a pass of all, and
    the time of the slowest is that of all."""
    passes = max(solution.iterations for solution in solutions)
    seconds = max(solution.seconds for solution in solutions)
    return replace(Solution.combine(solutions), iterations=passes, seconds=seconds, problems=())


def _merge(duals: list[Dual], parts: list[Problem]) -> Dual:
    """The dual variables of all columns from those of the parts, example by example."""
    count = len(duals[0][0]) - 1
    example = np.concatenate([np.repeat(np.arange(count), np.diff(dual[0])) for dual in duals])
    column = np.concatenate([dual[1] + part.first for dual, part in zip(duals, parts, strict=True)])
    order = np.lexsort((column, example))
    beta = np.concatenate([dual[2] for dual in duals])
    starts = np.concatenate([[0], np.cumsum(np.bincount(example, minlength=count))])
    return starts, column[order].astype(np.int32), beta[order]
