"""The core's loops on several threads: the same answers as on one, and, built with
SOFTMARGIN_SANITIZE=thread, no race (.ci/run)."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from softmargin import SVC, SVR, LinearSVC, NuSVC, OneClassSVM
from softmargin.io.data.libsvm_text import read_libsvm, write_libsvm

THREADS = 3


def make_data(count=2100, features=16):
    """Large enough for products to be shared out, and for blocks smaller than the problem."""
    rng = np.random.default_rng(4)
    X = rng.normal(size=(count, features))
    return X, np.sin(X[:, 0]) + 0.3 * rng.normal(size=count)


@pytest.mark.parametrize("form", [np.asarray, np.float32, sp.csr_matrix])
@pytest.mark.parametrize(
    "machine",
    [
        SVC(max_iter=300),
        SVC(max_iter=300, working_set="second-order", precision="float64"),
        NuSVC(nu=0.3, max_iter=200),
        SVR(max_iter=200),
        OneClassSVM(nu=0.2, max_iter=200),
    ],
    ids=lambda m: f"{type(m).__name__}-{m.working_set}",
)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_kernel_machines(machine, form):
    X, z = make_data()
    y = z if isinstance(machine, SVR) else z > 0
    one, many = (clone(machine).set_params(n_jobs=n).fit(form(X), y) for n in (1, THREADS))
    assert many.solution_.dual_objective == pytest.approx(one.solution_.dual_objective, rel=1e-9)
    values = "predict" if isinstance(machine, SVR) else "decision_function"
    np.testing.assert_array_equal(
        getattr(one, values)(form(X)), getattr(one.set_params(n_jobs=THREADS), values)(form(X))
    )


def test_pairs_and_classes_side_by_side():
    X, z = make_data(600)
    y = np.digitize(z, [-0.6, -0.2, 0.2, 0.6])
    for machine in (SVC(), LinearSVC(loss="hinge", random_state=0, tol=1e-2)):
        one, many = (clone(machine).set_params(n_jobs=n).fit(X, y) for n in (1, THREADS))
        assert many.solution_.dual_objective == pytest.approx(
            one.solution_.dual_objective, rel=2 * one.solution_.relative_gap
        )


def test_a_machine_that_many_threads_ask():
    X, z = make_data(600)
    machine = SVC(n_jobs=2).fit(X, z > 0)
    expected = machine.decision_function(X)
    with ThreadPoolExecutor(4) as pool:
        for values in pool.map(lambda _: machine.decision_function(X), range(8)):
            np.testing.assert_array_equal(values, expected)


def test_a_fit_stopped_from_another_thread():
    """status.stop(), called from a pair's thread, also stops the solvers of other pairs."""
    X, z = make_data(1500)
    y = np.digitize(z, [-0.6, -0.2, 0.2, 0.6])
    begun, stop = threading.Event(), []

    def look(status):
        stop.append(status.stop)
        begun.set()

    machine = SVC(C=1e6, tol=1e-10, n_jobs=THREADS, callbacks=[look])

    def press():
        begun.wait()
        stop[0]()

    presser = threading.Thread(target=press)
    presser.start()
    with pytest.warns(ConvergenceWarning, match="callback"):
        machine.fit(X, y)
    presser.join()


def test_text_is_read_by_many_threads(tmp_path):
    X, z = make_data(4000)
    write_libsvm(tmp_path / "data", sp.csr_matrix(X), z)
    (one, y), (many, w) = (read_libsvm(tmp_path / "data", n_threads=n) for n in (1, THREADS))
    np.testing.assert_array_equal(one.toarray(), many.toarray())
    np.testing.assert_array_equal(y, w)
