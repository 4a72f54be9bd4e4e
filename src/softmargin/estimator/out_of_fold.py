"""Decision values of examples, each from a machine that was not trained on it, for probabilities.

Where the solver needed many steps, the engine of the searches solves the folds: it computes the
kernel once, and each fold begins at the solution of all examples.  Otherwise folds are fits of
their own, which compute only the kernel rows that they need.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from softmargin.estimator.conventions import ConvergenceWarning
from softmargin.estimator.one_vs_one import pairs
from softmargin.fitting.kernel_fit import FitResult
from softmargin.fitting.linear_problem import COUPLED
from softmargin.watching import Watch

Array = NDArray[np.float64]
Rows = NDArray[np.intp]
Split = tuple[Rows, Rows]

FOLDS = 5
EASY = 2
"""Up to this many iterations for each variable, folds are fits of their own."""
SEED = 0
MISSING = -1.0
"""The score of a class that a fold was not trained on."""
QUIET = {
    "callbacks": None,
    "checkpoint": None,
    "probability": False,
    "time_limit": None,
    "verbose": False,
    "warm_start": False,
}
"""Parameters of the machines of the folds, whose fits are neither watched nor continued."""


KNOWN: ContextVar[Callable[[Any, Any], Array | None] | None] = ContextVar("KNOWN", default=None)
"""Finds the values for a machine and its targets, during the refit of a search."""


@dataclass(frozen=True)
class OutOfFold:
    """Values of the examples that were held out, by their rows."""

    rows: Rows
    values: Array


def out_of_fold(
    machine: Any, X: Any, y: Any, weight: Array, result: FitResult, began: float
) -> OutOfFold | None:
    """Values from the folds of a machine (`machine.cv`) that has just been fitted to X and y: for a
    classifier, a column for each pair of classes, positive for the first, or for each class that
    it scores; for a regression, its predictions.  None, with a warning, if the time limit or Ctrl-C
    ends them early."""
    from softmargin.model_selection.out_of_fold import out_of_fold as held_out
    from softmargin.model_selection.paths import Stopped

    classes = getattr(machine, "classes_", None)
    known = known_values(machine, y, weight)
    if known is not None:
        one = classes is not None and known.values.ndim == 1
        return OutOfFold(known.rows, -known.values[:, None]) if one else known
    folds = weighted_splits(machine, X, y, weight)
    whole = [fold for fold in folds if classes is None or len(np.unique(y[fold[0]])) > 1]
    quiet = type(machine)(**{**machine.get_params(deep=False), **QUIET})
    if hasattr(machine, "_gamma"):  # one kernel for all folds, that of all examples
        quiet.gamma = machine._gamma
    watch = Watch(1, float(machine.tol), time_limit=seconds_left(machine, began))
    try:
        with watch.interruptible(machine.on_interrupt == "keep"):
            hard = int(result.iterations.sum()) > EASY * int(np.sum(result.problems.sizes))
            hard = hard and not scores_classes(machine)  # the engine solves pairs of classes
            kept = result.kept() if hard else None
            found = held_out(quiet, X, y, whole, weight, kept, watch, share=hard).values
    except ValueError as error:
        raise ValueError(f"A fold of probability cannot be trained: {error}") from error
    except Stopped:
        warn_that_it_stopped()
        return None
    rows = np.unique(np.concatenate([test for _, test in folds]))
    if classes is None:
        return OutOfFold(rows, found[rows])
    if scores_classes(machine):
        return OutOfFold(rows, with_missing_scores(found, folds, y, classes)[rows])
    # With two classes, the engine's value is positive for the second.
    values = -found[:, None] if found.ndim == 1 else found
    return OutOfFold(rows, _with_missing_classes(values, folds, y, classes)[rows])


def known_values(machine: Any, y: Any, weight: Array) -> OutOfFold | None:
    """Those that a search has computed already."""
    find = KNOWN.get()
    values = None if find is None else find(machine, y)
    rows = np.flatnonzero(weight > 0)
    return None if values is None else OutOfFold(rows, values[rows])


def seconds_left(machine: Any, began: float) -> float | None:
    """The seconds until the time limit of a fit that began at `began`; None without a limit."""
    limit = machine.time_limit
    return None if limit is None else max(limit - (time.perf_counter() - began), 0.0)


def warn_that_it_stopped() -> None:
    warnings.warn(
        "The fit was stopped before it had probabilities: the machine predicts, but without"
        " them. Allow more time, or fit with probability=False.",
        ConvergenceWarning,
        stacklevel=7,
    )


def weighted_splits(machine: Any, X: Any, y: Any, weight: Array) -> list[Split]:
    """The folds without examples of weight zero, and without folds that are left empty."""
    folds = splits(machine, X, y)
    used = [(train[weight[train] > 0], test[weight[test] > 0]) for train, test in folds]
    used = [(train, test) for train, test in used if len(train) and len(test)]
    if not used:
        raise ValueError(
            "probability needs examples to train on and others to hold out, and no fold of cv has"
            f" both with a positive weight: cv={machine.cv!r}."
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


def scores_classes(machine: Any) -> bool:
    """Whether a classifier has a score for each class, instead of a value for each pair."""
    one_by_one = getattr(machine, "multi_class", "ovo") == "ovo"
    return not one_by_one and len(getattr(machine, "classes_", ())) > 2


def fold_scores(machine: Any, values: Array, classes: int) -> Array:
    """A column for each class of a fold.  A fold may have two of many classes: in a machine of all
    classes at once, its decision value is then the difference of two scores."""
    if values.ndim == 2:
        return values
    score = 0.5 * values if classes > 2 and machine.multi_class in COUPLED else values
    return np.stack([-score, score], axis=1)


def with_missing_scores(
    scores: Array, folds: list[Split], y: NDArray[Any], classes: NDArray[Any]
) -> Array:
    """A class that a fold was not trained on loses by the margin; a single class wins by it."""
    scores = scores.copy()
    for train, test in folds:
        known = np.isin(classes, y[train])
        scores[np.ix_(test, np.flatnonzero(~known))] = MISSING
        if known.sum() == 1:
            scores[np.ix_(test, np.flatnonzero(known))] = -MISSING
    return scores


def _with_missing_classes(
    values: Array, folds: list[Split], y: NDArray[Any], classes: NDArray[Any]
) -> Array:
    """A class that a fold was not trained on loses by the margin against the others, and pairs of
    such classes are undecided, as in LIBSVM."""
    values = values.copy()
    first, second = np.array(pairs(len(classes))).T
    for train, test in folds:
        known = np.isin(classes, y[train]).astype(np.float64)
        if known.all():
            continue
        columns = np.flatnonzero((known[first] == 0) | (known[second] == 0))
        values[np.ix_(test, columns)] = (known[first] - known[second])[columns]
    return values
