"""A fit resumes from its own checkpoint, and from no other."""

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

from softmargin import SVC, SVR, LinearSVC, NuSVR
from softmargin.checkpoint import DIGEST, MAGIC, Checkpoint, CheckpointError
from softmargin.working_sets import Block
from tests.cases.checkpointed import MACHINES, make_data, target


@pytest.fixture(params=MACHINES)
def case(request):
    X, z = make_data()
    return clone(MACHINES[request.param]), X, target(request.param, z)


def stopped(machine, X, y, path, max_iter=10):
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
    # Counting continues, and the objective never falls behind what had been reached.
    for problem, before in enumerate(machine.solution_.problems or [machine.solution_]):
        first = next(status for status in seen if status.problem == problem)
        assert first.iterations >= before.iterations == 10
        if not machine.get_params().get("n_jobs"):  # else the objective is that of a part
            # When a fit resumes, its objective is summed anew, in another order.
            assert first.objective >= before.dual_objective * (1 - 1e-14)
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
        ({"C": 11.0}, "C=10 there, C=11 here"),
        ({"gamma": 0.3}, "gamma='scale' there, gamma=0.3 here"),
        ({"X": 1}, "other data"),
        ({"y": 1}, "other data"),
        ({"weight": 1}, "other data"),
    ],
)
@pytest.mark.parametrize(
    "kind", [SVC(C=10.0), LinearSVC(multi_class="weston_watkins", C=10.0, tol=1e-9, max_iter=10**6)]
)
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
    """Threads divide the classes among them, so another number of threads makes other parts."""
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
        with pytest.raises(ValueError, match=r"checkpoint=.*Nothing was changed"):
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
    with pytest.raises(CheckpointError, match=r"cannot be read .*Nothing was changed"):
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
    """Earlier versions did not store the progress."""
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
    """The variables of the first example of a linear machine are replaced."""
    X, y = make_data(30)[0], np.arange(30) % 3
    machine = LinearSVC(
        multi_class="crammer_singer", C=10.0, tol=1e-9, max_iter=10**6, random_state=0
    )
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
    """A kernel with a parameter, whose repr shows its address."""

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
    """After a crash they have other addresses, which their repr shows."""
    X, z = make_data()
    stopped(SVC(C=10.0, kernel=make(2.0)), X, z > 0, tmp_path / "c")
    again = SVC(C=10.0, kernel=make(3.0), checkpoint=tmp_path / "c")
    with pytest.raises(CheckpointError, match=r"another kernel function .* there, .* here"):
        again.fit(X, z > 0)
    assert again.set_params(kernel=make(2.0)).fit(X, z > 0).solution_.converged


class _Owner:
    def __init__(self, factor):
        self.factor = factor

    def kernel(self, A, B):
        return np.asarray(A) @ np.asarray(B).T / self.factor + self.factor


def _closure(factor):
    return lambda A, B: np.exp(-factor * ((np.asarray(A)[:, None] - B) ** 2).sum(axis=2))


def _array(factor):
    """The repr of a long array leaves out its middle."""
    weights = np.ones(5000)
    weights[2500] = factor
    return partial(_weighted, weights)


def _weighted(weights, A, B):
    return weights[2500] * _inner(A, B)


def _bound(factor):
    return _Owner(factor).kernel


@pytest.mark.parametrize("make", [_closure, _bound, _array, _Scaled])
def test_a_kernel_is_what_it_computes(tmp_path, make):
    """These functions differ neither in module and name nor in their repr."""
    X, z = make_data()
    y = np.digitize(z, [-0.3, 0.3])
    machine = SVC(C=1.0, kernel=make(1.0), checkpoint=tmp_path / "c")
    limit = int(clone(machine).set_params(checkpoint=None).fit(X, y).n_iter_.min())
    stopped(machine, X, y, tmp_path / "c", max_iter=limit)  # one of three problems is solved
    with pytest.raises(CheckpointError, match="another kernel function"):
        clone(machine).set_params(kernel=make(4.0)).fit(X, y)
    assert clone(machine).set_params(kernel=make(1.0)).fit(X, y).solution_.converged


