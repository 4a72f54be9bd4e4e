"""Out-of-fold decision values are those of separate fits, however they are computed."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import make_classification
from sklearn.model_selection import KFold, StratifiedKFold

from softmargin import SVC, SVR, NuSVC, OneClassSVM
from softmargin.model_selection.out_of_fold import out_of_fold

TOL = 1e-8
TWO = make_classification(150, random_state=0)
THREE = make_classification(150, n_informative=5, n_classes=3, random_state=0)
CASES = {
    "two classes": (SVC(tol=TOL, C=10), *TWO),
    "three classes": (SVC(tol=TOL, n_jobs=2), *THREE),
    "nu": (NuSVC(tol=TOL, nu=0.3), *TWO),
    "regression": (SVR(tol=TOL), THREE[0], 2 * THREE[0][:, 0]),
    "novelty": (OneClassSVM(tol=TOL), *THREE),
}


def separately(machine, X, y, splits, weight=None):
    values = None
    for train, test in splits:
        own = clone(machine)
        if hasattr(own, "decision_function_shape"):
            own.set_params(decision_function_shape="ovo")
        own.fit(X[train], y[train], sample_weight=None if weight is None else weight[train])
        found = getattr(own, "decision_function", own.predict)(X[test])
        if values is None:
            values = np.full((len(y), *found.shape[1:]), np.nan)
        values[test] = found
    return values


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("weighted", [False, True])
def test_as_separate_fits(name, weighted):
    machine, X, y = CASES[name]
    folds = KFold if name in ("regression", "novelty") else StratifiedKFold
    splits = list(folds(4, shuffle=True, random_state=0).split(X, y))
    weight = np.random.default_rng(1).uniform(0.5, 2, len(y)) if weighted else None
    expected = separately(machine, X, y, splits, weight)
    found = out_of_fold(machine, X, y, splits, weight)
    np.testing.assert_allclose(found.values, expected, atol=1e-5)
    for k, (_, test) in enumerate(splits):
        assert (found.fold[test] == k).all()
    full = clone(machine).set_params(warm_start=True).fit(X, y, sample_weight=weight)
    started = out_of_fold(machine, X, y, splits, weight, kept=full._kept)
    np.testing.assert_allclose(started.values, expected, atol=1e-5)
    alone = out_of_fold(clone(machine).set_params(cache_size=0.01), X, y, splits, weight)
    np.testing.assert_allclose(alone.values, expected, atol=1e-5)


def test_a_class_that_is_missing():
    X, y = THREE
    order = np.argsort(y, kind="stable")
    X, y = X[order], np.repeat([0, 1, 2], 50)
    splits = [(np.arange(100), np.arange(100, 150))]  # class 2 is held out
    found = out_of_fold(SVC(), X, y, splits)
    assert np.isfinite(found.values[100:, 0]).all()
    assert np.isnan(found.values[100:, 1:]).all()
    assert np.isnan(found.values[:100]).all()
    assert (found.fold == np.r_[np.full(100, -1), np.zeros(50)]).all()
