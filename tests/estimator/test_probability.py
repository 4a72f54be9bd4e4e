"""Probabilities of the classifiers and intervals of the regressions."""

import numpy as np
import pytest
from sklearn.datasets import make_blobs, make_friedman1
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.metrics import log_loss
from sklearn.model_selection import GroupKFold

import softmargin
from softmargin import SVC, SVR, LinearSVC, NuSVC, NuSVR, OneClassSVM, StopReason
from tests.cases.noisy_classes import data


@pytest.mark.parametrize("break_ties", [False, True])
@pytest.mark.parametrize("classes", [2, 3, 7])
@pytest.mark.parametrize(
    "machine",
    [
        SVC(),
        NuSVC(nu=0.1),
        SVC(kernel="linear"),
        *(SVC(multi_class=m) for m in ("ovr", "weston_watkins", "crammer_singer")),
    ],
    ids=str,
)
def test_the_predicted_class_has_the_largest_probability(machine, classes, break_ties):
    X, y, points, _ = data(classes)
    machine = machine.__class__(
        **{**machine.get_params(), "probability": True, "break_ties": break_ties}
    ).fit(X, y)
    p = machine.predict_proba(points)
    np.testing.assert_array_equal(machine.classes_[p.argmax(axis=1)], machine.predict(points))
    np.testing.assert_allclose(p.sum(axis=1), 1)
    assert (p > 0).all()
    np.testing.assert_array_equal(machine.predict_log_proba(points), np.log(p))


def test_they_agree_where_votes_and_values_tie():
    """Points between classes that are mirror images of one another."""
    X = np.array([[-1.0, 0], [1, 0], [0, 1], [0, -1]] * 5)
    y = np.array([0, 1, 2, 3] * 5)
    for labels in (y, y % 2):
        machine = SVC(kernel="linear", probability=True).fit(X, labels)
        points = np.array([[0.0, 0.0], [1e-17, 0.0], [-1e-17, 1e-17], [1e-300, 0.0], [5.0, 5.0]])
        p = machine.predict_proba(points)
        np.testing.assert_array_equal(machine.classes_[p.argmax(axis=1)], machine.predict(points))


def test_monotone_in_the_decision_value():
    X, y, points, _ = data(2)
    machine = SVC(probability=True).fit(X, y)
    order = np.argsort(machine.decision_function(points))
    assert (np.diff(machine.predict_proba(points)[order, 1]) >= 0).all()


@pytest.mark.parametrize("classes", [2, 4])
def test_they_are_calibrated(classes):
    """Better than saying nothing, and than being sure of every prediction."""
    X, y, points, truth = data(classes, 600)
    for probability in (True, "platt"):
        machine = SVC(probability=probability).fit(X, y)
        loss = log_loss(truth, machine.predict_proba(points))
        prior = np.bincount(y) / len(y)
        sure = np.clip(np.eye(classes)[machine.predict(points)], 0.01, 0.99)
        assert loss < log_loss(truth, np.tile(prior, (len(truth), 1)))
        assert loss < log_loss(truth, sure / sure.sum(axis=1, keepdims=True))


def test_not_available_without():
    X, y, _, _ = data(2)
    machine = SVC().fit(X, y)
    assert machine.probA_.shape == machine.probB_.shape == (0,)
    assert not hasattr(machine, "predict_proba")
    with pytest.raises(AttributeError) as error:
        machine.predict_proba(X)
    assert "not available when probability=False" in str(error.value.__cause__)
    with pytest.raises(NotFittedError, match="Fit again with probability=True"):
        machine.set_params(probability=True).predict_proba(X)
    for regression in (SVR(), NuSVR()):
        assert not hasattr(regression, "predict_interval")


