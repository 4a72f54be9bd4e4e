"""The folds that are solved with the problems of a fit have the values of separate fits."""

from __future__ import annotations

import time

import numpy as np
import pytest
from scipy.sparse import csr_matrix
from sklearn.base import clone
from sklearn.datasets import make_classification
from sklearn.model_selection import KFold, ShuffleSplit, StratifiedKFold

from softmargin import SVC, SVR, NuSVC, NuSVR
from softmargin.estimator.one_vs_one import pairs
from softmargin.estimator.out_of_fold import FitWithFolds, held_out_values

TOL = 1e-7
TWO = make_classification(150, random_state=0)
MANY = make_classification(900, flip_y=0.1, random_state=0)  # solved in blocks
THREE = make_classification(150, n_informative=5, n_classes=3, random_state=0)
LARGE = make_classification(1350, n_informative=5, n_classes=3, random_state=0)
CASES = {
    "two classes": (SVC(C=10), *TWO),
    "blocks": (SVC(C=10), *MANY),
    "pairs of variables": (SVC(working_set="second-order"), *TWO),
    "without shrinking": (SVC(working_set="maximum-gain", shrinking=False), *TWO),
    "a function": (SVC(kernel=lambda a, b: (1 + a @ b.T / 20) ** 2), *TWO),
    "sparse": (SVC(kernel="linear", C=0.1), csr_matrix(TWO[0]), TWO[1]),
    "class weights": (SVC(class_weight={0: 3.0}), *TWO),
    "three classes": (SVC(n_jobs=2), *THREE),
    "large pairs of classes": (SVC(), *LARGE),
    "nu": (NuSVC(nu=0.3), *TWO),
    "nu, three classes": (NuSVC(nu=0.3), *THREE),
    "regression": (SVR(), THREE[0], 2 * THREE[0][:, 0]),
    "nu, regression": (NuSVR(), THREE[0], 2 * THREE[0][:, 0]),
}


def separately(machine, X, y, splits, weight):
    """A row for each example, a column for each pair of classes, positive for the first."""
    values = None
    for train, test in splits:
        own = clone(machine).set_params(probability=False, gap_tol=None)
        if hasattr(own, "decision_function_shape"):
            own.set_params(decision_function_shape="ovo")
        own.fit(X[train], y[train], sample_weight=weight[train])
        found = getattr(own, "decision_function", own.predict)(X[test])
        found = found.reshape(len(test), -1)
        if values is None:
            values = np.full((X.shape[0], found.shape[1]), np.nan)
        values[test] = -found if len(getattr(own, "classes_", ())) == 2 else found
    return values


def with_the_fit(machine, X, y, weight):
    """The same, as `fit` has them; NaN for examples of other classes than those of a pair."""
    machine, began = clone(machine), time.perf_counter()
    problems, weight = machine._state(y, weight)
    folds = machine._folds(X, y, weight, problems)
    result = machine._solve(X, weight, problems, began, folds)
    fit = FitWithFolds(X, y, weight, result, folds, began)
    found = held_out_values(machine, fit)
    values = np.full((X.shape[0], len(problems.sizes)), np.nan)
    stated = problems.state(range(len(problems.sizes)))
    values[stated.ids, np.repeat(np.arange(len(problems.sizes)), problems.sizes)] = found
    return values


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("weighted", [False, True])
def test_as_separate_fits(name, weighted):
    machine, X, y = CASES[name]
    splitter = KFold if "regression" in name else StratifiedKFold
    splits = list(splitter(4, shuffle=True, random_state=0).split(X, y))
    machine = clone(machine).set_params(probability=True, tol=TOL, cv=splits)
    if getattr(machine, "gamma", None) == "scale":
        machine.gamma = 0.05
    rng = np.random.default_rng(1)
    weight = rng.uniform(0.5, 2, len(y)) if weighted else np.ones(len(y))
    expected = separately(machine, X, y, splits, weight)
    if hasattr(machine, "class_weight"):
        for column, pair in enumerate(pairs(len(np.unique(y)))):
            expected[~np.isin(y, pair), column] = np.nan
    found = with_the_fit(machine, X, y, weight)
    np.testing.assert_allclose(found, expected, atol=1e-5)
    # A fit that may be stopped solves its folds after all its problems.
    later = with_the_fit(machine.set_params(time_limit=1e6), X, y, weight)
    np.testing.assert_allclose(later, expected, atol=1e-5)


def test_examples_that_are_held_out_never_or_twice():
    X, y = TWO
    splits = list(ShuffleSplit(3, test_size=0.3, random_state=0).split(X, y))
    machine = SVC(probability=True, tol=TOL, cv=splits, gamma=0.05)
    expected = separately(machine, X, y, splits, np.ones(len(y)))
    assert np.isnan(expected).any()
    np.testing.assert_allclose(with_the_fit(machine, X, y, None), expected, atol=1e-5)


def test_a_class_that_is_missing():
    X, y = THREE
    order = np.argsort(y, kind="stable")
    X, y = X[order], np.repeat([0, 1, 2], 50)
    splits = [(np.arange(100), np.arange(100, 150)), (np.arange(50), np.arange(50, 100))]
    values = with_the_fit(SVC(probability=True, cv=splits), X, y, None)
    assert np.isnan(values[:100, 0]).tolist() == 50 * [True] + 50 * [False]
    np.testing.assert_array_equal(values[50:100, 0], 1.0)  # only class 0 was trained on
    np.testing.assert_array_equal(values[50:100, 2], 0.0)
    np.testing.assert_array_equal(values[100:, 1:], 1.0)
