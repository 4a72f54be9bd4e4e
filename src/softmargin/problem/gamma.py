"""The kernel coefficient gamma, where it depends on the data."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

Array = NDArray[np.float64]


def gamma_value(gamma: str | float, X: Any, weight: Array) -> float:
    """The numeric value of the parameter `gamma`; `weight` is the weight of each example."""
    if gamma == "auto":
        return 1.0 / int(X.shape[1])
    if gamma != "scale":
        return float(gamma)
    variance = _variance(X, weight)
    if not np.isfinite(variance):
        raise ValueError(
            f"gamma='scale' needs the variance of X, which is {variance}."
            " Scale the data (StandardScaler), or give gamma as a number."
        )
    return 1.0 / (X.shape[1] * variance) if variance != 0 else 1.0


def _variance(X: Any, weight: Array) -> float:
    """The variance of all entries of X, with each row weighted; in float64 without a float64 copy
    of X."""
    values, row_weight = X, weight
    if sp.issparse(X):
        values, row_weight = X.data[:, None], np.repeat(weight, np.diff(X.indptr))
    count = float(weight.sum()) * int(X.shape[1])
    stored = float(row_weight.sum()) * int(values.shape[1])
    with np.errstate(over="ignore", invalid="ignore"):
        mean = _moment(values, row_weight, 0.0, power=1) / count
        squares = _moment(values, row_weight, mean, power=2)
        return (squares + (count - stored) * mean * mean) / count


def _moment(values: Any, weight: Array, shift: float, power: int) -> float:
    """The weighted sum of (values - shift) ** power, in blocks of rows."""
    total = 0.0
    rows = max(1, 2**18 // max(1, values.shape[1]))
    for start in range(0, values.shape[0], rows):
        block = values[start : start + rows].astype(np.float64) - shift
        total += float(weight[start : start + rows] @ (block**power).sum(axis=1))
    return total
