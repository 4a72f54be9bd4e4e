"""Pairs of classes, and their folds, on a Dask cluster of threads."""

import threading
import time

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import make_classification
from sklearn.multiclass import OneVsOneClassifier

from softmargin import SVC, SVR, NuSVC, StopReason
from softmargin.fitting import kernel_fit

distributed = pytest.importorskip("distributed")

from softmargin.dask import ClusterError, on_cluster  # noqa: E402
from tests.dask.test_searches import nothing_runs  # noqa: E402

pytestmark = pytest.mark.thread_unsafe(reason="a cluster of its own")


def data(classes=4, count=200):
    return make_classification(count, 8, n_informative=6, n_classes=classes, random_state=0)


@pytest.fixture
def threads(monkeypatch):
    """The threads in which problems were solved."""
    found = []

    def watched(owner, name):
        original = getattr(owner, name)

        def call(*given):
            found.append(threading.current_thread())
            return original(*given)

        monkeypatch.setattr(owner, name, call)

    watched(kernel_fit.KernelFit, "solve")
    return found


@pytest.mark.parametrize(
    "machine",
    [
        SVC(),
        SVC(C=100.0, kernel="poly", degree=2, class_weight="balanced"),
        SVC(multi_class="ovr"),
        NuSVC(nu=0.2),
        SVC(kernel="precomputed"),
    ],
    ids=str,
)
def test_the_machine_of_a_fit_on_one_machine(client, machine, threads):
    X, y = data()
    X = X @ X.T if machine.kernel == "precomputed" else X
    machine.set_params(tol=1e-6)
    local = machine.fit(X, y)
    values, solutions = local.decision_function(X), local.solution_.problems
    threads.clear()
    with on_cluster(client):
        machine.fit(X, y)
    assert threads
    assert threading.main_thread() not in threads
    np.testing.assert_allclose(machine.decision_function(X), values, atol=1e-4)
    for one, other in zip(machine.solution_.problems, solutions, strict=True):
        assert one.converged
        assert one.dual_objective <= other.primal_objective + 1e-9
        assert other.dual_objective <= one.primal_objective + 1e-9
    nothing_runs(client)


@pytest.mark.parametrize("C", [1.0, 1000.0])
@pytest.mark.parametrize("probability", [True, "platt"])
def test_probabilities(client, C, probability, threads):
    X, y = data(3)
    weight = np.random.default_rng(0).uniform(0.5, 2.0, len(y))
    machine = SVC(C=C, tol=1e-6, gap_tol=1e-6, probability=probability)
    local = machine.fit(sp.csr_matrix(X), y, weight).predict_proba(sp.csr_matrix(X))
    threads.clear()
    with on_cluster(client):
        machine.fit(sp.csr_matrix(X), y, weight)
    assert threads
    assert threading.main_thread() not in threads
    np.testing.assert_allclose(machine.predict_proba(sp.csr_matrix(X)), local, atol=1e-4)


def test_folds_that_run_here(client):
    """Those of a single problem, and of fits that keep their model if they are stopped."""
    X, y = data(2)
    machines = SVC(tol=1e-6, probability=True), SVR(tol=1e-6, probability=True)
    for machine, method in zip(machines, ("predict_proba", "predict_interval"), strict=True):
        local = getattr(machine.fit(X, y), method)(X)
        with on_cluster(client):
            machine.fit(X, y)
        np.testing.assert_allclose(getattr(machine, method)(X), local, atol=1e-4)
    X, y = data(3)
    machine = SVC(tol=1e-6, probability=True, time_limit=600.0)
    local = machine.fit(X, y).predict_proba(X)
    with on_cluster(client):
        np.testing.assert_allclose(machine.fit(X, y).predict_proba(X), local, atol=1e-4)


