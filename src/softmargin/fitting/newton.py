"""Newton's method for linear machines with few features, or many more examples than features, one
column of W at a time.

    minimise 1/2 |w|^2 + sum_i C_i L(e_i),   e_i = target_i - t_i x_i'w

with the losses L of ``_core/linear/loss.hpp``; t_i is -1 or 1 (1 in regression).  The dual
variables are a function of the errors, beta(e), and the dual objective at beta(e(w)) is never above
the optimum: every w comes with a duality gap, a sum over all examples plus 1/2 |w - w(beta)|^2.

Squared losses: beta(e) is their derivative, w - w(beta) the gradient, and a Newton step solves
(I + X'HX) p = w(beta) - w, where H is the slope of beta(e).  Where C |x|^2 is very large, each step
ends early, at the next example that gets a loss; then w moves along ever larger C to its optimum.

The other losses have a kink.  They are smoothed around the dual variables of the last round,
beta(e) = clip(beta_last + e / r), and r falls from round to round.  This is the method of
multipliers, with Newton's method for each round (Yan and Li, 2020).  Only the examples on the kink
have a slope, so a step is cheap.

With few features X'HX is formed, and a step is exact.  With more, conjugate gradients need only
products with X; they stop early while w is far from the optimum (truncated Newton: Lin, Weng and
Keerthi, 2008).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cho_factor, cho_solve

from softmargin import _core
from softmargin.fitting.linear_problem import (
    COUPLED,
    SIGNED,
    UNBOUNDED,
    Array,
    Dual,
    Problem,
)

SMALLER, SMALLEST_WIDTH = 0.5, 1e-8
"""The factor on the width of the smoothed kink from one round to the next, and the smallest width,
relative to that of the first round."""
INEXACT = 4.0
"""A round ends when 1/2 |w - w(beta)|^2 is at most this multiple of the rest of the gap."""
ROUNDING = 1e-13
MARGIN = 0.1
"""The gap to reach, as a fraction of `tol`, if the weights are to be w(beta) in the end, not w."""
MOST_FEATURES = 1024
MOST_ENTRIES = 64
"""The most entries of an example, on average.  A step costs their square, a pass of the descent
only their number; and losses that are not squared take many steps."""
MOST_WORK = 2e9
"""The most work of one step, in multiplications."""
MOST_VARIABLES = 2**25
MANY_EXAMPLES = 20
"""With more than MOST_FEATURES, the fewest examples for each feature: with fewer, descent in the
dual is faster."""
MOST_PRODUCTS, ROUGH = 500, 0.1
"""Products of a step by conjugate gradients, and by how much they are to reduce its residual."""
LONGEST_SEARCH, ACCURATE = 12, 0.1
"""Trials of a line search, and how small the derivative is to become in it."""
MOST_STEPS, PATIENCE = 100, 4
"""Steps in a round, and rounds without a smaller gap, after which only rounding is left."""
SMALLEST_SHARE, LARGER, NEARLY = 1e-20, 10.0, 1e-2
"""Along ever larger C: the smallest, as a fraction of C; the factor from one to the next; and the
relative gap for each but the last."""

Look = Callable[["State"], bool]
"""Called before each step; True stops the fit."""


def pays(problem: Problem, dual: bool | str) -> bool:
    """Whether Newton's method is the right one; `dual` as in the estimators, where only squared
    losses have the choice."""
    if problem.machine in COUPLED or (problem.squared and dual is True):
        return False
    count, features = problem.X.shape
    if count * problem.columns > MOST_VARIABLES:
        return False
    if features >= MOST_FEATURES:
        return bool(count >= MANY_EXAMPLES * features)
    entries = problem.X.nnz / count if hasattr(problem.X, "nnz") else features
    work = count * (entries + 1) ** 2 / 2 + features**3 / 3
    if not problem.squared and entries > MOST_ENTRIES:
        return False
    return work <= MOST_WORK and (dual is False or features < count)


@dataclass(frozen=True)
class Column:
    """The problem of one column of W."""

    curvature: Any
    """X'HX, of the core."""
    sign: Array
    target: Array
    C: Array
    epsilon: float
    machine: str
    free_intercept: bool = False
    """Whether the last weight, that of the constant feature, is not regularised.  The dual problem
    then has the constraint that its part of w(beta) is zero."""

    @classmethod
    def of(cls, problem: Problem, curvature: Any, c: int) -> Column:
        count = len(problem.upper)
        own = problem.column == c
        return cls(
            curvature,
            np.where(own, 1.0, -1.0),
            np.ones(count) if problem.target is None else problem.target,
            problem.prices(np.arange(count), np.full(count, c)),
            problem.epsilon,
            problem.machine,
            problem.free_intercept,
        )

    @property
    def two_sided(self) -> bool:
        return self.machine in SIGNED

    @property
    def squared(self) -> bool:
        return self.machine in UNBOUNDED

    def stiffness(self, width: float) -> float:
        """How much beta(e) / C changes with e, where it does."""
        return 2.0 if self.squared else 1 / width

    def ridge(self, w: Array) -> Array:
        """The derivative of the penalty."""
        return np.append(w[:-1], 0.0) if self.free_intercept else w

    def penalty(self, w: Array) -> float:
        return float(w @ self.ridge(w)) / 2

    def errors(self, w: Array) -> Array:
        return self.target - self.change(w)

    def change(self, w: Array) -> Array:
        """The change of the errors, downwards, when w is added to the weights."""
        scores: Array = _core.linear.scores(self.curvature.rows, w)
        return self.sign * scores

    def weights(self, beta: Array) -> Array:
        weights: Array = _core.linear.combination(self.curvature.rows, self.sign * beta)
        return weights

    def respond(self, e: Array, anchor: Array, width: float) -> tuple[Array, Array, float, float]:
        """The dual variables beta(e), C where they change with e and 0 elsewhere, the losses, and
        the gap without 1/2 |w - w(beta)|^2; of a kink that is smoothed around `anchor`."""
        found: tuple[Array, Array, float, float] = _core.linear.respond(
            self.machine, self.epsilon, self.C, e, anchor, width
        )
        return found

    def losses(self, e: Array) -> float:
        return self.respond(e, np.zeros_like(e), 1.0)[2]

    def balanced(self, beta: Array) -> Array:
        """Variables within the same bounds that fulfil the constraint of a free intercept: those
        that push to the stronger side are scaled down."""
        push = self.sign * beta
        up, down = float(push[push > 0].sum()), -float(push[push < 0].sum())
        if up == 0 or down == 0:
            return np.zeros_like(beta)
        return np.where(push > 0, beta * min(1.0, down / up), beta * min(1.0, up / down))

    def dual(self, beta: Array) -> float:
        costs = self.epsilon * np.abs(beta) if self.two_sided else 0.0
        if self.squared:
            costs = costs + beta**2 / (4 * np.where(self.C > 0, self.C, 1.0))
        return float(np.sum(self.target * beta - costs)) - self.penalty(self.weights(beta))


