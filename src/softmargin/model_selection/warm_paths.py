"""A machine on one fold, along C, by fits of its own: each starts from the solution of the one
before.  For linear machines, and where the kernel matrix of all examples does not fit into memory.
"""

from __future__ import annotations

import copy
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from softmargin.model_selection.engine import Answer, Cell, Wishes
from softmargin.model_selection.folds import Fold, path_order
from softmargin.model_selection.paths import Stopped
from softmargin.model_selection.predictions import Predictions
from softmargin.problem.kernels import take


@dataclass
class WarmTask:
    """Machines that differ in C, epsilon or nu on one fold, with one copy of its examples."""

    fold: Fold
    at_once: int
    """How many such tasks run at a time and share threads and memory."""
    cells: list[Cell] = field(default_factory=list)
    done: float = 0.0

    def run(self, wishes: Wishes, stopped: Callable[[], bool]) -> list[Answer]:
        rows = self.fold.rows(wishes.train)
        seen, unseen = take(self.fold.data.X, self.fold.train), take(self.fold.data.X, rows)
        if getattr(self.cells[0].machine, "kernel", None) == "precomputed":
            seen, unseen = seen[:, self.fold.train], unseen[:, self.fold.train]
        order, scales = path_order([cell.machine for cell in self.cells])
        answers: list[Answer] = []
        before: Any = None
        for k, scale in zip(order, scales, strict=True):
            if stopped():
                raise Stopped
            own = self._machine(self.cells[k].machine)
            if before is not None and scale > 0:
                _continue(own, before)
            answers.append(self._fit(self.cells[k], own, seen, unseen, rows, wishes))
            before = own if answers[-1].predictions else None
            self.done = len(answers) / len(self.cells)
        return answers

    def _machine(self, machine: Any) -> Any:
        own = copy.copy(machine)
        own.warm_start = True
        if hasattr(own, "probability"):
            own.probability = False  # no score of a shared fit looks at probabilities
        if self.at_once > 1 and hasattr(own, "kernel"):
            own.n_jobs = 1
            if own.cache_size != "auto":
                own.cache_size = own.cache_size / self.at_once
        return own

    def _fit(
        self, cell: Cell, own: Any, seen: Any, unseen: Any, rows: Any, wishes: Wishes
    ) -> Answer:
        begin = time.perf_counter()
        try:
            own.fit(seen, np.asarray(self.fold.data.y)[self.fold.train], self.fold.weights())
            told = _predictions(own, unseen, self.fold.numbers(rows), wishes)
        except Exception:
            return Answer(cell)  # scikit-learn's own way will say what is wrong
        return Answer(cell, told, time.perf_counter() - begin, len(self.fold.test))


def _continue(machine: Any, before: Any) -> None:
    """Starts the next fit of a machine from the solution of the one before."""
    if hasattr(machine, "_continue_from"):
        machine._continue_from(before)
    else:
        machine._kept = before._kept


def _predictions(
    machine: Any, X: Any, numbers: NDArray[np.intp], wishes: Wishes
) -> Predictions | None:
    """None if the machine has not converged: then the ordinary way warns."""
    if not machine.solution_.converged:
        return None
    if not hasattr(machine, "classes_"):
        decide = getattr(machine, "decision_function", machine.predict)
        values = decide(X)
        return Predictions(numbers, values=values, held_out=values if wishes.held_out else None)
    winners = np.searchsorted(machine.classes_, machine.predict(X))
    values = machine.decision_function(X) if wishes.values else None
    held_out = None
    if wishes.held_out:
        pairwise = hasattr(machine, "_pair_values")
        held_out = machine._pair_values(X) if pairwise else machine.decision_function(X)
        if pairwise and held_out.shape[1] == 1:
            held_out = -held_out[:, 0]
    return Predictions(numbers, machine.classes_, winners, values, held_out)
