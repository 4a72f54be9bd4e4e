"""The shared engine: every kernel once, every fold along its path, threads over both.

A task is one kernel on one fold, with all machines that have this kernel.  What a task computes
does not depend on other tasks, so the results do not depend on the number of threads.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from softmargin import _core
from softmargin.fitting.side_by_side import LONGEST_WAIT
from softmargin.model_selection.folds import Fold, path_order
from softmargin.model_selection.paths import Solved, Stopped, decision_sums, solve
from softmargin.model_selection.predictions import Predictions, predictions
from softmargin.model_selection.whole_kernels import WholeKernels
from softmargin.problem.kernels import Kernel


@dataclass(frozen=True)
class Cell:
    """One machine on one fold; `number` is the caller's name for it."""

    number: int
    machine: Any


@dataclass(frozen=True)
class Answer:
    """What the engine says about a cell; no predictions if it has to be fitted the ordinary way."""

    cell: Cell
    predictions: Predictions | None = None
    seconds: float = 0.0
    tested: int = 0
    """How many rows were held out: the first ones of the predictions."""


@dataclass
class Task:
    """One kernel on one fold."""

    kernels: WholeKernels
    kernel: Kernel
    fold: Fold
    cells: list[Cell] = field(default_factory=list)
    done: float = 0.0
    """The share of it that is solved, from 0 to 1."""

    def run(self, wishes: Wishes, stopped: Callable[[], bool]) -> list[Answer]:
        def look(done: float) -> bool:
            self.done = done
            return stopped()

        begin = time.perf_counter()
        try:
            answers = [answer for cells in self._alike() for answer in self._solve(cells, look)]
            told = self._predictions(answers, wishes)
        except Stopped:
            raise
        except Exception:
            # Whatever is wrong, scikit-learn's own way will say it in the estimator's words.
            return [Answer(cell) for cell in self.cells]
        finally:
            self.done = 1.0
            self.kernels.release(self.kernel, "float64")
        elsewhere = time.perf_counter() - begin - sum(solved.seconds for _, solved, _ in answers)
        return [
            Answer(cell, one, solved.seconds + elsewhere / len(answers), len(self.fold.test))
            for (cell, solved, _), one in zip(answers, told, strict=True)
        ]

    def _alike(self) -> list[list[Cell]]:
        """The cells, by what all problems of a path must have in common."""
        groups: dict[Any, list[Cell]] = {}
        for cell in self.cells:
            machine = cell.machine
            groups.setdefault((type(machine), machine.tol, machine.gap_tol), []).append(cell)
        return list(groups.values())

    def _solve(
        self, cells: list[Cell], look: Callable[[float], bool]
    ) -> list[tuple[Cell, Solved, Any]]:
        order, scales = path_order([cell.machine for cell in cells])
        cells = [cells[k] for k in order]
        statements = [self.fold.state(cell.machine) for cell in cells]
        first = statements[0]
        if not all(np.array_equal(first.ids, other.ids) for other in statements[1:]):
            raise ValueError("All problems of a path must have the same examples.")
        answers, matrix = solve(self.kernels, self.kernel, statements, scales, look)
        return [(cell, solved, matrix) for cell, solved in zip(cells, answers, strict=True)]

    def _predictions(
        self, answers: list[tuple[Cell, Solved, Any]], wishes: Wishes
    ) -> list[Predictions | None]:
        rows = self.fold.rows(wishes.train)
        told: list[Predictions | None] = []
        for some in _runs(answers):
            solved = [one for _, one, _ in some]
            sums = decision_sums(solved, self.fold, some[0][2], rows)
            for one, own in zip(solved, sums, strict=True):
                fine = one.converged and not one.models.faults
                numbers = self.fold.numbers(rows)
                wanted = wishes.values, wishes.held_out
                told.append(predictions(one, numbers, own, *wanted) if fine else None)
        return told


def _runs(answers: list[tuple[Cell, Solved, Any]]) -> Iterator[list[tuple[Cell, Solved, Any]]]:
    """Runs of answers on the same matrix and the same classes, short enough for memory."""
    run: list[tuple[Cell, Solved, Any]] = []
    for answer in answers:
        alike = (
            run
            and run[0][2] is answer[2]
            and (run[0][1].whole is None) == (answer[1].whole is None)
        )
        if run and (not alike or len(run) == 16):
            yield run
            run = []
        run.append(answer)
    yield run


@dataclass(frozen=True)
class Wishes:
    """What the caller wants to know about each cell besides the predicted classes or targets."""

    values: bool = False
    """Decision values."""
    train: bool = False
    """Predictions for the training examples too."""
    held_out: bool = False
    """What probabilities are calibrated on."""


def make_tasks(
    kernels: WholeKernels, folds: Mapping[int, Fold], cells: Sequence[tuple[int, int, Any]]
) -> list[Task]:
    """The tasks of cells (number, fold, machine), kernel by kernel."""
    tasks: dict[Any, Task] = {}
    for number, fold, machine in cells:
        kernel = folds[fold].kernel(machine)
        if kernel.positive_semidefinite is False:
            continue  # another start might lead to another of its stationary points
        key = kernel, fold
        if key not in tasks:
            tasks[key] = Task(kernels, kernel, folds[fold])
            kernels.expect(kernel, "float64")
        tasks[key].cells.append(Cell(number, machine))
    position = {kernel: k for k, kernel in enumerate(dict.fromkeys(key[0] for key in tasks))}
    return [tasks[key] for key in sorted(tasks, key=lambda key: (position[key[0]], key[1]))]


def run(
    tasks: Iterable[Any],
    threads: int,
    wishes: Wishes,
    stopped: Callable[[], bool] = lambda: False,
    waiting: Callable[[], None] = lambda: None,
) -> Iterator[list[Answer]]:
    """The answers of each task, as they come, until `stopped` says so: it is asked between two
    slices.  `waiting` is called now and then by the thread that asks for the answers."""

    def look() -> bool:
        waiting()
        return stopped()

    if threads == 1:
        with suppress(Stopped):
            for task in tasks:
                yield task.run(wishes, look)
        return
    with suppress(Stopped):
        yield from _in_threads(tasks, threads, wishes, stopped, waiting)


def _in_threads(
    tasks: Iterable[Any],
    threads: int,
    wishes: Wishes,
    stopped: Callable[[], bool],
    waiting: Callable[[], None],
) -> Iterator[list[Answer]]:
    given_up = threading.Event()
    queue, pending = iter(tasks), set[Future[list[Answer]]]()
    with ThreadPoolExecutor(threads, initializer=_core.prepare_thread) as pool:
        try:
            while True:
                while len(pending) < 2 * threads and not stopped():
                    if (task := next(queue, None)) is None:
                        break
                    pending.add(
                        pool.submit(task.run, wishes, lambda: given_up.is_set() or stopped())
                    )
                if not pending:
                    return
                ended, pending = wait(pending, LONGEST_WAIT, FIRST_COMPLETED)
                waiting()
                for future in ended:
                    yield future.result()
        finally:
            given_up.set()
            for future in pending:
                future.cancel()
