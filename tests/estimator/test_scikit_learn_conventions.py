"""scikit-learn's conventions: its checks of estimators, and the attributes of its own machines."""

from __future__ import annotations

import pickle
import subprocess
import sys
from itertools import product
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
import sklearn.svm
from sklearn.base import clone
from sklearn.datasets import load_diabetes, load_digits, load_iris
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import softmargin

CLASSIFIERS, REGRESSORS = ["SVC", "NuSVC"], ["SVR", "NuSVR"]
MACHINES = [*CLASSIFIERS, *REGRESSORS, "OneClassSVM"]


@pytest.mark.thread_unsafe(reason="a process of its own, which takes long")
def test_check_estimator():
    """In a process of its own, where SciPy's array API is on."""
    command = [sys.executable, "-m", "tests.estimator.check_estimators"]
    root = Path(__file__).parents[2]
    output = subprocess.run(command, cwd=root, capture_output=True, text=True, check=False).stdout
    failed = [line for line in output.splitlines() if line.startswith("  failed")]
    skipped = [line for line in output.splitlines() if line.startswith("  skipped")]
    assert output.count("passed") == 13, output  # five kernel machines, eight linear ones
    assert failed == []
    assert all("is not installed" in line for line in skipped), output


def data_for(variant):
    if variant == "diabetes":
        X, y = load_diabetes(return_X_y=True)
        return 20 * X[:200], y[:200] / 100
    X, y = (load_digits if variant == "digits" else load_iris)(return_X_y=True)
    rows = {"digits": 200, "iris": 150, "two classes": 100}[variant]
    X = X[:rows] / 16 if variant == "digits" else X[:rows] - 1
    return X, y[:rows]


def compare_attributes(ours, theirs):
    public = {a for a in vars(theirs) if a.endswith("_") and not a.startswith("_")}
    for attribute in (public | {"n_support_"}) - {"probA_", "probB_"}:
        one, other = getattr(ours, attribute), getattr(theirs, attribute)
        if attribute == "dual_coef_":
            assert one.shape[0] == other.shape[0]  # the number of support vectors is not unique
        elif attribute not in ("support_", "support_vectors_"):
            assert np.shape(one) == np.shape(other), attribute
        if isinstance(other, np.ndarray):
            assert one.dtype == other.dtype, attribute


@pytest.mark.parametrize("kernel", ["linear", "rbf", "precomputed"])
@pytest.mark.parametrize(
    ("name", "variant"),
    [
        *product([*CLASSIFIERS, "OneClassSVM"], ["iris", "two classes", "digits"]),
        *product(REGRESSORS, ["diabetes"]),
    ],
)
def test_attributes_and_values_are_those_of_scikit_learn(name, variant, kernel):
    X, y = data_for(variant)
    X = X @ X.T if kernel == "precomputed" else X
    settings = {"kernel": kernel, "tol": 1e-6, "gamma": 0.1}
    if name in ("NuSVC", "OneClassSVM"):
        settings["nu"] = 0.234  # not a whole number of vectors, so that some are free
    ours = getattr(softmargin, name)(**settings).fit(X, y)
    theirs = getattr(sklearn.svm, name)(**settings).fit(X, y)
    compare_attributes(ours, theirs)
    for method in ("decision_function", "score_samples", "predict"):
        assert hasattr(ours, method) == hasattr(theirs, method)
        if hasattr(ours, method):
            one, other = getattr(ours, method)(X), getattr(theirs, method)(X)
            assert one.dtype == other.dtype
            if method != "predict" or name in REGRESSORS:
                np.testing.assert_allclose(one, other, atol=1e-4 * np.abs(other).max())
    if kernel == "linear":
        scale = np.abs(theirs.coef_).max()
        np.testing.assert_allclose(ours.coef_, theirs.coef_, atol=1e-4 * scale)
        assert not ours.coef_.flags.writeable