@dataclass
class State:
    """Where the method is: the weights, their errors and the dual variables."""

    w: Array
    e: Array
    beta: Array
    steps: int = 0
    gap: float = np.inf
    primal: float = np.inf
    best_w: Array | None = None
    best_beta: Array | None = None
    best_primal: float = np.inf
    best_dual: float = -np.inf
    """The best points so far of the primal and of the dual problem, with their objectives."""
    violation: float = np.inf
    """The largest derivative of the objective, smoothed."""

    def keep_best(self) -> None:
        dual = self.primal - self.gap
        if dual >= self.best_dual - ROUNDING * abs(dual):  # among equals, the last
            self.best_beta, self.best_dual = self.beta, max(dual, self.best_dual)
        if self.primal <= self.best_primal * (1 + ROUNDING):
            self.best_w, self.best_primal = self.w, min(self.primal, self.best_primal)


@dataclass(frozen=True)
class Goal:
    """When a column is solved."""

    tol: float
    max_steps: int
    by_beta: bool
    """Whether w(beta), not w, is to be the solution."""

    def reached(self, state: State, rough: float) -> bool:
        """`rough`: 1/2 |w - w(beta)|^2."""
        enough = self.tol * state.best_primal
        if self.by_beta:
            return state.gap <= enough * MARGIN and rough <= enough * MARGIN**2
        return state.best_primal - state.best_dual <= enough


