"""Our searches find the scores that scikit-learn's find with the same estimator, to the letter: all
columns of cv_results_ but the times, best_*, errors and warnings."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn import model_selection
from sklearn.base import clone
from sklearn.datasets import make_classification
from sklearn.decomposition import PCA
from sklearn.exceptions import FitFailedWarning
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import make_scorer, mean_absolute_error
from sklearn.model_selection import GroupKFold, KFold, ShuffleSplit, cross_val_score
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler

import softmargin
from softmargin import SVC, SVR, GridSearchCV, LinearSVC, LinearSVR, NuSVC, NuSVR, OneClassSVM
from softmargin.model_selection import engine

TOL = 1e-9
ROUNDING = 1e-6
"""Of a score that depends on decision values and not on classes alone."""


def data(classes=2, count=120):
    X, y = make_classification(
        count, 6, n_informative=4, n_classes=classes, class_sep=0.8, random_state=classes
    )
    return X * [1, 2, 1, 0.5, 1, 1], y


def targets(X):
    return np.sin(X[:, 0]) + 0.5 * X[:, 1]


@pytest.fixture
def shared(monkeypatch):
    """The number of cells that the shared engine has answered."""
    answered = []
    original = engine.run

    def run(*arguments, **options):
        for answers in original(*arguments, **options):
            answered.extend(a for a in answers if a.predictions is not None)
            yield answers

    monkeypatch.setattr(engine, "run", run)
    return answered


def compare(estimator, grid, X, y, params=None, rounding=0.0, **options):
    theirs = model_selection.GridSearchCV(clone(estimator), grid, **options)
    ours = GridSearchCV(clone(estimator), grid, **options)
    for search in (theirs, ours):
        search.fit(X, y, **(params or {}))
    assert list(ours.cv_results_) == list(theirs.cv_results_)
    for name, column in theirs.cv_results_.items():
        if "time" in name or (rounding and name.startswith("rank")):
            continue
        if column.dtype == object if isinstance(column, np.ndarray) else True:
            assert list(ours.cv_results_[name]) == list(column), name
        else:
            np.testing.assert_allclose(ours.cv_results_[name], column, atol=rounding, rtol=0)
    for name in ("best_index_", "best_params_", "n_splits_", "multimetric_"):
        if hasattr(theirs, name) and not rounding:
            assert getattr(ours, name) == getattr(theirs, name)
    return ours


C = [0.1, 1, 10, 1000]


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("class_weight", [None, "balanced"])
def test_classifiers(classes, class_weight, shared):
    X, y = data(classes)
    labels = np.array(["a", "b", "c"])[y]
    grid = {"C": C, "gamma": [0.01, 0.3, "scale"]}
    compare(SVC(tol=TOL, class_weight=class_weight), grid, X, labels, return_train_score=True)
    assert len(shared) == 12 * 5
    compare(NuSVC(tol=TOL), {"nu": [0.1, 0.4], "gamma": [0.1, 1]}, X, y)
    assert len(shared) == 12 * 5 + 4 * 5


def test_few_bounded_variables(shared):
    """The kernel matrix is nearly diagonal, and only repeated rows with other labels have variables
    at C: along C these move, and the others hardly."""
    X, y = data()
    X, y = np.vstack([X, X[:5]]), np.append(y, [*(1 - y[:3]), *y[3:5]])
    grid = {"C": [1, 4, 16, 64, 1000], "gamma": [1.0, 10.0]}
    mean = make_scorer(
        lambda y, values: np.mean((2 * y - 1) * values), response_method="decision_function"
    )
    compare(SVC(tol=TOL), grid, X, y, scoring=mean, return_train_score=True, rounding=ROUNDING)
    compare(SVR(tol=TOL), grid, X, targets(X) + (np.arange(len(X)) >= 120), rounding=ROUNDING)
    assert len(shared) == 2 * 10 * 5


@pytest.mark.parametrize("kernel", ["linear", "poly", "sigmoid"])
def test_kernels(kernel, shared):
    """The sigmoid kernel has many stationary points, and each fit must find its own."""
    X, y = data(3)
    grid = {"C": [0.1, 1], "coef0": [0.0, 1.0], "degree": [2, 3]}
    compare(SVC(kernel=kernel, gamma=0.05, tol=TOL), grid, X, y)
    assert len(shared) == (0 if kernel == "sigmoid" else 8 * 5)


def test_regressions_and_novelty(shared):
    X, _ = data()
    z = targets(X)
    grid = {"C": C[:3], "epsilon": [0.01, 0.1], "gamma": [0.1, "scale"]}
    compare(SVR(tol=TOL), grid, X, z, rounding=ROUNDING)
    grid = {"C": C[:3], "nu": [0.2, 0.6]}
    compare(NuSVR(tol=TOL), grid, X, z, rounding=ROUNDING, scoring="neg_mean_squared_error")
    scorer = make_scorer(lambda y, predicted: np.mean(predicted == 1))
    compare(OneClassSVM(tol=TOL), {"nu": [0.1, 0.5]}, X, np.ones(len(X)), scoring=scorer)
    assert len(shared) == 5 * (12 + 6 + 2)


def test_weights(shared):
    X, y = data(3)
    weight = np.random.default_rng(0).uniform(0, 2, len(y))
    weight[::7] = 0
    for machine in (SVC(tol=TOL), SVC(tol=TOL, class_weight="balanced")):
        compare(machine, {"C": C, "gamma": ["scale", 0.2]}, X, y, {"sample_weight": weight})
    assert len(shared) == 2 * 8 * 5


@pytest.mark.parametrize("classes", [2, 3])
def test_many_scores(classes, shared):
    X, y = data(classes)
    scoring = ["accuracy", "f1_macro", "balanced_accuracy"]
    if classes == 2:
        scoring += ["roc_auc", "average_precision"]
    compare(
        SVC(tol=TOL),
        {"C": C, "gamma": [0.1]},
        X,
        y,
        scoring=scoring,
        refit="f1_macro",
        return_train_score=True,
        rounding=ROUNDING,
    )
    assert len(shared) == 4 * 5


def test_decision_values_of_many_classes(shared):
    """As a user's score sees them: one column for each class, or for each pair."""
    X, y = data(3)

    def margin(y, values):
        return float(np.sort(values, axis=1)[:, -1].mean())

    scorer = make_scorer(margin, response_method="decision_function")
    for shape in ("ovr", "ovo"):
        machine = SVC(tol=TOL, decision_function_shape=shape)
        compare(machine, {"C": C[:2]}, X, y, scoring=scorer, rounding=ROUNDING)
    assert len(shared) == 2 * 2 * 5


