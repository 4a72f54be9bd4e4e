"""Blocks of examples, and the work that one of them does in a round (:mod:`.rounds`).

In each round, every block makes a pass over its own examples, from the same W (:func:`step`).  The
changes of W are added, and an exact line search of the dual objective says how far all blocks
move (:func:`length`); see ``_core/linear/block.hpp``.  All functions here are pure: they need a
block, its variables and W, and nothing from earlier rounds.  So they can run in any thread, on any
machine, and again after a failure.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any

import numpy as np
import scipy.sparse as sp

from softmargin import _core
from softmargin.fitting.linear_problem import SIGNED, Array, Dual, Problem

FAN_IN = 8
"""Changes of W are added in groups of this many, then the sums of the groups, and so on."""


@dataclass(frozen=True)
class Step:
    """What a block returns: the change of W that the changes of its variables cause; three sums
    over these, of targets times changes and of the costs (all, and the quadratic part); and its
    duality gap as of the last visit to each example."""

    change: Array
    rise: float
    cost: float
    curved: float
    gap: float = 0.0


@dataclass(frozen=True)
class Held:
    """The variables of a block between two rounds: before and after its last step, of which the
    line search takes a share; and at earlier rounds, to extrapolate from."""

    before: Dual
    after: Dual
    past: tuple[Dual, ...] = field(default=())

    def at(self, share: float, columns: int) -> Dual:
        """The variables at this share of the step."""
        if share == 1 or self.before is self.after:
            return self.after
        old, new = (matrix(dual, columns) for dual in (self.before, self.after))
        # The difference comes first, so that variables that have not changed keep their bits.
        return variables(old + (new - old) * share)


def held(dual: Dual) -> Held:
    return Held(dual, dual)


def matrix(dual: Dual, columns: int) -> Any:
    return sp.csr_matrix((dual[2], dual[1], dual[0]), shape=(len(dual[0]) - 1, columns))


def variables(values: Any) -> Dual:
    values.eliminate_zeros()
    return values.indptr.astype(np.int64), values.indices.astype(np.int32), values.data


def cut(problem: Problem, count: int) -> list[Problem]:
    """Up to `count` problems with a range of the examples each, without a copy of the data."""
    edges = np.linspace(0, len(problem.upper), min(count, len(problem.upper)) + 1).astype(int)
    return [_range(problem, a, b) for a, b in pairwise(edges)]


def _range(problem: Problem, a: int, b: int) -> Problem:
    X = problem.X
    if sp.issparse(X):
        whole, first, last = X, X.indptr[a], X.indptr[b]
        # Given to the constructor, small parts of large arrays would be copied.
        X = sp.csr_matrix((b - a, whole.shape[1]), dtype=whole.dtype)
        X.data, X.indices = whole.data[first:last], whole.indices[first:last]
        X.indptr = whole.indptr[a : b + 1] - first
    else:
        X = X[a:b]
    return replace(
        problem,
        X=X,
        column=problem.column[a:b],
        upper=problem.upper[a:b],
        own_upper=None if problem.own_upper is None else problem.own_upper[a:b],
        target=None if problem.target is None else problem.target[a:b],
    )


def make(block: Problem, shrinking: bool, seed: int) -> Any:
    """The core's object for a block, with all variables zero."""
    return _core.linear.ExampleBlock(
        block.rows(),
        block.column,
        block.upper,
        block.columns,
        machine=block.machine,
        shrinking=shrinking,
        seed=seed,
        own_upper=block.own_upper,
        targets=block.target,
        epsilon=block.epsilon,
    )


def _core_at(block: Problem, dual: Dual, seed: int = 0) -> Any:
    core = make(block, False, seed)
    core.start_from(*dual)
    return core


@dataclass(frozen=True)
class Task:
    """How a block descends in one round."""

    factor: float
    """How many times it counts its own changes, because it does not see those of other blocks."""
    seed: int
    share: float
    """The share of the last step that the line search took."""
    remember: int = 0
    """How many earlier variables to keep, including those before this round; 0: keep what is kept
    now, and do not add those."""


def step(block: Problem, state: Held, W: Array, task: Task) -> tuple[Held, Step]:
    """One round of a block."""
    dual = state.at(task.share, block.columns)
    core = _core_at(block, dual, task.seed)
    change, rise, cost, curved = core.step(W, task.factor)
    past = (*state.past, dual)[-task.remember :] if task.remember else state.past
    return Held(dual, core.dual_variables(), past), Step(
        change, rise, cost, curved, core.estimated_gap()
    )


