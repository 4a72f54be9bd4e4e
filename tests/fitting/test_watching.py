"""A fit can be watched, limited and stopped; it leaves a usable model and its certificate."""

from __future__ import annotations

import importlib.util
import logging
import os
import signal
import subprocess
import sys
import textwrap
import threading
import time

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics.pairwise import rbf_kernel

from softmargin import SVC, SVR, LinearSVC, NuSVC, StopReason, _core
from softmargin.fitting.history import History
from softmargin.fitting.progress import Summary
from softmargin.watching import Status, Watch
from softmargin.working_sets import Block, SecondOrder
from tests.cases.watched import MACHINES, make_data, slow_rule, target

SHARED = pytest.mark.thread_unsafe(reason="a fixture, and so its machine, is one for all threads")


@pytest.fixture(params=MACHINES)
def case(request):
    from sklearn.base import clone

    X, z = make_data()
    return clone(MACHINES[request.param]), X, target(request.param, z)


# --- limits and callbacks ---------------------------------------------------------------------


def test_no_time_at_all_still_gives_a_model(case):
    machine, X, y = case
    with pytest.warns(ConvergenceWarning, match="time limit.*the objective is within"):
        machine.set_params(time_limit=0).fit(X, y)
    assert machine.solution_.stop_reason is StopReason.TIME_LIMIT
    assert machine.solution_.iterations == 0
    assert np.isfinite(machine.predict(X)).all()
    assert machine.solution_.duality_gap >= 0


def test_one_limit_covers_all_pairs():
    X, z = make_data()
    machine = SVC(time_limit=0, n_jobs=2)
    with pytest.warns(ConvergenceWarning, match="time limit"):
        machine.fit(X, np.digitize(z, [-0.6, -0.2, 0.2, 0.6]))
    reasons = {solution.stop_reason for solution in machine.solution_.problems}
    assert len(machine.solution_.problems) == 10
    assert reasons == {StopReason.TIME_LIMIT}


def test_a_callback_sees_the_fit_and_stops_it(case, short_slices):
    machine, X, y = case
    seen = []

    def stop_after_three(status):
        seen.append(status)
        return len(seen) == 3

    with pytest.warns(ConvergenceWarning, match="stopped by a callback.*the objective is within"):
        machine.set_params(callbacks=[stop_after_three], **slow_rule(machine)).fit(X, y)
    assert machine.solution_.stop_reason is StopReason.CALLBACK
    assert [status.iterations for status in seen] == sorted(s.iterations for s in seen)
    last = seen[-1]
    assert (last.problem, last.problems, last.ended, last.tol) == (0, 1, 1, machine.tol)
    assert last.iterations == machine.solution_.iterations
    assert last.gap == machine.solution_.duality_gap
    assert last.objective == machine.solution_.dual_objective
    assert 0 <= last.progress < 1


def test_objective_of_a_status_is_the_dual_objective(short_slices):
    X, z = make_data()
    seen = []
    machine = SVR(C=100.0, callbacks=[seen.append]).fit(X, z)
    running = [status.objective for status in seen[:-1]]
    assert (np.diff(running) >= 0).all()
    assert running[-1] == pytest.approx(machine.solution_.dual_objective, rel=1e-9)


@pytest.mark.parametrize("how", ["stop", "numpy", StopReason.TIME_LIMIT, StopReason.CONVERGED])
def test_other_ways_to_stop(how, case, short_slices):
    """A fit that a callback stopped is never reported as converged."""
    machine, X, y = case

    def callback(status):
        if how == "stop":
            return status.stop()
        return np.bool_(True) if how == "numpy" else how

    with pytest.warns(ConvergenceWarning):
        machine.set_params(callbacks=[callback], **slow_rule(machine)).fit(X, y)
    expected = how if how is StopReason.TIME_LIMIT else StopReason.CALLBACK
    assert machine.solution_.stop_reason is expected


def test_a_callback_that_fails_leaves_the_machine_as_it_was():
    X, z = make_data()
    machine = SVC().fit(X, z > 0)
    before = dict(vars(machine))
    machine.set_params(callbacks=[lambda status: 1 / 0])
    for classes in (z > 0, np.digitize(z, [-0.6, -0.2, 0.2, 0.6])):
        machine.set_params(n_jobs=2)
        with pytest.raises(ZeroDivisionError):
            machine.fit(X, classes)
    assert machine.solution_ is before["solution_"]


