"""Decision values of examples, each from a machine that was not trained on it, for probabilities.

The folds of a kernel machine are solved with the problems of its fit, by the same solvers
(:mod:`softmargin.fitting.held_out`).  Those of other machines are fits of their own.
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
from softmargin.estimator.one_vs_one import Pairs
from softmargin.estimator.splits import Split, weighted_splits
from softmargin.fitting.held_out import Fold, Folds
from softmargin.fitting.kernel_fit import FitResult
from softmargin.fitting.linear_problem import COUPLED
from softmargin.fitting.problems import Problems
from softmargin.solution import StopReason
from softmargin.watching import Watch

Array = NDArray[np.float64]
Rows = NDArray[np.intp]
FitFold = Callable[[Any, NDArray[Any], Array, Split, "float | None"], "Array | None"]
"""Trains a machine on a fold in the seconds that are left, and returns the decision values of the
rows that it holds out; None if the time was too short."""

EARLY = {StopReason.TIME_LIMIT, StopReason.INTERRUPTED}
"""A fit that ended for one of these reasons has no probabilities."""
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


@dataclass(frozen=True)
class FitWithFolds:
    """A fit of a kernel machine: its examples, its result, and the folds solved with it."""

    X: Any
    y: Any
    weight: Array
    result: FitResult
    folds: Folds | None
    began: float


def make_folds(machine: Any, X: Any, y: Any, weight: Array, problems: Problems) -> Folds | None:
    """The folds of a machine (`machine.cv`) that is about to be fitted to X and y, with these
    problems; None if they are not needed, or are to be fits of their own."""
    if has_fits_for_folds(machine) or known_values(machine, y, weight) is not None:
        return None
    folds = []
    for train, test in weighted_splits(machine, X, y, weight):
        left_out, tested = np.ones(len(y), dtype=bool), np.zeros(len(y), dtype=bool)
        left_out[train], tested[test] = False, True
        own = problems.without(left_out)
        if isinstance(own, Pairs) and len(np.unique(y[train])) > 1:
            try:
                machine._check_pairs(own)
            except ValueError as error:
                raise ValueError(f"A fold of probability cannot be trained: {error}") from error
        folds.append(Fold(own, tested))
    return Folds(folds, float(machine.tol), int(machine.max_iter))


def held_out_values(machine: Any, fit: FitWithFolds) -> Array | None:
    """A value for each variable of each problem of a fit: the decision value of its example (for a
    pair of classes, positive for the first), or NaN if no fold holds it out.  None, with a warning,
    if the time limit or Ctrl-C ends the folds early."""
    result, folds = fit.result, fit.folds
    if folds is None:
        known = known_values(machine, np.ravel(fit.y), fit.weight)
        assert known is not None  # else `make_folds` would have made some
        return _by_variable(known, result.problems)
    values = result.held_out
    if values is None and not EARLY & set(result.certificates.columns["stop_reason"]):
        left = seconds_left(machine, fit.began)
        watch = Watch(len(result.problems.sizes), folds.tol, time_limit=left)
        with watch.interruptible(machine.on_interrupt == "keep"):
            values = machine._solve_folds(fit.X, result, folds, watch).held_out
    if values is None:
        warn_that_it_stopped()
    elif isinstance(result.problems, Pairs):
        _fill_missing_classes(values, result.problems, folds)
    return values


def _by_variable(known: OutOfFold, problems: Problems) -> Array:
    """Values by example, and by pair of classes, as `held_out_values` has them."""
    count, columns = len(problems.sizes), known.values
    if columns.ndim == 1:  # with two classes, the engine's value is positive for the second
        columns = (-columns if isinstance(problems, Pairs) else columns)[:, None]
    ids = problems.state(range(count)).ids
    whole = np.full((max(ids.max(), known.rows.max()) + 1, count), np.nan)
    whole[known.rows] = columns
    values: Array = whole[ids, np.repeat(np.arange(count), problems.sizes)]
    return values


def _fill_missing_classes(values: Array, pairs: Pairs, folds: Folds) -> None:
    """A class that a fold was not trained on loses by the margin against the others, and pairs of
    such classes are undecided, as in LIBSVM."""
    everything = range(len(pairs.sizes))
    ids, (first, second) = pairs.state(everything).ids, pairs.classes
    for fold in folds.folds:
        own: Any = fold.problems
        trained = np.add.reduceat(own.price > 0, pairs.class_starts[:-1]) > 0
        if trained.all():
            continue
        known = trained.astype(np.float64)
        missing = np.repeat(~(trained[first] & trained[second]), pairs.sizes)
        missing &= fold.tested[ids] & np.isnan(values)
        values[missing] = np.repeat(known[first] - known[second], pairs.sizes)[missing]


def class_scores(
    machine: Any, X: Any, y: NDArray[Any], weight: Array, began: float, fit_fold: FitFold
) -> OutOfFold | None:
    """A column of scores for each class, by folds that are fits of their own; for two classes, the
    decision value with both signs.  None, with a warning, if the folds end early."""
    known = known_values(machine, y, weight)
    if known is not None:
        one = known.values.ndim == 1
        return OutOfFold(known.rows, np.stack([-known.values, known.values], 1)) if one else known
    folds, classes = weighted_splits(machine, X, y, weight), machine.classes_
    scores = np.full((len(y), len(classes)), np.nan)
    for train, test in folds:
        trained = np.flatnonzero(np.isin(classes, y[train]))
        if len(trained) == 1:
            continue
        left = seconds_left(machine, began)
        with warnings.catch_warnings():
            # If a fold stops at max_iter, do not warn: the fit of all examples has done so already.
            warnings.simplefilter("ignore", ConvergenceWarning)
            values = None if left == 0.0 else fit_fold(X, y, weight, (train, test), left)
        if values is None:
            warn_that_it_stopped()
            return None
        scores[np.ix_(test, trained)] = fold_scores(machine, values, len(classes))
    rows = np.unique(np.concatenate([test for _, test in folds]))
    return OutOfFold(rows, with_missing_scores(scores, folds, y, classes)[rows])


def known_values(machine: Any, y: Any, weight: Array) -> OutOfFold | None:
    """The values of held-out examples that a search has already computed, if there are any."""
    find = KNOWN.get()
    values = None if find is None else find(machine, y)
    rows = np.flatnonzero(weight > 0)
    return None if values is None else OutOfFold(rows, values[rows])


def seconds_left(machine: Any, began: float) -> float | None:
    """The seconds until the time limit of a fit that began at `began`; None without a limit."""
    limit = machine.time_limit
    return None if limit is None else max(limit - (time.perf_counter() - began), 0.0)


def was_stopped(machine: Any) -> bool:
    """Whether a time limit or Ctrl-C ended the fit of a machine early."""
    problems = machine.solution_.problems or [machine.solution_]
    return any(solution.stop_reason in EARLY for solution in problems)


def warn_that_it_stopped() -> None:
    warnings.warn(
        "The fit was stopped before it had probabilities: predict works, but predict_proba and"
        " predict_interval do not. Allow more time, or fit with probability=False.",
        ConvergenceWarning,
        stacklevel=6,
    )


def scores_classes(machine: Any) -> bool:
    """Whether a classifier has a score for each class, instead of a value for each pair."""
    one_by_one = getattr(machine, "multi_class", "ovo") == "ovo"
    return not one_by_one and len(getattr(machine, "classes_", ())) > 2


def has_fits_for_folds(machine: Any) -> bool:
    """Whether the folds of a kernel machine are fits of their own: only solvers of pairs of classes
    can continue with a fold."""
    return scores_classes(machine) or getattr(machine, "multi_class", "ovo") in COUPLED


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
