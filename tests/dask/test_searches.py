"""Searches on a Dask cluster of threads: the tables of the same searches on one machine."""

import os
import signal
import subprocess
import sys
import threading
import time

import joblib
import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.datasets import make_classification
from sklearn.decomposition import PCA
from sklearn.exceptions import FitFailedWarning
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler

from softmargin import SVC, SVR, GridSearchCV, LinearSVC, NuSVC, RandomizedSearchCV, StopReason
from softmargin.checkpoint import Checkpoint
from softmargin.model_selection import engine

distributed = pytest.importorskip("distributed")

from softmargin.dask import ClusterError  # noqa: E402

pytestmark = pytest.mark.thread_unsafe(reason="a cluster of its own")
GRID = {"C": [0.1, 1, 10], "gamma": [0.01, 0.1, "scale"]}


def data(classes=3, count=120):
    return make_classification(count, 6, n_informative=4, n_classes=classes, random_state=classes)


def same_table(local, remote):
    assert list(remote.cv_results_) == list(local.cv_results_)
    for name, column in local.cv_results_.items():
        if "time" not in name:
            np.testing.assert_array_equal(remote.cv_results_[name], column, name)
    assert remote.best_params_ == local.best_params_


PIPELINE = Pipeline([("scale", StandardScaler()), ("pca", PCA(3)), ("svc", SVC())])


@pytest.mark.parametrize(
    ("estimator", "grid"),
    [
        (SVC(), GRID),
        (SVC(kernel="poly", gamma=0.1), {"C": [0.1, 1], "degree": [2, 3]}),
        (NuSVC(gamma=0.1), {"nu": [0.1, 0.3]}),
        (SVR(), {**GRID, "epsilon": [0.1, 0.3]}),
        (LinearSVC(multi_class="weston_watkins", random_state=0), {"C": [0.01, 0.1]}),
        (PIPELINE, {"svc__C": [0.1, 1], "svc__gamma": [0.1, 1], "pca__n_components": [2, 3]}),
        (PIPELINE, {"svc__C": [0.1, 1], "svc__gamma": [0.1, "scale"]}),
        (PIPELINE, {"svc": [SVC(), LinearSVC(random_state=0)], "scale": ["passthrough"]}),
        # Fits that do not share their work:
        (SVC(kernel="sigmoid", gamma=0.01), {"C": [0.1, 1]}),
        (LogisticRegression(), {"C": [0.1, 1]}),
    ],
    ids=lambda value: type(value).__name__,
)
def test_the_table_of_the_same_search_on_one_machine(client, estimator, grid):
    X, y = data()
    options = {"return_train_score": True, "cv": 3}
    local = GridSearchCV(estimator, grid, **options).fit(X, y)
    same_table(local, GridSearchCV(estimator, grid, client=client, **options).fit(X, y))


def test_weights_sparse_rows_many_scores_and_random_parameters(client):
    X, y = data(2)
    weight = np.random.default_rng(0).uniform(0.5, 2, len(y))
    space = {"C": np.logspace(-2, 3, 50), "gamma": [0.01, 0.1]}
    options = {"n_iter": 6, "random_state": 0, "scoring": ["accuracy", "roc_auc"]}
    local, remote = (
        RandomizedSearchCV(SVC(), space, refit="roc_auc", client=where, **options).fit(
            sp.csr_matrix(X), y, sample_weight=weight
        )
        for where in (None, client)
    )
    same_table(local, remote)


def test_the_winner_is_calibrated_on_the_values_of_the_search(client):
    X, y = data()
    local, remote = (
        GridSearchCV(SVC(probability=True), {"C": [0.1, 1]}, client=where).fit(X, y)
        for where in (None, client)
    )
    np.testing.assert_array_equal(remote.predict_proba(X), local.predict_proba(X))


def test_copies_share_the_client_and_pickles_have_none(client):
    import copy
    import pickle

    search = GridSearchCV(SVC(), GRID, client=client)
    assert clone(search).client is client
    assert copy.copy(search).client is client
    assert pickle.loads(pickle.dumps(search)).client is None
    X, y = data(2, 60)
    np.testing.assert_array_equal(
        cross_val_score(search, X, y, cv=2), cross_val_score(GridSearchCV(SVC(), GRID), X, y, cv=2)
    )


def test_the_live_line_pruning_and_a_checkpoint(client, capsys, tmp_path):
    X, y = data()
    whole = GridSearchCV(SVC(tol=1e-8), GRID).fit(X, y)
    options = {"client": client, "verbose": 1, "prune": "bound"}
    pruned = GridSearchCV(SVC(tol=1e-8), GRID, **options).fit(X, y)
    assert pruned.best_params_ == whole.best_params_
    assert "GridSearchCV: 100%" in capsys.readouterr().err
    kept = Checkpoint(tmp_path / "search", every=0.0)
    first = GridSearchCV(SVC(tol=1e-8), GRID, client=client, checkpoint=kept)
    seen = []

    def die(state, fit, result):
        if fit is not None:
            seen.append(fit)
        if len(seen) == 20:
            raise RuntimeError("the end of this client")

    first._observe = die
    with pytest.raises(RuntimeError, match="this client"):
        first.fit(X, y)
    nothing_runs(client)
    # It resumes without a cluster, too.
    resumed = GridSearchCV(SVC(tol=1e-8), GRID, checkpoint=kept)
    again = []
    resumed._observe = lambda state, fit, result: again.append(fit) if fit is not None else None
    same_table(whole, resumed.fit(X, y))
    assert len(again) == 45 - 20