@pytest.mark.parametrize("form", ["precomputed", "function", "sparse"])
def test_forms_of_input(form):
    from scipy.sparse import csr_matrix

    X, y, points, _ = data(3, 90)
    usual = SVC(kernel="linear", probability=True).fit(X, y).predict_proba(points)
    if form == "sparse":
        machine = SVC(kernel="linear", probability=True).fit(csr_matrix(X), y)
        found = machine.predict_proba(csr_matrix(points))
    elif form == "function":
        machine = SVC(kernel=lambda a, b: a @ b.T, probability=True).fit(X, y)
        found = machine.predict_proba(points)
    else:
        machine = SVC(kernel="precomputed", probability=True).fit(X @ X.T, y)
        found = machine.predict_proba(points @ X.T)
    np.testing.assert_allclose(found, usual, atol=0.01)


def test_weights_of_zero_leave_out():
    X, y, points, _ = data(3)
    weight = (np.arange(len(y)) % 3 > 0).astype(float)
    splits = [(np.arange(k, 300, 2), np.arange(1 - k, 300, 2)) for k in (0, 1)]
    whole = SVC(probability=True, cv=splits).fit(X, y, weight).predict_proba(points)
    y[weight == 0] = 0
    X[weight == 0] = 99
    np.testing.assert_array_equal(
        SVC(probability=True, gamma=SVC().fit(X[weight > 0], y[weight > 0])._gamma, cv=splits)
        .fit(X, y, weight)
        .predict_proba(points)
        .argmax(axis=1),
        whole.argmax(axis=1),
    )


def test_groups_through_splits():
    X, y, points, _ = data(2)
    groups = np.arange(len(y)) // 30
    machine = SVC(probability=True, cv=list(GroupKFold(5).split(X, y, groups))).fit(X, y)
    assert np.isfinite(machine.predict_proba(points)).all()


@pytest.mark.parametrize("probability", [True, "platt"])
def test_classes_with_fewer_examples_than_folds(probability):
    X, y = make_blobs(60, centers=3, random_state=0)
    X, y = np.vstack([X, [[30.0, 30.0]]]), np.append(y, 3)
    p = SVC(probability=probability).fit(X, y).predict_proba(X)
    assert np.isfinite(p).all()
    two = SVC(probability=probability).fit([[0.0], [1.0]], [0, 1])
    assert np.isfinite(two.predict_proba([[0.5], [2.0]])).all()


def test_a_fold_of_weight_zero():
    X, y, points, _ = data(2, 40)
    splits = [(np.arange(20, 40), np.arange(20)), (np.arange(20), np.arange(20, 40))]
    weight = np.append(np.zeros(20), np.ones(20))
    with pytest.raises(ValueError, match="a fold with examples to train on"):
        SVC(probability=True, cv=splits).fit(X, y, weight)
    weight[:2] = 1
    machine = SVC(probability=True, cv=splits).fit(X, y, weight)
    assert np.isfinite(machine.predict_proba(points)).all()


def test_the_same_folds_each_time():
    X, y, points, _ = data(3)
    first, again, other = (
        SVC(probability=True, random_state=seed).fit(X, y).predict_proba(points)
        for seed in (None, None, 5)
    )
    np.testing.assert_array_equal(first, again)
    assert (first != other).any()


@pytest.mark.parametrize("machine", [SVR(C=10.0), NuSVR(C=10.0)])
@pytest.mark.parametrize("coverage", [0.5, 0.9])
def test_intervals_cover_what_they_say(machine, coverage):
    X, y = make_friedman1(1200, noise=1.0, random_state=0)
    machine.set_params(probability=True).fit(X[:400], y[:400])
    low, high = machine.predict_interval(X[400:], coverage).T
    inside = ((low <= y[400:]) & (y[400:] <= high)).mean()
    assert abs(inside - coverage) < 3 * np.sqrt(coverage * (1 - coverage) * (1 / 400 + 1 / 800))
    with pytest.raises(ValueError, match="coverage must be between 0 and 1; got 90"):
        machine.predict_interval(X, 90)


def test_too_few_examples_for_an_interval():
    machine = SVR(probability=True).fit([[0.0], [1.0], [2.0]], [0.0, 1.0, 2.0])
    assert np.isinf(machine.predict_interval([[1.0]], 0.99)).all()
    with pytest.raises(ValueError, match="two examples or more"):
        SVR(probability=True).fit([[0.0]], [1.0])


