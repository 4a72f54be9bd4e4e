"""A fit goes on from its checkpoint, and from none but its own."""

from __future__ import annotations

import hashlib
import json
import os
import signal
import subprocess
import sys
import textwrap
import time
from functools import partial

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from softmargin import SVC, SVR, LinearSVC, NuSVC, NuSVR, OneClassSVM
from softmargin.checkpoint import DIGEST, MAGIC, Checkpoint, CheckpointError

MACHINES = {
    "SVC": SVC(C=10.0, gamma=0.2),
    "NuSVC": NuSVC(nu=0.4, gamma=0.2),
    "SVR": SVR(C=10.0, gamma=0.2),
    "NuSVR": NuSVR(C=10.0, nu=0.4, gamma=0.2),
    "OneClassSVM": OneClassSVM(nu=0.4, gamma=0.2),
    "LinearSVC": LinearSVC(C=10.0, tol=1e-7, max_iter=10**6, random_state=0),
    "LinearSVC in float32": LinearSVC(C=10.0, tol=1e-7, max_iter=10**6, precision="float32"),
    "LinearSVC in parts": LinearSVC("ovr", C=10.0, tol=1e-7, max_iter=10**6, n_jobs=2),
}


def make_data(count=300):
    rng = np.random.default_rng(5)
    X = rng.normal(size=(count, 5))
    return X, np.sin(2 * X[:, 0]) + 0.3 * rng.normal(size=count)


def target(name, z):
    if "SVC" in name:
        return np.digitize(z, [-0.3, 0.3])
    return None if name == "OneClassSVM" else z


@pytest.fixture(params=MACHINES)
def case(request):
    X, z = make_data()
    return clone(MACHINES[request.param]), X, target(request.param, z)


def stopped(machine, X, y, path, max_iter=20):
    unlimited = machine.max_iter
    machine.set_params(checkpoint=path, max_iter=max_iter)
    with pytest.warns(ConvergenceWarning):
        machine.fit(X, y)
    return machine.set_params(max_iter=unlimited)


def test_goes_on_where_it_stopped(case, tmp_path):
    machine, X, y = case
    path, seen = tmp_path / "checkpoint", []
    whole = clone(machine).fit(X, y).solution_
    stopped(machine, X, y, path)
    again = clone(machine).set_params(callbacks=[seen.append]).fit(X, y).solution_
    # Counting goes on, and the objective never falls behind what had been reached.
    for problem, before in enumerate(machine.solution_.problems or [machine.solution_]):
        first = next(status for status in seen if status.problem == problem)
        assert first.iterations >= before.iterations == 20
        if not machine.get_params().get("n_jobs"):  # else the objective is that of a part
            assert first.objective >= before.dual_objective
    assert again.iterations > machine.solution_.iterations
    assert abs(again.dual_objective - whole.dual_objective) <= again.duality_gap + whole.duality_gap
    assert not path.exists()
    assert list(tmp_path.iterdir()) == []


def test_progress_goes_on_too(case, tmp_path, short_slices):
    machine, X, y = case
    progress = []

    def until_half(status):
        progress.append(status.progress)
        return status.progress > 0.5

    if not isinstance(machine, LinearSVC):
        machine.set_params(working_set="second-order")
    machine.set_params(checkpoint=tmp_path / "c", callbacks=[until_half])
    with pytest.warns(ConvergenceWarning, match="stopped by a callback"):
        machine.fit(X, y)
    machine.set_params(callbacks=[lambda status: progress.append(status.progress)]).fit(X, y)
    assert (np.diff(progress) >= 0).all()
    assert progress[-1] == 1


def test_problems_that_are_done_are_not_solved_again(tmp_path):
    X, z = make_data()
    y = np.digitize(z, [-0.3, 0.3])
    path, machine = tmp_path / "checkpoint", clone(MACHINES["SVC"])
    limit = int(clone(machine).fit(X, y).n_iter_.min())
    stopped(machine, X, y, path, max_iter=limit)
    done = [solution.converged for solution in machine.solution_.problems]
    assert any(done)
    assert not all(done)
    again = clone(machine).fit(X, y)
    for number, solution in enumerate(machine.solution_.problems):
        if solution.converged:
            assert again.solution_.problems[number] == solution
    whole = clone(MACHINES["SVC"]).fit(X, y)
    np.testing.assert_allclose(again.decision_function(X), whole.decision_function(X), atol=5e-3)