def test_the_bits_do_not_depend_on_the_number_of_workers(client):
    X, y = data(6)
    with on_cluster(client):
        two = SVC(probability=True).fit(X, y)
    options = {"n_workers": 1, "threads_per_worker": 1, "processes": False}
    with (
        distributed.LocalCluster(dashboard_address=":0", **options) as cluster,
        distributed.Client(cluster, set_as_default=False) as other,
        on_cluster(other),
    ):
        one = SVC(probability=True).fit(X, y)
    np.testing.assert_array_equal(one.dual_coef_, two.dual_coef_)
    for machine in (one, two):  # in the history, the gap falls from that of the start
        gap = machine.history_["primal"] - machine.history_["dual"]
        assert gap[0] == len(y) * 5  # each example is in a pair with each other class
        assert gap[-1] == pytest.approx(machine.solution_.duality_gap)
    np.testing.assert_array_equal(one.predict_proba(X), two.predict_proba(X))


def test_what_cannot_be_divided_runs_here(client, threads, tmp_path):
    X, y = data()
    with on_cluster(client):
        for machine in (
            SVC(multi_class="weston_watkins"),
            SVC(kernel=lambda A, B: A @ B.T),
            SVC(warm_start=True),
            SVC(checkpoint=tmp_path / "fit"),
        ):
            threads.clear()
            machine.fit(X, y)
            assert set(threads) == {threading.main_thread()}


@pytest.fixture
def endless(monkeypatch):
    """On the workers, all problems but the first last until nobody wants them."""
    solve, ended = kernel_fit.KernelFit.solve, []

    def last(watch):
        while not watch.expired():
            time.sleep(0.02)
        ended.append(True)

    def first_only(self, numbers):
        if numbers.start and threading.current_thread() is not threading.main_thread():
            last(self.settings.watch)
        return solve(self, numbers)

    monkeypatch.setattr(kernel_fit.KernelFit, "solve", first_only)
    return ended


def test_a_time_limit_keeps_what_is_there_and_leaves_no_task(client, endless):
    X, y = data()
    machine = SVC(time_limit=3.0, probability=True)
    with on_cluster(client), pytest.warns(UserWarning, match=r"[Tt]ime"):
        machine.fit(X, y)
    first, *others = machine.solution_.problems
    assert first.converged
    assert {one.stop_reason for one in others} == {StopReason.TIME_LIMIT}
    assert all(np.isfinite(one.relative_gap) for one in others)
    nothing_runs(client)
    end = time.monotonic() + 10
    while not endless:
        assert time.monotonic() < end
        time.sleep(0.02)


def test_a_callback_hears_of_problems_that_ended_and_may_stop_the_fit(client, endless):
    X, y = data()
    seen = []

    def stop(status):
        seen.append(status)
        return True

    with on_cluster(client), pytest.warns(UserWarning, match="callback"):
        machine = SVC(callbacks=[stop]).fit(X, y)
    assert seen[0].ended == 1
    assert seen[0].problems == 6
    assert machine.solution_.stop_reason is StopReason.CALLBACK
    nothing_runs(client)


def test_waits_have_a_limit(client, endless):
    X, y = data()
    waited = pytest.raises(ClusterError, match=r"Waited 0.5 s for the problems of a fit")
    with on_cluster(client, wait_limit=0.5), waited:
        SVC().fit(X, y)
    nothing_runs(client)


def test_errors_are_those_of_one_machine(client):
    X, y = data()
    with on_cluster(client), pytest.raises(ValueError, match="margin"):
        NuSVC(nu=0.5, kernel="precomputed").fit(np.zeros((len(y), len(y))), y)
    with pytest.raises(ValueError, match="wait_limit=0"), on_cluster(client, wait_limit=0):
        SVC().fit(X, y)
    with pytest.raises(TypeError, match="not asynchronous"), on_cluster("here"):
        pass
    nothing_runs(client)


def test_other_tools_of_scikit_learn_with_joblib(client):
    import joblib

    X, y = data(3)
    for tool in (OneVsOneClassifier(SVC()), CalibratedClassifierCV(SVC(), cv=3)):
        local = tool.fit(X, y).predict(X)
        with joblib.parallel_config("dask", client=client):
            np.testing.assert_array_equal(tool.fit(X, y).predict(X), local)
