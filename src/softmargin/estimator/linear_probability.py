"""Class probabilities of LinearSVC, calibrated on decision values out of fold.

Each fold begins at the dual variables that its examples have in the solution of all examples.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from softmargin.calibration.class_scores import fit_scores
from softmargin.calibration.scored_probabilities import scored_probabilities
from softmargin.calibration.signed_curve import fit_curve
from softmargin.estimator.out_of_fold import QUIET, class_scores, was_stopped
from softmargin.estimator.probability import PredictProba
from softmargin.estimator.splits import Split
from softmargin.problem.convexity import one_blas_thread
from softmargin.problem.kernels import take

Array = NDArray[np.float64]


class LinearProbability(PredictProba):
    """The part of LinearSVC that is about probabilities."""

    def _calibrate(self, X: Any, codes: NDArray[np.intp], weight: Array, began: float) -> None:
        """Sets what `predict_proba` needs."""
        for name in ("_curve", "_mixing"):
            self.__dict__.pop(name, None)
        if not self.probability:
            return
        labels = self.classes_[codes]
        held_out = class_scores(self, X, labels, weight, began, partial(fit_fold, self))
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


def fit_fold(
    machine: Any, X: Any, y: NDArray[Any], weight: Array, fold: Split, left: float | None
) -> Array | None:
    """Decision values of the rows that a fold holds out; None if it was stopped."""
    changed = {**QUIET, "time_limit": left, "warm_start": True}
    own = type(machine)(**{**machine.get_params(deep=False), **changed})
    own._continue_from(machine)
    if hasattr(own, "_kept"):
        own._kept = own._kept.of_rows(fold[0])
    own.fit(take(X, fold[0]), y[fold[0]], weight[fold[0]])
    return None if was_stopped(own) else own.decision_function(take(X, fold[1]))
