"""What "auto" means: which working sets, which precision, how many threads.

The rules come from measurements; ``Plan.reason`` tells the user what was chosen and why.
"""

from __future__ import annotations

from dataclasses import dataclass

from sklearn.utils._openmp_helpers import _openmp_effective_n_threads

from softmargin.kernels import Function, FunctionOfProducts, Kernel
from softmargin.working_sets import BY_NAME, Block, SecondOrder, WorkingSet

SMALL = 800
"""Up to so many examples a problem is small: all of its kernel matrix is computed at once, which
takes classification less time than blocks and one-class machines as long."""

LARGE = 20_000
"""From so many examples on, larger blocks save more rounds than their own problems cost."""

EXACT = 1000
"""Up to so many examples float64 rows cost nothing worth saving."""


@dataclass(frozen=True)
class Plan:
    working_set: WorkingSet
    precision: str
    may_refine: bool
    """Go on in float64 if float32 cannot reach the tolerance."""
    reason: str


def plan(working_set: str | WorkingSet, precision: str, n: int, kernel: Kernel) -> Plan:
    """How to solve a problem of n examples."""
    rule, reason = _rule(working_set, n, kernel)
    if precision == "auto":
        # A matrix or function of the user's is taken as exactly as it is given.
        exact = n <= EXACT or not isinstance(kernel, FunctionOfProducts)
        return Plan(rule, "float64" if exact else "float32", not exact, reason)
    return Plan(rule, precision, False, reason)


def _rule(working_set: str | WorkingSet, n: int, kernel: Kernel) -> tuple[WorkingSet, str]:
    if isinstance(working_set, WorkingSet):
        return working_set, "as asked"
    if working_set != "auto":
        return BY_NAME[working_set], "as asked"
    if isinstance(kernel, Function):
        return SecondOrder(), "a kernel function in Python is asked for single rows"
    if n <= SMALL:
        return Block(max(n, 2)), f"{n} examples: all of the kernel matrix at once"
    size = 512 if n < LARGE else 1024
    return Block(size), f"{n} examples: kernel rows in batches, blocks of {size}"


def threads(n_jobs: int | None) -> int:
    """n_jobs as scikit-learn reads it: None obeys OMP_NUM_THREADS and threadpoolctl."""
    if n_jobs == 0:
        raise ValueError("n_jobs=0 has no meaning: use None, a positive number, or -1 for all.")
    return max(1, int(_openmp_effective_n_threads(n_jobs)))


def problems_at_once(problems: int, threads: int, in_python: bool) -> int:
    """Many problems (pairs of classes) are solved side by side, few one after the other with all
    threads each."""
    return threads if problems >= 2 * threads and not in_python else 1
