"""Intervals of the regressions, from residuals out of fold."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from softmargin.calibration.residuals import (
    half_width,
    laplace_half_width,
    laplace_scale,
    sorted_residuals,
)
from softmargin.estimator.conventions import NotFittedError, available_if
from softmargin.estimator.out_of_fold import FitWithFolds, held_out_values, make_folds
from softmargin.estimator.validation import with_probability
from softmargin.fitting.held_out import Folds
from softmargin.fitting.problems import OneProblem

Array = NDArray[np.float64]


class Intervals:
    """The part of SVR and NuSVR that is about intervals."""

    probability: bool
    cv: Any

    def _folds(self, X: Any, y: Any, weight: Array, problem: OneProblem) -> Folds | None:
        """The folds to be solved with the problem of a fit."""
        if not self.probability:
            return None
        if (weight > 0).sum() < 2:
            raise ValueError(
                "probability=True needs two examples or more, each predicted from the others; got"
                f" {(weight > 0).sum()} with a positive weight."
            )
        return make_folds(self, X, np.asarray(y).ravel(), weight, problem)

    def _keep_residuals(self, fit: FitWithFolds) -> None:
        """Sets what `predict_interval` needs, and LIBSVM's Laplace scale."""
        for name in ("_residuals", "probA_"):
            self.__dict__.pop(name, None)
        if not self.probability:
            return
        target = np.asarray(fit.y, dtype=np.float64).ravel()
        predicted = held_out_values(self, fit)
        if predicted is None:
            return
        problem: Any = fit.result.problems
        tested = np.isfinite(predicted)
        rows = problem.ids[tested]
        residuals, own = target[rows] - predicted[tested], fit.weight[rows]
        self._residuals = sorted_residuals(residuals, own)
        self.probA_ = np.array([laplace_scale(residuals, own)])

    @available_if(with_probability("predict_interval"))
    def predict_interval(self, X: Any, coverage: float = 0.9) -> Array:
        """Intervals that contain about this share of the targets, for ``probability=True``.

        The interval extends equally far to both sides of the prediction: just far enough to have
        contained this share of the training examples, each predicted by a machine that was not
        trained on it.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
        coverage : float, default=0.9
            Between 0 and 1.

        Returns
        -------
        intervals : ndarray of shape (n_samples, 2)
            The lower and the upper end; infinite if there were too few training examples for the
            coverage.
        """
        if not 0.0 < coverage < 1.0:
            raise ValueError(f"coverage must be between 0 and 1; got {coverage!r}.")
        predicted: Array = self.predict(X)  # type: ignore[attr-defined]
        width = self._half_width(coverage)
        return np.stack([predicted - width, predicted + width], axis=1)

    def _half_width(self, coverage: float) -> float:
        if hasattr(self, "_residuals"):
            return half_width(self._residuals, coverage)
        if hasattr(self, "probA_"):  # a model of svm-train -b 1 has no residuals, only this scale
            return laplace_half_width(float(self.probA_[0]), coverage)
        raise NotFittedError(
            "predict_interval is not available when fitted with probability=False. Fit again with"
            " probability=True."
        )