def test_forms_of_input(shared):
    X, y = data(3)
    for examples in (sp.csr_matrix(X), X.astype(np.float32), np.asfortranarray(X), X.tolist()):
        compare(SVC(tol=TOL, gamma=0.1), {"C": C}, examples, y)
    kernel = X @ X.T
    compare(SVC(tol=TOL, kernel="precomputed"), {"C": C}, kernel, y)
    assert len(shared) == 5 * 4 * 5


def test_data_that_are_not_scaled(shared):
    """Products of large numbers would drown the distances in rounding."""
    X, y = data()
    far = X + 1e7
    compare(SVC(tol=1e-6), {"C": C, "gamma": [0.1, 1]}, far, y)
    assert len(shared) == 8 * 5


@pytest.mark.parametrize(
    "cv",
    [
        KFold(4),
        ShuffleSplit(3, train_size=0.3, random_state=0),
        [(np.arange(100), np.arange(100, 120)), (np.arange(20, 120), np.arange(20))],
        [(np.r_[:60, :60, 30:60], np.arange(60, 120))],  # repeated training rows
        [(np.arange(0, 80), np.arange(40, 60))],  # held-out rows that are also trained on
    ],
)
def test_splits(cv, shared):
    for classes in (2, 3):
        X, y = data(classes)
        compare(SVC(tol=TOL), {"C": C, "gamma": [0.1, "scale"]}, X, y, cv=cv)
    assert shared


def test_groups():
    X, y = data()
    groups = np.arange(len(y)) % 6
    compare(SVC(tol=TOL), {"C": C}, X, y, {"groups": groups}, cv=GroupKFold(3))


def test_a_class_that_is_missing_from_a_fold(shared):
    X, y = data(3)
    order = np.argsort(y, kind="stable")
    compare(SVC(tol=TOL), {"C": C, "gamma": [0.1]}, X[order], y[order], cv=KFold(3))
    assert len(shared) == 4 * 3


def test_pipelines(shared):
    X, y = data(3)
    pipe = Pipeline([("scale", StandardScaler()), ("pca", PCA(3)), ("svc", SVC(tol=TOL))])
    grid = {"svc__C": C, "svc__gamma": [0.1, "scale"], "pca__n_components": [2, 4]}
    compare(pipe, grid, X, y, return_train_score=True)
    assert len(shared) == 16 * 5
    grid = {"scale": [StandardScaler(), "passthrough"], "svc": [SVC(tol=TOL), SVC(tol=TOL, C=5)]}
    compare(pipe, grid, X, y)
    assert len(shared) == 16 * 5 + 4 * 5
    compare(
        make_pipeline(SVC(tol=TOL)),
        {"svc__C": C},
        X,
        y,
        {"svc__sample_weight": np.linspace(0.5, 2, len(y))},
    )
    grid = {"standardscaler__with_mean": [True, False], "svr__C": C[:2]}
    compare(make_pipeline(StandardScaler(), SVR(tol=TOL)), grid, X, targets(X), rounding=ROUNDING)
    assert len(shared) == 28 * 5


