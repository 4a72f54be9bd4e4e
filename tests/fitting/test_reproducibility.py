"""The same bits wherever a fit runs, and whatever runs at the same time; and no memory leaks."""

from __future__ import annotations

import gc
import multiprocessing
import os
import threading
import warnings

import joblib
import numpy as np
import pytest
from sklearn.base import clone

from softmargin import SVC, SVR, LinearSVC, NuSVC, NuSVR, OneClassSVM

MACHINES = {
    "SVC": SVC(C=10.0, gamma=0.2),
    "pairs": SVC(C=10.0, gamma=0.2, n_jobs=2),
    "NuSVC": NuSVC(nu=0.3, gamma=0.2),
    "SVR": SVR(C=10.0, gamma=0.2, working_set="block", precision="float32"),
    "NuSVR": NuSVR(nu=0.3, gamma=0.2),
    "OneClassSVM": OneClassSVM(nu=0.3, gamma=0.2),
    "LinearSVC": LinearSVC(multi_class="weston_watkins", random_state=0),
    "one-vs-rest": LinearSVC(loss="hinge", random_state=0, n_jobs=2),
}


def fitted(name, count=300):
    """Everything that a fit computes, in bytes."""
    rng = np.random.default_rng(7)
    X = rng.normal(size=(count, 6))
    z = np.sin(2 * X[:, 0]) + 0.3 * rng.normal(size=count)
    y = {"SVR": z, "NuSVR": z, "OneClassSVM": None, "SVC": z > 0, "NuSVC": z > 0}.get(
        name, np.digitize(z, [-0.6, -0.2, 0.2, 0.6])
    )
    machine = clone(MACHINES[name]).fit(X, y)
    linear = isinstance(machine, LinearSVC)
    solution = (machine.coef_,) if linear else (machine.dual_coef_, machine.support_)
    return b"".join(
        np.ascontiguousarray(values).tobytes()
        for values in (*solution, machine.intercept_, machine.predict(X))
    )


@pytest.fixture(scope="module")
def expected():
    return {name: fitted(name) for name in MACHINES}


def test_same_bits_again(expected):
    assert {name: fitted(name) for name in MACHINES} == expected


def test_many_threads_at_once(expected):
    answers, errors = {}, []

    def work(number):
        name = list(MACHINES)[number % len(MACHINES)]
        try:
            answers[number] = (name, fitted(name))
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=work, args=(k,)) for k in range(3 * len(MACHINES))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not errors
    assert len(answers) == len(threads)
    assert all(answer == expected[name] for name, answer in answers.values())


def child(name, queue):
    queue.put((name, fitted(name)))


@pytest.mark.parametrize("method", ["fork", pytest.param("spawn", marks=pytest.mark.slow)])
def test_other_processes(method, expected):
    """Forked after fits with threads in this process, and spawned."""
    if method not in multiprocessing.get_all_start_methods():
        pytest.skip(f"this system has no {method}")
    context = multiprocessing.get_context(method)
    queue = context.Queue()
    names = ["pairs", "SVR", "one-vs-rest"]
    with warnings.catch_warnings():
        # Python warns of a fork while other threads run, which is what is tested.
        warnings.simplefilter("ignore", DeprecationWarning)
        children = [context.Process(target=child, args=(name, queue)) for name in names]
        for process in children:
            process.start()
    answers = dict(queue.get(timeout=120) for _ in names)
    for process in children:
        process.join()
    assert answers == {name: expected[name] for name in names}


@pytest.mark.parametrize("backend", ["threading", pytest.param("loky", marks=pytest.mark.slow)])
def test_joblib(backend, expected):
    with joblib.parallel_config(backend=backend):
        answers = joblib.Parallel(n_jobs=2)(joblib.delayed(fitted)(name) for name in MACHINES)
    # loky's workers may be given fewer threads; the pairs' answer does not depend on them, and the
    # others are too small for their products to be shared out.
    assert dict(zip(MACHINES, answers, strict=True)) == expected


def resident_bytes():
    with open("/proc/self/statm") as statm:
        return int(statm.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


@pytest.mark.skipif(not os.path.exists("/proc/self/statm"), reason="reads Linux's /proc")
@pytest.mark.thread_unsafe(reason="measures the memory of the whole process")
def test_no_memory_is_lost():
    """`python -m tests.fitting.test_reproducibility` does the same with 10,000 fits."""
    assert growth(600, warm_up=200) < 1_000_000


def growth(fits, warm_up):
    """Bytes that the process grows by in many small fits of all kinds."""
    names = [name for name in MACHINES if name not in ("pairs", "one-vs-rest")]
    for k in range(fits + warm_up):
        if k == warm_up:
            gc.collect()
            before = resident_bytes()
        fitted(names[k % len(names)], count=40)
    gc.collect()
    return resident_bytes() - before


if __name__ == "__main__":
    print(f"10,000 small fits: {growth(10_000, warm_up=500) / 1e6:.2f} MB more")
