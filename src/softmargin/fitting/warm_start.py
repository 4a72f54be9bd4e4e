"""Continuing from an earlier solution: its variables, made feasible for the current problem."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from softmargin.problem.formulations import Array, Dual, Part

Indices = NDArray[np.int32]


@dataclass(frozen=True)
class KeptPart:
    """The nonzero variables of one part: their examples (by position in X), their values, and which
    of them are at a bound."""

    ids: Indices
    beta: Array
    bounded: NDArray[np.bool_]

    @classmethod
    def of(cls, ids: Indices, beta: Array, part: Part) -> KeptPart:
        used = beta != 0
        bounded = (beta == part.lower) | (beta == part.upper)
        return cls(ids[used], beta[used], bounded[used])

    def within(self, ids: Indices, part: Part) -> Array:
        """The variables of the examples `ids`, moved into the bounds of `part`.  Variables that
        were at a bound move to the current bound: most variables that are bounded for one C are
        bounded for the next."""
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
    """The solution of a problem, to continue from."""

    parts: tuple[KeptPart, ...]

    @classmethod
    def of(cls, ids: Indices, beta: list[Array], dual: Dual) -> Kept:
        return cls(tuple(KeptPart.of(ids, b, p) for b, p in zip(beta, dual.parts, strict=True)))

    def start(self, ids: Indices, dual: Dual) -> list[Array]:
        """A feasible start for the problem `dual` of the examples `ids`."""
        beta = [kept.within(ids, part) for kept, part in zip(self.parts, dual.parts, strict=True)]
        return dual.feasible(beta)


@dataclass(frozen=True)
class KeptGroup:
    """The solutions of several problems in the same arrays: for each part, the nonzero variables
    and where those of each problem begin."""

    parts: tuple[tuple[KeptPart, NDArray[np.int64]], ...]

    @classmethod
    def of(
        cls, ids: Indices, starts: NDArray[np.int64], beta: Sequence[Array], dual: Dual
    ) -> KeptGroup:
        parts = []
        for values, part in zip(beta, dual.parts, strict=True):
            before = np.append(0, np.cumsum(values != 0))
            parts.append((KeptPart.of(ids, values, part), before[starts]))
        return cls(tuple(parts))

    def __len__(self) -> int:
        return len(self.parts[0][1]) - 1

    def __getitem__(self, k: int) -> Kept:
        parts = []
        for part, starts in self.parts:
            own = slice(starts[k], starts[k + 1])
            parts.append(KeptPart(part.ids[own], part.beta[own], part.bounded[own]))
        return Kept(tuple(parts))


class KeptProblems(Mapping[Any, Kept]):
    """The solutions of all problems of a fit, by name."""

    def __init__(self, names: list[Any], groups: list[KeptGroup | list[Kept]]) -> None:
        self.names, self.groups = names, groups

    @cached_property
    def places(self) -> dict[Any, tuple[int, int]]:
        places = [(g, k) for g, group in enumerate(self.groups) for k in range(len(group))]
        return dict(zip(self.names, places, strict=True))

    def __getstate__(self) -> dict[str, Any]:
        return {"names": self.names, "groups": self.groups}

    def __getitem__(self, name: Any) -> Kept:
        group, k = self.places[name]
        kept: Kept = self.groups[group][k]
        return kept

    def __iter__(self) -> Iterator[Any]:
        return iter(self.places)

    def __len__(self) -> int:
        return len(self.places)


@dataclass(frozen=True)
class KeptBlocks:
    """The nonzero dual variables of a linear machine, to continue from: by example as in CSR, as
    fractions of their C, with the class of each."""

    machine: str
    classes: NDArray[Any]
    codes: NDArray[np.intp]
    """The class of each example, as an index into `classes`."""
    starts: NDArray[np.int64]
    cls: NDArray[np.int32]
    """The class of each variable, as an index into `classes`."""
    share: Array

    def of_rows(self, rows: NDArray[np.intp]) -> KeptBlocks:
        """The variables of these examples, in this order."""
        counts = np.diff(self.starts)[rows]
        starts = np.concatenate([[0], np.cumsum(counts)])
        at = np.arange(starts[-1]) + np.repeat(self.starts[rows] - starts[:-1], counts)
        codes = self.codes[rows]
        return KeptBlocks(self.machine, self.classes, codes, starts, self.cls[at], self.share[at])

    def start(
        self, classes: NDArray[Any], codes: NDArray[np.intp]
    ) -> tuple[NDArray[np.int64], NDArray[np.intp], Array]:
        """Starts, classes and shares of the variables, for examples with classes `codes`.  Examples
        are matched by position if their class is unchanged, classes by label."""
        number = {label: code for code, label in enumerate(classes.tolist())}
        renumbered = np.array([number.get(label, -1) for label in self.classes.tolist()])
        count = min(len(codes), len(self.codes))
        same = np.zeros(len(self.codes), dtype=bool)
        same[:count] = renumbered[self.codes[:count]] == codes[:count]
        example, cls = np.repeat(np.arange(len(self.codes)), np.diff(self.starts)), self.cls
        keep = same[example] & (renumbered[cls] >= 0)
        counts = np.bincount(example[keep], minlength=len(codes))[: len(codes)]
        starts = np.concatenate([[0], np.cumsum(counts)])
        return starts, renumbered[cls[keep]], self.share[keep]
