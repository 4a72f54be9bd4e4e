"""What "auto" means: which working sets, which precision, how many threads.

The rules come from measurements; ``Plan.reason`` tells the user what was chosen and why.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from softmargin.estimator.conventions import effective_threads
from softmargin.problem.kernels import Function, FunctionOfProducts, Kernel
from softmargin.working_sets import BY_EXAMPLE, BY_NAME, Block, SecondOrder, WorkingSet

SMALL = 800
"""A problem with at most this many examples is small: all of its variables are worked on at once.
This is faster than blocks for classification, and as fast for one-class machines."""

LARGE = 20_000
"""From this many examples on, larger blocks pay: they need fewer rounds, which saves more time than
their larger sub-problems cost."""

SMALL_BLOCK, LARGE_BLOCK, MANY_CLASSES = 64, 1024, 100
"""The machines for all classes at once take blocks of a sixteenth of the examples within these
limits.  Where there are many classes, each has few examples, and those of a small block hardly
depend on each other: then blocks are large (docs/engineering/multiclass.md)."""

TOGETHER = 2**17
"""The most examples of problems that are solved together: their arrays stay small."""

MOST_THREADS = 1024
"""A larger n_jobs does not start more threads."""

EXACT = 1000
"""With at most this many examples, float32 rows save too little to matter."""


@dataclass(frozen=True)
class Plan:
    working_set: WorkingSet
    arithmetics: tuple[str, ...]
    """Tried in this order for kernel values: the first that can reach the tolerance is used."""
    reason: str

    def next(self, arithmetic: str) -> str | None:
        """The next more precise arithmetic, if there is one."""
        return next(iter(self.arithmetics[self.arithmetics.index(arithmetic) + 1 :]), None)

    def without_newton(self) -> Plan | None:
        """The same without Newton steps, if there are any.  A nu machine whose true margin is 0
        needs it: pair steps end slightly above 0, Newton steps on either side of it."""
        rule = self.working_set
        if not isinstance(rule, (Block, SecondOrder)) or not rule.newton:
            return None
        return replace(self, working_set=replace(rule, newton=False))


def plan(working_set: str | WorkingSet, precision: str, n: int, kernel: Kernel) -> Plan:
    """How to solve a problem of n examples."""
    rule, reason = _rule(working_set, n, kernel)
    return Plan(rule, _arithmetics(precision, n, kernel), reason)


def _arithmetics(precision: str, n: int, kernel: Kernel) -> tuple[str, ...]:
    if precision == "float32":
        return ("float32",)
    # The values of a precomputed matrix or a kernel function keep their full precision.
    exact = precision == "float64" or n <= EXACT or not isinstance(kernel, FunctionOfProducts)
    first = kernel.arithmetics.index("float64" if exact else "float32")
    return kernel.arithmetics[first:]


def _rule(working_set: str | WorkingSet, n: int, kernel: Kernel) -> tuple[WorkingSet, str]:
    if isinstance(working_set, WorkingSet):
        return working_set, "as asked"
    if working_set != "auto":
        return BY_NAME[working_set], "as asked"
    if isinstance(kernel, Function):
        return SecondOrder(newton=True), "a kernel function in Python is asked for single rows"
    if n <= SMALL:
        return Block(SMALL, newton=True), f"at most {SMALL} examples: all of them at once"
    size = 512 if n < LARGE else 1024
    return Block(size, newton=True), f"{n} examples: kernel rows in batches, blocks of {size}"


def plan_all_classes(
    working_set: str | WorkingSet, precision: str, n: int, classes: int, kernel: Kernel
) -> Plan:
    """How to solve a problem of n examples for all classes at once."""
    if isinstance(working_set, WorkingSet):
        rule, reason = working_set, "as asked"
    elif working_set != "auto":
        rule, reason = BY_EXAMPLE[working_set], "as asked"
    else:
        most = LARGE_BLOCK if classes >= MANY_CLASSES else min(n // 16, LARGE_BLOCK)
        size = min(max(most, SMALL_BLOCK), max(n, 2))
        rule, reason = Block(size, newton=True), f"all classes at once: blocks of {size} examples"
    return Plan(rule, _arithmetics(precision, n, kernel), reason)


def threads(n_jobs: int | None) -> int:
    """n_jobs as scikit-learn interprets it: None respects OMP_NUM_THREADS and threadpoolctl."""
    if n_jobs == 0:
        raise ValueError("n_jobs=0 has no meaning: use None, a positive number, or -1 for all.")
    if n_jobs is not None:  # larger values may not fit into a C integer
        n_jobs = max(-MOST_THREADS, min(int(n_jobs), MOST_THREADS))
    return max(1, int(effective_threads(n_jobs)))


WORTH_A_THREAD = 1e6
"""The fewest kernel values for which a thread pays: with fewer, starting it takes longer than it
saves."""


def groups(sizes: NDArray[np.int64], threads: int, alone: bool) -> list[range]:
    """Which problems each call of the core solves: runs of small ones, short enough that each
    thread gets several runs; or single problems, if each is to be solved `alone`."""
    count = len(sizes)
    if alone or count == 1:
        return [range(k, k + 1) for k in range(count)]
    most = count if threads == 1 else -(-count // (4 * threads))
    ends = np.cumsum(sizes)
    large = np.append(np.flatnonzero(sizes > SMALL), count)
    runs, begin = [], 0
    while begin < count:
        full = np.searchsorted(ends, ends[begin] - sizes[begin] + TOGETHER, side="right")
        end = min(begin + most, int(full), int(large[np.searchsorted(large, begin)]))
        runs.append(range(begin, max(end, begin + 1)))
        begin = runs[-1].stop
    return runs


def problems_at_once(sizes: NDArray[np.int64], threads: int, in_python: bool) -> int:
    """How many problems are solved in parallel: many problems (pairs of classes) with one thread
    each, few or very small problems one after another with all threads."""
    kernel_values = float((sizes.astype(np.float64) ** 2).sum())
    many = len(sizes) >= 2 * threads and kernel_values >= WORTH_A_THREAD * threads
    return threads if many and not in_python else 1
