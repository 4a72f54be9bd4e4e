"""Going on from an earlier solution: its variables, made feasible for the problem as it is now."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from softmargin.formulations import Array, Dual, Part

Indices = NDArray[np.int32]
ROUNDING = 1e-12


@dataclass(frozen=True)
class KeptPart:
    """Of one part, the variables that are not zero: their examples, by position in X, their values,
    and which of them are at their bound."""

    ids: Indices
    beta: Array
    bounded: NDArray[np.bool_]

    @classmethod
    def of(cls, ids: Indices, beta: Array, part: Part) -> KeptPart:
        used = beta != 0
        bounded = (beta == part.lower) | (beta == part.upper)
        return cls(ids[used], beta[used], bounded[used])

    def within(self, ids: Indices, part: Part) -> Array:
        """The variables of the examples `ids` within the bounds of `part`.  What was at a bound
        goes to the bound as it is now: most that are there for one C are so for the next."""
        beta, bounded = self._at(self.beta, ids), self._at(self.bounded, ids).astype(bool)
        bound = np.where(beta > 0, part.upper, part.lower)
        beta = np.where(bounded & np.isfinite(bound), bound, beta)
        return np.clip(beta, part.lower, part.upper)

    def _at(self, values: NDArray[Any], ids: Indices) -> Array:
        by_position = np.zeros(1 + max(ids.max(initial=-1), self.ids.max(initial=-1)))
        by_position[self.ids] = values
        return by_position[ids]


@dataclass(frozen=True)
class Kept:
    """The solution of a problem, to go on from."""

    parts: tuple[KeptPart, ...]

    @classmethod
    def of(cls, ids: Indices, beta: list[Array], dual: Dual) -> Kept:
        return cls(tuple(KeptPart.of(ids, b, p) for b, p in zip(beta, dual.parts, strict=True)))

    def start(self, ids: Indices, dual: Dual) -> list[Array]:
        """A feasible start for the problem `dual` of the examples `ids`."""
        beta = [kept.within(ids, part) for kept, part in zip(self.parts, dual.parts, strict=True)]
        if dual.separate:
            return [repaired(b, part) for b, part in zip(beta, dual.parts, strict=True)]
        whole = Part(
            start=np.concatenate([part.start for part in dual.parts]),
            lower=np.concatenate([part.lower for part in dual.parts]),
            upper=np.concatenate([part.upper for part in dual.parts]),
        )
        ends = np.cumsum([len(b) for b in beta])[:-1]
        return np.split(repaired(np.concatenate(beta), whole), ends)


@dataclass(frozen=True)
class KeptBlocks:
    """The dual variables of a linear machine that are not zero, to go on from: by example as in
    CSR, as shares of their C, and the classes that they are about."""

    machine: str
    classes: NDArray[Any]
    codes: NDArray[np.intp]
    """The class of each example, by its number in `classes`."""
    starts: NDArray[np.int64]
    cls: NDArray[np.int32]
    """The class of each variable, likewise."""
    share: Array

    def start(
        self, classes: NDArray[Any], codes: NDArray[np.intp], upper: Array
    ) -> tuple[NDArray[np.int64], NDArray[np.intp], Array]:
        """Starts, classes and values for the examples of the classes `codes`, whose variables are
        limited by `upper`.  Examples are matched by position, as far as their class is the same;
        classes by their labels."""
        number = {label: code for code, label in enumerate(classes.tolist())}
        renumbered = np.array([number.get(label, -1) for label in self.classes.tolist()])
        count = min(len(codes), len(self.codes))
        same = np.zeros(len(self.codes), dtype=bool)
        same[:count] = renumbered[self.codes[:count]] == codes[:count]
        example, cls = np.repeat(np.arange(len(self.codes)), np.diff(self.starts)), self.cls
        keep = same[example] & (renumbered[cls] >= 0)
        counts = np.bincount(example[keep], minlength=len(codes))[: len(codes)]
        starts = np.concatenate([[0], np.cumsum(counts)])
        return starts, renumbered[cls[keep]], self.share[keep] * upper[example[keep]]


def repaired(beta: Array, part: Part) -> Array:
    """`beta`, which is within the bounds of `part`, with the sum of the part's own start.

    What is too much is taken from the free variables above zero, in proportion; then from all above
    zero; then, one after the other so that few leave zero, from the others.  What is missing is
    added likewise.
    """
    excess = float(beta.sum() - part.start.sum())
    if abs(excess) <= ROUNDING * float(np.abs(beta).sum()):
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
