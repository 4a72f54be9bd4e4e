"""Stands for a fitted estimator when scikit-learn scores it.

Its X are row numbers, and what it predicts for them is known already.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from softmargin.model_selection.predictions import Predictions


def row_numbers(count: int) -> NDArray[np.intp]:
    """Takes the place of X."""
    return np.arange(count)[:, None]


class StandIn:
    """A fitted `machine`, or a pipeline that ends in it."""

    def __init__(self, machine: Any, predictions: Predictions, count: int) -> None:
        self._machine, self._predictions = machine, predictions
        self._place = np.full(count, -1)
        self._place[predictions.rows] = np.arange(len(predictions.rows))
        if predictions.classes is not None:
            self.classes_ = predictions.classes

    def __sklearn_tags__(self) -> Any:
        tags = self._machine.__sklearn_tags__()
        tags.input_tags.pairwise = False
        return tags

    def set_params(self, **parameters: Any) -> StandIn:
        return self

    def fit(self, X: Any, y: Any = None, **fit_params: Any) -> StandIn:
        return self

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> Any:
        return type(self._machine).score(self, X, y, sample_weight)

    def predict(self, X: NDArray[np.intp]) -> NDArray[Any]:
        told, places = self._predictions, self._place[X[:, 0]]
        if told.winners is not None and told.classes is not None:
            predicted: NDArray[Any] = told.classes[told.winners[places]]
            return predicted
        assert told.values is not None
        if hasattr(self._machine, "decision_function"):  # OneClassSVM
            return np.where(told.values[places] >= 0, 1, -1).astype(np.intp)
        targets: NDArray[Any] = told.values[places]
        return targets

    def decision_function(self, X: NDArray[np.intp]) -> NDArray[np.float64]:
        assert self._predictions.values is not None
        values: NDArray[np.float64] = self._predictions.values[self._place[X[:, 0]]]
        return values
