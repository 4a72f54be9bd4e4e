"""Held-out decision values of the best candidates of a search, for the probabilities of the winner.

The folds of a search hold out each example once, by a machine with the winner's parameters: just
what probabilities are calibrated on.  So the refit of the winner solves no folds of its own.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from numpy.typing import NDArray

from softmargin.estimator import out_of_fold
from softmargin.model_selection.engine import Answer

Array = NDArray[np.float64]


class HeldOut:
    """The values of the candidates that are the best so far, or not yet judged."""

    def __init__(self, splits: int) -> None:
        self.splits = splits
        self.answers: dict[int, dict[int, Answer]] = {}
        self.means: dict[int, float] = {}

    def add(self, candidate: int, split: int, answer: Answer) -> None:
        if answer.predictions is not None and answer.predictions.held_out is not None:
            self.answers.setdefault(candidate, {})[split] = answer

    def judge(self, candidate: int, mean: float) -> None:
        """Forgets all candidates with a mean below the best."""
        self.means[candidate] = mean
        best = max(self.means.values())
        for other in [c for c in self.answers if self.means.get(c, best) < best]:
            del self.answers[other]

    def values(self, machine: Any, y: NDArray[Any]) -> Array | None:
        """For a machine that is about to be calibrated on all examples; None if it is none of the
        candidates, or if they do not have a value for each example."""
        for answers in self.answers.values():
            found = list(answers.values())
            if len(found) == self.splits and _same(found[0].cell.machine, machine):
                return _together(found, len(y), getattr(machine, "classes_", None))
        return None


def _same(candidate: Any, machine: Any) -> bool:
    """Whether both are fitted in the same way, with the default folds."""
    if type(candidate) is not type(machine) or machine.cv is not None:
        return False
    return repr(candidate.get_params(deep=False)) == repr(machine.get_params(deep=False))


def _together(answers: list[Answer], count: int, classes: Any) -> Array | None:
    values, times = None, np.zeros(count, dtype=np.intp)
    for answer in answers:
        told = answer.predictions
        assert told is not None
        assert told.held_out is not None
        rows = told.rows[: answer.tested]
        own = told.held_out[: len(rows)]
        trained = () if told.classes is None else told.classes
        if classes is not None and not np.array_equal(trained, classes):
            return None  # a class that a fold was not trained on
        if rows.max(initial=-1) >= count:
            return None
        if values is None:
            values = np.empty((count, *own.shape[1:]))
        values[rows] = own
        times += np.bincount(rows, minlength=count)
    return values if values is not None and (times == 1).all() else None


@contextmanager
def offered() -> Iterator[list[HeldOut]]:
    """Within this context, machines are calibrated on the values in the list, if they are there;
    the caller fills it."""
    held_out: list[HeldOut] = []

    def known(machine: Any, y: NDArray[Any]) -> Array | None:
        return next((v for h in held_out if (v := h.values(machine, y)) is not None), None)

    token = out_of_fold.KNOWN.set(known)
    try:
        yield held_out
    finally:
        out_of_fold.KNOWN.reset(token)
