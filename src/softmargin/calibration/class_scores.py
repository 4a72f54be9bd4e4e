"""Probabilities of three or more classes from one score for each class.

The log-probability of class c is, up to a constant,

    g(s_c) + sum_d A_cd s_d + b_c

where s are the scores; g never falls and is linear between the knots, and A and b say what the
scores of the other classes tell about class c.  All minimise the log loss together (a convex
problem), against Platt's targets, plus `STIFFNESS` / 2 times the squared changes of slope of g and
`RIDGE` / 2 times the squares of A and b.  With k > `MOST_MIXED` classes A and b are zero: they
would be more numbers than most data determine.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

KNOTS = np.array([-1.0, -0.5, 0.0, 0.5, 1.0])
SLOPES = len(KNOTS) + 1
STIFFNESS = 1.0
RIDGE = 3.0
MOST_MIXED = 100
BLOCK_NUMBERS = 2**20
"""How many scores are processed at a time, to limit memory."""


def score_probabilities(scores: Array, slopes: Array, mixing: Array) -> Array:
    """A row of probabilities for each row of scores.  `mixing` has A and, as its last column, b;
    or no column."""
    odds = _odds(_pieces(scores), scores, slopes, mixing)
    odds -= odds.max(axis=1, keepdims=True)
    np.exp(odds, out=odds)
    odds /= odds.sum(axis=1, keepdims=True)
    return odds


def fit_scores(scores: Array, codes: NDArray[np.intp], weight: Array) -> tuple[Array, Array]:
    """The slopes of g, and A with b (no columns without them)."""
    from scipy.optimize import minimize

    classes = scores.shape[1]
    columns = classes + 1 if classes <= MOST_MIXED else 0
    begin = np.concatenate([np.ones(SLOPES), np.zeros(classes * columns)])
    bounds = [(0.0, None)] * SLOPES + [(None, None)] * (classes * columns)
    best = minimize(
        _Loss(scores, codes, weight, columns),
        begin,
        jac=True,
        method="L-BFGS-B",
        bounds=bounds,
        options={"ftol": 1e-13, "gtol": 1e-8, "maxiter": 1000, "maxcor": 30},
    )
    return best.x[:SLOPES], best.x[SLOPES:].reshape(classes, columns)


class _Loss:
    """What `fit_scores` minimises: a function of the slopes of g, followed by A with b."""

    def __init__(self, scores: Array, codes: NDArray[np.intp], weight: Array, columns: int) -> None:
        classes = scores.shape[1]
        self.scores, self.codes, self.weight = scores, codes, weight
        self.shape = classes, columns
        self.own, self.other = _targets(codes, weight, classes)
        changes = np.diff(np.eye(SLOPES), axis=0)
        self.stiffness = STIFFNESS * changes.T @ changes
        rows = max(1, BLOCK_NUMBERS // classes)
        self.blocks = [slice(k, k + rows) for k in range(0, len(scores), rows)]
        self.known = _pieces(scores) if len(self.blocks) == 1 else None

    def __call__(self, point: Array) -> tuple[float, Array]:
        """The value and the gradient."""
        slopes, mixing = point[:SLOPES], point[SLOPES:].reshape(self.shape)
        bent = self.stiffness @ slopes
        value = 0.5 * float(slopes @ bent) + 0.5 * RIDGE * float((mixing**2).sum())
        slope_of_g, slope_of_mixing = bent, RIDGE * mixing
        for block in self.blocks:
            part = self.scores[block]
            pieces = _pieces(part) if self.known is None else self.known
            loss, error = self._of_examples(block, _odds(pieces, part, slopes, mixing))
            value += loss
            slope_of_g = slope_of_g + error.ravel() @ pieces.reshape(-1, SLOPES)
            if mixing.shape[1]:
                slope_of_mixing[:, :-1] += error.T @ part
                slope_of_mixing[:, -1] += error.sum(axis=0)
        return value, np.concatenate([slope_of_g, slope_of_mixing.ravel()])

    def _of_examples(self, block: slice, odds: Array) -> tuple[float, Array]:
        """The log loss of a block of examples, and its derivative by their odds."""
        codes, weight = self.codes[block], self.weight[block]
        odds -= odds.max(axis=1, keepdims=True)
        p = np.exp(odds)
        total = p.sum(axis=1, keepdims=True)
        p /= total
        odds -= np.log(total)
        row = np.arange(len(odds))
        own, rest = self.own[codes], self.other[codes]
        loss = -(weight @ (rest * odds.sum(axis=1) + (own - rest) * odds[row, codes]))
        p -= rest[:, None]
        p[row, codes] -= own - rest
        p *= weight[:, None]
        return loss, p


def _targets(codes: NDArray[np.intp], weight: Array, classes: int) -> tuple[Array, Array]:
    """For the examples of each class: the target probability of their own class, which is Platt's,
    and of each other class; the others share the rest equally."""
    count = np.bincount(codes, weights=weight, minlength=classes)
    return (count + 1) / (count + 2), 1 / ((count + 2) * (classes - 1))


def _odds(pieces: Array, scores: Array, slopes: Array, mixing: Array) -> Array:
    odds: Array = pieces @ slopes
    if mixing.shape[1]:
        odds += scores @ mixing[:, :-1].T
        odds += mixing[:, -1]
    return odds


def _pieces(scores: Array) -> Array:
    """The score as a sum of its pieces: below the first knot, between two knots, and above."""
    low = np.append(-np.inf, KNOTS)
    high = np.append(KNOTS, np.inf)
    begin = np.append(KNOTS[0], KNOTS)
    pieces: Array = np.clip(scores[:, :, None], low, high) - begin
    return pieces