def test_a_callback_that_is_no_function_is_named():
    with pytest.raises(TypeError, match=r"callbacks has 3, which is not a function.*set_callbacks"):
        SVR(callbacks=[3]).fit(*make_data())


@SHARED
def test_callbacks_change_no_bit(case):
    machine, X, y = case
    plain = machine.fit(X, y).predict(X)
    busy = machine.set_params(callbacks=[lambda s: None, lambda s: False], time_limit=1e6)
    np.testing.assert_array_equal(busy.fit(X, y).predict(X), plain)


def test_a_nu_machine_without_a_margin_yet():
    """Both classes have the same rows, and the start uses those on the wrong sides."""
    X = np.repeat([-1.0, 1.0, 1.0, -1.0], 10)[:, None]
    y = np.repeat([0, 1], 20)
    machine = NuSVC(nu=0.5, kernel="linear", max_iter=0)
    with pytest.warns(ConvergenceWarning):
        machine.fit(X, y)
    assert machine.solution_.duality_gap >= 0
    with pytest.raises(ValueError, match="cannot be told apart"):
        machine.set_params(max_iter=-1).fit(X, y)


# --- history and pictures ---------------------------------------------------------------------


def status_at(k, **changes):
    values = {
        "problem": 0,
        "problems": 1,
        "ended": 0,
        "iterations": k,
        "violation": 1.0 / (1 + k),
        "tol": 1e-3,
        "objective": float(k),
        "active": 1,
        "kernel_rows": 0,
        "cache_hits": 0,
        "seconds": float(k),
        "progress": 0.0,
    }
    return Status(**{**values, **changes})


@pytest.mark.parametrize("count", [0, 1, 15, 16, 17, 1000])
def test_history_stays_small_and_ends_with_the_last(count):
    history = History(limit=16)
    for k in range(count):
        history(status_at(k))
    array = history.array()
    assert len(array) == count if count < 16 else 8 <= len(array) <= 16
    if count:
        assert array["iterations"][0] == 0
        assert array["iterations"][-1] == count - 1
        strides = set(np.diff(array["iterations"][:-1]))
        assert len(strides) <= 1


@SHARED
def test_history_of_a_fit(case):
    machine, X, y = case
    history = machine.fit(X, y).history_
    linear = isinstance(machine, LinearSVC)
    measure = machine.solution_.relative_gap if linear else machine.solution_.kkt_violation
    assert history["violation"][-1] == measure
    assert history["gap"][-1] == machine.solution_.duality_gap
    assert (np.diff(history["seconds"]) >= 0).all()


def test_history_is_no_array_of_the_fit_itself(case):
    """Its length depends on the clock; scikit-learn compares the arrays of two fits."""
    machine, X, y = case
    with pytest.raises(AttributeError, match="history_"):
        _ = machine.history_
    machine.fit(X, y)
    assert "history_" not in vars(machine)
    assert "history_" in dir(machine)


# --- progress ---------------------------------------------------------------------------------


def test_nothing_is_printed_unless_asked_for(capfd):
    X, z = make_data()
    SVC().fit(X, z > 0)
    assert capfd.readouterr() == ("", "")


def test_live_line(capfd):
    X, z = make_data()
    SVC(C=100.0, verbose=1).fit(X, z > 0)
    out, err = capfd.readouterr()
    assert out == ""
    assert err.count("\n") == 1
    assert "SVC: 100%" in err
    assert "violation" in err
    assert "<= 1e-03, " in err.splitlines()[-1].rpartition("\r")[2]


def test_live_line_of_a_notebook(monkeypatch, capfd):
    """The bar is the widget between two labels: neither draws another one in characters."""
    pytest.importorskip("ipywidgets")
    import tqdm.notebook

    bars = []

    class Bar(tqdm.notebook.tqdm):
        def __init__(self, *arguments, **options):
            super().__init__(*arguments, **options)
            bars.append(self)

    monkeypatch.setattr("tqdm.auto.tqdm", Bar)
    X, z = make_data()
    SVC(C=100.0, verbose=1).fit(X, z > 0)
    (bar,) = bars
    left, widget, right = (child.value for child in bar.container.children)
    assert left.replace("\u2007", " ") == "SVC: 100%"
    assert widget == 100
    assert "violation" in right
    assert "█" not in right
    assert capfd.readouterr().err == ""


