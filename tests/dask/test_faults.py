"""Workers that are killed while a linear machine is fitted on a cluster of processes."""

import os
import signal

import numpy as np
import pytest

from softmargin import LinearSVC
from tests.cases.linear import iris

da = pytest.importorskip("dask.array")

from softmargin.dask import DaskLinearSVC  # noqa: E402

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
