"""The loop around the linear solver: it runs in slices, and between two slices Python is in charge.

Also the two ways of running more than one solver for a problem: one after the other, weights in
float32 first; and side by side, where the classes are separate problems.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import pairwise
from threading import Event
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from softmargin import _core
from softmargin.solution import Solution, StopReason
from softmargin.watching import Watcher, current_watcher

SLICE_SECONDS = 0.05
FLOAT32_GAP = 1e-4  # the relative gap up to which weights in float32 are trusted to make progress
NEAR_CACHE_BYTES = 2**20  # weights that fit are read no faster in float32

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

    def select(self, dual: Dual | None) -> Dual | None:
        """Of the dual variables of all columns, those of this problem's."""
        if dual is None:
            return None
        starts, column, beta = dual
        mine = (column >= self.first) & (column < self.first + self.columns)
        before = np.concatenate([[0], np.cumsum(mine)])
        return before[starts], (column[mine] - self.first).astype(np.int32), beta[mine]


@dataclass(frozen=True)
class Settings:
    """How to solve a problem, whatever the problem is."""

    tol: float
    max_iter: int
    shrinking: bool
    precision: str
    threads: int
    seed: int
    report: Callable[[Any, float], None] | None = None
    """Called between slices with the solver's status and the seconds since the start."""
    watcher: Watcher | None = field(default_factory=current_watcher)
    """That of the context in which the fit began: its threads have contexts of their own."""


@dataclass(frozen=True)
class Result:
    solution: Solution
    weights: Array
    """W, features x columns."""
    dual: Callable[[], Dual]


def descend(problem: Problem, start: Dual | None, settings: Settings) -> Result:
    """Solves the problem; `start` holds dual variables to start from."""
    began = time.perf_counter()
    settings = replace(settings, precision=_precision(problem, settings.precision))
    parts = problem.split(settings.threads)
    results: list[Result] = _side_by_side(
        [partial(_descend_part, part, start, settings) for part in parts]
    )
    if len(results) == 1:
        return results[0]
    return Result(
        _combine([result.solution for result in results], time.perf_counter() - began),
        np.hstack([result.weights for result in results]),
        lambda: _merge([result.dual() for result in results], parts),
    )


def _precision(problem: Problem, asked: str) -> str:
    if asked != "auto":
        return asked
    bytes_of_weights = 8 * problem.X.shape[1] * problem.columns
    return "float32" if bytes_of_weights > NEAR_CACHE_BYTES else "float64"


def _descend_part(problem: Problem, start: Dual | None, settings: Settings, stop: Event) -> Result:
    began = time.perf_counter()
    rows = problem.rows()
    start = problem.select(start)
    passes = 0
    if settings.precision == "float32":
        first = replace(settings, tol=max(settings.tol, FLOAT32_GAP))
        solver = _solver(_core.linear.SolverFloat32, rows, problem, first, start)
        passes, _ = _run(solver, settings.max_iter, settings, began, stop)
        start = solver.dual_variables()
        del solver
    solver = _solver(_core.linear.SolverFloat64, rows, problem, settings, start)
    _, ended = _run(solver, settings.max_iter - passes, settings, began, stop)
    status = solver.finish()
    solution = Solution(
        dual_objective=status.dual,
        primal_objective=status.primal,
        kkt_violation=status.violation,
        iterations=passes + status.passes,
        kernel_rows=0,
        kernel_evaluations=0,
        cache_hits=0,
        seconds=time.perf_counter() - began,
        stop_reason=_stop_reason(status, ended),
        working_set="one example",
        working_set_reason="block coordinate descent: an example is a block",
        precision=settings.precision,
    )
    return Result(solution, solver.take_weights(), solver.dual_variables)


def _solver(
    solver_type: Any, rows: Any, problem: Problem, settings: Settings, start: Dual | None
) -> Any:
    solver = solver_type(
        rows,
        problem.column,
        problem.upper,
        problem.columns,
        problem.machine,
        "newton",
        settings.tol,
        settings.shrinking,
        settings.seed,
    )
    if start is not None:
        solver.start_from(*start)
    return solver


def _run(
    solver: Any, limit: int, settings: Settings, began: float, stop: Event
) -> tuple[int, StopReason | None]:
    """Runs until done, out of passes, without progress, or ended by the watcher; returns the
    passes it took, and the watcher's reason."""
    status, ended = solver.run(0, 0.0), None
    while not (status.optimal or status.stuck or stop.is_set()) and status.passes < limit:
        if settings.watcher:
            ended = settings.watcher(status, time.perf_counter() - began)
        if ended:
            break
        status = solver.run(limit - status.passes, SLICE_SECONDS)
        if settings.report:
            settings.report(status, time.perf_counter() - began)
    return int(status.passes), ended


def _side_by_side(tasks: list[Callable[[Event], Any]]) -> list[Any]:
    """The results of the tasks, each in its own thread.  A single task stays in this one; and if
    this thread is interrupted, the others are told."""
    stop = Event()
    if len(tasks) == 1:
        return [tasks[0](stop)]
    with ThreadPoolExecutor(len(tasks)) as threads:
        running = [threads.submit(task, stop) for task in tasks]
        try:
            return [future.result() for future in running]
        except BaseException:
            stop.set()
            raise


def _stop_reason(status: Any, ended: StopReason | None) -> StopReason:
    if status.optimal:
        return StopReason.CONVERGED
    return StopReason.NO_PROGRESS if status.stuck else ended or StopReason.MAX_ITER


def _combine(solutions: list[Solution], seconds: float) -> Solution:
    """One certificate for parts that ran side by side: each pass of each is a pass of all."""
    passes = max(solution.iterations for solution in solutions)
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
