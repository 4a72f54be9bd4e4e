"""Consensus of blocks: the first phase of the rounds, which brings the dual variables near their
optimum in few rounds.

With W alone, blocks that know much about each other's examples overshoot together, and the line
search cuts their common step to about the inverse of their number.  Here, a common point z lags
behind W = sum_k v_k, where v_k = X_k'beta_k is the part of block k:

    every block makes a pass from the anchor a, with its changes of W counted `factor` times
    z' = z + (W - z) / (1 + spread / factor),    a = z' + (z' - z)

`spread` is the number of blocks that have the feature.  If every pass solved its block's problem,
this would be ADMM with the penalty 1 / factor on the distance of each block's own weights from z
(Boyd et al., 2011, section 7).  The best factor is about the norm of the copies of z, one in each
block, divided by that of all v_k.  The dual variables are feasible and W is exact at any time; but
the dual objective may fall, and W converges more slowly than z.  So this phase ends when z is near
the optimum, or gets no nearer, and the rounds with a line search follow.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from softmargin.fitting.blocks import Survey
from softmargin.fitting.linear_problem import Array

NEAR = 2.0
"""The phase ends when the relative gap at z is at most this many times the tolerance."""
MOST = 400
"""Rounds of the phase."""
PAUSE, LATER = 2, 1.2
"""Between two surveys there are at least so many rounds, and the later one is after this many times
as many."""
PATIENCE, CLEARLY = 30, 0.95
"""The phase also ends if the gap has not fallen below this share of the smallest one for so many
rounds, and for half of all rounds."""
WAKE = 10
"""Every so many rounds, all examples are visited."""
SHARE, STRIDE = 0.5, 3.0
"""Of the best factor if all blocks solved their problems: a single pass falls short of that.  And
the most that the factor is multiplied or divided by."""


@dataclass(frozen=True)
class Consensus:
    """The common point between two rounds; nothing here is changed in place."""

    z: Array
    before: Array
    """z a round ago."""
    anchor: Array
    factor: float
    spread: Array
    """For each feature (a column, to combine with W), the number of blocks that have it."""
    due: int
    """A survey is due after this many rounds."""
    found: int = 0
    """The number of rounds when a survey found the smallest gap."""
    best: float = np.inf

    @classmethod
    def start(cls, W: Array, count: int) -> Consensus:
        """A survey comes first if the variables of the blocks are not all zero."""
        due = 0 if W.any() else PAUSE
        return cls(W, W, W, float(count), np.full((1, 1), float(count)), due)

    def moved(self, W: Array) -> Consensus:
        """After a round that led to W."""
        shape = (len(self.spread), -1)
        lag = (W - self.z).reshape(shape) / (1 + self.spread / self.factor)
        z = self.z + lag.ravel()
        return replace(self, z=z, before=self.z, anchor=z + (z - self.z))

    def gap(self, W: Array, survey: Survey) -> float:
        """That of z as the primal point and the variables as the dual one."""
        apart = self.z - W
        return survey.gap + float(apart @ apart) / 2

    def tuned(self, survey: Survey, gap: float, rounds: int) -> Consensus:
        """With the factor and the spread that a survey suggests."""
        spread = np.maximum(survey.present, 1.0)[:, None]
        copies = float((spread * self.z.reshape(len(spread), -1) ** 2).sum())
        factor = self.factor
        if copies > 0 and survey.squared > 0:
            best = SHARE * np.sqrt(copies / survey.squared)
            factor = min(max(best, self.factor / STRIDE), self.factor * STRIDE)
        ahead = min(factor / self.factor, 1.0) * (self.z - self.before)
        better = gap < CLEARLY * self.best
        return replace(
            self,
            anchor=self.z + ahead,
            factor=factor,
            spread=spread,
            due=max(rounds + PAUSE, int(LATER * rounds)),
            found=rounds if better else self.found,
            best=gap if better else self.best,
        )

    def done(self, gap: float, primal: float, tol: float, rounds: int) -> bool:
        """Whether the phase ends, after a survey."""
        near = gap <= NEAR * tol * primal
        waited = rounds - self.found if gap >= CLEARLY * self.best else 0
        return near or rounds >= MOST or waited > max(PATIENCE, rounds / 2)