@pytest.fixture
def endless(monkeypatch):
    """Tasks with gamma=1 run until they are stopped."""
    original, ended = engine.Task.run, []

    def run(self, wishes, stopped):
        begin = time.monotonic()
        while self.kernel.gamma == 1.0 and time.monotonic() < begin + 60:
            time.sleep(0.02)
            if stopped():
                ended.append(self)
                raise engine.Stopped
        return original(self, wishes, stopped)

    monkeypatch.setattr(engine.Task, "run", run)
    return ended


def nothing_runs(client, within=10.0):
    end = time.monotonic() + within
    while any(client.processing().values()) or client.futures:
        assert time.monotonic() < end, (client.processing(), client.futures)
        time.sleep(0.05)


def test_a_time_limit_leaves_gaps_and_no_task(client, endless):
    X, y = data(2)
    grid = {"C": [0.1, 1], "gamma": [0.1, 1.0]}
    search = GridSearchCV(SVC(), grid, client=client, time_limit=5.0).fit(X, y)
    assert search.stop_reason_ is StopReason.TIME_LIMIT
    assert np.isfinite(search.cv_results_["mean_test_score"]).tolist() == [True, False] * 2
    nothing_runs(client)
    end = time.monotonic() + 10
    while not endless:  # tasks that run notice that nobody wants them
        assert time.monotonic() < end
        time.sleep(0.02)


@pytest.mark.skipif(os.name == "nt", reason="no signals of this kind")
@pytest.mark.parametrize("keep", [True, False])
def test_ctrl_c_cancels(client, endless, keep):
    X, y = data(2)
    search = GridSearchCV(SVC(), {"C": [1], "gamma": [0.1, 1.0]}, client=client)
    search.on_interrupt = "keep" if keep else "raise"
    half = threading.Event()
    done = []

    def observe(state, fit, result):
        done.extend([] if fit is None else [fit])
        if len(done) == 5:
            half.set()

    def interrupt():
        if half.wait(60):
            time.sleep(0.5)
            os.kill(os.getpid(), signal.SIGINT)

    search._observe = observe
    timer = threading.Thread(target=interrupt)
    timer.start()
    if keep:
        search.fit(X, y)
        assert search.stop_reason_ is StopReason.INTERRUPTED
        assert search.best_params_ == {"C": 1, "gamma": 0.1}
    else:
        with pytest.raises(KeyboardInterrupt):
            search.fit(X, y)
    timer.join()
    nothing_runs(client)


def test_waits_have_a_limit(client, endless):
    X, y = data(2)
    search = GridSearchCV(SVC(), {"gamma": [1.0]}, client=client, wait_limit=0.5)
    with pytest.raises(ClusterError, match=r"Waited 0.5 s for the fits of a search.*2 workers"):
        search.fit(X, y)
    nothing_runs(client)


def test_errors(client):
    X, y = data(2, 60)
    with pytest.raises(TypeError, match="not asynchronous"):
        GridSearchCV(SVC(), GRID, client="here").fit(X, y)
    with pytest.raises(ValueError, match="wait_limit"):
        GridSearchCV(SVC(), GRID, client=client, wait_limit=0).fit(X, y)
    search = GridSearchCV(SVC(), {"C": [-1.0, 1.0]}, client=client, error_score="raise")
    with pytest.raises(ValueError, match="C"):
        search.fit(X, y)
    nothing_runs(client)
    with pytest.warns(FitFailedWarning, match="5 fits failed"):
        search.set_params(error_score=0.0).fit(X, y)
    assert search.cv_results_["mean_test_score"][0] == 0.0


def test_without_dask_the_message_says_what_to_install():
    code = (
        "import sys; sys.modules['distributed'] = None\n"
        "from softmargin import SVC, GridSearchCV\n"
        "GridSearchCV(SVC(), {'C': [1]}, cv=2, client=1).fit([[0], [1], [2], [3]], [0, 1, 0, 1])"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert ran.returncode == 1
    assert "pip install 'softmargin[dask]'" in ran.stderr


def test_other_tools_of_scikit_learn_with_joblib(client):
    X, y = data()
    local = cross_val_score(SVC(), X, y)
    with joblib.parallel_config("dask", client=client):
        np.testing.assert_array_equal(cross_val_score(SVC(), X, y), local)
