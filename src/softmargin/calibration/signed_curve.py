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


def curve_probabilities(values: Array, slopes: Array) -> Array:
    """The probabilities of the two classes, a row for each value; `slopes` has a row for each
    side, the first for the first class."""
    pieces = _pieces(np.abs(values))
    odds = np.where(values >= 0, pieces @ slopes[1], -(pieces @ slopes[0]))
    return np.stack([sigmoid(odds), sigmoid(-odds)], axis=1)


def fit_curve(values: Array, second: NDArray[np.bool_], weight: Array) -> Array:
    """The slopes.  A side without any example gets those of the other side."""
    targets = soft_targets(second, weight)
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
    """The slopes of one side, none negative."""
    from scipy.optimize import minimize

    pieces, changes = _pieces(distance), np.diff(np.eye(len(KNOTS)), axis=0)
    stiffness = STIFFNESS * changes.T @ changes

    def loss(slopes: Array) -> tuple[float, Array]:
        odds = pieces @ slopes
        value = weight @ (np.logaddexp(0.0, odds) - targets * odds)
        gradient = pieces.T @ (weight * (sigmoid(-odds) - targets))
        bent = stiffness @ slopes
        return float(value + 0.5 * slopes @ bent), gradient + bent

    best = minimize(
        loss,
        np.ones(len(KNOTS)),
        jac=True,
        method="L-BFGS-B",
        bounds=[(0.0, None)] * len(KNOTS),
        options={"ftol": 1e-14, "gtol": 1e-8, "maxiter": 1000},
    )
    slopes: Array = best.x
    return slopes