def solve_column(column: Column, start: Array, goal: Goal, look: Look) -> State:
    """Newton's method from the dual variables `start`, until the goal is reached, the steps are
    used up, or `look` says stop."""
    if column.free_intercept:
        start = column.balanced(start)
    w = column.weights(start)
    state = State(w, column.errors(w), start)
    state.primal = column.penalty(w) + column.losses(state.e)
    state.gap = state.primal - column.dual(start)
    state.keep_best()
    # The width of the kink at first: all errors of an untrained machine are within.
    spread = float(np.mean(np.abs(state.e))) if column.two_sided else 2.0
    width = width_at_first = spread or 1.0
    gap, fruitless, tried = np.inf, 0, False
    while fruitless < PATIENCE:
        if _round(column, state, width, goal, look):
            break
        if column.squared and not tried:
            tried = True
            if not _along_larger_c(column, state, goal, look):
                break
        fruitless = 0 if state.gap < 0.9 * gap else fruitless + 1
        gap = min(gap, state.gap)
        width = max(SMALLER * width, SMALLEST_WIDTH * width_at_first)
    return state


def _round(column: Column, state: State, width: float, goal: Goal, look: Look) -> bool:
    """The steps with one anchor and one width; True at the end of the fit."""
    anchor, last = state.beta, np.inf
    for step in range(MOST_STEPS):
        state.beta, curved, losses, exact = column.respond(state.e, anchor, width)
        gradient = column.ridge(state.w) - column.weights(state.beta)
        state.violation = float(np.abs(gradient).max(initial=0.0))
        rough = float(gradient @ gradient) / 2
        state.primal, state.gap = column.penalty(state.w) + losses, rough + exact
        if column.free_intercept:
            state.beta = column.balanced(state.beta)
            state.gap = state.primal - column.dual(state.beta)
        state.keep_best()
        if goal.reached(state, rough) or look(state) or state.steps >= goal.max_steps:
            return True
        if rough >= last and rough <= ROUNDING**2 * float(state.w @ state.w):
            return column.squared or exact <= ROUNDING * state.primal
        if step > 0 and not column.squared and rough <= INEXACT * exact:
            return False
        last = rough
        _step(column, state, anchor, width, gradient, curved, lambda: look(state))
    return False


def _along_larger_c(column: Column, state: State, goal: Goal, look: Look) -> bool:
    """Moves the weights, for squared losses, to their optimum for small C and then for ever larger
    ones; False if the fit is stopped meanwhile, or overflows.  The first C makes the average
    curvature 1."""
    trace = float(_core.linear.gram_diagonal(column.curvature.rows, column.C).sum())
    if not np.isfinite(trace):
        return False
    share = max(len(state.e) / max(2 * trace, 1.0), SMALLEST_SHARE)
    w, e, stopped = np.zeros_like(state.w), column.target, False
    while share < 1 and not stopped:
        part, before = State(w, e, state.beta), state.steps

        def seen(part: State, before: int = before) -> bool:
            nonlocal stopped
            state.steps = before + part.steps
            stopped = look(state) or state.steps >= goal.max_steps
            return stopped

        smaller = Goal(NEARLY, goal.max_steps, by_beta=False)
        _round(replace(column, C=share * column.C), part, 1.0, smaller, seen)
        w, e, share = part.w, part.e, LARGER * share
    if not stopped:
        state.w, state.e = w, e
    return not stopped


def _step(
    column: Column,
    state: State,
    anchor: Array,
    width: float,
    gradient: Array,
    curved: Array,
    stopped: Callable[[], bool],
) -> None:
    if len(gradient) > MOST_FEATURES:
        direction = _conjugate(column, curved, width, gradient, stopped)
    else:
        direction = _direction(column, curved, width, gradient)
    change = column.change(direction)
    size, start = column.penalty(direction) * 2, float(column.ridge(state.w) @ direction)

    def derivative(length: float) -> float:
        fall = _core.linear.slope(
            column.machine, column.epsilon, column.C, state.e, change, length, anchor, width
        )
        return start + length * size - float(fall)

    length = _search(derivative, float(gradient @ direction))
    state.w = state.w + length * direction
    state.e = state.e - length * change
    state.steps += 1


def _direction(column: Column, curved: Array, width: float, gradient: Array) -> Array:
    try:
        factor = _factor(column, curved, width)
    except np.linalg.LinAlgError:  # rounding: the changes of X'HX added up to more than is left
        column.curvature.forget()
        factor = _factor(column, curved, width)
    direction: Array = -cho_solve(factor, gradient, check_finite=False)
    return direction


