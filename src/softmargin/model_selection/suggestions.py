"""A sensible grid for a machine and its data: what ``param_grid="auto"`` means.

Powers of four around values that fit the data.  For gamma, that is the inverse of the mean squared
distance of two examples; for C and epsilon of a regression, the spread of the targets.
"""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
from sklearn.base import clone

from softmargin.classification import NuSVC
from softmargin.estimator.linear_machine import LinearMachine
from softmargin.linear import LinearSVR
from softmargin.model_selection.sharing import _is_ours, last_step
from softmargin.novelty import OneClassSVM
from softmargin.problem.gamma import gamma_value
from softmargin.regression import SVR, NuSVR

Grid = dict[str, Any]


def suggested_grid(estimator: Any, X: Any, y: Any) -> Grid:
    machine = last_step(estimator)
    if not _is_ours(machine):
        raise ValueError(
            "param_grid='auto' needs a machine of softmargin, alone or as the last step of a"
            f" Pipeline; got {type(machine).__name__}. Give param_grid as a dict."
        )
    grid = _grid(machine, lambda: _examples(estimator, X, y), y)
    if machine is estimator:
        return grid
    return {f"{estimator.steps[-1][0]}__{name}": values for name, values in grid.items()}


def _grid(machine: Any, examples: Any, y: Any) -> Grid:
    if isinstance(machine, LinearMachine):
        return {"C": _powers(-10, 6) * _spread(machine, y)}
    grid: Grid = {}
    if isinstance(machine, (NuSVC, OneClassSVM)):
        grid["nu"] = [0.05, 0.1, 0.2, 0.3, 0.5][: None if _is_balanced(machine, y) else 4]
    else:
        grid["C"] = _powers(-5, 13) * _spread(machine, y)
    if isinstance(machine, SVR):
        grid["epsilon"] = np.array([0.01, 0.05, 0.2]) * _spread(machine, y)
    if isinstance(machine, NuSVR):
        grid["nu"] = [0.2, 0.5, 0.8]
    if machine.kernel in ("rbf", "sigmoid", "poly"):
        scale = gamma_value("scale", X := examples(), np.ones(X.shape[0]))
        # Two examples are 2 n_features var(X) apart, on average.
        grid["gamma"] = scale * (_powers(-10, 6) if machine.kernel == "rbf" else _powers(-6, 2))
    if machine.kernel == "poly":
        grid["degree"], grid["coef0"] = [2, 3], [0.0, 1.0]
    return grid


def _spread(machine: Any, y: Any) -> float:
    """Of the targets of a regression, where C depends on it: not with a squared loss."""
    if not isinstance(machine, (SVR, NuSVR, LinearSVR)):
        return 1.0
    if getattr(machine, "loss", "") == "squared_epsilon_insensitive":
        return 1.0
    return float(np.std(np.asarray(y, dtype=float))) or 1.0


def _powers(first: int, last: int) -> Any:
    return 2.0 ** np.arange(first, last + 1, 2)


def _is_balanced(machine: Any, y: Any) -> bool:
    """Whether nu = 0.5 is feasible for all pairs of classes."""
    if y is None or isinstance(machine, OneClassSVM):
        return True
    _, counts = np.unique(np.asarray(y), return_counts=True)
    return bool(2 * counts.min() / (counts.min() + counts.max()) > 0.5)


def _examples(estimator: Any, X: Any, y: Any) -> Any:
    """The examples as the machine sees them."""
    machine = copy.copy(last_step(estimator))
    if machine is not estimator and hasattr(estimator, "steps") and len(estimator.steps) > 1:
        X = clone(estimator[:-1]).fit_transform(X, y)
    examples, _ = machine._validate_examples(X, None, numeric_target=False)
    return examples
