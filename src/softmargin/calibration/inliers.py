"""LIBSVM's probability that a point is an inlier of a one-class machine.

There are ten thresholds on the decision value, in increasing order.  The number of thresholds at or
below a value, divided by ten, is its probability.  The thresholds lie halfway between eleven
points: five that split the negative decision values of the training examples into groups of equal
size, zero, and five that split the other values in the same way.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

MARKS = 10
FEWEST = 5
"""Fewer negative or positive decision values give no thresholds."""


def fit_marks(values: Array) -> Array:
    """The thresholds, from the decision values of the training examples."""
    ordered = np.sort(values)
    negative, positive = ordered[ordered < 0], ordered[ordered >= 0]
    half = MARKS // 2
    if len(negative) < FEWEST or len(positive) < FEWEST:
        raise ValueError(
            f"probability=True needs at least {FEWEST} training examples on each side of the"
            f" boundary; got {len(negative)} outside and {len(positive)} inside. Choose another nu,"
            " or probability=False."
        )
    below = [negative[k * len(negative) // half] for k in range(half)]
    above = [positive[k * len(positive) // half - 1] for k in range(1, half + 1)]
    points = np.array([*below, 0.0, *above])
    marks: Array = 0.5 * (points[:-1] + points[1:])
    return marks


def inlier_probability(values: Array, marks: Array) -> Array:
    """The number of marks at or below each value, divided by ten; 0.001 and 0.999 at the ends."""
    tenth = np.searchsorted(marks, values, side="right") / MARKS
    tenth = np.where(values < marks[0], 0.001, tenth)
    probability: Array = np.where(values >= marks[-1], 0.999, tenth)
    return probability
