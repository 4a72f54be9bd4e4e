"""Newton's method for linear machines with few features, one column of W at a time.

    minimise 1/2 |w|^2 + sum_i C_i L(e_i),   e_i = target_i - t_i x_i'w

with the losses L of ``_core/linear/loss.hpp``; t_i is -1 or 1 (1 in regression).  The dual
variables are a function of the errors, beta(e), and the dual objective at beta(e(w)) is never above
the optimum: every w comes with a duality gap, a sum over all examples plus 1/2 |w - w(beta)|^2.

Squared losses: beta(e) is their derivative, w - w(beta) the gradient, and a Newton step solves
(I + X'HX) p = w(beta) - w, where H is the slope of beta(e).

The other losses have a kink.  They are smoothed around the dual variables of the last round,
beta(e) = clip(beta_last + e / r), and r falls from round to round.  This is the method of
multipliers, with Newton's method for each round (Yan and Li, 2020).  Only the examples on the kink
have a slope, so a step is cheap.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cho_factor, cho_solve

from softmargin import _core
from softmargin.fitting.linear_problem import COUPLED, SIGNED, Array, Dual, Problem

SMALLER, SMALLEST_WIDTH = 0.2, 1e-8
"""The factor on the width of the smoothed kink from one round to the next, and the smallest width,
relative to that of the first round."""
INEXACT = 0.1
"""A round ends when 1/2 |w - w(beta)|^2 is at most this fraction of the rest of the gap."""
ROUNDING = 1e-13
MARGIN = 0.1
"""The gap to reach, as a fraction of `tol`: the certificate is for w(beta), not for w."""
MOST_FEATURES = 1024
MOST_ENTRIES = 64
"""The most entries of an example, on average.  A step costs their square, a pass of the descent
only their number; and losses that are not squared take many steps."""
MOST_WORK = 2e9
"""The most work of one step, in multiplications."""
MOST_VARIABLES = 2**25
LONGEST_SEARCH = 12
MOST_STEPS, PATIENCE = 100, 4
"""Steps in a round, and rounds without a smaller gap, after which only rounding is left."""

Look = Callable[["State"], bool]
"""Called before each step; True stops the fit."""


def pays(problem: Problem, dual: bool | str) -> bool:
    """Whether Newton's method is the right one; `dual` as in the estimators, where only squared
    losses have the choice."""
    if problem.machine in COUPLED or (problem.squared and dual is True):
        return False
    count, features = problem.X.shape
    entries = problem.X.nnz / count if hasattr(problem.X, "nnz") else features
    work = count * (entries + 1) ** 2 / 2 + features**3 / 3
    fits = features < MOST_FEATURES and count * problem.columns <= MOST_VARIABLES
    if not problem.squared and entries > MOST_ENTRIES:
        return False
    return fits and work <= MOST_WORK and (dual is False or features < count)


@dataclass(frozen=True)
class Column:
    """The problem of one column of W."""

    rows: Any
    sign: Array
    target: Array
    C: Array
    epsilon: float
    two_sided: bool
    squared: bool
    free_intercept: bool = False
    """Whether the last weight, that of the constant feature, is not regularised.  The dual problem
    then has the constraint that its part of w(beta) is zero."""

    @classmethod
    def of(cls, problem: Problem, rows: Any, c: int) -> Column:
        count = len(problem.upper)
        own = problem.column == c
        return cls(
            rows,
            np.where(own, 1.0, -1.0),
            np.ones(count) if problem.target is None else problem.target,
            problem.prices(np.arange(count), np.full(count, c)),
            problem.epsilon,
            problem.machine in SIGNED,
            problem.squared,
            problem.free_intercept,
        )

    def ridge(self, w: Array) -> Array:
        """The derivative of the penalty."""
        return np.append(w[:-1], 0.0) if self.free_intercept else w

    @property
    def divisor(self) -> Array:
        """C, and 1 for examples of weight zero."""
        return np.where(self.C > 0, self.C, 1.0)

    def errors(self, w: Array) -> Array:
        scores: Array = _core.linear.scores(self.rows, w)
        return self.target - self.sign * scores

    def weights(self, beta: Array) -> Array:
        weights: Array = _core.linear.combination(self.rows, self.sign * beta)
        return weights

    def excess(self, e: Array) -> Array:
        """How far an error is beyond what costs nothing, with its sign."""
        if not self.two_sided:
            return np.maximum(e, 0.0)
        return np.sign(e) * np.maximum(np.abs(e) - self.epsilon, 0.0)

    def losses(self, e: Array) -> Array:
        beyond = np.abs(self.excess(e))
        losses: Array = self.C * (beyond**2 if self.squared else beyond)
        return losses

    def primal(self, w: Array, e: Array) -> float:
        return float(w @ self.ridge(w)) / 2 + float(np.sum(self.losses(e)))

    def respond(self, e: Array, r: Array) -> tuple[Array, Array]:
        """The beta that maximises beta e - cost(beta) - r beta^2 / 2, and its derivative."""
        beyond = np.where(self.C > 0, self.excess(e), 0.0)
        stiff = r + 0.5 / self.divisor if self.squared else r
        beta = beyond / stiff
        free = beyond != 0
        if not self.squared:
            free &= np.abs(beta) < self.C
            beta = np.clip(beta, -self.C, self.C)
        return beta, np.where(free, 1 / stiff, 0.0)

    def costs(self, beta: Array) -> Any:
        """What the dual objective subtracts for the variables, besides 1/2 |w(beta)|^2."""
        cost = self.epsilon * np.abs(beta) if self.two_sided else 0.0
        return cost + beta**2 / (4 * self.divisor) if self.squared else cost

    def gap(self, e: Array, beta: Array) -> float:
        """The gap without 1/2 |w - w(beta)|^2."""
        return float(np.sum(np.maximum(self.losses(e) + self.costs(beta) - beta * e, 0.0)))

    def balanced(self, beta: Array) -> Array:
        """Variables within the same bounds that fulfil the constraint of a free intercept: those
        that push to the stronger side are scaled down."""
        push = self.sign * beta
        up, down = float(push[push > 0].sum()), -float(push[push < 0].sum())
        if up == 0 or down == 0:
            return np.zeros_like(beta)
        return np.where(push > 0, beta * min(1.0, down / up), beta * min(1.0, up / down))

    def dual(self, beta: Array) -> float:
        weights = self.weights(beta)
        return float(np.sum(self.target * beta - self.costs(beta))) - (
            float(weights @ self.ridge(weights)) / 2
        )


@dataclass
class State:
    """Where the method is: the weights, their errors and the dual variables."""

    w: Array
    e: Array
    beta: Array
    steps: int = 0
    gap: float = np.inf
    primal: float = np.inf
    best: Array | None = None
    """The dual variables with the largest dual objective so far, which is `dual`."""
    dual: float = -np.inf
    violation: float = np.inf
    """The largest derivative of the objective, smoothed."""

    def keep_best(self) -> None:
        dual = self.primal - self.gap
        if dual >= self.dual - ROUNDING * abs(dual):  # among equals, the last
            self.best, self.dual = self.beta, max(dual, self.dual)


def solve_column(column: Column, start: Array, tol: float, max_steps: int, look: Look) -> State:
    """Newton's method from the dual variables `start`, until the gap is small enough, the steps are
    used up, or `look` says stop."""
    if column.free_intercept:
        start = column.balanced(start)
    w = column.weights(start)
    state = State(w, column.errors(w), start)
    state.primal, state.gap = column.primal(w, state.e), column.gap(state.e, start)
    state.keep_best()
    spread = float(np.mean(np.abs(state.e))) if column.two_sided else 1.0
    width = width_at_first = spread or 1.0
    gap, fruitless = np.inf, 0
    while fruitless < PATIENCE:
        anchor, r = state.beta, (0.0 if column.squared else width) / column.divisor
        if _round(column, state, anchor, r, tol, max_steps, look):
            break
        fruitless = 0 if state.gap < 0.9 * gap else fruitless + 1
        gap = min(gap, state.gap)
        width = max(SMALLER * width, SMALLEST_WIDTH * width_at_first)
    return state


def _round(
    column: Column,
    state: State,
    anchor: Array,
    r: Any,
    tol: float,
    max_steps: int,
    look: Look,
) -> bool:
    """The steps with one anchor and one r; True at the end of the fit."""
    last = np.inf
    for _ in range(MOST_STEPS):
        state.beta, slope = column.respond(state.e + r * anchor, r)
        gradient = column.ridge(state.w) - column.weights(state.beta)
        state.violation = float(np.abs(gradient).max(initial=0.0))
        rough, exact = float(gradient @ gradient) / 2, column.gap(state.e, state.beta)
        state.primal, state.gap = column.primal(state.w, state.e), rough + exact
        if column.free_intercept:
            state.beta = column.balanced(state.beta)
            state.gap = state.primal - column.dual(state.beta)
        state.keep_best()
        enough = tol * MARGIN * state.primal
        if state.gap <= enough and rough <= enough * MARGIN:
            return True
        if look(state) or state.steps >= max_steps:
            return True
        if rough >= last and rough <= ROUNDING**2 * float(state.w @ state.w):
            return column.squared or exact <= ROUNDING * state.primal
        if not column.squared and rough <= INEXACT * exact:
            return False
        last = rough
        _step(column, state, anchor, r, gradient, slope)
    return column.squared


def _step(
    column: Column, state: State, anchor: Array, r: Any, gradient: Array, slope: Array
) -> None:
    hessian = _core.linear.gram(column.rows, slope)
    diagonal = np.diag_indices_from(hessian)
    hessian[diagonal] += column.ridge(np.ones(len(hessian)))
    hessian[diagonal] += ROUNDING * hessian[diagonal].max()
    if column.free_intercept and not column.squared and not slope.any():
        # No example is on the kink, so nothing else keeps the intercept.
        hessian[-1, -1] += 0.01 / float(np.min(r))
    factor = cho_factor(hessian, lower=True, overwrite_a=True, check_finite=False)
    direction: Array = -cho_solve(factor, gradient, check_finite=False)
    change = column.sign * _core.linear.scores(column.rows, direction)
    z, size = state.e + r * anchor, float(direction @ column.ridge(direction))
    start = float(column.ridge(state.w) @ direction)

    def derivative(length: float) -> float:
        beta, _ = column.respond(z - length * change, r)
        return start + length * size - float(beta @ change)

    length = _search(derivative, float(gradient @ direction))
    state.w = state.w + length * direction
    state.e = state.e - length * change
    state.steps += 1


def _search(derivative: Callable[[float], float], at_zero: float) -> float:
    """A step length at which a rising function, negative at zero, is at most half as large: by
    secants, kept between two lengths on either side of its root."""
    low, high, length = (0.0, at_zero), None, 1.0
    for _ in range(LONGEST_SEARCH):
        here = derivative(length)
        if abs(here) <= 0.5 * abs(at_zero):
            break
        if here < 0:
            low = (length, here)
        else:
            high = (length, here)
        if high is None:
            length *= 2
        else:
            share = -low[1] / (high[1] - low[1])
            length = low[0] + min(max(share, 0.1), 0.9) * (high[0] - low[0])
    return length


@dataclass
class Progress:
    """How far the columns of a problem are."""

    steps: NDArray[np.int64]
    primal: Array
    dual: Array
    beta: Array
    """The dual variables, examples x columns."""
    weights: Array
    violation: float = 0.0

    def see(self, c: int, state: State) -> None:
        self.steps[c], self.primal[c] = state.steps, state.primal
        self.weights[:, c] = state.w
        self.violation = max(self.violation, state.violation)
        self.dual[c] = state.dual

    @property
    def relative_gap(self) -> float:
        primal = float(self.primal.sum())
        return 1 - float(self.dual.sum()) / primal if primal > 0 else 0.0


def solve(
    problem: Problem,
    rows: Any,
    start: Dual | None,
    tol: float,
    max_steps: int,
    look: Callable[[Progress], bool],
) -> Progress:
    """All columns of a problem, one after the other; `look` is called before each step, and stops
    the fit by returning True."""
    columns = [Column.of(problem, rows, c) for c in range(problem.columns)]
    at_zero = np.array([np.sum(column.losses(column.target)) for column in columns])
    zeros = np.zeros(problem.columns)
    progress = Progress(
        zeros.astype(np.int64),
        at_zero,
        zeros,
        from_dual(start, len(problem.upper), len(columns)),
        np.zeros((problem.X.shape[1] + (problem.constant != 0), len(columns))),
    )
    for c, column in enumerate(columns):

        def seen(state: State, c: int = c) -> bool:
            progress.see(c, state)
            return look(progress)

        state = solve_column(column, progress.beta[:, c].copy(), tol, max_steps, seen)
        progress.see(c, state)
        progress.beta[:, c] = state.best
    return progress


def from_dual(dual: Dual | None, count: int, columns: int) -> Array:
    """Dual variables in CSR form as an array of examples x columns."""
    beta = np.zeros((count, columns))
    if dual:
        starts, column, values = dual
        beta[np.repeat(np.arange(count), np.diff(starts)), column] = values
    return beta


def as_dual(beta: Array) -> Dual:
    """An array of examples x columns as dual variables in CSR form."""
    example, column = np.nonzero(beta)
    starts = np.concatenate([[0], np.cumsum(np.bincount(example, minlength=len(beta)))])
    values: NDArray[np.float64] = beta[example, column]
    return starts.astype(np.int64), column.astype(np.int32), values