def jump(block: Problem, state: Held, share: float, ahead: Array) -> tuple[Held, Step]:
    """Extrapolates the variables, away from those of earlier rounds; `change` is the target's own
    part of W, not the difference from the current one."""
    dual = state.at(share, block.columns)
    now = matrix(dual, block.columns)
    target = now.copy()
    for t, past in zip(ahead, state.past, strict=True):
        target = target + (now - matrix(past, block.columns)) * t
    after = variables(feasible(block, now, target))
    core = make(block, False, 0)
    W = core.start_from(*after)
    rise = core.dual()
    core.start_from(*dual)
    found = Step(W, rise - core.dual(), 0.0, _curved(block, matrix(after, block.columns) - now))
    return Held(dual, after, state.past), found


def feasible(block: Problem, now: Any, target: Any) -> Any:
    """The target within the bounds of the variables, none of which changes its sign."""
    target = target.tocoo()
    price = np.inf if block.squared else block.prices(target.row, target.col)
    if block.machine in SIGNED:
        sign = np.sign(now.toarray().ravel())[target.row]  # a regression has one column
        low = np.where(sign > 0, 0.0, -price)
        values = np.clip(target.data, low, np.where(sign < 0, 0.0, price))
    else:
        values = np.clip(target.data, 0.0, price)
    if block.machine == "crammer_singer":
        total = np.bincount(target.row, weights=values, minlength=target.shape[0])
        values = values * np.minimum(1.0, block.upper / np.maximum(total, 1e-300))[target.row]
    return sp.csr_matrix((values, (target.row, target.col)), shape=target.shape)


def _curved(block: Problem, difference: Any) -> float:
    if not block.squared:
        return 0.0
    moved = difference.tocoo()
    return float((moved.data**2 / (4 * block.prices(moved.row, moved.col))).sum())


def variables_at(block: Problem, state: Held, share: float) -> Dual:
    return state.at(share, block.columns)


def check(block: Problem, state: Held) -> None:
    """ValueError if the core cannot start from the block's variables."""
    block.check_variables(state.after)


def weigh(block: Problem, state: Held, share: float) -> Step:
    """The block's parts of W (`change`) and of the dual objective without |W|^2 / 2 (`rise`), from
    its variables."""
    core = make(block, False, 0)
    W = core.start_from(*state.at(share, block.columns))
    return Step(W, core.dual(), 0.0, 0.0)


def measure(block: Problem, state: Held, share: float, W: Array) -> tuple[float, float, float]:
    """Loss, duality gap and largest KKT violation of the block's examples."""
    found: tuple[float, float, float] = _core_at(block, state.at(share, block.columns)).measure(W)
    return found


def total(measured: Sequence[tuple[float, float, float]]) -> tuple[float, float, float]:
    """What `measure` finds, for all blocks together."""
    losses, gaps, violations = zip(*measured, strict=True)
    return sum(losses), sum(gaps), max(violations)


def add(steps: Sequence[Step]) -> Step:
    """The sum, in this order."""
    change = steps[0].change.copy()
    for other in steps[1:]:
        change += other.change
    sums = (sum(getattr(s, name) for s in steps) for name in ("rise", "cost", "curved", "gap"))
    return Step(change, *sums)


def add_up(steps: Iterable[Step]) -> Step:
    """The sum of all, in the fixed order of a tree, so that it is the same everywhere.  The steps
    are added as they come: few changes of W are in memory at once."""
    levels: list[list[Step]] = [[]]
    for step in steps:
        levels[0].append(step)
        level = 0
        while len(levels[level]) == FAN_IN:
            _raise(levels, level)
            level += 1
    for level in range(len(levels) - 1):
        if levels[level]:
            _raise(levels, level)
    while len(levels[-1]) > 1:
        levels.append([add(levels[-1])])
    return levels[-1][0]


def _raise(levels: list[list[Step]], level: int) -> None:
    """Replaces the steps of a level by their sum, on the next one."""
    if level + 1 == len(levels):
        levels.append([])
    levels[level + 1].append(add(levels[level]))
    levels[level] = []


def length(step: Step, W: Array) -> tuple[float, float, float]:
    """The best length of a step, at most 1; the gain of the dual objective there; and the best
    length if there were no bounds on the variables."""
    slope = step.rise - step.cost + step.curved - float(W @ step.change)
    curvature = float(step.change @ step.change) + 2 * step.curved
    if not (slope > 0 and curvature > 0):
        return 0.0, 0.0, 1.0
    best = slope / curvature
    taken = min(best, 1.0)
    return taken, taken * slope - taken**2 / 2 * curvature, best


def rows_of(dual: Dual, a: int, b: int) -> Dual:
    """The variables of the examples from a to b."""
    starts, column, beta = dual
    first, last = starts[a], starts[b]
    return starts[a : b + 1] - first, column[first:last], beta[first:last]


def joined(duals: Iterable[Dual]) -> Dual:
    several = list(duals)
    counts = np.concatenate([np.diff(dual[0]) for dual in several])
    starts = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
    return (
        starts,
        np.concatenate([dual[1] for dual in several]),
        np.concatenate([dual[2] for dual in several]),
    )
