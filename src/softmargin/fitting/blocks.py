"""Blocks of examples, and the work that one of them does in a round (:mod:`.rounds`).

In each round, every block makes a pass over its own examples, from the same W (:func:`step`).  The
changes of W are added, and an exact line search of the dual objective says how far all blocks
move (:func:`length`); see ``_core/linear/block.hpp``.  All functions here are pure: the result
depends on the arguments alone, to the bit.  So they can run in any thread, on any machine, and
again after a failure.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from softmargin import _core
from softmargin.fitting.linear_problem import Array, Dual, Problem

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
class Survey:
    """What the consensus of :mod:`.consensus` depends on, of one block or of all together."""

    present: NDArray[Any]
    """For each feature, the number of blocks in whose part of W it is not zero."""
    squared: float
    """The squared norms of these parts."""
    loss: float
    """Of the common point; and the duality gap there, without half the squared distance from W."""
    gap: float


Visits = tuple[NDArray[np.uint8], Array]
"""What the last pass found about each example: its next visits, among them how many passes to skip
it (four bytes), and its duality gap."""


@dataclass(frozen=True)
class Held:
    """The variables of a block between two rounds: before and after its last step, of which the
    line search takes a share; and at earlier rounds, to extrapolate from."""

    before: Dual
    after: Dual
    past: tuple[Dual, ...] = field(default=())
    visits: Visits | None = None
    """None: the next pass visits all examples."""

    def at(self, share: float, columns: int) -> Dual:
        """The variables at this share of the step."""
        if share == 1 or self.before is self.after:
            return self.after
        found: Dual = _core.linear.between(self.before, self.after, columns, share)
        return found


def held(dual: Dual) -> Held:
    return Held(dual, dual)


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


@contextmanager
def _core_of(block: Problem) -> Iterator[Any]:
    """The core's object for a block, which is kept for the next call: it has read the norms of all
    rows.  Only one thread uses it at a time."""
    try:
        core = block.idle.pop()
    except IndexError:
        core = _core.linear.ExampleBlock(
            block.rows(),
            block.column,
            block.upper,
            block.columns,
            machine=block.machine,
            shrinking=True,
            own_upper=block.own_upper,
            targets=block.target,
            epsilon=block.epsilon,
        )
    yield core
    block.idle.append(core)


@dataclass(frozen=True)
class Task:
    """How a block descends in one round."""

    factor: float
    """How many times it counts its own changes, because it does not see those of other blocks."""
    seed: int
    share: float
    """The share of the last step that the line search took."""
    rounds: int = 0
    """How many there were before."""
    wake: bool = True
    """Whether to visit all examples, also those that the last rounds found settled."""
    remember: int = 0
    """How many earlier variables to keep, including those before this round; 0: keep what is kept
    now, and do not add those."""


def step(block: Problem, state: Held, W: Array, task: Task) -> tuple[Held, Step]:
    """One round of a block."""
    dual = state.at(task.share, block.columns)
    plans, gaps = (None, None) if task.wake or state.visits is None else state.visits
    with _core_of(block) as core:
        after, *visits, found = core.step(W, dual, task.factor, task.seed, task.rounds, plans, gaps)
    past = (*state.past, dual)[-task.remember :] if task.remember else state.past
    return Held(dual, after, past, tuple(visits)), Step(*found)


def jump(block: Problem, state: Held, share: float, ahead: Array) -> tuple[Held, Step]:
    """Extrapolates the variables, away from those of earlier rounds."""
    dual = state.at(share, block.columns)
    with _core_of(block) as core:
        after, found = core.jump(dual, list(state.past), ahead)
    return replace(state, before=dual, after=after), Step(*found)


def variables_at(block: Problem, state: Held, share: float) -> Dual:
    return state.at(share, block.columns)


def check(block: Problem, state: Held) -> None:
    """ValueError if the core cannot start from the block's variables."""
    block.check_variables(state.after)


def weigh(block: Problem, state: Held, share: float) -> Step:
    """The block's parts of W (`change`) and of the dual objective without |W|^2 / 2 (`rise`), from
    its variables."""
    with _core_of(block) as core:
        W, dual = core.weigh(state.at(share, block.columns))
    return Step(W, dual, 0.0, 0.0)


def measure(block: Problem, state: Held, share: float, W: Array) -> tuple[float, float, float]:
    """Loss, duality gap and largest KKT violation of the block's examples."""
    with _core_of(block) as core:
        found: tuple[float, float, float] = core.measure(W, state.at(share, block.columns))
    return found


def survey(block: Problem, state: Held, share: float, z: Array) -> Survey:
    """Of the common point z and the block's variables."""
    part = weigh(block, state, share).change
    loss, gap, _ = measure(block, state, share, z)
    present = np.asarray(part.reshape(-1, block.columns).any(axis=1))
    return Survey(present, float(part @ part), loss, gap)


def surveyed(found: Sequence[Survey]) -> Survey:
    """What `survey` finds, for all blocks together."""
    present = np.zeros(len(found[0].present))
    for one in found:
        present += one.present
    sums = (sum(getattr(one, name) for one in found) for name in ("squared", "loss", "gap"))
    return Survey(present, *sums)


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