def test_the_name_of_a_kernel_does_not_matter(tmp_path):
    X, z = make_data()
    stopped(SVC(C=10.0, kernel=_inner), X, z > 0, tmp_path / "c")
    again = SVC(C=10.0, kernel=lambda A, B: A @ B.T, checkpoint=tmp_path / "c")
    assert again.fit(X, z > 0).solution_.converged


@pytest.mark.parametrize(
    ("machine", "same"),
    [
        (SVC(C=10, gamma=1), {"C": 10.0, "gamma": np.float32(1.0)}),
        (SVC(C=10.0), {"C": np.float64(10), "coef0": 0, "shrinking": np.True_}),
        (SVC(C=10, class_weight={0: 2, 1: 1}), {"class_weight": {1: 1.0, np.int64(0): 2.0}}),
        (SVC(C=10, working_set=Block(64)), {"working_set": Block(size=64), "C": 10.0}),
        (NuSVR(C=10, nu=1, gamma=0.5), {"nu": 1.0, "C": np.int32(10)}),
        (SVR(C=10, epsilon=0), {"epsilon": 0.0}),
        (
            LinearSVC(multi_class="weston_watkins", C=10, tol=1e-9, max_iter=10**6),
            {"C": np.float64(10)},
        ),
    ],
    ids=str,
)
def test_the_same_numbers_of_other_types(tmp_path, machine, same):
    X, z = make_data()
    y = (z > 0).astype(int)
    machine = stopped(clone(machine), X, y, tmp_path / "c", max_iter=5)
    clone(machine).set_params(**same, max_iter=10**6).fit(X, y)
    assert not (tmp_path / "c").exists()


FULL = """
import resource, sys, warnings
from tests.cases.checkpointed import make_data
from softmargin import SVC, SVR, LinearSVC, NuSVR
from softmargin.checkpoint import Checkpoint
X, z = make_data(1000)
if sys.argv[2] != "tmpfs":
    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))
warnings.simplefilter("always")
kept = Checkpoint(sys.argv[1], every=0.0)
for machine in (
    SVC(C=100.0, gamma=0.2, working_set="second-order", tol=1e-5, checkpoint=kept),
    SVC(C=100.0, gamma=0.2, max_iter=100, checkpoint=kept),
    LinearSVC(
        multi_class="weston_watkins",
        C=100.0,
        tol=1e-9,
        max_iter=50,
        random_state=0,
        checkpoint=kept,
    ),
):
    with warnings.catch_warnings(record=True) as caught:
        machine.fit(X, z > 0)
    of_checkpoint = [str(w.message) for w in caught if w.category.__name__ == "CheckpointWarning"]
    print(machine.score(X, z > 0) > 0.4, of_checkpoint)
"""


def fit_on_a_full_disk(path, how):
    command = [sys.executable, "-c", textwrap.dedent(FULL), os.fspath(path), how]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert len(lines) == 3
    for line in lines:
        assert line.startswith("True ")
        assert line.count("could not be written") == 1
        assert os.fspath(path) in line
        assert "The fit continues, and its model is kept." in line
    return done.stdout


@pytest.mark.slow
@pytest.mark.skipif(os.name != "posix", reason="limits the size of files by setrlimit")
def test_a_fit_outlives_a_checkpoint_that_has_no_room(tmp_path):
    assert "File too large" in fit_on_a_full_disk(tmp_path / "c", "limit")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="mounts a tmpfs")
def test_a_fit_outlives_a_full_disk(tmp_path):
    options = "size=8k,nr_inodes=16"
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", options, "tmpfs", os.fspath(tmp_path)], capture_output=True
    )
    if mounted.returncode:
        pytest.skip("only root may mount a file system")
    try:
        (tmp_path / "other").write_bytes(b"x" * 6000)
        assert "No space left" in fit_on_a_full_disk(tmp_path / "c", "tmpfs")
        assert [path.name for path in tmp_path.iterdir()] == ["other"]
    finally:
        subprocess.run(["umount", os.fspath(tmp_path)], check=True)