def test_live_line_of_a_linear_machine(capfd):
    X, z = make_data()
    LinearSVC(multi_class="weston_watkins", verbose=1, random_state=0).fit(X, z > 0)
    out, err = capfd.readouterr()
    assert out == ""
    assert "LinearSVC: 100%" in err
    assert "relative gap" in err
    assert "passes" in err
    assert "rows" not in err


def test_log_lines(caplog, capfd, case):
    machine, X, y = case
    with caplog.at_level(logging.INFO, logger="softmargin"):
        machine.set_params(verbose=2).fit(X, y)
    assert "100%" in caplog.records[-1].getMessage()
    assert capfd.readouterr() == ("", "")


LOG = """
import logging
from threading import Thread
from softmargin import SVC
from tests.cases.watched import make_data
def loggers():
    named = [logging.getLogger(name) for name in sorted(logging.root.manager.loggerDict)]
    return [(each.name, each.level, list(each.handlers)) for each in [logging.root, *named]]
seen = []
def fit():
    SVC(C=100.0, verbose=2, callbacks=[lambda status: seen.append(loggers())]).fit(X, z > 0)
X, z = make_data()
before, threads = loggers(), [Thread(target=fit) for _ in range(3)]
for thread in threads: thread.start()
for thread in threads: thread.join()
assert seen
assert all(state == before for state in [*seen, loggers()])
logging.disable()
fit()
"""


def test_log_lines_without_logging():
    """In a process of its own, since pytest sets logging up."""
    child = subprocess.run([sys.executable, "-c", LOG], capture_output=True, text=True)
    assert child.returncode == 0, child.stderr
    assert child.stderr.count("SVC: 100% after ") == 3  # one each, and none where it is disabled
    assert child.stdout == ""


def test_progress_is_the_logarithm_of_the_violation():
    seen = []
    watch = Watch(2, 1e-4, observers=[seen.append])
    counts = {"iterations": 1, "objective": 0.0, "active": 1, "kernel_rows": 0, "cache_hits": 0}
    for violation in (np.inf, 1.0, 1e-2, 1e-1, 1e-4):
        watch.look(0, violation=violation, **counts)
    # of two problems, the first one; a violation that rises again takes nothing back
    assert [status.progress for status in seen] == pytest.approx([0, 0, 0.25, 0.25, 0.5])


# --- scikit-learn's callbacks -----------------------------------------------------------------

needs_callbacks = pytest.mark.skipif(
    importlib.util.find_spec("sklearn.callback") is None, reason="scikit-learn before 1.9"
)


class Recorder:
    """Follows the protocol of scikit-learn's callbacks."""

    max_propagation_depth = None

    def __init__(self, stop_at=None):
        self.begun, self.ended, self.set_up, self.torn_down = [], [], 0, 0
        self.stop_at = stop_at

    def setup(self, estimator, context):
        self.set_up += 1

    def teardown(self, estimator, context):
        self.torn_down += 1

    def on_fit_task_begin(self, estimator, context):
        self.begun.append((context.estimator_name, context.task_name))

    def on_fit_task_end(self, estimator, context):
        self.ended.append((context.estimator_name, context.task_name))
        return self.stop_at is not None and len(self.ended) >= self.stop_at


@SHARED
@needs_callbacks
def test_sklearn_callbacks_see_a_fit_of_a_hundred_steps(case):
    machine, X, y = case
    recorder = Recorder()
    machine.set_callbacks(recorder).fit(X, y)
    name = type(machine).__name__
    assert recorder.ended.count((name, "per cent")) == 100
    assert recorder.ended[-1] == (name, "fit")
    assert sorted(recorder.begun) == sorted(recorder.ended)
    assert (recorder.set_up, recorder.torn_down) == (1, 1)


@needs_callbacks
def test_sklearn_callbacks_stop_a_fit_and_are_torn_down_after_an_error(short_slices):
    X, z = make_data()
    machine = SVC(C=100.0, working_set="second-order").set_callbacks(Recorder(stop_at=1))
    with pytest.warns(ConvergenceWarning, match="callback"):
        machine.fit(X, z > 0)
    recorder = Recorder()
    machine.set_callbacks(recorder).set_params(callbacks=[lambda status: 1 / 0])
    with pytest.raises(ZeroDivisionError):
        machine.fit(X, z > 0)
    assert (recorder.set_up, recorder.torn_down) == (1, 1)