def test_linear_machines(shared):
    X, y = data(3)
    exact = {"tol": 1e-7, "max_iter": 10**5, "random_state": 0}
    machine = LinearSVC(multi_class="weston_watkins", **exact)
    compare(machine, {"C": [0.01, 0.1, 1]}, X, y)
    compare(make_pipeline(StandardScaler(), machine), {"linearsvc__C": [0.01, 0.1]}, X, y)
    compare(LinearSVC(**exact), {"C": [0.01, 0.1], "loss": ["hinge", "squared_hinge"]}, X, y)
    compare(LinearSVC("l1", **exact), {"C": [0.1, 1]}, X, y)
    grid = {"C": [0.01, 0.1], "epsilon": [0.0, 0.1]}
    compare(LinearSVR(**exact), grid, X, targets(X), rounding=ROUNDING)
    assert len(shared) == 15 * 5


def test_what_cannot_be_shared_takes_the_ordinary_way(shared):
    X, y = data(2, 60)

    def kernel(A, B):
        return A @ B.T

    compare(SVC(kernel=kernel, tol=TOL), {"C": [0.1, 1]}, X, y)
    compare(LogisticRegression(), {"C": [0.1, 1]}, X, y)
    compare(SVC(tol=TOL, max_iter=10**6), {"C": [0.1, 1]}, X, y)

    def looks_at_everything(machine, X, y):
        return machine.score(X, y) + 0.001 * len(machine.support_) + X.shape[1]

    compare(SVC(tol=TOL), {"C": [0.1, 1]}, X, y, scoring=looks_at_everything)
    assert not shared


def test_failures(shared):
    """Invalid candidates score error_score with scikit-learn's warning, or raise."""
    X, y = data(2, 60)
    grid = {"nu": [0.1, 0.95], "gamma": [0.1]}
    unbalanced = np.r_[np.zeros(45, int), np.ones(15, int)]
    with pytest.warns(FitFailedWarning, match="5 fits failed out of a total of 10"):
        ours = GridSearchCV(NuSVC(), grid, error_score=0.25).fit(X, unbalanced)
    assert list(ours.cv_results_["mean_test_score"] == 0.25) == [False, True]
    with pytest.raises(ValueError, match="nu is infeasible"):
        GridSearchCV(NuSVC(), grid, error_score="raise").fit(X, unbalanced)
    with pytest.raises(ValueError, match="fits failed"):
        GridSearchCV(SVC(), {"C": [-1.0]}).fit(X, y)
    with pytest.raises(ValueError, match="fits failed"):
        GridSearchCV(SVC(), {"C": [1.0]}).fit(np.where(X > 2, np.nan, X), y)


def test_refit_names_and_functions():
    X, y = data()
    grid = {"C": C}
    assert not hasattr(GridSearchCV(SVC(), grid, refit=False).fit(X, y), "best_estimator_")
    ours = GridSearchCV(SVC(), grid, refit=lambda results: 2).fit(X, y)
    assert ours.best_params_ == {"C": 10}
    assert ours.predict(X).shape == y.shape


def test_nested_searches_and_clones():
    X, y = data()
    search = GridSearchCV(SVC(tol=TOL), {"C": C}, n_jobs=2)
    theirs = model_selection.GridSearchCV(SVC(tol=TOL), {"C": C})
    again = clone(search).set_params(prune="bound", cv=3)
    assert (again.prune, again.cv, search.prune) == ("bound", 3, None)
    np.testing.assert_array_equal(
        cross_val_score(search, X, y, cv=3), cross_val_score(theirs, X, y, cv=3)
    )


def test_random_search():
    X, y = data(3)
    space = {"C": np.logspace(-2, 3, 50), "gamma": [0.01, 0.1, 1]}
    both = [
        kind(SVC(tol=TOL), space, n_iter=12, random_state=3).fit(X, y)
        for kind in (model_selection.RandomizedSearchCV, softmargin.RandomizedSearchCV)
    ]
    theirs, ours = (search.cv_results_["mean_test_score"] for search in both)
    np.testing.assert_array_equal(ours, theirs)
    assert both[0].best_params_ == both[1].best_params_


def test_threads_do_not_change_the_scores():
    X, _ = data()
    searches = [
        GridSearchCV(SVR(), {"C": C, "gamma": [0.1, 1, "scale"]}, n_jobs=n).fit(X, targets(X))
        for n in (1, 2, 3)
    ]
    first, *others = (search.cv_results_ for search in searches)
    for other in others:
        np.testing.assert_array_equal(other["mean_test_score"], first["mean_test_score"])


def test_no_warnings():
    X, y = data()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        GridSearchCV(SVC(), {"C": C, "gamma": [0.1, 1]}, n_jobs=2).fit(X, y)


def test_losses_of_a_regression(shared):
    X, _ = data()
    scorer = make_scorer(mean_absolute_error, greater_is_better=False)
    compare(SVR(tol=TOL), {"C": C[:3]}, X, targets(X), scoring=scorer, rounding=ROUNDING)
    assert len(shared) == 3 * 5