@pytest.mark.parametrize("name", MACHINES)
def test_parameters_are_those_of_scikit_learn(name):
    ours = getattr(softmargin, name)().get_params()
    theirs = getattr(sklearn.svm, name)().get_params()
    for both in ("probability", "cv"):  # the defaults differ: scikit-learn's is deprecated
        theirs.pop(both, None)
        ours.pop(both, None)
    watching = ("callbacks", "checkpoint", "on_interrupt", "time_limit", "warm_start")
    for own in ("gap_tol", "n_jobs", "precision", "working_set", *watching):
        ours.pop(own)
    if name == "SVC":
        assert ours.pop("multi_class") == "ovo"
    assert list(ours) == list(theirs)
    ours["cache_size"], theirs["cache_size"] = "auto", "auto"
    assert ours == theirs


@pytest.mark.parametrize("name", CLASSIFIERS)
def test_class_weight_is_a_factor_on_the_weights(name):
    X, y = load_iris(return_X_y=True)
    X, y = X[:130], y[:130]
    machine = getattr(softmargin, name)(kernel="linear", tol=1e-8)
    if name == "NuSVC":
        machine.set_params(nu=0.1)
    by_class = clone(machine).set_params(class_weight={0: 1, 1: 2, 2: 3}).fit(X, y)
    by_sample = clone(machine).fit(X, y, sample_weight=1.0 + y)
    np.testing.assert_array_equal(by_class.class_weight_, [1, 2, 3])
    np.testing.assert_allclose(by_class.coef_, by_sample.coef_, atol=1e-6)
    balanced = clone(machine).set_params(class_weight="balanced").fit(X, y)
    np.testing.assert_allclose(balanced.class_weight_, 130 / (3 * np.bincount(y)))


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("name", MACHINES)
def test_pickled_and_cloned(name, sparse):
    X, y = load_iris(return_X_y=True)
    X = sp.csr_matrix(X) if sparse else X
    machine = (
        getattr(softmargin, name)(nu=0.1) if name.startswith("Nu") else getattr(softmargin, name)()
    )
    machine.fit(X, y)
    again = pickle.loads(pickle.dumps(machine))
    np.testing.assert_array_equal(again.predict(X), machine.predict(X))
    assert again.solution_ == machine.solution_
    assert not hasattr(clone(machine), "solution_")


def test_within_pipeline_and_grid_search():
    X, y = load_iris(return_X_y=True)
    pipeline = make_pipeline(StandardScaler(), softmargin.SVC())
    search = GridSearchCV(pipeline, {"svc__C": [0.1, 1, 10]}, cv=3).fit(X, y)
    assert search.best_score_ > 0.95
    K = X @ X.T
    search = GridSearchCV(softmargin.SVC(kernel="precomputed"), {"C": [0.1, 1]}, cv=3).fit(K, y)
    assert search.best_score_ > 0.95  # folds cut rows and columns of the kernel matrix


@pytest.mark.parametrize("name", MACHINES)
def test_kernel_function_and_built_in_kernel_agree(name):
    X, y = load_iris(return_X_y=True)
    settings = {"nu": 0.1} if name in ("NuSVC", "OneClassSVM") else {}
    machine = getattr(softmargin, name)(gamma=0.25, tol=1e-9, **settings)
    built_in = clone(machine).fit(X, y)
    function = clone(machine).set_params(
        kernel=lambda A, B: sklearn.metrics.pairwise.rbf_kernel(A, B, 0.25)
    )
    function.fit(X, y)
    K = sklearn.metrics.pairwise.rbf_kernel(X, gamma=0.25)
    given = clone(machine).set_params(kernel="precomputed").fit(K, y)
    for other, new in ((function, X), (given, K)):
        objective = other.solution_.dual_objective
        assert objective == pytest.approx(built_in.solution_.dual_objective, rel=1e-9)
        if name != "OneClassSVM":  # its support vectors lie on the boundary between +1 and -1
            np.testing.assert_allclose(other.predict(new), built_in.predict(X), atol=1e-6)
