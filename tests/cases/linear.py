"""Data for the linear machines, and their objective computed from the fitted attributes."""

import functools

import numpy as np
from sklearn.datasets import load_digits, load_iris, make_blobs
from sklearn.preprocessing import StandardScaler

from softmargin import _core

MACHINES = ("weston_watkins", "crammer_singer", "ovr")
TIGHT = {"tol": 1e-12, "max_iter": 100_000, "random_state": 0}


@functools.cache
def small():
    X, y = make_blobs(60, n_features=4, centers=5, cluster_std=4.0, random_state=3)
    X = StandardScaler().fit_transform(X)
    X[7] = 0.0
    X.flags.writeable = False
    return X, y


@functools.cache
def digits():
    X, y = load_digits(return_X_y=True)
    X = X[:600] / 16.0
    X.flags.writeable = False
    return X, y[:600]


@functools.cache
def iris():
    X, y = load_iris(return_X_y=True)
    return StandardScaler().fit_transform(X), y


def core_solver(machine, method, rows, labels, C, classes, *options):
    """The core's solver with the given method for the sub-problem."""
    if method == "newton":
        return _core.linear.SolverFloat64(rows, labels, C, classes, machine, *options)
    assert machine == "weston_watkins"
    return _core.testing.linear_solver_float64(method, rows, labels, C, classes, *options)


def scores(machine, X):
    """n x k scores, also for two classes: W is then (-coef / 2, coef / 2)."""
    values = machine.decision_function(X)
    if values.ndim == 2:
        return values
    return np.column_stack([-values / 2, values / 2])


def primal(machine, X, y, upper):
    """The primal objective, computed from the fitted attributes."""
    codes = np.searchsorted(machine.classes_, y)
    s = scores(machine, X)
    own = np.arange(len(y)), codes
    coef = np.column_stack([machine.coef_, machine.intercept_ / machine.intercept_scaling])
    if machine.multi_class == "ovr":
        sign = -np.ones_like(s)
        sign[own] = 1
        losses = np.maximum(0, 1 - sign * s).sum(axis=1)
        return 0.5 * np.sum(coef**2) + upper @ losses
    errors = 1 - s[own][:, None] + s
    errors[own] = 0
    errors = np.maximum(errors, 0)
    losses = errors.sum(axis=1) if machine.multi_class == "weston_watkins" else errors.max(axis=1)
    norm = np.sum(coef**2) / (2 if len(machine.classes_) == 2 else 1)
    return 0.5 * norm + upper @ losses
