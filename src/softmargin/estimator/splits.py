"""The folds of probabilities: which examples each of them trains on, and which it holds out."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Split = tuple[NDArray[np.intp], NDArray[np.intp]]
"""The rows to train on and the rows held out."""

FOLDS = 5
SEED = 0


def weighted_splits(machine: Any, X: Any, y: Any, weight: Array) -> list[Split]:
    """The folds without examples of weight zero, and without folds that are left empty."""
    folds = splits(machine, X, y)
    used = [(train[weight[train] > 0], test[weight[test] > 0]) for train, test in folds]
    used = [(train, test) for train, test in used if len(train) and len(test)]
    if not used:
        raise ValueError(
            "probability needs a fold with examples to train on and others to hold out, all with a"
            f" positive weight; cv={machine.cv!r} has none."
        )
    return used


def splits(machine: Any, X: Any, y: Any) -> list[Split]:
    """The rows to train on and the rows held out, for each fold."""
    cv, classifier = machine.cv, hasattr(machine, "classes_")
    if cv is None or isinstance(cv, (int, np.integer)):
        folds = min(FOLDS if cv is None else int(cv), len(y))
        return dealt_folds(y if classifier else None, len(y), folds, _seed(machine))
    from sklearn.model_selection import check_cv

    return [
        (np.asarray(train), np.asarray(test))
        for train, test in check_cv(cv, y, classifier=classifier).split(X, y)
    ]


def dealt_folds(labels: Any, count: int, folds: int, seed: int) -> list[Split]:
    """Rows are shuffled, for a classifier then sorted by class, and dealt to the folds in turn, so
    that each fold gets its share of every class."""
    order = np.random.default_rng(seed).permutation(count)
    if labels is not None:
        order = order[np.argsort(labels[order], kind="stable")]
    fold = np.empty(count, dtype=np.intp)
    fold[order] = np.arange(count) % folds
    return [(np.flatnonzero(fold != k), np.flatnonzero(fold == k)) for k in range(folds)]


def _seed(machine: Any) -> int:
    """The same folds for the same data, unless the user wants others."""
    state = getattr(machine, "random_state", None)
    if state is None or isinstance(state, (int, np.integer)):
        return SEED if state is None else int(state)
    return int(state.randint(np.iinfo(np.int32).max))
