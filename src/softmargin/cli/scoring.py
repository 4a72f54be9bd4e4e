"""How good predictions are, in the measures of LIBSVM's tools."""

from __future__ import annotations

from typing import Any

import numpy as np


def accuracy(y: Any, predicted: Any) -> dict[str, Any]:
    correct = int((np.asarray(y) == np.asarray(predicted)).sum())
    return {"accuracy": correct / len(y), "correct": correct, "total": len(y)}


def regression_scores(y: Any, predicted: Any) -> dict[str, Any]:
    y, predicted = np.asarray(y, dtype=float), np.asarray(predicted, dtype=float)
    with np.errstate(invalid="ignore", divide="ignore"):
        a, b = y - y.mean(), predicted - predicted.mean()
        squared_correlation = (a @ b) ** 2 / ((a @ a) * (b @ b))
    return {
        "mean_squared_error": float(np.mean((predicted - y) ** 2)),
        "squared_correlation": float(squared_correlation),
        "total": len(y),
    }


def prediction_lines(result: dict[str, Any]) -> list[str]:
    """The lines that svm-predict prints."""
    if "accuracy" in result:
        percent = f"{100 * result['accuracy']:g}%"
        counts = f"({result['correct']}/{result['total']})"
        return [f"Accuracy = {percent} {counts} (classification)"]
    return [
        f"Mean squared error = {result['mean_squared_error']:g} (regression)",
        f"Squared correlation coefficient = {result['squared_correlation']:g} (regression)",
    ]
