"""The winner of a search is calibrated on the values that the search has held out."""

import numpy as np
import pytest
from sklearn.model_selection import ShuffleSplit, StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from softmargin import SVC, SVR, GridSearchCV, LinearSVC, NuSVC, RandomizedSearchCV
from softmargin.estimator import out_of_fold
from tests.cases.noisy_classes import data


@pytest.fixture
def folds_solved(monkeypatch):
    """How many times the folds of a calibration were made."""
    calls, real = [], out_of_fold.weighted_splits

    def counted(machine, *arguments):
        calls.append(type(machine).__name__)
        return real(machine, *arguments)

    monkeypatch.setattr(out_of_fold, "weighted_splits", counted)
    return calls


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize(
    ("machine", "grid"),
    [
        (SVC(probability=True), {"C": [0.1, 1.0], "gamma": [0.05, 0.2]}),
        (SVC(probability="platt"), {"C": [0.1, 1.0]}),
        (SVC(probability=True, cache_size=0.01), {"C": [0.1, 1.0]}),
        (NuSVC(probability=True, nu=0.2), {"gamma": [0.05, 0.2]}),
        (LinearSVC(probability=True, random_state=0, tol=1e-8), {"C": [0.1, 1.0]}),
    ],
)
def test_no_fold_is_solved_again(machine, grid, classes, folds_solved):
    X, y, points, _ = data(classes)
    cv = StratifiedKFold(4)
    search = GridSearchCV(machine, grid, cv=cv).fit(X, y)
    assert folds_solved == []
    best = search.best_estimator_
    p = best.predict_proba(points)
    if machine.probability is True:
        np.testing.assert_array_equal(best.classes_[p.argmax(axis=1)], best.predict(points))
    # With gamma="scale" the search has one gamma for each fold, a fit alone has that of all.
    alone = type(machine)(**{**best.get_params(), "cv": list(cv.split(X, y))}).fit(X, y)
    assert len(folds_solved) == 1
    np.testing.assert_allclose(p, alone.predict_proba(points), atol=0.02)
    assert out_of_fold.KNOWN.get() is None


def test_weights_pipelines_and_random_searches(folds_solved):
    X, y, points, _ = data(3)
    weight = (np.arange(len(y)) % 4 > 0).astype(float)
    cv = StratifiedKFold(4)
    search = GridSearchCV(SVC(probability=True), {"C": [1.0]}, cv=cv).fit(
        X, y, sample_weight=weight
    )
    assert folds_solved == []
    alone = SVC(probability=True, cv=list(cv.split(X, y))).fit(X, y, weight)
    np.testing.assert_allclose(search.predict_proba(points), alone.predict_proba(points), atol=0.02)
    folds_solved.clear()
    pipeline = make_pipeline(StandardScaler(), SVC(probability=True))
    search = RandomizedSearchCV(pipeline, {"svc__C": [0.5, 1.0]}, n_iter=2).fit(X, y)
    assert folds_solved == []
    p = search.predict_proba(points)
    np.testing.assert_array_equal(search.classes_[p.argmax(axis=1)], search.predict(points))


def test_intervals_too(folds_solved):
    X = np.random.default_rng(0).normal(size=(100, 3))
    search = GridSearchCV(SVR(probability=True), {"C": [1.0, 10.0]}).fit(X, X[:, 0])
    assert folds_solved == []
    assert np.isfinite(search.best_estimator_.predict_interval(X)).all()


def test_not_where_the_user_or_the_data_want_other_folds(folds_solved):
    X, y, _, _ = data(2)
    GridSearchCV(SVC(probability=True, cv=3), {"C": [1.0]}).fit(X, y)
    assert len(folds_solved) == 1
    GridSearchCV(SVC(probability=True), {"C": [1.0]}, cv=ShuffleSplit(3, random_state=0)).fit(X, y)
    assert len(folds_solved) == 2
    GridSearchCV(SVC(probability=True), {"C": [1.0]}, refit=lambda results: 0).fit(X, y)
    assert len(folds_solved) == 2
    search = GridSearchCV(SVC(probability=True), {"C": [1e-3, 1.0]}, refit=lambda results: 0)
    assert np.isfinite(search.fit(X, y).best_estimator_.predict_proba(X)).all()