def test_one_class():
    X = np.random.default_rng(0).normal(size=(200, 2))
    machine = OneClassSVM(nu=0.2, probability=True).fit(X)
    p = machine.inlier_probability(X)
    assert ((p > 0.5) <= (machine.predict(X) == 1)).all()
    with pytest.raises(ValueError, match="at least 5 training examples on each side"):
        OneClassSVM(probability=True).fit(X[:6])
    assert not hasattr(OneClassSVM(), "inlier_probability")


def test_files_keep_intervals(tmp_path):
    X, y = make_friedman1(100, random_state=0)
    machine = SVR(probability=True).fit(X, y)
    machine.save(tmp_path / "m.softmargin")
    again = softmargin.load(tmp_path / "m.softmargin")
    np.testing.assert_array_equal(again.predict_interval(X), machine.predict_interval(X))


@pytest.mark.parametrize("classes", [2, 3])
def test_files_keep_them(tmp_path, classes):
    from softmargin import load
    from softmargin.io.models.formats import read_any_model

    X, y, points, _ = data(classes)
    machine = SVC(probability=True).fit(X, y)
    machine.save(tmp_path / "m.softmargin")
    np.testing.assert_array_equal(
        load(tmp_path / "m.softmargin").predict_proba(points), machine.predict_proba(points)
    )
    predicted, p = read_any_model(tmp_path / "m.softmargin").predict_probabilities(points)
    np.testing.assert_array_equal(p, machine.predict_proba(points))
    np.testing.assert_array_equal(predicted, machine.predict(points))


@pytest.mark.parametrize(
    "machine",
    [
        SVC(probability=True),
        SVC(probability="platt"),
        NuSVC(nu=0.03, probability=True),
        LinearSVC(probability=True),
    ],
)
def test_one_example_of_a_class(machine):
    X, _, points, _ = data(2, 60)
    y = np.zeros(60, dtype=int)
    y[0] = 1
    assert np.isfinite(machine.fit(X, y).predict_log_proba(points)).all()


@pytest.mark.parametrize(
    "machine", [SVC(probability=True), SVC(probability="platt"), LinearSVC(probability=True)]
)
def test_all_decision_values_on_one_side(machine):
    """All examples are the same point."""
    y, same = (np.arange(60) < 10).astype(int), np.ones((60, 2))
    p = machine.fit(same, y).predict_proba(same[:1])
    assert np.isfinite(p).all()
    assert 0 < p.min() < p.max() < 1


def test_a_nu_that_is_infeasible_in_a_fold():
    X, _, _, _ = data(2, 60)
    y = (np.arange(60) < 13).astype(int)
    NuSVC(nu=26 / 60).fit(X, y)
    with pytest.raises(ValueError, match="A fold of probability cannot be trained: specified nu"):
        NuSVC(nu=26 / 60, probability=True).fit(X, y)
    folds = "must be an int in the range"
    with pytest.raises(ValueError, match=folds):
        SVC(probability=True, cv=1).fit(X, y)


@pytest.mark.parametrize("classes", [2, 3])
def test_a_fit_that_is_stopped(classes, short_slices):
    """Ctrl-C and the time limit end all; a callback only ends the fit of all examples."""
    X, y, points, _ = data(classes, 900)
    stopped = SVC(probability=True, callbacks=[lambda status: StopReason.INTERRUPTED])
    without = pytest.warns(ConvergenceWarning, match="stopped before it had probabilities")
    with pytest.warns(ConvergenceWarning, match="The fit was interrupted"), without:
        stopped.fit(X, y)
    stopped.predict(points)
    with pytest.raises(NotFittedError, match="Fit again with probability=True"):
        stopped.predict_proba(points)
    ended = SVC(probability=True, callbacks=[lambda status: True])
    with pytest.warns(ConvergenceWarning, match="stopped by a callback"):
        ended.fit(X, y)
    np.testing.assert_allclose(ended.predict_proba(points).sum(axis=1), 1)
