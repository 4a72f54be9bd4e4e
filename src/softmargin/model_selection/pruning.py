"""Leaving out folds of candidates that cannot win, or probably cannot.

The folds are done one after another, and after each one candidates are given up.  ``bound``: those
that would not reach the best candidate even with the largest possible score on all other folds.
The candidate that is best on the first fold is completed at once, to compare with.  The winner is
that of the whole search.  ``halving``: the worse half, by the mean of the folds so far, which is a
heuristic.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from softmargin.model_selection.sklearn_seam import largest_score

PRUNE = ("bound", "halving")
FEWEST = 4
"""Halving keeps at least this many candidates."""


class Rounds:
    """Which candidates are done on which split, in the order of rounds."""

    def __init__(self, prune: str | None, candidates: int, splits: int, largest: float) -> None:
        self.prune, self.largest = prune, largest
        self.scores = np.full((candidates, splits), np.nan)
        self.alive = np.ones(candidates, dtype=bool)

    def __iter__(self) -> Iterator[list[tuple[int, int]]]:
        """(candidate, split) of each round; `scores` must be filled in before the next one."""
        candidates, splits = self.scores.shape
        if self.prune is None:
            yield [(c, s) for c in range(candidates) for s in range(splits)]
            return
        for split in range(splits):
            alive = np.flatnonzero(self.alive).tolist()
            yield [(c, split) for c in alive if self._is_open(c, split)]
            if split == 0 and self.prune == "bound" and np.isfinite(self.scores[:, 0]).any():
                best = int(np.nanargmax(self.scores[:, 0]))
                yield [(best, s) for s in range(1, splits)]
            self._give_up(split + 1)

    def _is_open(self, candidate: int, split: int) -> bool:
        return bool(np.isnan(self.scores[candidate, split]))

    def _give_up(self, done: int) -> None:
        """After `done` splits."""
        splits = self.scores.shape[1]
        if done == splits:
            return
        if self.prune == "bound":
            known = ~np.isnan(self.scores)
            best = np.where(known.all(axis=1), self.scores.sum(axis=1), -np.inf).max()
            most = np.where(known, self.scores, self.largest).sum(axis=1)
            # A tie in the sum could still win by its place in the table; rounding must not decide.
            self.alive &= most >= best - 1e-9 * max(abs(best), 1.0)
            return
        means: NDArray[Any] = np.nan_to_num(self.scores[:, :done].mean(axis=1), nan=-np.inf)
        means[~self.alive] = -np.inf
        keep = max(-(-int(self.alive.sum()) // 2), FEWEST)
        order = np.argsort(-means, kind="stable")[:keep]
        self.alive &= np.isin(np.arange(len(means)), order)


def rounds(search: Any, scorer: Any, candidates: int, splits: int) -> Rounds:
    prune = search.prune
    largest = np.inf
    if prune == "bound":
        known = largest_score(scorer, search.refit)
        if known is None:
            raise ValueError(
                "prune='bound' needs a score whose largest value is known (accuracy, r2, roc_auc,"
                " f1, neg_mean_squared_error, ...), and refit as True, False or the name of one."
                " Use prune=None or prune='halving'."
            )
        largest = known
    return Rounds(prune, candidates, splits, largest)
