"""Is the dual problem convex?  Only then does the duality gap bound the distance to the optimum.

For coefficients c of a machine and any feasible b, with P and D the two objectives,

    P(c) - D(b) >= 1/2 (c - b)'K(c - b),

so P(c) is an upper bound on the dual optimum if K is positive semi-definite.  Where c and b have
the same sum, it is enough if K is so on vectors whose sum is zero; machines for all classes at once
do not keep sums.  If the smallest eigenvalue is -d < 0, the optimum may exceed P(c), but by no more
than d/2 max |c - b|^2, which the bounds of the variables limit.  That limit is the allowance.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from softmargin.fitting.problems import Problems
from softmargin.problem.kernels import Kernel
from softmargin.solution import Convexity

Array = NDArray[np.float64]

LARGEST = 1000
"""The most examples for which the whole kernel matrix is checked.  A Cholesky factorisation takes
n^3/3 operations; at this size, that is about as long as a fit."""

BUDGET = 3.3e9
"""The most operations for all problems of a fit: ten times those of the largest matrix."""

OVERHEAD = 1e5
"""The fixed cost of the Python code of a check, in operations."""

SHARE = 1e-3
"""A matrix counts as positive semi-definite if its allowance is at most this fraction of the
objective."""

_blas = threading.Lock()
_users: list[Any] = []


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Matrices this small gain nothing from a second thread; on a busy machine, where threads wait
    for each other, they take twenty times as long.  The setting applies to the whole process: the
    first thread to enter changes it, and the last one to leave restores it."""
    from sklearn.utils.parallel import _get_threadpool_controller

    with _blas:
        limit = None if _users else _get_threadpool_controller().limit(limits=1, user_api="blas")
        _users.append(limit)
    try:
        yield
    finally:
        with _blas:
            limit = _users.pop()
            if limit is not None:
                limit.restore_original_limits()


@dataclass(frozen=True)
class ConvexityCheck:
    """Checks the problems of one fit, each after it has been solved."""

    kernel: Kernel
    X: Any
    problems: Problems

    @cached_property
    def affordable(self) -> bool:
        sizes = np.minimum(self.problems.sizes, LARGEST).astype(np.float64)
        return bool((sizes**3 / 3 + OVERHEAD).sum() <= BUDGET)

    def is_possible(self, size: int) -> bool:
        """Whether a problem of this size can still be found to be convex.  If not, its gap says
        nothing."""
        refuted = self.kernel.positive_semidefinite is False
        return not refuted or (self.affordable and size <= LARGEST)

    def __call__(
        self, number: int, beta: Sequence[Array], objective: float
    ) -> tuple[Convexity, float]:
        """What is known about the convexity of a problem with this solution, and its allowance."""
        known = self.kernel.positive_semidefinite
        if known and not self.kernel.needs_sums:
            return Convexity.BY_CONSTRUCTION, 0.0
        stated = self.problems.state(range(number, number + 1))
        ids, dual = stated.ids, stated.formulation.dual()
        if known and dual.keeps_sums:
            return Convexity.BY_CONSTRUCTION, 0.0
        known = None if known else known
        unproven = Convexity.ASSUMED if known is None else Convexity.REFUTED
        if not self.affordable or not self.is_possible(int(self.problems.sizes[number])):
            return unproven, 0.0
        coef, reach = dual.distances(beta)
        largest = np.abs(coef).max(axis=1)
        first = np.argsort(-largest, kind="stable")[:LARGEST].astype(np.int32)
        with one_blas_thread():
            K, rows = self.kernel.known_values(self.X, ids, first)
            squared = float((reach * reach).sum())
            allowance = _allowance(
                K, coef[rows], reach[rows], squared, objective, centred=dual.keeps_sums
            )
        if allowance > SHARE * objective:
            return Convexity.REFUTED, 0.0
        return (Convexity.CHECKED, allowance) if len(rows) == len(ids) else (unproven, 0.0)


def _allowance(
    K: Array, coef: Array, reach: Array, squared: float, objective: float, centred: bool
) -> float:
    """By how much the optimum may exceed the primal objective; infinite beyond SHARE.  Overwrites
    K, because touching new memory would cost more than the factorisation."""
    n = len(K)
    largest = max(float(K.max()), -float(K.min())) if n else 0.0
    if largest == 0 or not np.isfinite(largest):
        return largest
    rounding = 8 * n * float(np.finfo(np.float64).eps) * largest
    half = K - K.T
    half *= 0.5
    change = np.abs(half @ coef)  # how much the asymmetry changes the gradient
    asymmetry = float(change[change > 0] @ reach[change > 0])
    if asymmetry <= 1e-12 * objective:
        asymmetry = 0.0
    K -= half
    if centred:
        means = K.mean(axis=0)
        K -= means
        K -= (means - means.mean())[:, None]
    if _is_positive(K, rounding):
        return asymmetry
    most = 2 * SHARE * objective / squared
    if not (most > rounding and _is_positive(K, most)):
        return np.inf
    less = float(np.sqrt(most * rounding))
    return 0.5 * squared * (less if _is_positive(K, less) else most) + asymmetry


def _is_positive(matrix: Array, shift: float) -> bool:
    """Whether no eigenvalue is below -shift."""
    diagonal = matrix.diagonal().copy()
    np.fill_diagonal(matrix, diagonal + shift)
    try:
        np.linalg.cholesky(matrix)
    except np.linalg.LinAlgError:
        return False
    finally:
        np.fill_diagonal(matrix, diagonal)
    return True
