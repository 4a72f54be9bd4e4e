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
from scipy.linalg import cho_factor, cho_solve

from softmargin import _core
from softmargin.checkpoint import Take
from softmargin.fitting.linear_problem import Array, Problem
from softmargin.fitting.newton import Curvature
from softmargin.fitting.slices import Effort, Point
from softmargin.solution import Solution, StopReason

EPOCHS = 5
"""Rounds over the working features between two looks at the whole problem, at first."""
FIRST_FEATURES = 100
INNER = 0.1
"""The working features are solved to this fraction of the largest violation of all."""
MOST_NEWTON, MOST_WORK = 1000, 2e9
"""Features for Newton's method, and multiplications for X'HX."""
MODEL_EPOCHS, MODEL_STEPS, MODEL_ACCURACY = 20, 30, 0.01
"""For the quadratic model: rounds between two Newton steps on its nonzero weights, these steps, and
the remaining violation relative to the one at first."""
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
    C: Array
    t: Array
    penalty: Array
    constant: float
    seed: int
    whole: Curvature | None
    """X'HX of all features, if these are few."""

    def __post_init__(self) -> None:
        kind, *arrays = columns_for_core(self.X)
        self.core = kind(*arrays, self.constant, self.C, self.t, self.penalty)
        self.kept = np.ones(len(self.penalty), dtype=bool)
        """The features that are not screened out."""
        self.curvature = self.core.curvatures()
        self.best_dual, self.size, self.epochs = 0.0, FIRST_FEATURES, 0
        self.support: NDArray[np.intp] = np.zeros(0, dtype=np.intp)
        self.part: tuple[Any, Curvature | None] = (None, None)
        self.look()

    def start_from(self, w: Array) -> None:
        self.core.start_from(w)
        self.look()

    def look(self) -> None:
        """Measures the whole problem: objectives, violations, and which features are settled."""
        self.w, self.gradient = self.core.weights(), self.core.gradient()
        self.e = self.core.errors()
        self.primal = self.objective(self.w, self.e)
        pull = 2 * self.C * np.maximum(self.e, 0.0)
        scale = self._feasible_scale(pull)
        dual = scale * pull.sum() - scale**2 * np.sum(pull * np.maximum(self.e, 0.0)) / 2
        self.best_dual = max(self.best_dual, float(dual))
        signed = np.abs(self.gradient + np.copysign(self.penalty, self.w))
        hidden = np.maximum(np.abs(self.gradient) - self.penalty, 0.0)
        self.violation = np.where(self.w == 0, hidden, signed)
        self._screen(scale, self.primal - float(dual))

    def objective(self, w: Array, e: Array) -> float:
        losses = self.C * np.maximum(e, 0.0) ** 2
        return float(self.penalty @ np.abs(w)) + float(losses.sum())

    @property
    def gap(self) -> float:
        return max(self.primal - self.best_dual, 0.0)

    def optimal(self, tol: float) -> bool:
        """Besides a small gap, it takes small violations: near the C at which the first weight
        becomes nonzero, the gap alone would not tell which weights are."""
        small = self.violation.max(initial=0.0) <= MOST_VIOLATION
        return bool(small and self.gap <= tol * self.primal)

    def _feasible_scale(self, pull: Array) -> float:
        """The best factor on `pull` that keeps the constraints."""
        with np.errstate(divide="ignore"):
            most = float(np.min(self.penalty / np.abs(self.gradient), initial=np.inf))
        square = float(pull @ np.maximum(self.e, 0.0))
        best = float(pull.sum()) / square if square > 0 else 0.0
        return min(best, most)

    def _screen(self, scale: float, gap: float) -> None:
        reach = np.sqrt(2 * max(gap, 0.0) * self.curvature)
        settled = scale * np.abs(self.gradient) + reach < self.penalty * (1 - 1e-9)
        self.kept &= ~settled
        wrong = settled & (self.w != 0)
        if wrong.any():
            self.core.start_from(np.where(wrong, 0.0, self.w))
            self.w, self.e = self.core.weights(), self.core.errors()

    def improve(self, epochs: int, shrinking: bool) -> None:
        """Takes a proximal Newton step on the features that need it most.  If these are too many,
        descends on them; the Newton step is then for the nonzero weights, once these stay the
        same."""
        working = self._working(shrinking)
        self.epochs += epochs
        if self._newton(working):
            self.look()
            return
        goal = INNER * float(self.violation.max(initial=0.0))
        self.core.run(working.tolist(), epochs, goal, self.seed + self.epochs)
        self.look()
        support = np.flatnonzero(self.w)
        if np.array_equal(support, self.support) and self._newton(support):
            self.look()
        self.support = support

    def _working(self, shrinking: bool) -> NDArray[np.intp]:
        if not shrinking:
            return np.arange(len(self.w))
        needed = (self.w != 0) | (self.violation > 0)
        candidates = np.flatnonzero(self.kept & needed)
        self.size = max(self.size, 2 * int(np.count_nonzero(self.w)))
        if len(candidates) > self.size:
            urgency = np.where(self.w != 0, np.inf, self.violation)[candidates]
            candidates = candidates[np.argpartition(-urgency, self.size)[: self.size]]
        return np.sort(candidates)

    def _matrix(self, working: NDArray[np.intp]) -> tuple[Curvature, NDArray[np.intp]] | None:
        """X'HX for these features: of all features if they are few, and which of its rows to take;
        None if it would take too long."""
        if self.whole:
            return self.whole, working
        if len(working) > MOST_NEWTON:
            return None
        if not np.array_equal(working, self.part[0]):
            entries, curvature = self._features(working), None
            if not too_long(entries):
                curvature = Curvature(_rows(entries))
            self.part = working, curvature
        curvature = self.part[1]
        return (curvature, np.arange(len(working))) if curvature else None

    def _newton(self, working: NDArray[np.intp]) -> bool:
        """A proximal Newton step on the weights of these features; the step is halved until the
        objective falls enough.  False if it does not, or if the features are too many."""
        matrix = self._matrix(working)
        if matrix is None:
            return False
        curvature, place = matrix
        half = curvature.at(np.where(self.e > 0, self.C, 0.0))
        hessian = 2 * (half + np.tril(half, -1).T)[np.ix_(place, place)]
        w, penalty = self.w[working], self.penalty[working]
        goal = MODEL_ACCURACY * float(self.violation.max(initial=0.0))
        direction = model_minimum(hessian, self.gradient[working], w, penalty, goal) - w
        promised = float(self.gradient[working] @ direction)
        promised += float(penalty @ (np.abs(w + direction) - np.abs(w)))
        weights = np.zeros(len(half))
        weights[place] = direction
        change = self.t * _core.linear.scores(curvature.rows, weights)
        for length in 0.5 ** np.arange(8):
            moved = self.w.copy()
            moved[working] += length * direction
            after = self.objective(moved, self.e - length * change)
            if after <= self.primal + 0.01 * length * promised:
                self.core.start_from(moved)
                return after < self.primal
        return False

    def _features(self, chosen: NDArray[Any]) -> Any:
        """The columns of X of these features, with the constant one."""
        width = self.X.shape[1]
        part = self.X[:, chosen[chosen < width]]
        if (chosen < width).all():
            return part
        ones = np.full((len(self.C), 1), self.constant)
        return sp.hstack([part, ones], format="csc") if sp.issparse(part) else np.c_[part, ones]


