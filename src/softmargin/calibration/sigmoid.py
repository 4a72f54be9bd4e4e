"""Platt's sigmoid: the probability of the positive class is 1 / (1 + exp(A f + B)).

A and B minimise the log loss at the decision values f, against targets drawn towards 1/2 by one
example a class: (n1 + 1) / (n1 + 2) and 1 / (n0 + 2), n the total weight of each class (Platt,
2000).  The problem is convex in two variables; Newton's method with backtracking solves it (Lin,
Lin and Weng, 2007).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

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


def soft_targets(positive: NDArray[np.bool_], weight: Array) -> Array:
    """Platt's targets."""
    ones, zeros = weight[positive].sum(), weight[~positive].sum()
    targets: Array = np.where(positive, (ones + 1) / (ones + 2), 1 / (zeros + 2))
    return targets


def fit_sigmoid(values: Array, positive: NDArray[np.bool_], weight: Array) -> tuple[float, float]:
    """A and B."""
    targets = soft_targets(positive, weight)

    def loss(point: Array) -> float:
        z = point[0] * values + point[1]
        return float(weight @ (np.logaddexp(0.0, z) - (1 - targets) * z))

    odds = (weight[~positive].sum() + 1) / (weight[positive].sum() + 1)
    point = np.array([0.0, np.log(odds)])
    for _ in range(ITERATIONS):
        p = sigmoid(point[0] * values + point[1])
        slope, bend = weight * (targets - p), weight * p * (1 - p)
        gradient = np.array([slope @ values, slope.sum()])
        if (np.abs(gradient) < GRADIENT).all():
            break
        mixed = bend @ values
        hessian = np.array([[bend @ values**2, mixed], [mixed, bend.sum()]]) + RIDGE * np.eye(2)
        step = -np.linalg.solve(hessian, gradient)
        length, before, fall = 1.0, loss(point), gradient @ step
        while length > SHORTEST and not loss(point + length * step) < before + 1e-4 * length * fall:
            length /= 2
        if length <= SHORTEST:
            break
        point = point + length * step
    return float(point[0]), float(point[1])