def _conjugate(
    column: Column, curved: Array, width: float, gradient: Array, stopped: Callable[[], bool]
) -> Array:
    """The direction by conjugate gradients, scaled by the Hessian's diagonal."""
    rows, H = column.curvature.rows, column.stiffness(width) * curved
    ridge = _ridge(column, curved, width, len(gradient))
    scale = 1 / (ridge + _core.linear.gram_diagonal(rows, H))

    def product(step: Array) -> Array:
        found: Array = _core.linear.combination(rows, H * _core.linear.scores(rows, step))
        return ridge * step + found

    return conjugate_gradients(product, scale, -gradient, stopped)


def conjugate_gradients(
    product: Callable[[Array], Array], scale: Array, residual: Array, stopped: Callable[[], bool]
) -> Array:
    """x with product(x) = `residual`, roughly.  It is asked after each product whether the fit is
    stopped: each of them reads all examples."""
    x = np.zeros_like(residual)
    scaled = scale * residual
    step, size = scaled, float(residual @ scaled)
    enough = ROUGH**2 * size
    for _ in range(MOST_PRODUCTS):
        if size <= 0:
            break
        curve = product(step)
        bend = float(step @ curve)
        if bend <= 0:
            break
        length = size / bend
        x = x + length * step
        residual = residual - length * curve
        scaled = scale * residual
        before, size = size, float(residual @ scaled)
        if size <= enough or stopped():
            break
        step = scaled + size / before * step
    return x


def _factor(column: Column, curved: Array, width: float) -> Any:
    hessian = column.stiffness(width) * column.curvature.at(curved)
    diagonal = np.einsum("ii->i", hessian)
    diagonal += _ridge(column, curved, width, len(hessian))
    diagonal += ROUNDING * diagonal.max()
    return cho_factor(hessian, lower=True, overwrite_a=True, check_finite=False)


def _ridge(column: Column, curved: Array, width: float, features: int) -> Array:
    """What is added to the diagonal of the Hessian of the losses."""
    ridge = column.ridge(np.ones(features))
    if column.free_intercept and not column.squared and not curved.any():
        # No example is on the kink, so nothing else keeps the intercept.
        ridge[-1] += 0.01 * column.stiffness(width) * float(np.max(column.C))
    return ridge


def _search(derivative: Callable[[float], float], at_zero: float) -> float:
    """A step length at which a rising function, negative at zero, is much smaller: by
    secants, kept between two lengths on either side of its root."""
    low, high, length = (0.0, at_zero), None, 1.0
    for _ in range(LONGEST_SEARCH):
        here = derivative(length)
        if abs(here) <= ACCURATE * abs(at_zero):
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
    violation: Array

    def see(self, c: int, state: State) -> None:
        self.steps[c], self.violation[c] = state.steps, state.violation
        self.primal[c], self.dual[c] = state.best_primal, state.best_dual
        self.weights[:, c] = state.best_w

    @property
    def relative_gap(self) -> float:
        primal = float(self.primal.sum())
        return 1 - float(self.dual.sum()) / primal if primal > 0 else 0.0


def solve(
    problem: Problem,
    rows: Any,
    start: Dual | None,
    goal: Goal,
    look: Callable[[Progress], bool],
) -> Progress:
    """All columns of a problem, one after the other; `look` is called before each step, and stops
    the fit by returning True."""
    curvature, zeros = _core.linear.Curvature(rows), np.zeros(problem.columns)
    columns = [Column.of(problem, curvature, c) for c in range(problem.columns)]
    at_zero = np.array([column.losses(column.target) for column in columns])
    progress = Progress(
        zeros.astype(np.int64),
        at_zero,
        zeros,
        from_dual(start, len(problem.upper), len(columns)),
        np.zeros((problem.X.shape[1] + (problem.constant != 0), len(columns))),
        zeros.copy(),
    )
    for c, column in enumerate(columns):

        def seen(state: State, c: int = c) -> bool:
            progress.see(c, state)
            return look(progress)

        state = solve_column(column, progress.beta[:, c].copy(), goal, seen)
        progress.see(c, state)
        progress.beta[:, c] = state.best_beta
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
