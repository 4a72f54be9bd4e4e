"""Weights of which most are zero: the L1 penalty with the squared hinge loss.

    minimise sum_j p_j |w_j| + sum_i C_i max(0, e_i)^2,   e_i = 1 - t_i x_i'w

for each column of W, with p_j = 1.  The core descends on the weights of some features at a time
(``_core/linear/coordinates.hpp``); this module chooses the features and certifies the result.

- **Gap.**  The dual problem is to maximise sum_i (beta_i - beta_i^2 / 4C_i) over beta >= 0 with
  |sum_i beta_i t_i x_ij| <= p_j.  The derivatives of the losses, 2 C_i max(0, e_i), become feasible
  when they are scaled down until the constraints hold.
- **Screening.**  The dual objective is strongly concave, so its maximum is within a known distance
  of a feasible point.  A feature whose constraint cannot be active there has the weight zero at the
  optimum (gap safe rules, Ndiaye et al., 2017): it is left out for good.
- **Proximal Newton steps** on the chosen features, if these are few: they minimise the quadratic
  model of the losses plus the penalty, whose matrix X'HX is small.  Coordinate descent on the
  examples would need many rounds.
- **A look** at all features is one product with X' that reads only the examples with a loss: one in
  five on texts.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from softmargin import _core
from softmargin.checkpoint import Take
from softmargin.fitting.linear_problem import Array, Problem
from softmargin.fitting.newton import conjugate_gradients
from softmargin.fitting.slices import Effort, Point
from softmargin.solution import Solution, StopReason

EPOCHS = 5
"""Newton steps, or rounds over the working features, between two looks at the whole problem."""
FIRST_FEATURES = 100
MOSTLY, MORE = 0.9, 8
"""If this fraction of the working features got weights, there are so many times more next time;
otherwise twice as many."""
INNER = 0.3
"""The working features are solved to this fraction of the largest violation of all."""
MOST_NEWTON, MOST_WORK = 1000, 2e9
"""Features for Newton's method, and multiplications for X'HX."""
CHANGES = 0.01
"""Newton steps are for the nonzero weights alone if at most this fraction of them is new."""
MOST_VIOLATION = 1e-3
"""Of an optimality condition at the end, relative to the penalty."""
PATIENCE = 30
"""Looks without a smaller gap after which rounding is all that is left."""


def by_column(X: Any) -> Any:
    """X in a form whose columns can be read quickly."""
    return X.tocsc() if sp.issparse(X) else np.asfortranarray(X)


def columns_for_core(X: Any) -> tuple[Any, ...]:
    """The core's class for a matrix by columns, and the arrays to construct it from."""
    sparse = sp.issparse(X)
    index = X.indices.dtype if sparse else np.dtype(np.int32)
    long = "Long" if index == np.int64 else ""
    kind = getattr(_core.linear, f"CoordinateDescent{X.dtype.name.title()}{long}")
    none = np.zeros(0, dtype=index)
    arrays = (X.data, X.indices, X.indptr) if sparse else (X.ravel(order="F"), none, none)
    return kind, *arrays