def test_a_planted_link_is_not_followed(tmp_path):
    """Apart from the checkpoint itself, no file whose name could be guessed is written."""
    X, z = make_data()
    (tmp_path / "victim").write_bytes(b"precious")
    for name in ("c.new", "c.tmp", ".c", "c~"):
        (tmp_path / name).symlink_to(tmp_path / "victim")
    machine = stopped(SVC(C=10.0), X, z > 0, tmp_path / "c")
    machine.fit(X, z > 0)
    assert (tmp_path / "victim").read_bytes() == b"precious"
    assert (tmp_path / "c.new").is_symlink()


def test_a_checkpoint_that_is_a_link(tmp_path):
    """The link stays; the file that it points to is the checkpoint."""
    X, z = make_data()
    (tmp_path / "folder").mkdir()
    (tmp_path / "c").symlink_to(tmp_path / "folder" / "real")
    machine = stopped(SVC(C=10.0), X, z > 0, tmp_path / "c")
    assert (tmp_path / "c").is_symlink()
    assert (tmp_path / "folder" / "real").is_file()
    assert machine.fit(X, z > 0).solution_.converged
    assert (tmp_path / "c").is_symlink()
    assert list((tmp_path / "folder").iterdir()) == []


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="makes a named pipe")
def test_a_pipe_or_a_folder_is_refused(tmp_path):
    X, z = make_data()
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "folder").mkdir()
    for name in ("pipe", "folder"):
        with pytest.raises(CheckpointError, match=r"not a regular file.*Nothing was changed"):
            SVC(checkpoint=tmp_path / name).fit(X, z > 0)


HOLDER = """
import sys
from tests.cases.checkpointed import make_data
from softmargin import SVC
X, z = make_data()
def hold(status):
    if not sys.stdin.closed:
        print("holds", flush=True)
        sys.stdin.readline()
        sys.stdin.close()
SVC(C=10.0, checkpoint=sys.argv[1], callbacks=[hold], max_iter=3).fit(X, z > 0)
"""


@pytest.mark.skipif(os.name != "posix", reason="locks of POSIX")
def test_two_processes_on_one_file(tmp_path):
    X, z = make_data()
    machine = SVC(C=10.0, checkpoint=tmp_path / "c")
    command = [sys.executable, "-W", "ignore", "-c", textwrap.dedent(HOLDER)]
    with subprocess.Popen(
        [*command, os.fspath(tmp_path / "c")],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as child:
        assert child.stdout.readline() == "holds\n"
        with pytest.raises(CheckpointError, match="another fit is using this file"):
            machine.fit(X, z > 0)
        child.communicate("\n")
    assert child.returncode == 0
    assert (tmp_path / "c").exists()  # what the other fit has left, from which this one resumes
    assert machine.fit(X, z > 0).solution_.converged
    assert list(tmp_path.iterdir()) == []


def test_a_fit_that_fails_lets_go_of_its_file(tmp_path):
    X, z = make_data()

    def fail(status):
        raise RuntimeError("stop")

    machine = SVC(C=10.0, checkpoint=tmp_path / "c", callbacks=[fail])
    with pytest.raises(RuntimeError) as caught:
        machine.fit(X, z > 0)
    assert caught.tb  # the traceback keeps what the fit held alive
    assert machine.set_params(callbacks=None).fit(X, z > 0).solution_.converged


def _inner(A, B):
    return np.asarray(A) @ np.asarray(B).T


# Waits to be killed as soon as there is a checkpoint: no processor is so fast that the fit ends.
CHILD = """
import sys
import time
from pathlib import Path
from tests.cases.checkpointed import make_data
from softmargin import SVC
from softmargin.checkpoint import Checkpoint
from softmargin.fitting import slices
slices.FIRST_SLICE = slices.LONGEST_SLICE = 0.0
path = Path(sys.argv[1])
X, z = make_data(1200)
wait = lambda status: path.exists() and time.sleep(600)
machine = SVC(C=1e3, gamma=0.2, tol=1e-4, checkpoint=Checkpoint(path, every=0.0), callbacks=[wait])
print("ready", flush=True)
machine.fit(X, z > 0)
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
    rounding = 1e-12 * abs(whole.solution_.dual_objective)  # Newton steps leave a gap below it
    assert abs(again.solution_.dual_objective - whole.solution_.dual_objective) <= gap + rounding
