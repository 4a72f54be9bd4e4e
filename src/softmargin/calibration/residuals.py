"""Intervals for regressions, from residuals of examples that the machine was not trained on.

The half-width for a coverage is the quantile of the absolute residuals at coverage (1 + 1/n)
(cross-conformal prediction: Vovk, 2015; with the predictions of the machine of all examples).
LIBSVM describes the same residuals by a Laplace distribution.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

OUTLIER = 5
"""LIBSVM leaves out residuals beyond this many standard deviations of its first estimate."""


def sorted_residuals(residuals: Array, weight: Array) -> Array:
    """Two rows: the absolute residuals in increasing order, and the share of the total weight up to
    each.  The total includes an unseen example of average weight, whose residual counts as larger
    than all others."""
    taken = weight > 0
    size, own = np.abs(residuals[taken]), weight[taken]
    order = np.argsort(size, kind="stable")
    share = np.cumsum(own[order]) / (own.sum() + own.mean())
    return np.stack([size[order], share])


def half_width(table: Array, coverage: float) -> float:
    """Infinite if there are too few residuals for the coverage."""
    size, share = table
    first = int(np.searchsorted(share, coverage * (1 - 1e-12)))
    return float(size[first]) if first < len(size) else float("inf")


def laplace_half_width(scale: float, coverage: float) -> float:
    return float(-scale * np.log1p(-coverage))


def laplace_scale(residuals: Array, weight: Array) -> float:
    """The scale of a Laplace distribution of the residuals, as svm-train -b 1 estimates it."""
    size = np.abs(residuals)
    scale = float(weight @ size / weight.sum())
    kept = size <= OUTLIER * np.sqrt(2 * scale * scale)
    kept &= weight > 0
    return float(weight[kept] @ size[kept] / weight[kept].sum()) if kept.any() else scale