@needs_callbacks
@pytest.mark.parametrize("n_jobs", [None, pytest.param(2, marks=pytest.mark.slow)])
def test_sklearn_callbacks_in_a_pipeline_and_a_search(n_jobs, capfd):
    pytest.importorskip("rich")
    from sklearn.callback import ProgressBar
    from sklearn.model_selection import GridSearchCV
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    X, z = make_data(200)
    pipeline = make_pipeline(StandardScaler(), SVC())
    search = GridSearchCV(pipeline, {"svc__C": [1.0, 10.0]}, cv=2, n_jobs=n_jobs)
    search.set_callbacks(ProgressBar(max_propagation_depth=None)).fit(X, z > 0)
    assert "SVC - fit" in capfd.readouterr().out


@needs_callbacks
def test_scoring_monitor_does_no_harm_and_records_nothing():
    from sklearn.callback import ScoringMonitor

    X, z = make_data(200)
    monitor = ScoringMonitor(scoring="accuracy")
    assert SVC().set_callbacks(monitor).fit(X, z > 0).solution_.converged
    with pytest.raises(ValueError, match="No logs to retrieve"):
        monitor.get_logs()


# --- Ctrl-C -----------------------------------------------------------------------------------

CHILD = """
import json, time, warnings
warnings.simplefilter("ignore")
from tests.cases.watched import MACHINES, make_data, target
name = {name!r}
X, z = make_data(20000 if name in ("OneClassSVM", "LinearSVC") else 6000)
machine = MACHINES[name].set_params(tol=1e-15, **{parameters})
if name != "LinearSVC":
    machine.set_params(n_jobs=2)
y = target(name, z)
print("ready", flush=True)
try:
    machine.fit(X, y)
    print(machine.solution_.stop_reason.name, time.time(), flush=True)
    import pickle, sys
    pickle.dump(machine, open(sys.argv[1], "wb"))
except KeyboardInterrupt:
    print("KeyboardInterrupt", time.time(), hasattr(machine, "solution_"), flush=True)
"""


def interrupted(name, path, wait, **parameters):
    script = textwrap.dedent(CHILD).format(name=name, parameters=parameters)
    with subprocess.Popen(
        [sys.executable, "-c", script, os.fspath(path)], stdout=subprocess.PIPE, text=True
    ) as child:
        assert child.stdout.readline() == "ready\n"
        time.sleep(wait)
        sent = time.time()
        child.send_signal(signal.SIGINT)
        words = child.stdout.readline().split()
        child.wait()
    print(f"{name} {parameters}: {words[0]} after {float(words[1]) - sent:.3f} s")
    return words


posix = pytest.mark.skipif(os.name != "posix", reason="sends SIGINT to a child process")


PROCESS = pytest.mark.thread_unsafe(reason="sends signals to a process of its own, when it is due")


@posix
@PROCESS
@pytest.mark.slow
@pytest.mark.parametrize("name", MACHINES)
def test_interrupt_raises(name, tmp_path):
    wait = 0.1 + 0.3 * list(MACHINES).index(name) / len(MACHINES)
    words = interrupted(name, tmp_path / "machine", wait)
    assert words[0] == "KeyboardInterrupt"
    assert words[2] == "False"  # nothing half-fitted is left


@posix
@PROCESS
@pytest.mark.slow
def test_interrupt_keeps_a_model_with_a_true_certificate(tmp_path):
    import pickle

    path = tmp_path / "machine"
    words = interrupted("SVC", path, 0.2, on_interrupt="keep", precision="float64")
    assert words[0] == "INTERRUPTED"
    machine = pickle.loads(path.read_bytes())
    X, z = make_data(6000)
    coef = machine.dual_coef_[0]
    f = rbf_kernel(X, machine.support_vectors_, gamma=0.1) @ coef
    norm = coef @ f[machine.support_]
    slack = np.maximum(0, 1 - np.where(z > 0, 1, -1) * (f + machine.intercept_[0]))
    gap = norm + 100.0 * slack.sum() - np.abs(coef).sum()
    assert machine.solution_.duality_gap == pytest.approx(gap, rel=1e-9)


@posix
@pytest.mark.thread_unsafe(reason="only the main thread gets signals")
def test_a_second_interrupt_raises():
    watch = Watch(1, 1e-3)
    before = signal.getsignal(signal.SIGINT)
    with watch.interruptible(keep=True):
        signal.raise_signal(signal.SIGINT)
        assert watch.expired() is StopReason.INTERRUPTED
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)
    assert signal.getsignal(signal.SIGINT) is before


