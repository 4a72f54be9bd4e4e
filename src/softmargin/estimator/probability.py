"""Class probabilities of the kernel classifiers, calibrated on decision values out of fold.

With ``probability=True`` the class that ``predict`` returns always has the largest probability.
Two classes: the curve of :mod:`softmargin.calibration.signed_curve`, which is 1/2 at the decision
value zero.  More classes: the probabilities of the pairs, coupled and made to agree with the
prediction (:mod:`softmargin.calibration.agreement`); or, where each class has a score, a softmax of
these (:mod:`softmargin.calibration.class_scores`).  With "platt" they are LIBSVM's, which sometimes
contradict the prediction.
"""

from __future__ import annotations

from abc import abstractmethod
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from softmargin.calibration.class_scores import fit_scores
from softmargin.calibration.sigmoid import fit_sigmoids
from softmargin.calibration.signed_curve import fit_curve
from softmargin.estimator.conventions import NotFittedError, available_if
from softmargin.estimator.out_of_fold import (
    QUIET,
    FitWithFolds,
    class_scores,
    has_fits_for_folds,
    held_out_values,
    make_folds,
    was_stopped,
)
from softmargin.estimator.splits import Split
from softmargin.estimator.validation import with_probability
from softmargin.fitting.held_out import Folds
from softmargin.fitting.problems import Problems
from softmargin.problem.convexity import one_blas_thread
from softmargin.problem.formulations import Starts
from softmargin.problem.kernels import take

Array = NDArray[np.float64]
NONE: Array = np.empty(0)


class PredictProba:
    """The methods of every classifier with probabilities."""

    probability: bool | str
    cv: Any
    classes_: NDArray[Any]

    @abstractmethod
    def _probabilities(self, X: Any) -> Array:
        """A row of class probabilities for each row of X."""

    @available_if(with_probability("predict_proba"))
    def predict_proba(self, X: Any) -> Array:
        """Probabilities of the classes for the samples in X, for ``probability=True``.

        Returns
        -------
        probabilities : ndarray of shape (n_samples, n_classes)
            In the order of ``classes_``.  The class that ``predict`` returns has the largest
            (except for ``probability="platt"``).
        """
        return self._probabilities(X)

    @available_if(with_probability("predict_proba"))
    def predict_log_proba(self, X: Any) -> Array:
        """Logarithms of the probabilities that `predict_proba` returns."""
        return np.log(self._probabilities(X))

    def _check_calibrated(self, name: str) -> None:
        """Raises an error unless the machine was calibrated, that is, unless the attribute `name`
        exists and is not empty."""
        if not len(getattr(self, name, ())):
            raise NotFittedError(
                "predict_proba is not available when fitted with probability=False. Fit again with"
                " probability=True."
            )


class Probability(PredictProba):
    """The part of SVC and NuSVC that is about probabilities."""

    def _folds(self, X: Any, y: Any, weight: Array, problems: Problems) -> Folds | None:
        """The folds to be solved with the problems of a fit."""
        return make_folds(self, X, np.ravel(y), weight, problems) if self.probability else None

    def _calibrate(self, fit: FitWithFolds) -> None:
        """Sets what `predict_proba` needs."""
        for name in ("_curve", "_mixing", "_agreeing"):
            self.__dict__.pop(name, None)
        self.probA_ = self.probB_ = NONE
        if not self.probability:
            return
        labels, weight = np.ravel(fit.y), fit.weight
        if not has_fits_for_folds(self):
            values = held_out_values(self, fit)
            if values is not None:
                problems = fit.result.problems
                stated = problems.state(range(len(problems.sizes)))
                own = weight[stated.ids]
                self._fit_pairs(values, stated.formulation.y > 0, own, stated.starts)
            return
        scores = class_scores(self, fit.X, labels, weight, fit.began, partial(_fit_fold, self))
        if scores is None:
            return
        of, own = np.searchsorted(self.classes_, labels[scores.rows]), weight[scores.rows]
        if len(self.classes_) == 2:
            self._fit_pairs(scores.values[:, 0], of == 0, own)
            return
        with one_blas_thread():
            self._curve, self._mixing = fit_scores(scores.values, of, own)

    def _fit_pairs(
        self, values: Array, first: NDArray[np.bool_], weight: Array, starts: Starts = ()
    ) -> None:
        """From the values of all pairs of classes, positive for the first class; NaN: unknown."""
        tested = np.isfinite(values)
        known, own = np.where(tested, values, 0.0), np.where(tested, weight, 0.0)
        self.probA_, self.probB_ = fit_sigmoids(known, first, own, starts)
        self._agreeing = self.probability != "platt"
        if len(self.classes_) == 2:  # here a positive value means the second class
            with one_blas_thread():
                self._curve = fit_curve(-values[tested], ~first[tested], own[tested])


def _fit_fold(
    machine: Any, X: Any, y: NDArray[Any], weight: Array, fold: Split, left: float | None
) -> Array | None:
    """Scores of the rows that a fold holds out; None if it was stopped.  All folds have the kernel
    of all examples."""
    train, test = fold
    gamma = getattr(machine, "_gamma", machine.gamma)
    changed = {**QUIET, "time_limit": left, "gamma": gamma}
    own = type(machine)(**{**machine.get_params(deep=False), **changed})
    seen, unseen = take(X, train), take(X, test)
    if own.kernel == "precomputed":
        seen, unseen = seen[:, train], unseen[:, train]
    own.fit(seen, y[train], sample_weight=weight[train])
    return None if was_stopped(own) else own.decision_function(unseen)
