"""Workers that are killed during a fit or a search on a cluster of processes."""

import os
import signal

import numpy as np
import pytest
from sklearn.datasets import make_classification

from softmargin import SVC, GridSearchCV, LinearSVC
from tests.cases.linear import iris

da = pytest.importorskip("dask.array")

from softmargin.dask import DaskLinearSVC, on_cluster  # noqa: E402
from softmargin.dask.cluster import Cluster  # noqa: E402

pytestmark = [
    pytest.mark.thread_unsafe(reason="a cluster of its own"),
    pytest.mark.slow,
    # The parent of a killed worker notices it in the middle of something.
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]
WORKERS_ARE_PROCESSES = True
OPTIONS = {"tol": 1e-2, "C": 0.1, "loss": "hinge", "random_state": 0, "n_blocks": 4}


class Killer:
    """Kills a worker at the end of each of these rounds, once."""

    def __init__(self, client, rounds):
        self.client, self.rounds, self.killed = client, list(rounds), 0

    def __call__(self, status):
        if self.rounds and status.iterations >= self.rounds[0]:
            self.rounds.pop(0)
            self.killed += 1
            workers = list(self.client.run(os.getpid).values())
            os.kill(workers[self.killed % len(workers)], signal.SIGKILL)


def test_killed_workers_cost_time_and_nothing_else(client):
    X, y = iris()
    rounds = [1, 4]
    killer = Killer(client, rounds)
    machine = DaskLinearSVC(callbacks=[killer], time_limit=400.0, wait_limit=200.0, **OPTIONS)
    machine.fit(da.from_array(X, chunks=(50, 4)), y)
    assert killer.killed == len(rounds)
    assert machine.solution_.converged
    assert machine.solution_.relative_gap <= OPTIONS["tol"]
    best = LinearSVC(**{**OPTIONS, "tol": 1e-6, "n_blocks": None}).fit(X, y).solution_
    assert machine.solution_.primal_objective >= best.dual_objective * (1 - 1e-9)
    assert machine.solution_.dual_objective <= best.primal_objective * (1 + 1e-9)
    margins = machine.to_local().decision_function(X)
    assert np.isfinite(margins).all()


@pytest.mark.thread_unsafe(reason="replaces a method of the client")
def test_data_are_sent_again_if_a_worker_leaves_meanwhile(client, monkeypatch):
    """The scheduler raises a KeyError for a worker that it has just removed."""
    scatter, calls = client.scatter, []

    def scatter_to_a_lost_worker(*arguments, **options):
        calls.append(arguments)
        if len(calls) == 1:
            raise KeyError("tcp://127.0.0.1:1")
        return scatter(*arguments, **options)

    monkeypatch.setattr(client, "scatter", scatter_to_a_lost_worker)
    (future,) = Cluster(client, wait_limit=60).send([np.arange(3)], 24)
    np.testing.assert_array_equal(future.result(timeout=60), np.arange(3))
    assert len(calls) == 2


def test_killed_workers_do_not_change_a_machine_of_many_pairs(client):
    X, y = make_classification(1500, 9, n_informative=7, n_classes=10, flip_y=0.1, random_state=0)
    with on_cluster(client, wait_limit=200):
        calm = SVC(probability=True).fit(X, y)
        workers, killed = list(client.run(os.getpid).values()), []

        def kill(status):
            if not killed:
                killed.append(workers[0])
                os.kill(workers[0], signal.SIGKILL)

        machine = SVC(probability=True, callbacks=[kill]).fit(X, y)
    assert killed
    assert not set(client.run(os.getpid).values()) & set(killed)
    np.testing.assert_array_equal(machine.dual_coef_, calm.dual_coef_)
    np.testing.assert_array_equal(machine.predict_proba(X), calm.predict_proba(X))


@pytest.mark.parametrize("count", [1, 2], ids=["one of two", "both, with all copies of the data"])
def test_killed_workers_do_not_change_the_table_of_a_search(client, count):
    X, y = make_classification(600, 8, n_informative=6, n_classes=3, flip_y=0.1, random_state=0)
    grid = {"C": np.logspace(-1, 3, 5), "gamma": np.logspace(-2, 1, 12)}
    local = GridSearchCV(SVC(), grid, refit=False).fit(X, y).cv_results_
    search = GridSearchCV(SVC(), grid, refit=False, client=client, time_limit=400, wait_limit=200)
    workers, after = list(client.run(os.getpid).values()), []

    def kill(state, fit, result):
        if fit is not None:
            after.append(fit)
        if len(after) == 1 and fit is not None:
            for worker in workers[:count]:
                os.kill(worker, signal.SIGKILL)

    search._observe = kill
    search.fit(X, y)
    assert search.stop_reason_ is None
    assert len(after) == 300
    assert not set(client.run(os.getpid).values()) & set(workers[:count])
    for k in range(5):
        name = f"split{k}_test_score"
        np.testing.assert_array_equal(search.cv_results_[name], local[name])