def test_fits_outside_the_main_thread_can_keep_too():
    X, z = make_data(100)
    machine = SVC(on_interrupt="keep")
    thread = threading.Thread(target=machine.fit, args=(X, z > 0))
    thread.start()
    thread.join()
    assert machine.solution_.converged


def test_reasons_name_cause_and_remedy():
    for reason in StopReason:
        assert reason.cause
        assert reason.remedy or reason is StopReason.CONVERGED


def test_the_last_line_of_many_problems_is_about_all_of_them(caplog):
    X, y = RNG_ROWS, np.arange(len(RNG_ROWS)) % 4
    with caplog.at_level("INFO", logger="softmargin"):
        machine = SVC(verbose=2).fit(X, y)
    last, solution = caplog.messages[-1], machine.solution_
    assert "6/6 problems" in last
    assert f"{solution.iterations} it," in last
    assert f"objective {solution.dual_objective:.6g}," in last
    assert f"violation {solution.kkt_violation:.1e}" in last
    assert f"{solution.kernel_rows} rows, {solution.cache_hits} hits" in last


def test_a_gap_on_the_way_does_not_end_a_problem():
    said, text_of = [], Summary()
    watch = Watch(2, 1e-3, observers=[lambda status: said.append(text_of(status))])
    counts = {"violation": 2.0, "objective": 1.0, "active": 3, "kernel_rows": 4, "cache_hits": 0}
    watch.look(0, iterations=7, gap=0.5, **counts)
    solution = SVC().fit(RNG_ROWS, RNG_ROWS[:, 0] > 0).solution_
    for problem in range(2):
        watch.done(problem, solution, active=3)
    assert f"{2 * solution.iterations} it," in said[-1]
    assert f"violation {solution.kkt_violation:.1e}" in said[-1]


def test_a_linear_machine_on_threads_has_parts(caplog):
    X, y = RNG_ROWS, np.arange(len(RNG_ROWS)) % 4
    with caplog.at_level("INFO", logger="softmargin"):
        LinearSVC(loss="hinge", verbose=2, n_jobs=2, random_state=0).fit(X, y)
    assert "2/2 parts" in caplog.messages[-1]


RNG_ROWS = np.random.default_rng(5).standard_normal((120, 3))


# --- time for the certificate ------------------------------------------------------------------


def test_a_time_limit_counts_from_the_start_of_the_fit():
    now = time.perf_counter()
    late = Watch(1, 1e-3, time_limit=10.0, began=now - 4.0)  # 4 s before, so 4 s after
    assert late.expired() is None
    assert 1.5 < late.slice(10.0) < 2.5
    assert Watch(1, 1e-3, time_limit=10.0, began=now - 5.1).expired() is StopReason.TIME_LIMIT


def test_a_time_limit_leaves_time_for_problems_that_have_not_begun():
    watch = Watch(4, 1e-3, time_limit=10.0)
    watch.began(range(1), 1.0)
    watch.reserve(0, 2.0)
    assert 3.0 < watch.slice(10.0) <= 10.0 - 2.0 - 3 * 1.5 * 1.0
    watch.began(range(1, 4), 0.3)
    assert 7.5 < watch.slice(10.0) <= 8.0


@pytest.mark.parametrize("rule", [SecondOrder(), Block(16)], ids=str)
def test_the_cost_of_a_certificate_is_known_beforehand(rule):
    """The core says how many kernel values the end of a fit will need."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 2))
    y = np.where(X[:, 0] + 0.5 * rng.normal(size=300) > 0, 1.0, -1.0)
    shrunk = 0
    for steps in range(100, 1000, 100):
        solver = _core.float64.Solver(
            rows=_core.float64.Rows.precomputed(rbf_kernel(X)),
            ids=np.arange(300, dtype=np.int32),
            p=-y,
            parts=[(np.zeros(300), np.minimum(y, 0.0), np.maximum(y, 0.0), 0.0)],
            separate=False,
            **rule.options(),
            tolerance=1e-9,
            shrinking=True,
            cache_bytes=1,
            threads=1,
        )
        status = solver.run(steps, 60.0)
        expected, before = status.to_rebuild, status.kernel_evaluations
        assert (expected > 0) <= (status.active < 300)
        assert solver.finish().kernel_evaluations - before <= expected
        shrunk += status.active < 300
    assert shrunk > 0