def model_minimum(H: Array, slope: Array, w: Array, penalty: Array, goal: float) -> Array:
    """The minimum over u of slope'(u - w) + 1/2 (u - w)'H(u - w) + penalty'|u|, until no optimality
    condition is violated by more than `goal`: by coordinate descent, and Newton steps on the
    nonzero weights that keep their signs."""
    flat, u, q = H.ravel(), w, slope
    for _ in range(MODEL_STEPS):
        u, q, violation = _core.linear.small_lasso(flat, penalty, u, q, MODEL_EPOCHS, goal)
        if violation <= goal:
            break
        support = np.flatnonzero(u)
        try:
            inside = H[np.ix_(support, support)]
            inside[np.diag_indices_from(inside)] *= 1 + 1e-10
            factor = cho_factor(inside, lower=True, check_finite=False)
        except np.linalg.LinAlgError:
            continue
        sign = np.sign(u[support])
        step = -cho_solve(factor, q[support] + penalty[support] * sign, check_finite=False)
        with np.errstate(divide="ignore"):
            reach = np.where(step * sign < 0, -u[support] / step, np.inf)
        length = min(1.0, float(reach.min(initial=np.inf)))
        moved = u.copy()
        moved[support] += length * step
        moved[support[reach <= length]] = 0.0
        u, q = moved, q + H @ (moved - u)
    return u


