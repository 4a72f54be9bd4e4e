"""Searches that are watched, limited, interrupted, kept in a file, pruned; edges and grids."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pytest
from sklearn.datasets import make_classification
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from softmargin import SVC, SVR, GridSearchCV, LinearSVC, NuSVC, StopReason
from softmargin.checkpoint import Checkpoint, CheckpointError
from softmargin.model_selection import engine
from softmargin.model_selection.progress import State

GRID = {"C": 2.0 ** np.arange(-5, 8, 2), "gamma": 2.0 ** np.arange(-9, 4, 2)}


def data(count=150, seed=0):
    return make_classification(count, 6, n_informative=4, flip_y=0.15, random_state=seed)


def scores(search):
    return search.cv_results_["mean_test_score"]


def test_the_live_line(capsys):
    X, y = data()
    GridSearchCV(SVC(), GRID, verbose=1, n_jobs=2).fit(X, y)
    shown = capsys.readouterr()
    assert "Fitting 5 folds for each of 49 candidates, totalling 245 fits" in shown.out
    assert "GridSearchCV: 100%" in shown.err
    assert "best 0." in shown.err
    assert "gamma=" in shown.err


def test_the_state_tells_the_time_left():
    state = State(total=100, done=25, seconds=3.0)
    assert (state.fraction, state.seconds_left) == (0.25, 9.0)


def test_a_time_limit_leaves_gaps(monkeypatch):
    X, y = data()
    original, begun = engine.Task.run, []

    def slow(self, wishes, stopped):
        begun.append(self)
        if len(begun) > 12:
            time.sleep(0.3)
            if stopped():
                raise engine.Stopped
        return original(self, wishes, stopped)

    monkeypatch.setattr(engine.Task, "run", slow)
    search = GridSearchCV(SVC(), GRID, time_limit=2.0).fit(X, y)
    assert search.stop_reason_ is StopReason.TIME_LIMIT
    done = ~np.isnan(scores(search))
    assert 0 < done.sum() < len(done)
    whole = GridSearchCV(SVC(), GRID).fit(X, y)
    assert whole.stop_reason_ is None
    np.testing.assert_array_equal(scores(search)[done], scores(whole)[done])
    assert search.best_score_ == np.nanmax(scores(search))
    assert search.best_estimator_.solution_.converged


def test_a_time_limit_that_is_over_at_once():
    X, y = data()
    with pytest.raises(ValueError, match=r"time_limit=1e-09 ended before any candidate"):
        GridSearchCV(SVC(), GRID, time_limit=1e-9).fit(X, y)


@pytest.mark.skipif(os.name == "nt", reason="no signals of this kind")
@pytest.mark.parametrize("n_jobs", [1, 2])
def test_ctrl_c(n_jobs, monkeypatch):
    X, y = data()
    threads_before = set(threading.enumerate())
    original, begun = engine.Task.run, []

    def interrupted(self, wishes, stopped):
        begun.append(self)
        if len(begun) == 15:
            os.kill(os.getpid(), signal.SIGINT)
            time.sleep(0.2)
        return original(self, wishes, stopped)

    monkeypatch.setattr(engine.Task, "run", interrupted)
    search = GridSearchCV(SVC(), GRID, on_interrupt="keep", n_jobs=n_jobs).fit(X, y)
    assert search.stop_reason_ is StopReason.INTERRUPTED
    assert 0 < np.isfinite(scores(search)).sum() < 49
    begun.clear()
    with pytest.raises(KeyboardInterrupt):
        GridSearchCV(SVC(), GRID, n_jobs=n_jobs).fit(X, y)
    assert not set(threading.enumerate()) - threads_before


KILLED = """
import sys, numpy as np
sys.path.insert(0, {root!r})
from tests.model_selection.test_watching_searches import GRID, data
from softmargin import SVC, GridSearchCV
from softmargin.checkpoint import Checkpoint
from softmargin.model_selection import engine
import os, signal
original, begun = engine.Task.run, []
def run(self, wishes, stopped):
    begun.append(self)
    if len(begun) == 20:
        os.kill(os.getpid(), signal.SIGKILL)
    return original(self, wishes, stopped)
