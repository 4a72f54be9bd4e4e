"""Probabilities of the classes, for models of svm-train -b 1.

Such a model has two numbers for each pair of classes, with which a decision value f becomes the
probability 1 / (1 + exp(A f + B)) of the first of the two (Platt, 2000).  With more than two
classes these r_ij, the probability of i given i or j, are coupled: p minimises

    sum_i sum_{j != i} (r_ji p_i - r_ij p_j)^2,   sum_i p_i = 1

(Wu, Lin and Weng, 2004, second approach and Algorithm 2; LIBSVM paper, Section 8).  A one-class
model has ten marks on the line of decision values instead, the limits of tenths.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from softmargin.multiclass import pairs

Array = NDArray[np.float64]

LEAST = 1e-7  # of a pair's probability: none is certain
ITERATIONS = 100
TOLERANCE = 0.005  # over the number of classes: svm-predict's, so that the answers are the same
BLOCK_NUMBERS = 2**20


def class_probabilities(values: Array, A: Array, B: Array, classes: int) -> Array:
    """Rows of probabilities, a column per class; `values` are decision values, a column per pair of
    classes, above zero for its first."""
    first = np.clip(_sigmoid(values * A + B), LEAST, 1 - LEAST)
    if classes == 2:
        return np.hstack([first, 1 - first])
    rows = max(1, BLOCK_NUMBERS // classes**2)
    blocks = [first[k : k + rows] for k in range(0, len(first), rows)]
    return np.concatenate([_coupled(block, classes) for block in blocks])


def _sigmoid(x: Array) -> Array:
    """1 / (1 + exp(x)), without overflow."""
    small = np.exp(-np.abs(x))
    probability: Array = np.where(x >= 0, small, 1.0) / (1.0 + small)
    return probability


def _coupled(first: Array, classes: int) -> Array:
    r = np.zeros((len(first), classes, classes))
    for column, (i, j) in enumerate(pairs(classes)):
        r[:, i, j], r[:, j, i] = first[:, column], 1 - first[:, column]
    # The sum is p'Qp; each step minimises it over one p_t and scales p back to a sum of one.
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


def inlier_probability(values: Array, marks: Array) -> Array:
    """The tenth that a decision value falls in; beyond the marks almost 0 or 1."""
    tenth = np.searchsorted(marks, values, side="right") / 10
    tenth = np.where(values < marks[0], 0.001, tenth)
    probability: Array = np.where(values >= marks[-1], 0.999, tenth)
    return probability
