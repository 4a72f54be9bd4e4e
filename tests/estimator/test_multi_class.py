"""SVC(multi_class=...): parameters, limits, warm starts, checkpoints and files."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
import sklearn.model_selection
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.metrics import log_loss

import softmargin
from softmargin import SVC
from softmargin.model_selection import GridSearchCV
from softmargin.plotting.support import margins
from softmargin.problem.all_classes import MACHINES
from softmargin.working_sets import SecondOrder

SCORED = ["ovr", *MACHINES]


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    y = np.arange(400) % 4
    return rng.normal(size=(400, 3)) + 1.2 * np.eye(4)[y][:, :3], y


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"working_set": "second-order"}, "working_set='second-order'"),
        ({"working_set": SecondOrder()}, "working_set"),
        ({"C": np.inf}, "finite C"),
        ({"probability": "platt"}, "probability=True"),
        ({"decision_function_shape": "ovo"}, "for each pair"),
    ],
)
def test_parameters_that_do_not_go_together(parameters, message, data):
    with pytest.raises(ValueError, match=message):
        SVC(multi_class="weston_watkins", **parameters).fit(*data)


@pytest.mark.parametrize("machine", SCORED)
def test_probabilities_agree_with_the_prediction(machine, data, tmp_path):
    X, y = data
    rows = np.arange(len(y)) % 8 < 4
    found = SVC(multi_class=machine, probability=True).fit(X[rows], y[rows])
    shares = found.predict_proba(X)
    np.testing.assert_allclose(shares.sum(axis=1), 1)
    np.testing.assert_array_equal(shares.argmax(axis=1), found.predict(X))
    known = np.bincount(y[rows]) / rows.sum()
    assert log_loss(y[~rows], shares[~rows]) < log_loss(y[~rows], np.tile(known, (200, 1)))
    found.save(tmp_path / "m.softmargin")
    loaded = softmargin.load(tmp_path / "m.softmargin")
    np.testing.assert_array_equal(loaded.predict_proba(X), shares)
    plain = found.set_params(probability=False).fit(X, y)
    with pytest.raises(NotFittedError, match="probability=False"):
        plain.set_params(probability=True).predict_proba(X)


@pytest.mark.parametrize("machine", SCORED)
def test_probabilities_where_folds_lack_classes(machine, data):
    """Classes of one and two examples: some folds are trained on two classes, or on one."""
    X, y = data
    few = np.concatenate([np.flatnonzero(y == 0)[:40], [1, 5, 2]])
    for cv in (None, [(np.arange(40), np.arange(40, 43)), (np.arange(42), np.arange(42, 43))]):
        found = SVC(multi_class=machine, probability=True, cv=cv).fit(X[few], y[few])
        shares = found.predict_proba(X)
        assert np.isfinite(shares).all()
        np.testing.assert_array_equal(found.classes_[shares.argmax(axis=1)], found.predict(X))


@pytest.mark.parametrize("machine", SCORED)
def test_probabilities_of_a_given_kernel_matrix(machine, data):
    X, y = data
    K = np.exp(-0.3 * ((X[:, None] - X) ** 2).sum(axis=2))
    of_rows = SVC(multi_class=machine, probability=True, gamma=0.3, tol=1e-6).fit(X, y)
    of_matrix = SVC(multi_class=machine, probability=True, kernel="precomputed", tol=1e-6).fit(K, y)
    first, second = np.sort(of_rows.decision_function(X), axis=1)[:, :-3:-1].T
    clear = first - second > 1e-3  # at a tie the prediction, and what agrees with it, may jump
    assert clear.mean() > 0.95
    found = (of_rows.predict_proba(X)[clear], of_matrix.predict_proba(K)[clear])
    np.testing.assert_allclose(*found, atol=1e-4)


def test_rules_for_examples_are_no_rules_for_pairs(data):
    with pytest.raises(ValueError, match="multi_class='ovo' cannot be combined with"):
        SVC(working_set="maximum-gain-example").fit(*data)
    with pytest.raises(ValueError, match="multi_class"):
        SVC(multi_class="all").fit(*data)


@pytest.mark.parametrize("machine", SCORED)
def test_files_pickles_and_clones_keep_the_machine(machine, data, tmp_path):
    X, y = data
    found = SVC(multi_class=machine, working_set="block").fit(X, np.array(list("abcd"))[y])
    found.save(tmp_path / "m.softmargin")
    loaded = softmargin.load(tmp_path / "m.softmargin")
    for other in (loaded, pickle.loads(pickle.dumps(found))):
        assert other.multi_class == machine
        np.testing.assert_array_equal(other.decision_function(X), found.decision_function(X))
        assert (other.predict(X) == found.predict(X)).all()
        assert other.solution_ == found.solution_
    assert clone(found).get_params()["multi_class"] == machine
    from softmargin.io.models.native import read_model

    predicted, values = read_model(tmp_path / "m.softmargin").predict(X)
    assert (predicted == found.predict(X)).all()
    np.testing.assert_allclose(values, found.decision_function(X), atol=1e-12)
    with pytest.raises(ValueError, match="LIBSVM"):
        found.save(tmp_path / "m.model", format="libsvm")


@pytest.mark.parametrize("machine", MACHINES)
def test_a_stopped_fit_continues_from_where_it_was(machine, data):
    X, y = data
    whole = SVC(multi_class=machine, C=3.0, tol=1e-6, gap_tol=1e-8).fit(X, y)
    again = SVC(multi_class=machine, C=3.0, tol=1e-6, gap_tol=1e-8, warm_start=True, max_iter=300)
    with pytest.warns(ConvergenceWarning):
        again.fit(X, y)
    assert again.solution_.iterations <= 300
    again.set_params(max_iter=-1).fit(X, y)
    objective = whole.solution_.dual_objective
    assert again.solution_.dual_objective == pytest.approx(objective, rel=1e-7)
    at_the_optimum = again.fit(X, y).solution_.iterations
    assert at_the_optimum < whole.solution_.iterations / 10
    again.set_params(C=2.0).fit(X, y)
    other = SVC(multi_class=machine, C=2.0, tol=1e-6, gap_tol=1e-8).fit(X, y)
    assert again.solution_.dual_objective == pytest.approx(other.solution_.dual_objective, rel=1e-7)
    fewer = y != 3
    assert again.fit(X[fewer], y[fewer]).solution_.converged


@pytest.mark.parametrize("machine", MACHINES)
def test_a_warm_start_survives_a_file(machine, data, tmp_path):
    X, y = data
    found = SVC(multi_class=machine, warm_start=True).fit(X, y)
    found.save(tmp_path / "m.softmargin")
    loaded = softmargin.load(tmp_path / "m.softmargin")
    assert loaded.fit(X, y).solution_.iterations < found.solution_.iterations / 10


@pytest.mark.parametrize("machine", SCORED)
def test_a_checkpoint_resumes(machine, data, tmp_path):
    X, y = data
    path = tmp_path / "fit.checkpoint"
    stopped = SVC(multi_class=machine, C=50.0, checkpoint=path, max_iter=200)
    with pytest.warns(ConvergenceWarning):
        stopped.fit(X, y)
    assert path.exists()
    resumed = SVC(multi_class=machine, C=50.0, checkpoint=path).fit(X, y)
    assert not path.exists()
    whole = SVC(multi_class=machine, C=50.0).fit(X, y)
    assert resumed.solution_.dual_objective == pytest.approx(
        whole.solution_.dual_objective, rel=2e-3
    )
    assert resumed.solution_.iterations >= stopped.solution_.iterations


@pytest.mark.parametrize("machine", MACHINES)
def test_callbacks_and_limits_stop_a_fit_with_its_certificate(machine, data):
    X, y = data
    seen = []
    found = SVC(multi_class=machine, C=1e4, tol=1e-9, callbacks=[lambda s: seen.append(s) or True])
    with pytest.warns(ConvergenceWarning):
        found.fit(X, y)
    assert found.solution_.stop_reason.name == "CALLBACK"
    assert seen
    assert found.solution_.duality_gap > 0
    assert len(found.history_) > 0
    with pytest.warns(ConvergenceWarning):
        found.set_params(callbacks=None, time_limit=0.0).fit(X, y)
    assert found.solution_.stop_reason.name == "TIME_LIMIT"


def test_searches_fit_every_machine(data):
    X, y = data
    grid = {"multi_class": ["ovo", *SCORED], "C": [0.1, 1.0]}
    search = GridSearchCV(SVC(), grid, cv=3).fit(X, y)
    assert len(search.cv_results_["mean_test_score"]) == 8
    assert (search.cv_results_["mean_test_score"] > 0.4).all()
    own = GridSearchCV(SVC(), {"multi_class": ["weston_watkins"], "C": [0.1, 1.0]}, cv=3).fit(X, y)
    chosen = search.cv_results_["param_multi_class"] == "weston_watkins"
    np.testing.assert_allclose(
        own.cv_results_["mean_test_score"], search.cv_results_["mean_test_score"][chosen]
    )


@pytest.mark.parametrize("machine", SCORED)
def test_searches_continue_along_the_path(machine, data):
    """Each fit starts from the solution for the last C, and scores what a fit of its own scores."""
    X, y = data
    grid = {"C": [0.1, 1.0, 10.0], "gamma": [0.1, 1.0]}
    shared = GridSearchCV(SVC(multi_class=machine), grid, cv=3).fit(X, y)
    own = sklearn.model_selection.GridSearchCV(SVC(multi_class=machine), grid, cv=3).fit(X, y)
    np.testing.assert_allclose(
        shared.cv_results_["mean_test_score"], own.cv_results_["mean_test_score"], atol=0.01
    )


@pytest.mark.parametrize("machine", SCORED)
def test_reports_and_margins_know_scores(machine, data, tmp_path):
    X, y = data
    found = SVC(multi_class=machine).fit(X, y)
    found.report(tmp_path / "report.html", X, y)
    scores = found.decision_function(X)
    own = scores[np.arange(len(y)), y]
    others = np.where(np.eye(4, dtype=bool)[y], -np.inf, scores).max(axis=1)
    np.testing.assert_allclose(margins(found, X, y), own - others)


@pytest.mark.parametrize("machine", SCORED)
def test_altered_attributes_are_refused(machine, data):
    X, y = data
    found = SVC(multi_class=machine).fit(X, y)
    found.intercept_ = np.zeros(6)
    with pytest.raises(ValueError, match="was altered"):
        found.predict(X)
