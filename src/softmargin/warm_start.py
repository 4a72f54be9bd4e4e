"""Going on from an earlier solution: its variables, made feasible for the problem as it is now."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from softmargin.formulations import Array, Dual, Part

Indices = NDArray[np.int32]


@dataclass(frozen=True)
class Kept:
    """The variables of a problem, part by part: which examples have one that is not zero, by their
    position in X, and its value."""

    ids: tuple[Indices, ...]
    beta: tuple[Array, ...]

    @classmethod
    def of(cls, ids: Indices, beta: list[Array]) -> Kept:
        return cls(tuple(ids[b != 0] for b in beta), tuple(b[b != 0] for b in beta))

    def start(self, ids: Indices, dual: Dual) -> list[Array]:
        """A feasible start for the problem `dual` of the examples `ids`: the kept values, clipped
        to the bounds; then the sums that must be kept are repaired."""
        beta = [
            np.clip(self._at(s, ids), part.lower, part.upper) for s, part in enumerate(dual.parts)
        ]
        if dual.separate:
            return [repaired(b, part) for b, part in zip(beta, dual.parts, strict=True)]
        whole = Part(
            start=np.concatenate([part.start for part in dual.parts]),
            lower=np.concatenate([part.lower for part in dual.parts]),
            upper=np.concatenate([part.upper for part in dual.parts]),
        )
        ends = np.cumsum([len(b) for b in beta])[:-1]
        return np.split(repaired(np.concatenate(beta), whole), ends)

    def _at(self, part: int, ids: Indices) -> Array:
        values = np.zeros(1 + max(ids.max(initial=-1), self.ids[part].max(initial=-1)))
        values[self.ids[part]] = self.beta[part]
        return values[ids]


def repaired(beta: Array, part: Part) -> Array:
    """`beta` within its bounds, with the sum of the part's own start.

    What is too much is taken from, or what is missing is added to, first the free variables in
    proportion to their room towards zero or, for what must grow, to the bound; then the others,
    one after the other, so that few of those at zero leave it.
    """
    excess = float(beta.sum() - part.start.sum())
    if excess == 0:
        return beta
    if excess < 0:
        return -repaired(-beta, Part(-part.start, -part.upper, -part.lower))
    free = (beta > part.lower) & (beta < part.upper)
    for mask in (free & (beta > 0), beta > 0):
        room = np.where(mask, np.minimum(beta, beta - part.lower), 0.0)
        taken = min(excess, float(room.sum()))
        if taken > 0:
            beta, excess = beta - room * (taken / room.sum()), excess - taken
    if excess > 0:
        room = beta - part.lower
        before = np.concatenate([[0.0], np.cumsum(room)[:-1]])
        beta = beta - np.clip(excess - before, 0.0, room)
    return np.clip(beta, part.lower, part.upper)
