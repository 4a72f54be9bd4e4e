"""Probabilities of LinearSVC."""

import warnings
from functools import partial

import numpy as np
import pytest
from scipy.sparse import csr_matrix
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.metrics import log_loss
from sklearn.model_selection import GroupKFold

from softmargin import LinearSVC, cli, load
from softmargin.estimator.linear_probability import fit_fold
from softmargin.estimator.out_of_fold import class_scores
from softmargin.io.file_error import FileError
from softmargin.io.models.formats import read_any_model
from tests.cases.noisy_classes import data

MACHINES = [
    {"multi_class": "ovr"},
    {"multi_class": "ovr", "loss": "hinge"},
    {"multi_class": "ovr", "penalty": "l1"},
    {"multi_class": "weston_watkins"},
    {"multi_class": "crammer_singer"},
]


def machine(**parameters):
    return LinearSVC(**{"probability": True, "random_state": 0, **parameters})


@pytest.mark.parametrize("classes", [2, 3, 7])
@pytest.mark.parametrize("parameters", MACHINES)
def test_the_predicted_class_has_the_largest_probability(parameters, classes):
    X, y, points, _ = data(classes)
    fitted = machine(**parameters).fit(X, y)
    for p in (fitted.predict_proba(points), fitted.predict_proba(1e6 * points)):
        assert (p >= 0).all()
        np.testing.assert_allclose(p.sum(axis=1), 1)
    p = fitted.predict_proba(points)
    np.testing.assert_array_equal(fitted.classes_[p.argmax(axis=1)], fitted.predict(points))
    np.testing.assert_array_equal(fitted.predict_log_proba(points), np.log(p))


def test_they_agree_where_scores_tie():
    X = np.array([[-1.0, 0], [1, 0], [0, 1], [0, -1]] * 5)
    y = np.array([0, 1, 2, 3] * 5)
    for labels in (y, y % 2):
        for parameters in MACHINES:
            fitted = machine(**parameters).fit(X, labels)
            points = np.array([[0.0, 0.0], [1e-17, 0.0], [-1e-17, 1e-17], [5.0, 5.0]])
            p = fitted.predict_proba(points)
            np.testing.assert_array_equal(fitted.classes_[p.argmax(axis=1)], fitted.predict(points))


def test_monotone_in_the_decision_value():
    X, y, points, _ = data(2)
    fitted = machine().fit(X, y)
    order = np.argsort(fitted.decision_function(points))
    assert (np.diff(fitted.predict_proba(points)[order, 1]) >= 0).all()


@pytest.mark.parametrize("classes", [2, 4])
@pytest.mark.parametrize("parameters", MACHINES[::3])
def test_they_are_calibrated(parameters, classes):
    """Better than saying nothing, and than being sure of every prediction."""
    X, y, points, truth = data(classes, 600)
    fitted = machine(**parameters).fit(X, y)
    loss = log_loss(truth, fitted.predict_proba(points))
    prior = np.bincount(y) / len(y)
    sure = np.clip(np.eye(classes)[fitted.predict(points)], 0.01, 0.99)
    assert loss < log_loss(truth, np.tile(prior, (len(truth), 1)))
    assert loss < log_loss(truth, sure / sure.sum(axis=1, keepdims=True))


@pytest.mark.parametrize("parameters", MACHINES)
@pytest.mark.parametrize("classes", [2, 3])
def test_the_values_are_those_of_separate_fits(parameters, classes):
    """Folds begin at the solution of all examples and end where fits of their own do."""
    X, y, _, _ = data(classes, 120)
    folds = [(np.arange(k, 120, 2), np.arange(1 - k, 120, 2)) for k in (0, 1)]
    whole = machine(**parameters, cv=folds, tol=1e-9, max_iter=100_000, warm_start=True).fit(X, y)
    found = class_scores(whole, X, y, np.ones(120), 0.0, partial(fit_fold, whole))
    np.testing.assert_array_equal(found.rows, np.arange(120))
    for train, test in folds:
        own = LinearSVC(**parameters, tol=1e-9, max_iter=100_000).fit(X[train], y[train])
        expected = own.decision_function(X[test])
        values = found.values[test] if classes > 2 else found.values[test, 1]
        np.testing.assert_allclose(values, expected, atol=2e-3)


