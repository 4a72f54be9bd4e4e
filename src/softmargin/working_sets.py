"""The rules by which the solver picks the variables that it works on.

Each is a name for ``working_set=``, or an object where there is something to set.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar


class WorkingSet:
    """A rule, as the core takes it."""

    name: ClassVar[str]

    def options(self) -> tuple[str, float, int]:
        """Rows to compute gains from, width of a corner, size of a block; where they matter."""
        return "", 0.0, 0


@dataclass(frozen=True)
class MostViolatingPair(WorkingSet):
    """The pair that violates the optimality conditions most (LIBSVM paper, eq. 13 and 14)."""

    name: ClassVar[str] = "most-violating-pair"


@dataclass(frozen=True)
class SecondOrder(WorkingSet):
    """The most violating variable, and the partner that lowers the objective most were there no
    bounds (LIBSVM 2.8; maximum-gain paper, Section 1.3)."""

    name: ClassVar[str] = "second-order"


@dataclass(frozen=True)
class MaximumGain(WorkingSet):
    """The pair of largest gain among those with a variable of the previous working set
    (maximum-gain paper, Section 2.3).  May get stuck short of the optimum (its Theorem 7).

    ``rows``: compute gains from "one" row of the previous working set (alternating), from "two",
    or from all "cached" rows (Sections 2.5 and 4.6).
    """

    rows: str = "two"
    name: ClassVar[str] = "maximum-gain"

    def __post_init__(self) -> None:
        if self.rows not in ("one", "two", "cached"):
            raise ValueError(f"rows={self.rows!r}: use 'one', 'two' or 'cached'.")

    def options(self) -> tuple[str, float, int]:
        return self.rows, 0.0, 0


@dataclass(frozen=True)
class HybridMaximumGain(MaximumGain):
    """Maximum gain, but the most violating pair when the previous working set ended in a corner:
    nearer than ``eta`` times the box to its bounds (maximum-gain paper, Section 2.4)."""

    eta: float = 1e-8
    name: ClassVar[str] = "hybrid-maximum-gain"

    def __post_init__(self) -> None:
        super().__post_init__()
        # From half the box on, all of it would be corner.
        if not (isinstance(self.eta, (int, float)) and 0 <= self.eta < 0.5):
            raise ValueError(f"eta={self.eta!r}: use a number in [0, 0.5).")

    def options(self) -> tuple[str, float, int]:
        return self.rows, self.eta, 0


@dataclass(frozen=True)
class Block(WorkingSet):
    """Many variables at a time: the strongest violators and what is worth keeping of the last
    block.  Kernel rows are computed in batches."""

    size: int = 512
    name: ClassVar[str] = "block"

    def __post_init__(self) -> None:
        if not (isinstance(self.size, int) and self.size >= 2):
            raise ValueError(f"size={self.size!r}: use an integer of at least 2.")

    def options(self) -> tuple[str, float, int]:
        return "", 0.0, self.size


BY_NAME: dict[str, WorkingSet] = {
    rule.name: rule
    for rule in (
        MostViolatingPair(),
        SecondOrder(),
        MaximumGain(),
        HybridMaximumGain(),
        Block(),
    )
}
