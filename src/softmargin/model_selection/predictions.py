"""What a machine of a search predicts for some rows of the data, without computing a kernel
value."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from softmargin.classification import Classifier
from softmargin.estimator import one_vs_one
from softmargin.model_selection.paths import Solved
from softmargin.novelty import OneClassSVM
from softmargin.problem.formulations import on_the_boundary_zero

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Predictions:
    """The predictions of one machine for the rows `rows`, as its methods would return them."""

    rows: NDArray[np.intp]
    classes: NDArray[Any] | None = None
    winners: NDArray[Any] | None = None
    """The predicted class of each row, as an index into `classes`."""
    values: Array | None = None
    """Decision values or predicted targets."""
    held_out: Array | None = None
    """For a classifier, what probabilities are calibrated on: a value for each row, or for each row
    and pair of classes (kernel machine) or class (linear machine)."""


def predictions(
    solved: Solved, rows: NDArray[np.intp], sums: Array, values: bool, held_out: bool = False
) -> Predictions:
    """From the sums of kernel values times coefficients; decision values only if they are wanted,
    or if there is nothing else to predict."""
    machine = solved.machine
    if not isinstance(machine, Classifier):
        single = _single_values(solved, sums)
        return Predictions(rows, values=single, held_out=single if held_out else None)
    return Predictions(
        rows,
        machine.classes_,
        _winners(solved, sums),
        _class_values(solved, sums) if values else None,
        pair_values(solved, sums) if held_out else None,
    )


def pair_values(solved: Solved, sums: Array) -> Array:
    """Decision values: one for each row, or for each row and pair of classes."""
    if sums.shape[1] > 1:
        return one_vs_one.pair_values(sums, solved.models.intercept)
    # With two classes, a positive decision value means the second.
    sign = -1.0 if isinstance(solved.machine, Classifier) else 1.0
    values: Array = sign * (sums[:, 0, 0] + solved.models.intercept[0])
    return values


def _single_values(solved: Solved, sums: Array) -> Array:
    values = pair_values(solved, sums)
    if isinstance(solved.machine, OneClassSVM):
        support = int(np.count_nonzero(solved.models.coef))
        values = on_the_boundary_zero(values, solved.models.intercept[0], support)
    return values


def _class_values(solved: Solved, sums: Array) -> Array:
    values = pair_values(solved, sums)
    if values.ndim == 2 and solved.machine.decision_function_shape == "ovr":
        values = one_vs_one.class_values(values, sums.shape[1])
    return values


def _winners(solved: Solved, sums: Array) -> NDArray[Any]:
    if sums.shape[1] == 1:
        return (pair_values(solved, sums) >= 0).astype(np.intp)
    if solved.machine.break_ties:
        values = one_vs_one.pair_values(sums, solved.models.intercept)
        return np.asarray(one_vs_one.class_values(values, sums.shape[1]).argmax(1))
    return one_vs_one.vote(sums, solved.models.intercept)