@pytest.mark.parametrize("classes", [2, 3])
def test_weights_are_repetitions(classes):
    X, y, points, _ = data(classes, 90)
    repeat = 1 + np.arange(90) % 3
    rows = np.repeat(np.arange(90), repeat)
    folds = [(np.flatnonzero(np.arange(90) % 3 != k), np.arange(k, 90, 3)) for k in range(3)]
    repeated = [tuple(np.flatnonzero(np.isin(rows, part)) for part in fold) for fold in folds]
    exact = {"tol": 1e-9, "max_iter": 100_000}
    weighted = machine(cv=folds, **exact).fit(X, y, repeat)
    other = machine(cv=repeated, **exact).fit(X[rows], y[rows])
    np.testing.assert_allclose(
        weighted.predict_proba(points), other.predict_proba(points), atol=1e-3
    )


def test_weights_of_zero_leave_out():
    X, y, points, _ = data(3)
    weight = (np.arange(len(y)) % 3 > 0).astype(float)
    folds = [(np.arange(k, 300, 2), np.arange(1 - k, 300, 2)) for k in (0, 1)]
    whole = machine(cv=folds, tol=1e-8).fit(X, y, weight).predict_proba(points)
    X[weight == 0], y[weight == 0] = 99, 0
    again = machine(cv=folds, tol=1e-8).fit(X, y, weight).predict_proba(points)
    np.testing.assert_allclose(again, whole, atol=1e-4)


def test_sparse_data_and_sparse_weights():
    X, y, points, _ = data(3, 90)
    usual = machine().fit(X, y).predict_proba(points)
    sparse = machine().fit(csr_matrix(X), y)
    np.testing.assert_allclose(sparse.predict_proba(csr_matrix(points)), usual, atol=1e-3)
    known = sparse.predict_proba(points)
    np.testing.assert_allclose(sparse.sparsify().predict_proba(points), known)


