"""Probabilities whose largest entry is that of the predicted class.

A vote over pairs of classes and the coupling of their probabilities can disagree.  Where they do,
the probabilities are replaced by the nearest ones (in Kullback-Leibler divergence) in which no
class exceeds the predicted class: the predicted class and the classes that exceed it all get the
mean of their probabilities.  Of several equal entries ``argmax`` takes the first, so the predicted
class gets the next larger floating-point number where it would only tie.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


def agreeing(probabilities: Array, winners: NDArray[np.integer]) -> Array:
    """`probabilities`, changed in place so that ``argmax`` of each row is its winner."""
    rows = np.flatnonzero(probabilities.argmax(axis=1) != winners)
    if not len(rows):
        return probabilities
    some, winner = probabilities[rows], winners[rows, None]
    own = np.take_along_axis(some, winner, axis=1)
    np.put_along_axis(some, winner, np.inf, axis=1)  # the winner comes first
    order = np.argsort(-some, axis=1, kind="stable")
    others = np.take_along_axis(some, order[:, 1:], axis=1)
    sorted_ = np.hstack([own, others])
    means = np.cumsum(sorted_, axis=1) / np.arange(1, sorted_.shape[1] + 1)
    # The next class joins as long as it exceeds the mean so far.
    joins = np.hstack([np.ones_like(own, dtype=bool), others > means[:, :-1]])
    joins = np.logical_and.accumulate(joins, axis=1)
    mean = np.take_along_axis(means, joins.sum(axis=1, keepdims=True) - 1, axis=1)
    shared = np.where(joins, mean, sorted_)
    shared[:, 0] = np.nextafter(shared.max(axis=1), 1.0)
    np.put_along_axis(some, order, shared, axis=1)
    probabilities[rows] = some
    return probabilities