def test_limits_and_display_may_differ(tmp_path):
    X, z = make_data()
    machine = stopped(SVC(C=10.0), X, z > 0, tmp_path / "c")
    other = clone(machine).set_params(n_jobs=2, cache_size=10, time_limit=1e6, callbacks=[])
    other.fit(X, z > 0)
    assert other.solution_.converged


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"C": 11.0}, r"C=10.0 there, C=11.0 here"),
        ({"gamma": 0.3}, "gamma='scale' there, gamma=0.3 here"),
        ({"X": 1}, "other data"),
        ({"y": 1}, "other data"),
        ({"weight": 1}, "other data"),
    ],
)
@pytest.mark.parametrize("kind", [SVC(C=10.0), LinearSVC(C=10.0, tol=1e-9, max_iter=10**6)])
def test_refuses_other_fits(kind, change, message, tmp_path):
    X, z = make_data()
    path = tmp_path / "c"
    if not change.keys() <= {"X", "y", "weight", *kind.get_params()}:
        pytest.skip("no such parameter")
    machine = stopped(clone(kind), X, z > 0, path)
    before = path.read_bytes()
    other, X, y, weight = clone(machine), X.copy(), z > 0, None
    if "X" in change:
        X[7, 3] += 1e-9
    elif "y" in change:
        y[5] = ~y[5]
    elif "weight" in change:
        weight = np.where(np.arange(len(y)) == 3, 2.0, 1.0)
    else:
        other.set_params(**change)
    with pytest.raises(ValueError, match=message):
        other.fit(X, y, sample_weight=weight)
    assert path.read_bytes() == before


def test_parts_are_those_of_the_checkpoint(tmp_path):
    """Threads share out the classes: another number of them makes other parts."""
    X, z = make_data()
    y = target("LinearSVC", z)
    machine = stopped(clone(MACHINES["LinearSVC in parts"]), X, y, tmp_path / "c")
    with pytest.raises(ValueError, match="parts=2 there, parts=3 here"):
        clone(machine).set_params(n_jobs=3).fit(X, y)


@pytest.mark.parametrize("name", ["SVC", "LinearSVC", "LinearSVC in parts"])
def test_counts_the_seconds_before(name, tmp_path):
    X, z = make_data()
    y, path = target(name, z), tmp_path / "c"
    machine = stopped(clone(MACHINES[name]), X, y, path)
    header, _, numbers = path.read_bytes()[len(MAGIC) + DIGEST :].partition(b"\n")
    known = json.loads(header)
    for point in known["points"].values():
        point["effort"]["seconds"] = 1000.0
    write(path, known, numbers)
    assert machine.fit(X, y).solution_.seconds > 1000