@dataclass
class Column:
    """The problem of one column of W, and where its solution stands."""

    X: Any
    """By columns."""
    rows: Any
    C: Array
    t: Array
    penalty: Array
    curvature: Array
    """Of the losses, for each weight, if all examples have a loss."""
    constant: float
    seed: int
    whole: Any
    """X'HX of all features, if these are few."""

    def __post_init__(self) -> None:
        kind, *arrays = columns_for_core(self.X)
        weights = self.C, self.t, self.penalty, self.curvature
        self.core = kind(*arrays, self.constant, *weights)
        self.kept = np.ones(len(self.penalty), dtype=bool)
        """The features that are not screened out."""
        self.best_dual, self.size, self.epochs = 0.0, FIRST_FEATURES, 0
        self.support: NDArray[np.intp] = np.zeros(0, dtype=np.intp)
        if self.constant:  # while it is zero, all features seem to be needed
            self._newton(np.array([len(self.penalty) - 1]), EPOCHS, INNER)
        self.look()

    def start_from(self, w: Array) -> None:
        self.core.start_from(w)
        self.look()

    def look(self) -> None:
        """Measures the whole problem: objectives, violations, and which features are settled."""
        self.w, self.e = self.core.weights(), self.core.errors()
        losing = np.maximum(self.e, 0.0)
        pull = 2 * self.C * losing
        self.gradient = -_core.linear.combination(self.rows, self.t * pull)
        square, total = float(pull @ losing), float(pull.sum())
        self.primal = float(self.penalty @ np.abs(self.w)) + square / 2
        slope = np.abs(self.gradient)
        scale = self._feasible_scale(slope, total, square)
        dual = scale * total - scale**2 * square / 2
        self.best_dual = max(self.best_dual, dual)
        self.violation = np.maximum(slope - self.penalty, 0.0)
        used = np.flatnonzero(self.w)
        signed = self.gradient[used] + np.copysign(self.penalty[used], self.w[used])
        self.violation[used] = np.abs(signed)
        self._screen(scale * slope, self.primal - dual)

    @property
    def gap(self) -> float:
        return max(self.primal - self.best_dual, 0.0)

    def optimal(self, tol: float) -> bool:
        """Besides a small gap, it takes small violations: near the C at which the first weight
        becomes nonzero, the gap alone would not tell which weights are."""
        small = self.violation.max(initial=0.0) <= MOST_VIOLATION
        return bool(small and self.gap <= tol * self.primal)

    def _feasible_scale(self, slope: Array, total: float, square: float) -> float:
        """The best factor on the derivatives that keeps the constraints."""
        with np.errstate(divide="ignore"):
            most = float(np.min(self.penalty / slope, initial=np.inf))
        best = total / square if square > 0 else 0.0
        return min(best, most)

    def _screen(self, slope: Array, gap: float) -> None:
        """`slope`: the absolute values of the constraints at a feasible point."""
        reach = np.sqrt(2 * max(gap, 0.0) * self.curvature)
        settled = slope + reach < self.penalty * (1 - 1e-9)
        self.kept &= ~settled
        wrong = settled & (self.w != 0)
        if wrong.any():
            self.core.start_from(np.where(wrong, 0.0, self.w))
            self.w, self.e = self.core.weights(), self.core.errors()

    def improve(self, epochs: int, shrinking: bool) -> None:
        """Takes proximal Newton steps on the features that need it most.  If these are too many,
        descends on them; the Newton steps are then for the nonzero weights, once these stay the
        same."""
        working = self._working(shrinking)
        goal = INNER * float(self.violation.max(initial=0.0))
        steps = self._newton(working, epochs, goal)
        self.epochs += steps
        if not steps:
            self.core.run(working.tolist(), epochs, goal, self.seed + self.epochs)
            self.epochs += epochs
            self._newton_on_support(epochs, goal)
        self.look()

    def _newton_on_support(self, steps: int, goal: float) -> None:
        """Newton steps on the nonzero weights, if these are nearly the same as last time."""
        support = np.flatnonzero(self.core.weights())
        changes = np.setxor1d(support, self.support, assume_unique=True)
        self.support = support
        if len(changes) <= CHANGES * len(support) and not self._newton(support, steps, goal):
            self.look()
            self._conjugate_step()

    def _conjugate_step(self) -> None:
        """Newton's step on the nonzero weights by conjugate gradients, for many of them.  Weights
        that would change their sign become zero."""
        sign, H = np.sign(self.w), np.where(self.e > 0, 2 * self.C, 0.0)
        curvature = _core.linear.gram_diagonal(self.rows, H)
        free = (sign != 0) & (curvature > 0)
        scale = np.where(free, 1 / np.where(free, curvature, 1.0), 0.0)

        def product(step: Array) -> Array:
            found: Array = _core.linear.combination(self.rows, H * self._scores(step))
            return np.where(free, found, 0.0)

        residual = np.where(free, -self.gradient - self.penalty * sign, 0.0)
        direction = conjugate_gradients(product, scale, residual, lambda: False)
        for length in 0.5 ** np.arange(8):
            moved = self.w + length * direction
            moved[moved * sign < 0] = 0.0
            if self._objective(moved) < self.primal:
                self.core.start_from(moved)
                return

    def _scores(self, w: Array) -> Array:
        scores: Array = _core.linear.scores(self.rows, w)
        return scores

    def _objective(self, w: Array) -> float:
        losing = np.maximum(1 - self.t * self._scores(w), 0.0)
        return float(self.penalty @ np.abs(w) + self.C @ losing**2)

    def _working(self, shrinking: bool) -> NDArray[np.intp]:
        if not shrinking:
            return np.arange(len(self.w))
        needed = (self.w != 0) | (self.violation > 0)
        candidates = np.flatnonzero(self.kept & needed)
        used = int(np.count_nonzero(self.w))
        self.size = max(self.size, (2 if used < MOSTLY * self.size else MORE) * used)
        if len(candidates) > self.size:
            urgency = np.where(self.w != 0, np.inf, self.violation)[candidates]
            candidates = candidates[np.argpartition(-urgency, self.size)[: self.size]]
        return np.sort(candidates)

    def _newton(self, working: NDArray[np.intp], steps: int, goal: float) -> int:
        """Proximal Newton steps on the weights of these features.  Returns their number: none if
        the features are too many."""
        if not self.whole and (len(working) > MOST_NEWTON or self._too_long(working)):
            return 0
        taken: int = self.core.newton(working.tolist(), steps, goal, self.whole)
        return taken

    def _too_long(self, working: NDArray[np.intp]) -> bool:
        count, width = self.X.shape
        if not sp.issparse(self.X):
            return too_long(count, count * len(working))
        inside = working[working < width]
        entries = int((self.X.indptr[inside + 1] - self.X.indptr[inside]).sum())
        return too_long(count, entries + count * (len(inside) < len(working)))


