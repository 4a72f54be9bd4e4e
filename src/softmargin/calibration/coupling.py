"""Class probabilities from pairs of classes, as LIBSVM computes them.

Each pair of classes has a sigmoid (:mod:`softmargin.calibration.sigmoid`), which gives r_ij, the
probability of class i for an example of class i or j.  With more than two classes these are
combined: p minimises

    sum_i sum_{j != i} (r_ji p_i - r_ij p_j)^2,   sum_i p_i = 1

(Wu, Lin and Weng, 2004, second approach and Algorithm 2; LIBSVM paper, Section 8).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from softmargin.calibration.sigmoid import sigmoid
from softmargin.estimator.one_vs_one import pairs

Array = NDArray[np.float64]

LEAST = 1e-7  # pairwise probabilities are clipped to [LEAST, 1 - LEAST]
ITERATIONS = 100
TOLERANCE = 0.005  # divided by the number of classes; as in svm-predict, for the same results
BLOCK_NUMBERS = 2**20


def class_probabilities(values: Array, A: Array, B: Array, classes: int) -> Array:
    """One row of class probabilities per example.  `values` has one column of decision values per
    pair of classes, positive for the first class of the pair."""
    first = np.clip(sigmoid(values * A + B), LEAST, 1 - LEAST)
    if classes == 2:
        return np.hstack([first, 1 - first])
    rows = max(1, BLOCK_NUMBERS // classes**2)
    blocks = [first[k : k + rows] for k in range(0, len(first), rows)]
    return np.concatenate([_coupled(block, classes) for block in blocks])


def _coupled(first: Array, classes: int) -> Array:
    r = np.zeros((len(first), classes, classes))
    for column, (i, j) in enumerate(pairs(classes)):
        r[:, i, j], r[:, j, i] = first[:, column], 1 - first[:, column]
    # The objective is p'Qp; each step minimises it over one p_t and rescales p to sum to one.
    Q = -r * r.transpose(0, 2, 1)
    diagonal = np.arange(classes)
    Q[:, diagonal, diagonal] = (r**2).sum(axis=1)
    p = np.full((len(first), classes), 1.0 / classes)
    left = np.arange(len(first))
    for _ in range(max(ITERATIONS, classes)):
        q = Q[left]
        x = p[left]
        slope = np.einsum("rij,rj->ri", q, x)
        value = (x * slope).sum(axis=1)
        open_ = np.abs(slope - value[:, None]).max(axis=1) >= TOLERANCE / classes
        left, q, x, slope, value = left[open_], q[open_], x[open_], slope[open_], value[open_]
        if not len(left):
            break
        for t in range(classes):
            change = (value - slope[:, t]) / q[:, t, t]
            scale = 1 / (1 + change)
            value = (value + change * (change * q[:, t, t] + 2 * slope[:, t])) * scale**2
            slope = (slope + change[:, None] * q[:, t]) * scale[:, None]
            x[:, t] += change
            x *= scale[:, None]
        p[left] = x
    return p
