"""Platt's sigmoid: the probability of the positive class is 1 / (1 + exp(A f + B)).

A and B minimise the log loss at the decision values f, against targets that are moved towards 1/2
as if by one more example of each class: (n1 + 1) / (n1 + 2) and 1 / (n0 + 2), where n1 and n0 are
the total weights of the classes (Platt, 2000).  The problem is convex in two variables; Newton's
method with backtracking solves it (Lin, Lin and Weng, 2007).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from softmargin.problem.formulations import Segments, Starts

Array = NDArray[np.float64]

ITERATIONS = 100
GRADIENT = 1e-5  # as svm-train's: both partial derivatives below it end the iterations
RIDGE = 1e-12
SHORTEST = 1e-10


def sigmoid(x: Array) -> Array:
    """1 / (1 + exp(x)), without overflow."""
    small = np.exp(-np.abs(x))
    probability: Array = np.where(x >= 0, small, 1.0) / (1.0 + small)
    return probability


def soft_targets(positive: NDArray[np.bool_], ones: Any, zeros: Any) -> Array:
    """Platt's targets, for classes of these weights."""
    targets: Array = np.where(positive, (ones + 1) / (ones + 2), 1 / (zeros + 2))
    return targets


def fit_sigmoids(
    values: Array, positive: NDArray[np.bool_], weight: Array, starts: Starts = ()
) -> tuple[Array, Array]:
    """A and B of each problem: problem k has the values from starts[k] to starts[k + 1].  All are
    solved together, because separately most of the time would be the overhead of NumPy calls."""
    each = Segments(starts, len(values))
    ones, zeros = (each.sum(np.where(own, weight, 0.0)) for own in (positive, ~positive))
    targets = soft_targets(positive, each.spread(ones), each.spread(zeros))
    points = np.stack([np.zeros_like(ones), np.log((zeros + 1) / (ones + 1))])
    loss, p = _loss(points, values, targets, weight, each)
    ended = np.zeros(len(ones), dtype=bool)
    for _ in range(ITERATIONS):
        gradient, step = _newton_step(values, weight * (targets - p), weight * p * (1 - p), each)
        ended |= (np.abs(gradient) < GRADIENT).all(axis=0)
        if ended.all():
            break
        length, fall = np.where(ended, 0.0, 1.0), (gradient * step).sum(axis=0)
        while True:
            after, p = _loss(points + length * step, values, targets, weight, each)
            short = ~ended & ~(after < loss + 1e-4 * length * fall)
            if not short.any():
                break
            length = np.where(short, length / 2, length)
            ended |= length < SHORTEST
            length[ended & short] = 0.0
        points, loss = points + length * step, after
    return points[0], points[1]


def _loss(
    points: Array, values: Array, targets: Array, weight: Array, each: Segments
) -> tuple[Array, Array]:
    """The log loss of each problem, and the probability of each value."""
    z = each.spread(points[0]) * values + each.spread(points[1])
    small = np.exp(-np.abs(z))
    losses = np.log1p(small) + np.maximum(z, 0.0) - (1 - targets) * z
    return each.sum(weight * losses), np.where(z >= 0, small, 1.0) / (1.0 + small)


def _newton_step(values: Array, slope: Array, bend: Array, each: Segments) -> tuple[Array, Array]:
    """The gradient of each problem by A and B, and Newton's step."""
    by_a, by_b = each.sum(slope * values), each.sum(slope)
    bend_a = bend * values
    aa, ab, bb = each.sum(bend_a * values) + RIDGE, each.sum(bend_a), each.sum(bend) + RIDGE
    determinant = aa * bb - ab * ab
    step = np.stack([ab * by_b - bb * by_a, ab * by_a - aa * by_b]) / determinant
    return np.stack([by_a, by_b]), step
