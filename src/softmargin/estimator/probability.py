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
from typing import Any

import numpy as np
from numpy.typing import NDArray

from softmargin.calibration.class_scores import fit_scores
from softmargin.calibration.sigmoid import fit_sigmoid
from softmargin.calibration.signed_curve import fit_curve
from softmargin.estimator.conventions import NotFittedError, available_if
from softmargin.estimator.one_vs_one import pairs
from softmargin.estimator.out_of_fold import out_of_fold, scores_classes
from softmargin.estimator.validation import with_probability
from softmargin.fitting.kernel_fit import FitResult
from softmargin.problem.convexity import one_blas_thread

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
        """`name`: an attribute that is there, and not empty, if the machine was calibrated."""
        if not len(getattr(self, name, ())):
            raise NotFittedError(
                "predict_proba is not available when fitted with probability=False. Fit again with"
                " probability=True."
            )


class Probability(PredictProba):
    """The part of SVC and NuSVC that is about probabilities."""

    def _calibrate(self, X: Any, y: Any, weight: Array, result: FitResult, began: float) -> None:
        """Sets what `predict_proba` needs."""
        for name in ("_curve", "_mixing", "_agreeing"):
            self.__dict__.pop(name, None)
        self.probA_ = self.probB_ = NONE
        if not self.probability:
            return
        labels, classes = np.asarray(y).ravel(), len(self.classes_)
        held_out = out_of_fold(self, X, labels, weight, result, began)
        if held_out is None:
            return
        of = np.searchsorted(self.classes_, labels[held_out.rows])
        own, sigmoids = weight[held_out.rows], []
        if scores_classes(self):
            with one_blas_thread():
                self._curve, self._mixing = fit_scores(held_out.values, of, own)
            return
        for column, (i, j) in enumerate(pairs(classes)):
            taken = np.flatnonzero((of == i) | (of == j))
            values = held_out.values[taken, column]
            sigmoids.append(fit_sigmoid(values, of[taken] == i, own[taken]))
        self.probA_, self.probB_ = np.array(sigmoids).T.copy()
        self._agreeing = self.probability != "platt"
        if classes == 2:  # a positive value: the first class in a column, the second here
            with one_blas_thread():
                self._curve = fit_curve(-held_out.values[:, 0], of == 1, own)