def too_long(entries: Any) -> bool:
    """Whether X'HX would cost more than many rounds of coordinate descent."""
    count, width = entries.shape
    mean = entries.nnz / count if sp.issparse(entries) else width
    return bool(count * mean**2 / 2 > MOST_WORK)


def _rows(part: Any, constant: float = 0.0) -> Any:
    if sp.issparse(part):
        part = part.tocsr()
        part.sort_indices()
        return _core.linear.Rows.csr(part.data, part.indices, part.indptr, part.shape[1], constant)
    return _core.linear.Rows.dense(np.ascontiguousarray(part), constant)


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
    features = problem.X.shape[1] + (problem.constant != 0)
    W = np.zeros((features, problem.columns))
    if start:
        W[:] = start.beta[0].reshape(W.shape)
    whole = None
    if features <= MOST_NEWTON and not too_long(problem.X):
        whole = Curvature(_rows(problem.X, problem.constant))
    columns = [_column(problem, c, settings.seed, whole) for c in range(problem.columns)]
    for c, column in enumerate(columns):
        if W[:, c].any():
            column.start_from(np.ascontiguousarray(W[:, c]))

    def effort() -> Effort:
        seconds = before.seconds + time.perf_counter() - began
        return Effort(before.iterations + max(c.epochs for c in columns), seconds=seconds)

    def point() -> Point:
        return Point([np.column_stack([c.w for c in columns]).ravel()], "float64", effort())

    def look() -> StopReason | None:
        primal = sum(column.primal for column in columns)
        gap = sum(column.gap for column in columns)
        if settings.recorder:
            settings.recorder.note(number, point)
        stop: StopReason | None = settings.watch.look(
            number,
            iterations=effort().iterations,
            violation=gap / primal if primal > 0 else 0.0,
            tol=settings.tol,
            objective=primal - gap,
            active=max(int(column.kept.sum()) for column in columns),
            kernel_rows=0,
            cache_hits=0,
        )
        return stop

    reasons = [_solve_column(column, before, settings, look) for column in columns]
    solution = _certificate(columns, _worst(reasons), effort())
    settings.watch.done(number, solution, active=max(int(c.kept.sum()) for c in columns))
    if settings.recorder:
        settings.recorder.left(number, point())
    return solution, np.column_stack([column.w for column in columns])


def _column(problem: Problem, c: int, seed: int, whole: Curvature | None) -> Column:
    count = len(problem.upper)
    features = problem.X.shape[1] + (problem.constant != 0)
    return Column(
        problem.X,
        problem.prices(np.arange(count), np.full(count, c)),
        np.where(problem.column == c, 1.0, -1.0),
        np.ones(features),
        problem.constant,
        seed,
        whole,
    )


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


def _worst(reasons: list[StopReason]) -> StopReason:
    return next((reason for reason in reasons if reason is not StopReason.CONVERGED), reasons[0])


def _certificate(columns: list[Column], reason: StopReason, effort: Effort) -> Solution:
    primal = sum(column.primal for column in columns)
    return Solution(
        **vars(effort),
        dual_objective=primal - sum(column.gap for column in columns),
        primal_objective=primal,
        kkt_violation=max(float(column.violation.max(initial=0.0)) for column in columns),
        stop_reason=reason,
        working_set="features",
        working_set_reason="L1 penalty: descent on the weights of some features at a time",
        precision="float64",
    )
