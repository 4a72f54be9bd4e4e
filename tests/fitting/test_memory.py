"""How much memory is available, and what a fit does when there is too little."""

from __future__ import annotations

import subprocess
import sys

import pytest

from softmargin.fitting import memory
from softmargin.problem.all_classes import MACHINES

linux = pytest.mark.skipif(sys.platform != "linux", reason="limits as Linux has them")
GB = 2**30


# --- limits of the machine and its containers ---------------------------------------------------


def make_root(folder, cgroup, files, available=8 * GB):
    """The files that a process sees: what is free, and its control groups."""
    proc = folder / "proc"
    (proc / "self").mkdir(parents=True)
    (proc / "meminfo").write_text(f"MemTotal: 1 kB\nMemAvailable: {available // 1024} kB\n")
    (proc / "self/cgroup").write_text(cgroup)
    for name, text in files.items():
        path = folder / "sys/fs/cgroup" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"{text}\n")
    return folder


CGROUPS = {
    "none": ("0::/\n", {}, 8 * GB),
    "without a limit": ("0::/\n", {"memory.max": "max", "memory.current": GB}, 8 * GB),
    "a container": ("0::/\n", {"memory.max": 3 * GB, "memory.current": GB}, 2 * GB),
    "nested": (
        "0::/user/job\n",
        {
            "user/memory.max": 2 * GB,
            "user/memory.current": GB // 2,
            "user/job/memory.max": "max",
            "user/job/memory.current": 0,
        },
        3 * GB // 2,
    ),
    "the innermost": (
        "0::/user/job\n",
        {
            "user/memory.max": 4 * GB,
            "user/memory.current": 0,
            "user/job/memory.max": GB,
            "user/job/memory.current": GB // 4,
        },
        3 * GB // 4,
    ),
    "files that can be given back": (
        "0::/\n",
        {
            "memory.max": 3 * GB,
            "memory.current": 2 * GB,
            "memory.stat": f"anon 5\ninactive_file {GB}",
        },
        2 * GB,
    ),
    "version 1": (
        "5:cpu,cpuacct:/a\n4:memory:/a/b\n",
        {
            "memory/a/memory.limit_in_bytes": 2 * GB,
            "memory/a/memory.usage_in_bytes": GB,
            "memory/a/b/memory.limit_in_bytes": 2**63 - 4096,
            "memory/a/b/memory.usage_in_bytes": 0,
        },
        GB,
    ),
    "used up": ("0::/\n", {"memory.max": GB, "memory.current": 2 * GB}, 0),
    "another file": ("0::/\n", {"memory.max": "soon", "memory.current": "x"}, 8 * GB),
}


@linux
@pytest.mark.parametrize("name", CGROUPS)
def test_memory_of_containers(name, tmp_path, monkeypatch):
    cgroup, files, expected = CGROUPS[name]
    root = make_root(tmp_path, cgroup, files)
    monkeypatch.setattr(memory, "_address_space_available", lambda root: None)
    assert memory.available_bytes(root) == expected
    assert memory.cache_bytes("auto", 100 * GB, root) == expected // 4
    assert memory.cache_bytes("auto", 1000, root) == memory.LITTLE
    assert memory.cache_bytes(10, 100 * GB, root) == 10_000_000


def test_a_system_that_says_nothing(tmp_path, monkeypatch):
    monkeypatch.setattr(memory, "_address_space_available", lambda root: None)
    assert memory.available_bytes(tmp_path) > 0


def child(code, *arguments):
    """The standard output of a separate process, because a lowered limit cannot be raised again."""
    run = [sys.executable, "-c", LIMIT + code, *map(str, arguments)]
    result = subprocess.run(run, capture_output=True, text=True)
    assert result.returncode == 0, (result.returncode, result.stdout, result.stderr)
    return result.stdout.strip()


LIMIT = """
import resource, sys, warnings
import numpy as np
from softmargin import SVC, LinearSVC
from softmargin.fitting import memory
warnings.simplefilter("ignore")
rng = np.random.default_rng(0)

def peak():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3

def limit(megabytes):
    size = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, 2 * [size + int(megabytes * 1e6)])
"""


@linux
def test_the_address_space_is_a_limit():
    left = child("limit(500); print(memory.available_bytes())")
    assert 400e6 < int(left) <= 500e6


ROWS = """
X, y = rng.normal(size=(6000, 4)), rng.integers(0, 2, 6000)
machine = SVC(C=10.0, working_set=sys.argv[1], cache_size=4000, n_jobs=1, max_iter=20000)
machine.fit(X[:2000], y[:2000])
limit(60)
machine.fit(X, y)
print(machine.n_iter_[0])
"""


@linux
@pytest.mark.parametrize("rule", ["second-order", "block"])
def test_rows_that_do_not_fit_shrink_the_cache(rule):
    """All rows would take 144 MB, and there are 60."""
    assert int(child(ROWS, rule)) > 10_000


BUDGET = """
X, y = rng.normal(size=(40000, 4)), rng.integers(0, 2, 40000)
machine = SVC(C=10.0, cache_size=1, n_jobs=1, max_iter=3000)
machine.fit(X[:3000], y[:3000])
before = peak()
machine.fit(X, y)
print(peak() - before)
"""


@linux
def test_a_budget_that_holds_no_block_is_kept():
    """A block of 1,024 rows would take 164 MB; of a budget of 1 MB, six rows are too many."""
    assert float(child(BUDGET)) < 60


TABLES = """
size, classes = 20_000, 60
y = np.arange(size) % classes
X = rng.normal(size=(size, 4)) + rng.normal(size=(classes, 4))[y]
machine = SVC(multi_class=sys.argv[1], cache_size=1, n_jobs=1, max_iter=3000, time_limit=60)
machine.fit(X[:300], y[:300])
before = peak()
machine.fit(X, y)
print((peak() - before) / (8e-6 * size * classes))
"""


@linux
@pytest.mark.memory
@pytest.mark.parametrize("machine", MACHINES)
def test_few_tables_of_all_examples_and_classes(machine):
    """In tables: variables and scores in the core, the variables of the model, one in between."""
    assert float(child(TABLES, machine)) < 5


THREADS = """
kind = sys.argv[1]
if kind == "linear":
    X, y = rng.normal(size=(6000, 300)), rng.integers(0, 200, 6000)
    machine = LinearSVC(loss="hinge", n_jobs=2, random_state=0, max_iter=2)
else:
    X, y = rng.normal(size=(3000, 50)), rng.integers(0, 20 if kind == "pairs" else 2, 3000)
    machine = SVC(n_jobs=2, max_iter=100)
limit(float(sys.argv[2]))
try:
    machine.fit(X, y)
    print("fitted")
except MemoryError:
    print("MemoryError")
"""


@linux
@pytest.mark.parametrize("megabytes", [9, 13, 24, 40, 64])
@pytest.mark.parametrize("kind", ["linear", "pairs", "one pair"])
def test_too_little_memory_is_an_exception_in_every_thread(kind, megabytes):
    assert child(THREADS, kind, megabytes) in ("fitted", "MemoryError")
