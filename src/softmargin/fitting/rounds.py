"""Descent on several blocks of examples: the loop of rounds, wherever the blocks are.

The blocks may be in memory, on disk or on the machines of a cluster: a `Crew` knows where, and runs
the functions of :mod:`.blocks` there.  The loop holds W, chooses the length of the common step and
decides when to stop.  All sums are in a fixed order, so the result depends on the blocks and on the
seed, and not on who computed what, or when.

A fit with several blocks begins with a phase of consensus, without line search (:mod:`.consensus`).
After that, all blocks move from the same W, by the length of an exact line search.  A block counts
its own changes `factor` times, because it does not see those of the others.  The line search tells
whether that was too much or too little, and the next round takes a better factor.

Every few rounds the variables jump ahead, away from their values of earlier rounds (snapshots), by
what would be best without the bounds.  The target is made feasible and approached with an exact
line search, so the dual objective never falls.  ``_core/linear/extrapolation.hpp`` does the same in
a descent on a single block.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

import numpy as np

from softmargin.fitting.blocks import Step, Survey, Task, length
from softmargin.fitting.consensus import WAKE, Consensus
from softmargin.fitting.linear_problem import Array, Dual
from softmargin.fitting.slices import Effort, Point
from softmargin.solution import Solution, StopReason

SPACING, SNAPSHOTS = 3, 3
"""Rounds from one snapshot to the next, and how many snapshots a jump is computed from."""
KEEP, RENEW = 10, 100
"""After how many rounds the variables are gathered; and sent out again, without snapshots, so that
the tasks of a cluster do not depend on ever more earlier ones."""
CHECK, LATER = 20, 1.1
"""The gap is computed at least after so many rounds, or after this many times as many, because its
estimate may be far too large."""
RESERVE = 3.0
"""A certificate takes at most this many times as long as computing W from the variables."""


class LostBlocks(Exception):  # noqa: N818 - it never reaches a user
    """Some blocks have lost their variables: the fit returns to those that were kept last."""


class Stopped(Exception):  # noqa: N818 - it never reaches a user
    """The watch stopped the fit during a round, which is abandoned."""


class Crew(Protocol):
    """Runs the functions of :mod:`.blocks` on all blocks, and adds up what they return."""

    @property
    def count(self) -> int:
        """The number of blocks."""

    def step(self, W: Array, task: Task) -> Step: ...

    def jump(self, ahead: Array, share: float) -> Step: ...

    def weigh(self, share: float) -> tuple[Array, float]: ...

    def measure(self, W: Array, share: float) -> tuple[float, float, float]: ...

    def survey(self, z: Array, share: float) -> Survey: ...

    def keep(self, share: float) -> None:
        """Makes the current variables those to return to."""

    def renew(self) -> None:
        """Continues from the variables that were kept last, without snapshots."""

    def dual_variables(self) -> Dual:
        """The variables that were kept last, of all examples."""


@dataclass
class State:
    """Where the fit is, besides the variables of the blocks."""

    W: Array
    factor: float
    dual: float
    rounds: int = 0
    share: float = 1.0
    """The share of the last step that was taken."""
    trigger: float = 1.0
    """A check is due when the estimated gap is at most this many times the tolerance."""
    idle: int = 0
    """Rounds without a gain, one after another."""
    wake: bool = True
    """Whether the next round visits all examples: after a check that found the gap too large."""
    consensus: Consensus | None = None
    """In the first phase."""
    due: int = CHECK
    """A check is due after this many rounds, however large the estimate."""
    past: list[tuple[Array, float]] = field(default_factory=list)
    """W, and the dual objective without |W|^2 / 2, at the snapshots."""

    @property
    def linear(self) -> float:
        return self.dual + float(self.W @ self.W) / 2

    def take(self, step: Step) -> tuple[float, float]:
        """Moves along the step.  Returns the gain, and the best length without bounds."""
        self.share, gain, best = length(step, self.W)
        self.W = self.W + self.share * step.change
        self.dual += gain
        return gain, best

    def take_all(self, step: Step) -> None:
        """Makes the whole step, whether or not the dual objective rises."""
        slope = step.rise - step.cost - float(self.W @ step.change)
        self.dual += slope - float(step.change @ step.change) / 2
        self.share, self.W = 1.0, self.W + step.change


class Rounds:
    """One fit.  `examples` is their number, `start` the effort before."""

    def __init__(
        self, crew: Crew, examples: int, number: int, start: Effort, settings: Any
    ) -> None:
        self.crew, self.examples, self.number, self.settings = crew, examples, number, settings
        self.began, self.before, self.lost = time.perf_counter(), start, 0
        W, dual = self._weighed()
        settings.watch.reserve(number, RESERVE * (time.perf_counter() - self.began))
        together = Consensus.start(W, crew.count) if crew.count > 1 else None
        self.kept = State(W, float(crew.count), dual - float(W @ W) / 2, consensus=together)
        self.state = replace(self.kept)
        self.primal = self.gap = self.violation = self.estimate = math.inf

    def _weighed(self) -> tuple[Array, float]:
        while True:
            try:
                return self.crew.weigh(1.0)
            except LostBlocks:
                self.lost += 1
                self.crew.renew()

    def go(self) -> StopReason:
        """Runs until the gap is small enough, or something else ends the fit."""
        if self.before.iterations or self.state.W.any():
            self._safely(self._check)
        while not self._enough():
            stop = self._look()
            if stop or self._iterations >= self.settings.max_iter:
                return self._stopped(stop or StopReason.MAX_ITER)
            try:
                self._safely(self._round)
            except Stopped:
                return self._stopped(self.settings.watch.expired())
            if self.state.idle > 2 and not self._enough():
                return self._ended(StopReason.NO_PROGRESS)
        return self._ended(StopReason.CONVERGED)

    def _round(self) -> None:
        s = self.state
        if s.rounds and s.rounds % KEEP == 0 and s.rounds > self.kept.rounds:
            self._keep()
        if s.rounds and s.rounds % RENEW == 0:
            self.crew.renew()
            s.past, s.share = [], 1.0
        if s.consensus and s.rounds >= s.consensus.due:
            self._survey(s.consensus)
        if s.consensus:
            self._approach(s.consensus)
        else:
            self._climb()

    def _task(self, factor: float, wake: bool, remember: int = 0) -> Task:
        s = self.state
        seed = self.settings.seed + s.rounds * self.crew.count
        return Task(factor, seed, s.share, s.rounds, wake, remember)

    def _survey(self, consensus: Consensus) -> None:
        """Measures the common point: the phase ends, or continues with a better factor."""
        s, z = self.state, consensus.z
        found = self.crew.survey(z, s.share)
        primal = float(z @ z) / 2 + found.loss
        self.estimate = consensus.gap(s.W, found)
        s.dual = primal - self.estimate
        done = consensus.done(self.estimate, primal, self.settings.tol, s.rounds)
        s.consensus = None if done else consensus.tuned(found, self.estimate, s.rounds)
        s.due = s.rounds + CHECK
        s.wake = True

    def _approach(self, consensus: Consensus) -> None:
        """A round of the first phase."""
        s = self.state
        wake = s.wake or s.rounds % WAKE == 0
        s.take_all(self.crew.step(consensus.anchor, self._task(consensus.factor, wake)))
        s.consensus = consensus.moved(s.W)
        s.wake = False
        s.rounds += 1

    def _climb(self) -> None:
        """A round with a line search."""
        s = self.state
        snapshot = s.rounds % SPACING == 0
        if snapshot:
            self._jump()
            s.past = [*s.past, (s.W, s.linear)][-SNAPSHOTS:]
        step = self.crew.step(s.W, self._task(s.factor, s.wake, SNAPSHOTS if snapshot else 0))
        s.wake = False
        gain, best = s.take(step)
        s.factor = min(max(s.factor / best, 1.0), float(self.crew.count))
        s.rounds += 1
        s.idle = 0 if gain > 1e-15 * abs(s.dual) else s.idle + 1
        self.estimate, tol = step.gap, self.settings.tol
        near = self.estimate <= tol * s.trigger * (s.dual + self.estimate)
        if s.idle or near or s.rounds >= s.due:
            self._check()
            s.wake, s.due = True, max(s.rounds + CHECK, int(LATER * s.rounds))
            if self.gap > 0:
                s.trigger = min(max(0.9 * self.estimate / self.gap, 0.01), 10.0)

    def _jump(self) -> None:
        s = self.state
        if len(s.past) < SNAPSHOTS:
            return
        apart = np.array([s.W - W for W, _ in s.past])
        slope = np.array([s.linear - linear for _, linear in s.past]) - apart @ s.W
        s.take(self.crew.jump(_highest(apart @ apart.T, slope), s.share))

    def _check(self) -> None:
        """Computes W from the variables, and measures every example."""
        s = self.state
        s.W, _ = self.crew.weigh(s.share)
        loss, self.gap, self.violation = self.crew.measure(s.W, s.share)
        self.primal = float(s.W @ s.W) / 2 + loss
        s.dual = self.primal - self.gap

    def _enough(self) -> bool:
        return math.isfinite(self.gap) and self.gap <= self.settings.tol * self.primal

    def _keep(self) -> None:
        self.crew.keep(self.state.share)
        self.kept = replace(self.state, past=[])

    def _safely(self, work: Callable[[], None]) -> None:
        """Does the work; if blocks are lost, returns to the point that was kept last instead."""
        try:
            work()
        except LostBlocks:
            self.lost += 1
            self.primal = self.gap = self.violation = self.estimate = math.inf
            self.crew.renew()
            self.state = replace(self.kept, share=1.0, past=[])

    def _stopped(self, reason: StopReason | None) -> StopReason:
        """Certifies the point at which the fit was stopped, unless the time limit is long past."""
        overdue = self.settings.watch.overdue
        self.primal = self.gap = self.violation = math.inf
        while math.isinf(self.gap) and not overdue():
            self._safely(self._check)
        if self._enough():
            return self._ended(StopReason.CONVERGED)
        return self._ended(reason or StopReason.MAX_ITER)

    def _ended(self, reason: StopReason) -> StopReason:
        solution = self.solution(reason)
        self.settings.watch.done(self.number, solution, active=self.examples)
        return reason

    @property
    def _iterations(self) -> int:
        return self.before.iterations + self.state.rounds

    def _look(self) -> StopReason | None:
        if self.settings.recorder:
            self.settings.recorder.note(self.number, self.point)
        gap = self.estimate
        stop: StopReason | None = self.settings.watch.look(
            self.number,
            iterations=self._iterations,
            violation=gap / (self.state.dual + gap) if 0 < gap < math.inf else math.inf,
            tol=self.settings.tol,
            objective=self.state.dual,
            active=self.examples,
            kernel_rows=0,
            cache_hits=0,
        )
        return stop

    def _effort(self, rounds: int) -> Effort:
        seconds = self.before.seconds + time.perf_counter() - self.began
        return Effort(self.before.iterations + rounds, seconds=seconds)

    def point(self) -> Point:
        """Where the variables were kept last."""
        return Point(list(self.crew.dual_variables()), "float64", self._effort(self.kept.rounds))

    def last_point(self) -> Point:
        """Where the fit is now, unless that is lost."""
        with suppress(LostBlocks):
            self._keep()
        return self.point()

    def solution(self, reason: StopReason) -> Solution:
        return Solution(
            **vars(self._effort(self.state.rounds)),
            dual_objective=self.state.dual,
            primal_objective=self.primal,
            kkt_violation=self.violation,
            stop_reason=reason,
            working_set="one example",
            working_set_reason=f"block coordinate descent on {self.crew.count} blocks of examples",
            precision="float64",
        )


def _highest(H: Array, slope: Array) -> Array:
    """The t that maximises slope't - t'Ht / 2, slightly regularised: the differences between
    snapshots are nearly parallel."""
    largest = float(np.diag(H).max())
    if not largest > 0:
        return np.zeros(len(slope))
    regular = H + 1e-10 * largest * np.eye(len(slope))
    found: Array = np.asarray(np.linalg.solve(regular, slope), np.float64)
    return found if np.isfinite(found).all() else np.zeros(len(slope))