engine.Task.run = run
X, y = data()
GridSearchCV(SVC(), GRID, checkpoint=Checkpoint("search.checkpoint", every=0.0)).fit(X, y)
"""


@pytest.mark.skipif(os.name == "nt", reason="no SIGKILL")
def test_a_search_that_is_killed_resumes(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    root = str(Path(__file__).parents[2])
    done = subprocess.run([sys.executable, "-c", KILLED.format(root=root)], check=False)
    assert done.returncode == -signal.SIGKILL
    assert Path("search.checkpoint").exists()
    X, y = data()
    original, begun = engine.Task.run, []
    monkeypatch.setattr(
        engine.Task, "run", lambda self, *rest: begun.append(self) or original(self, *rest)
    )
    kept = Checkpoint("search.checkpoint", every=0.0)
    search = GridSearchCV(SVC(), GRID, checkpoint=kept).fit(X, y)
    assert len(begun) == 35 - 19
    assert not Path("search.checkpoint").exists()
    whole = GridSearchCV(SVC(), GRID).fit(X, y)
    np.testing.assert_array_equal(scores(search), scores(whole))
    assert search.best_params_ == whole.best_params_


def test_a_checkpoint_of_another_search_is_refused(tmp_path):
    X, y = data()
    path = tmp_path / "kept"
    first = GridSearchCV(SVC(), {"C": [1, 2, 4]}, checkpoint=Checkpoint(path, 0.0))
    first._observe = lambda state, fit, result: (_ for _ in ()).throw(RuntimeError) if fit else None
    with pytest.raises(RuntimeError):
        first.fit(X, y)
    assert path.exists()
    with pytest.raises(CheckpointError, match="candidates="):
        GridSearchCV(SVC(), {"C": [1, 2, 5]}, checkpoint=path).fit(X, y)
    with pytest.raises(CheckpointError, match="other data"):
        GridSearchCV(SVC(), {"C": [1, 2, 4]}, checkpoint=path).fit(X + 1, y)
    with pytest.raises(CheckpointError, match="estimator tol"):
        GridSearchCV(SVC(tol=1e-2), {"C": [1, 2, 4]}, checkpoint=path).fit(X, y)
    assert GridSearchCV(SVC(), {"C": [1, 2, 4]}, checkpoint=path).fit(X, y).best_score_ > 0.5


@pytest.mark.parametrize("seed", range(4))
def test_pruning_by_bound_has_the_same_winner(seed):
    X, y = data(seed=seed)
    machine = SVC(tol=1e-8)
    whole = GridSearchCV(machine, GRID).fit(X, y)
    for n_jobs in (1, 2):
        pruned = GridSearchCV(machine, GRID, prune="bound", n_jobs=n_jobs).fit(X, y)
        assert pruned.best_params_ == whole.best_params_
        assert pruned.best_score_ == whole.best_score_
        done = ~np.isnan(scores(pruned))
        np.testing.assert_array_equal(scores(pruned)[done], scores(whole)[done])


def test_pruning_by_bound_leaves_out_hopeless_candidates():
    X, y = make_classification(200, 6, n_informative=4, class_sep=2, flip_y=0, random_state=1)
    pruned = GridSearchCV(SVC(), GRID, prune="bound").fit(X, y)
    assert np.isnan(scores(pruned)).any()
    other = GridSearchCV(LogisticRegression(), {"C": [1e-9, 1, 2]}, prune="bound").fit(X, y)
    assert other.best_score_ > 0.9


def test_halving():
    X, y = data()
    halved = GridSearchCV(SVC(), GRID, prune="halving").fit(X, y)
    results = halved.cv_results_
    made = [np.isfinite(results[f"split{k}_test_score"]).sum() for k in range(5)]
    assert made == [49, 25, 13, 7, 4]
    assert halved.best_score_ > np.median(GridSearchCV(SVC(), GRID).fit(X, y).best_score_) - 0.05


def test_pruning_needs_a_known_bound():
    X, y = data()
    with pytest.raises(ValueError, match="whose largest value is known"):
        GridSearchCV(SVC(), GRID, prune="bound", scoring=lambda m, X, y: 1.0).fit(X, y)
    with pytest.raises(ValueError, match="prune"):
        GridSearchCV(SVC(), GRID, prune="some").fit(X, y)


def test_edges(capsys):
    X, y = data()
    search = GridSearchCV(SVC(), {"C": [1e-4, 1e-3, 1e-2], "gamma": [0.1]}, verbose=1).fit(X, y)
    assert search.edges_ == {"C": "smaller"} or search.edges_ == {"C": "larger"}
    assert "The best point is on the edge of the grid: C=" in capsys.readouterr().err
    search = GridSearchCV(SVC(), {"kernel": ["rbf", "linear"], "C": [1, 2]}).fit(X, y)
    assert search.edges_ == {}


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.FitFailedWarning", "ignore:One or more")
@pytest.mark.parametrize(
    ("estimator", "names"),
    [
        (SVC(), {"C", "gamma"}),
        (SVC(kernel="linear"), {"C"}),
        (SVC(kernel="poly"), {"C", "gamma", "degree", "coef0"}),
        (NuSVC(), {"nu", "gamma"}),
        (LinearSVC(multi_class="weston_watkins", max_iter=10**5, tol=0.01), {"C"}),
        (make_pipeline(StandardScaler(), SVC()), {"svc__C", "svc__gamma"}),
    ],
)
def test_a_grid_for_the_machine_and_the_data(estimator, names):
    X, y = data(60)
    search = GridSearchCV(estimator, "auto", cv=2)
    search.fit(X if isinstance(estimator, LinearSVC) else 1000 * X, y)
    assert search.param_grid == "auto"
    assert set(search.best_params_) == names
    if names == {"C", "gamma"}:
        assert search.best_score_ > 0.7
        assert search.best_params_["gamma"] < 1e-4  # the data are large


def test_a_grid_for_a_regression():
    X, _ = data(60)
    search = GridSearchCV(SVR(), "auto", cv=2).fit(X, 1000 * np.sin(X[:, 0]))
    assert set(search.best_params_) == {"C", "gamma", "epsilon"}
    assert search.best_score_ > 0.3
    with pytest.raises(ValueError, match="needs a machine of softmargin"):
        GridSearchCV(LogisticRegression(), "auto").fit(X, X[:, 0] > 0)


def test_memory_stays_within_the_cache_size(monkeypatch):
    """Where the matrices do not fit, each fit has its own cache, and a warm start."""
    X, y = data(300)
    calls = []
    original = engine.make_tasks
    monkeypatch.setattr(engine, "make_tasks", lambda *a: calls.append(1) or original(*a))
    small = GridSearchCV(SVC(cache_size=1, tol=1e-6), {"C": [1, 10]}).fit(X, y)
    assert not calls
    large = GridSearchCV(SVC(cache_size=100, tol=1e-6), {"C": [1, 10]}).fit(X, y)
    assert calls
    np.testing.assert_array_equal(scores(small), scores(large))
