"""Probabilities of two classes that never contradict the prediction.

The machine predicts the second class where its decision value f is at least zero.  So the curve
passes through 1/2 at f = 0: the log-odds of the predicted class are a function of |f| that starts
at zero and never falls, one for each side, linear between the knots.  It minimises the log loss
against Platt's targets, plus `STIFFNESS` / 2 times the squared changes of slope from piece to
piece, which makes it a straight line where there are few examples.  The margin is at |f| = 1, which
gives the knots their scale.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from softmargin.calibration.sigmoid import sigmoid, soft_targets

Array = NDArray[np.float64]

KNOTS = np.array([0.0, 0.25, 0.5, 1.0, 1.5])
STIFFNESS = 1.0
ITERATIONS = 100
GRADIENT = 1e-6
RIDGE = 1e-9
SHORTEST = 1e-10


def curve_probabilities(values: Array, slopes: Array) -> Array:
    """The probabilities of the two classes, a row for each value; `slopes` has a row for each
    side, the first for the first class."""
    pieces = _pieces(np.abs(values))
    odds = np.where(values >= 0, pieces @ slopes[1], -(pieces @ slopes[0]))
    return np.stack([sigmoid(odds), sigmoid(-odds)], axis=1)


def fit_curve(values: Array, second: NDArray[np.bool_], weight: Array) -> Array:
    """The slopes.  A side without any example gets those of the other side."""
    targets = soft_targets(second, weight[second].sum(), weight[~second].sum())
    sides = [values < 0, values >= 0]
    shares = [1 - targets, targets]
    slopes = [
        _fit_side(np.abs(values[side]), share[side], weight[side])
        for side, share in zip(sides, shares, strict=True)
    ]
    empty = [not weight[side].any() for side in sides]
    if any(empty) and not all(empty):
        slopes = 2 * [slopes[empty.index(False)]]
    return np.array(slopes)


def _pieces(distance: Array) -> Array:
    """How much of each piece between two knots lies below the distance."""
    ends = np.append(KNOTS[1:], np.inf)
    pieces: Array = np.clip(distance[:, None] - KNOTS, 0.0, ends - KNOTS)
    return pieces


def _fit_side(distance: Array, targets: Array, weight: Array) -> Array:
    """The slopes of one side, none negative, by Newton's method on those that are not held at zero
    (Bertsekas, 1982)."""
    pieces, changes = _pieces(distance), np.diff(np.eye(len(KNOTS)), axis=0)
    stiffness = STIFFNESS * changes.T @ changes

    def loss(slopes: Array) -> tuple[float, Array]:
        """The loss, and the probability of each example."""
        odds = pieces @ slopes
        small = np.exp(-np.abs(odds))
        losses = np.log1p(small) + np.maximum(odds, 0.0) - targets * odds
        p = np.where(odds >= 0, 1.0, small) / (1.0 + small)
        return float(weight @ losses + 0.5 * slopes @ stiffness @ slopes), p

    slopes = np.ones(len(KNOTS))
    now, p = loss(slopes)
    for _ in range(ITERATIONS):
        gradient = pieces.T @ (weight * (p - targets)) + stiffness @ slopes
        free = (slopes > 0) | (gradient < 0)
        if np.abs(gradient[free]).max(initial=0.0) < GRADIENT:
            break
        bend = (pieces.T * (weight * p * (1 - p))) @ pieces + stiffness + RIDGE * np.eye(len(KNOTS))
        step = np.zeros_like(slopes)
        step[free] = -np.linalg.solve(bend[np.ix_(free, free)], gradient[free])
        length = 1.0
        while True:
            there = np.maximum(slopes + length * step, 0.0)
            after, p = loss(there)
            if after <= now + 1e-4 * gradient @ (there - slopes) or length < SHORTEST:
                break
            length /= 2
        if length < SHORTEST:
            break
        slopes, now = there, after
    return slopes