def test_refuses_damaged_and_foreign_files(tmp_path):
    X, z = make_data()
    path = tmp_path / "c"
    machine = stopped(SVC(C=10.0), X, z > 0, path)
    good = path.read_bytes()
    rng = np.random.default_rng(0)
    damaged = [good[:size] for size in (0, 5, len(MAGIC), len(good) // 2, len(good) - 1)]
    for at in rng.integers(0, len(good), 50):
        flipped = bytearray(good)
        flipped[at] ^= 1 << int(rng.integers(8))
        damaged.append(bytes(flipped))
    damaged += [b"precious letters", good + b"x"]
    for content in damaged:
        path.write_bytes(content)
        with pytest.raises(ValueError, match=r"checkpoint=.*It is left as it is"):
            machine.fit(X, z > 0)
        assert path.read_bytes() == content
    path.write_bytes(good)
    machine.fit(X, z > 0)


CHANGES = {
    "points": None,
    "answers": [],
    "identity": {},
    "points.1.precision": "float16",
    "points.1.effort.iterations": "many",
    "points.7": {},
    "scales.1": None,
    "scales.1.first": float("inf"),
    "scales.1.progress": 2.0,
    "answers.0.model.intercept": float("nan"),
    "answers.0.solution.stop_reason": "TIRED",
    "answers.0.solution.seconds": None,
}


SHARED = pytest.mark.thread_unsafe(reason="a fixture, and so its file, is one for all threads")


@pytest.fixture
def unfinished(tmp_path):
    """A fit that was stopped: its machine, data, and the header and numbers of its checkpoint."""
    X = np.random.default_rng(0).normal(size=(24, 2)) + 9.0 * (np.arange(24) < 8)[:, None]
    y = np.arange(24) // 8
    machine = stopped(SVC(C=10.0, gamma=0.1), X, y, tmp_path / "c", max_iter=25)
    payload = (tmp_path / "c").read_bytes()[len(MAGIC) + DIGEST :]
    header, _, numbers = payload.partition(b"\n")
    return machine, X, y, json.loads(header), numbers


def write(path, header, numbers):
    payload = json.dumps(header).encode() + b"\n" + numbers
    path.write_bytes(MAGIC + hashlib.sha256(payload).digest() + payload)


def refuse(machine, X, y, header, numbers):
    write(machine.checkpoint, header, numbers)
    with pytest.raises(CheckpointError, match=r"cannot be read .*It is left as it is"):
        machine.fit(X, y)


@SHARED
@pytest.mark.parametrize("change", CHANGES)
def test_refuses_a_crafted_header(unfinished, change):
    machine, X, y, header, numbers = unfinished
    assert set(header["points"]) == {"0", "1", "2"}
    assert set(header["answers"]) == {"0", "2"}
    *folders, name = change.split(".")
    place = header
    for folder in folders:
        place = place[folder]
    place[name] = CHANGES[change]
    refuse(machine, X, y, header, numbers)


@SHARED
def test_a_file_without_the_progress(unfinished):
    """Such files were written before it was kept."""
    machine, X, y, header, numbers = unfinished
    del header["scales"]
    write(machine.checkpoint, header, numbers)
    assert machine.fit(X, y).solution_.converged


@SHARED
def test_refuses_crafted_numbers(unfinished):
    *fit, header, numbers = unfinished
    values = np.frombuffer(numbers)
    for crafted in (values[:-1], np.append(values, 0.0)):
        refuse(*fit, header, crafted.tobytes())
    for at, value in ((0, np.nan), (0, 1e9), (len(values) - 1, np.inf)):
        crafted = values.copy()
        crafted[at] = value
        refuse(*fit, header, crafted.tobytes())


CRAFTED_BLOCKS = {
    "a column that is not there": ([3.0], [1.0]),
    "one class twice": ([1.0, 1.0], [1.0, 1.0]),
    "one class more often than there is room": ([1.0] * 5000, [0.0] * 5000),
    "its own class": ([0.0], [1.0]),
    "more than C": ([1.0], [10.1]),
    "more than C in all": ([1.0, 2.0], [6.0, 6.0]),
}


@SHARED
@pytest.mark.parametrize("block", CRAFTED_BLOCKS)
def test_refuses_crafted_blocks(block, tmp_path):
    """The variables of the first example, of a linear machine, are other ones."""
    X, y = make_data(30)[0], np.arange(30) % 3
    machine = LinearSVC("crammer_singer", C=10.0, tol=1e-9, max_iter=10**6, random_state=0)
    stopped(machine, X, y, tmp_path / "c", max_iter=2)
    payload = (tmp_path / "c").read_bytes()[len(MAGIC) + DIGEST :]
    header, _, numbers = payload.partition(b"\n")
    starts, rest = np.split(np.frombuffer(numbers), [31])
    columns, beta = np.split(rest, 2)
    first, (new_columns, new_beta) = int(starts[1]), CRAFTED_BLOCKS[block]
    starts = np.append(0.0, starts[1:] - first + len(new_columns))
    crafted = [starts, new_columns, columns[first:], new_beta, beta[first:]]
    refuse(machine, X, y, json.loads(header), np.concatenate(crafted).tobytes())


def test_a_folder_that_is_not_there(tmp_path):
    X, z = make_data()
    with pytest.raises(ValueError, match="folder does not exist"):
        SVC(checkpoint=str(tmp_path / "no" / "c")).fit(X, z > 0)


def test_sparse_rows_and_kernel_functions(tmp_path):
    import scipy.sparse as sp

    X, z = make_data()
    for examples, kernel in ((sp.csr_matrix(X), "rbf"), ([[*row] for row in X], _inner)):
        machine = stopped(SVC(C=10.0, kernel=kernel), examples, z > 0, tmp_path / "c")
        assert machine.fit(examples, z > 0).solution_.converged


class _Scaled:
    """A kernel with a parameter, without a text of its own."""

    def __init__(self, factor):
        self.factor = factor

    def __call__(self, A, B):
        return self.factor * _inner(A, B)


def _partial(factor):
    def scaled(factor, A, B):
        return factor * _inner(A, B)

    return partial(scaled, factor)


@pytest.mark.parametrize("make", [_Scaled, _partial])
def test_kernel_functions_with_parameters(tmp_path, make):
    """After a crash they are at other addresses, which their texts show."""
    X, z = make_data()
    stopped(SVC(C=10.0, kernel=make(2.0)), X, z > 0, tmp_path / "c")
    again = SVC(C=10.0, kernel=make(3.0), checkpoint=tmp_path / "c")
    with pytest.raises(CheckpointError, match=r"2\.0.* there, .*3\.0.* here"):
        again.fit(X, z > 0)
    assert again.set_params(kernel=make(2.0)).fit(X, z > 0).solution_.converged


def _inner(A, B):
    return np.asarray(A) @ np.asarray(B).T


CHILD = """
import sys
from tests.test_checkpoint import make_data
from softmargin import SVC
from softmargin.checkpoint import Checkpoint
X, z = make_data(1200)
machine = SVC(C=1e3, gamma=0.2, tol=1e-4, checkpoint=Checkpoint(sys.argv[1], every=0.05))
print("ready", flush=True)
machine.fit(X, z > 0)
print(machine.solution_.iterations, machine.solution_.dual_objective, flush=True)
"""


@pytest.mark.slow
@pytest.mark.skipif(os.name != "posix", reason="kills a child process")
def test_killed_and_started_again(tmp_path):
    path = tmp_path / "c"
    command = [sys.executable, "-c", textwrap.dedent(CHILD), os.fspath(path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as child:
        assert child.stdout.readline() == "ready\n"
        while not path.exists() and child.poll() is None:
            time.sleep(0.005)
        child.send_signal(signal.SIGKILL)
    assert path.exists()
    X, z = make_data(1200)
    machine = SVC(C=1e3, gamma=0.2, tol=1e-4)
    seen = []
    kept = Checkpoint(path, every=0.05)
    again = clone(machine).set_params(checkpoint=kept, callbacks=[seen.append]).fit(X, z > 0)
    assert seen[0].iterations > 0
    whole = machine.fit(X, z > 0)
    gap = whole.solution_.duality_gap + again.solution_.duality_gap
    assert abs(again.solution_.dual_objective - whole.solution_.dual_objective) <= gap