def too_long(count: int, entries: int) -> bool:
    """Whether X'HX would cost more than many rounds of coordinate descent."""
    return entries**2 / count / 2 > MOST_WORK


@dataclass(frozen=True)
class SparseWeights:
    """How a checkpoint stores the weights."""

    features: int
    columns: int
    coefficients = 0

    def read(self, take: Take) -> list[Any]:
        return [take(self.features * self.columns)]


def solve_part(problem: Problem, number: int, start: Point | None, settings: Any) -> Any:
    """All columns of a problem, one after the other.  Returns the certificate and W."""
    began, before = time.perf_counter(), start.effort if start else Effort()
    given, features = _Given(problem), problem.X.shape[1] + (problem.constant != 0)
    state = _State.at_first(problem, start, features)

    def effort() -> Effort:
        seconds = before.seconds + time.perf_counter() - began
        return Effort(before.iterations + int(state.epochs.max()), seconds=seconds)

    def look(active: int) -> StopReason | None:
        if settings.recorder:
            settings.recorder.note(number, lambda: state.point(effort()))
        primal, gap = float(state.primal.sum()), float(state.gap.sum())
        stop: StopReason | None = settings.watch.look(
            number,
            iterations=effort().iterations,
            violation=gap / primal if primal > 0 else 0.0,
            tol=settings.tol,
            objective=primal - gap,
            active=active,
            kernel_rows=0,
            cache_hits=0,
        )
        return stop

    reason, active = StopReason.CONVERGED, 0
    for c in range(problem.columns):
        column = given.column(c, settings.seed)
        if state.W[:, c].any():
            column.start_from(np.ascontiguousarray(state.W[:, c]))

        def seen(c: int = c, column: Column = column) -> StopReason | None:
            state.see(c, column)
            return look(int(column.kept.sum()))

        found = _solve_column(column, before, settings, seen)
        state.see(c, column)
        reason = found if reason is StopReason.CONVERGED else reason
        active = max(active, int(column.kept.sum()))
    solution = _certificate(state, reason, effort())
    settings.watch.done(number, solution, active=active)
    if settings.recorder:
        settings.recorder.left(number, state.point(effort()))
    return solution, state.W


