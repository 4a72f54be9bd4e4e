"""Class probabilities of LinearSVC, calibrated on decision values out of fold.

Each fold begins at the dual variables that its examples have in the solution of all examples.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray

from softmargin.calibration.class_scores import fit_scores
from softmargin.calibration.scored_classes import scored_probabilities
from softmargin.calibration.signed_curve import fit_curve
from softmargin.estimator.conventions import ConvergenceWarning
from softmargin.estimator.out_of_fold import (
    QUIET,
    OutOfFold,
    Split,
    fold_scores,
    known_values,
    seconds_left,
    warn_that_it_stopped,
    weighted_splits,
    with_missing_scores,
)
from softmargin.estimator.probability import PredictProba
from softmargin.problem.convexity import one_blas_thread
from softmargin.problem.kernels import take
from softmargin.solution import StopReason

Array = NDArray[np.float64]


class LinearProbability(PredictProba):
    """The part of LinearSVC that is about probabilities."""

    def _calibrate(self, X: Any, codes: NDArray[np.intp], weight: Array, began: float) -> None:
        """Sets what `predict_proba` needs."""
        for name in ("_curve", "_mixing"):
            self.__dict__.pop(name, None)
        if not self.probability:
            return
        held_out = linear_out_of_fold(self, X, codes, weight, began)
        if held_out is None:
            return
        values, of, own = held_out.values, codes[held_out.rows], weight[held_out.rows]
        with one_blas_thread():
            if len(self.classes_) == 2:
                self._curve = fit_curve(values[:, 1], of == 1, own)
            else:
                self._curve, self._mixing = fit_scores(values, of, own)

    def _probabilities(self, X: Any) -> Array:
        values: Array = self.decision_function(X)  # type: ignore[attr-defined]
        self._check_calibrated("_curve")
        return scored_probabilities(values, vars(self))


def linear_out_of_fold(
    machine: Any, X: Any, codes: NDArray[np.intp], weight: Array, began: float
) -> OutOfFold | None:
    """A column of scores for each class; for two classes, the decision value with both signs.
    None, with a warning, if the time limit or Ctrl-C ends the folds early."""
    y = machine.classes_[codes]
    told = known_values(machine, y, weight)
    if told is not None:
        one = told.values.ndim == 1
        return OutOfFold(told.rows, np.stack([-told.values, told.values], 1)) if one else told
    folds = weighted_splits(machine, X, y, weight)
    scores = np.full((len(codes), len(machine.classes_)), np.nan)
    for train, test in folds:
        known = np.unique(codes[train])
        if len(known) == 1:
            continue
        own = _fit_fold(machine, X, y, weight, (train, test), seconds_left(machine, began))
        if own is None:
            warn_that_it_stopped()
            return None
        values = own.decision_function(take(X, test))
        scores[np.ix_(test, known)] = fold_scores(machine, values, len(machine.classes_))
    rows = np.unique(np.concatenate([test for _, test in folds]))
    return OutOfFold(rows, with_missing_scores(scores, folds, y, machine.classes_)[rows])


def _fit_fold(
    machine: Any, X: Any, y: NDArray[Any], weight: Array, fold: Split, left: float | None
) -> Any:
    """The machine of a fold; None if it was stopped."""
    if left == 0.0:
        return None
    changed = {**QUIET, "time_limit": left, "warm_start": True}
    own = type(machine)(**{**machine.get_params(deep=False), **changed})
    own._continue_from(machine)
    if hasattr(own, "_kept"):
        own._kept = own._kept.of_rows(fold[0])
    with warnings.catch_warnings():
        # A fold that ends at max_iter: the fit of all examples has said so already.
        warnings.simplefilter("ignore", ConvergenceWarning)
        own.fit(take(X, fold[0]), y[fold[0]], weight[fold[0]])
    stop = own.solution_.stop_reason
    return None if stop in (StopReason.TIME_LIMIT, StopReason.INTERRUPTED) else own