def test_groups_through_splits():
    X, y, points, _ = data(2)
    folds = list(GroupKFold(5).split(X, y, np.arange(len(y)) // 30))
    assert np.isfinite(machine(cv=folds).fit(X, y).predict_proba(points)).all()


def test_not_available_without():
    X, y, _, _ = data(2)
    fitted = LinearSVC().fit(X, y)
    assert not hasattr(fitted, "predict_proba")
    assert not hasattr(fitted, "predict_log_proba")
    with pytest.raises(NotFittedError, match="Fit again with probability=True"):
        fitted.set_params(probability=True).predict_proba(X)
    fitted.fit(X, y)
    fitted.set_params(probability=False).fit(X, y)
    with pytest.raises(NotFittedError, match="Fit again with probability=True"):
        fitted.set_params(probability=True).predict_proba(X)
    assert not hasattr(fitted, "_kept")
    with pytest.raises(ValueError, match="'probability' parameter"):
        LinearSVC(probability="platt").fit(X, y)


@pytest.mark.parametrize("parameters", MACHINES)
def test_classes_with_fewer_examples_than_folds(parameters):
    X, y, points, _ = data(3, 60)
    X, y = np.vstack([X, np.full((1, 6), 3.0)]), np.append(y, 3)
    assert np.isfinite(machine(**parameters).fit(X, y).predict_proba(points)).all()
    two = machine(**parameters).fit([[0.0], [1.0]], [0, 1])
    assert np.isfinite(two.predict_log_proba([[0.5], [2.0]])).all()
    three = machine(**parameters).fit([[0.0], [1.0], [5.0]], [0, 1, 2])
    assert np.isfinite(three.predict_log_proba([[0.5], [2.0]])).all()


def test_folds_of_weight_zero_and_of_one_class():
    X, y, points, _ = data(2, 40)
    folds = [(np.arange(20, 40), np.arange(20)), (np.arange(20), np.arange(20, 40))]
    weight = np.append(np.zeros(20), np.ones(20))
    with pytest.raises(ValueError, match="a fold with examples to train on"):
        machine(cv=folds).fit(X, y, weight)
    weight[:2] = 1
    assert np.isfinite(machine(cv=folds).fit(X, y, weight).predict_proba(points)).all()
    y = np.sort(y)
    folds = [(np.flatnonzero(y == k), np.flatnonzero(y != k)) for k in (0, 1)]
    assert np.isfinite(machine(cv=folds).fit(X, y).predict_log_proba(points)).all()


def test_all_decision_values_on_the_right_side():
    X, y = np.repeat([[-1.0], [1.0]], 20, axis=0), np.repeat([0, 1], 20)
    p = machine().fit(X, y).predict_proba([[-1.0], [0.0], [1.0]])
    assert min(p[0, 0], p[2, 1]) > 0.8
    assert np.isfinite(p).all()


def test_a_time_limit_leaves_a_machine_without():
    X, y, points, _ = data(3)
    with (
        pytest.warns(ConvergenceWarning, match="stopped by its time limit"),
        pytest.warns(ConvergenceWarning, match="before it had probabilities"),
    ):
        fitted = machine(time_limit=1e-9).fit(X, y)
    assert fitted.predict(points).shape == (300,)
    with pytest.raises(NotFittedError):
        fitted.predict_proba(points)


def test_folds_at_max_iter_warn_once():
    X, y, _, _ = data(3)
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        machine(multi_class="weston_watkins", max_iter=1, tol=1e-12).fit(X, y)
    assert sum(issubclass(w.category, ConvergenceWarning) for w in seen) == 1


@pytest.mark.parametrize("classes", [2, 3])
def test_files_keep_them(tmp_path, classes):
    X, y, points, _ = data(classes)
    fitted = machine().fit(X, y)
    path = tmp_path / "m.softmargin"
    fitted.save(path)
    np.testing.assert_array_equal(
        load(path, mmap=False).predict_proba(points), fitted.predict_proba(points)
    )
    record = read_any_model(path)
    predicted, p = record.predict_probabilities(points)
    np.testing.assert_allclose(p, fitted.predict_proba(points))
    np.testing.assert_array_equal(predicted, fitted.predict(points))
    fitted._curve = fitted._curve[:1]
    fitted.save(tmp_path / "broken.softmargin")
    with pytest.raises(FileError, match="_curve of shape"):
        load(tmp_path / "broken.softmargin")
    fitted.save(tmp_path / "m.model", format="liblinear")
    assert not load(tmp_path / "m.model").probability


def test_on_the_command_line(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    X, y, _, _ = data(3, 60)
    rows = [
        f"{t} " + " ".join(f"{k + 1}:{v!r}" for k, v in enumerate(map(float, x)))
        for t, x in zip(y, X, strict=True)
    ]
    (tmp_path / "data").write_text("\n".join(rows) + "\n")
    train = ["train", "-q", "-b", "1", "--linear", "crammer-singer", "data"]
    assert cli.main([*train, "m.softmargin"]) == 0
    assert cli.main(["predict", "-b", "1", "data", "m.softmargin", "out"]) == 0
    lines = (tmp_path / "out").read_text().splitlines()
    assert lines[0] == "labels 0 1 2"
    told = np.array([[float(word) for word in line.split()] for line in lines[1:]])
    fitted = load("m.softmargin")
    np.testing.assert_allclose(told[:, 1:], fitted.predict_proba(X), atol=1e-5)
    np.testing.assert_array_equal(told[:, 0], fitted.predict(X))
    capsys.readouterr()
    assert cli.main([*train, "m.model"]) == 1
    assert "LIBLINEAR's format has no place" in capsys.readouterr().err
    assert cli.main(["train", "-b", "1", "--linear", "svr", "data", "m.softmargin"]) == 1
    assert "-b 1 is for classifiers" in capsys.readouterr().err