class _Given:
    """What the columns of a problem share."""

    def __init__(self, problem: Problem) -> None:
        self.problem, self.rows, self.whole = problem, problem.rows(), None
        count, width = problem.X.shape
        features = width + (problem.constant != 0)
        entries = problem.X.nnz if sp.issparse(problem.X) else count * width
        if features <= MOST_NEWTON and not too_long(count, entries):
            self.whole = _core.linear.Curvature(self.rows)
        self.penalty = np.ones(features)
        self.curvature = _core.linear.gram_diagonal(self.rows, 2 * problem.upper)

    def column(self, c: int, seed: int) -> Column:
        problem, curvature = self.problem, self.curvature
        count = len(problem.upper)
        C = problem.prices(np.arange(count), np.full(count, c))
        if problem.own_upper is not None:
            curvature = _core.linear.gram_diagonal(self.rows, 2 * C)
        t = np.where(problem.column == c, 1.0, -1.0)
        rest = curvature, problem.constant, seed, self.whole
        return Column(problem.by_column, self.rows, C, t, self.penalty, *rest)


@dataclass
class _State:
    """Where all columns stand."""

    W: Array
    primal: Array
    gap: Array
    violation: Array
    epochs: NDArray[np.int64]

    @classmethod
    def at_first(cls, problem: Problem, start: Point | None, features: int) -> _State:
        W = np.zeros((features, problem.columns))
        if start:
            W[:] = start.beta[0].reshape(W.shape)
        # Until a column is looked at, its objective is that of no weights.
        primal = np.array([_sum_of_prices(problem, c) for c in range(problem.columns)])
        none = np.zeros(problem.columns)
        return cls(W, primal, primal.copy(), none, none.astype(np.int64))

    def see(self, c: int, column: Column) -> None:
        self.W[:, c], self.primal[c], self.gap[c] = column.w, column.primal, column.gap
        self.violation[c] = column.violation.max(initial=0.0)
        self.epochs[c] = column.epochs

    def point(self, effort: Effort) -> Point:
        return Point([self.W.flatten()], "float64", effort)


def _sum_of_prices(problem: Problem, c: int) -> float:
    count = len(problem.upper)
    return float(problem.prices(np.arange(count), np.full(count, c)).sum())


def _solve_column(
    column: Column, before: Effort, settings: Any, look: Callable[[], StopReason | None]
) -> StopReason:
    best, waited = math.inf, 0
    while not column.optimal(settings.tol):
        stop = look()
        if stop:
            return stop
        left = settings.max_iter - before.iterations - column.epochs
        if left <= 0:
            return StopReason.MAX_ITER
        column.improve(min(EPOCHS, left), settings.shrinking)
        waited = 0 if column.gap < 0.999 * best else waited + 1
        best = min(best, column.gap)
        if waited >= PATIENCE:
            return StopReason.NO_PROGRESS
    return StopReason.CONVERGED


def _certificate(state: _State, reason: StopReason, effort: Effort) -> Solution:
    primal = float(state.primal.sum())
    return Solution(
        **vars(effort),
        dual_objective=primal - float(state.gap.sum()),
        primal_objective=primal,
        kkt_violation=float(state.violation.max()),
        stop_reason=reason,
        working_set="features",
        working_set_reason="L1 penalty: descent on the weights of some features at a time",
        precision="float64",
    )
