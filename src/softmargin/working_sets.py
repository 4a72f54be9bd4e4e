"""The rules by which the solver chooses its working set.

Give ``working_set=`` the name of a rule, or an object of its class to set its options.
"""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Integral
from typing import Any, ClassVar

LARGEST_BLOCK = 2**31 - 1
"""More examples or variables than any problem has."""


class WorkingSet:
    """Base of the rules: a name and its options, as the core takes them."""

    name: ClassVar[str]

    def options(self) -> dict[str, Any]:
        """The rule and its options as arguments of the core: the rows to compute gains from, the
        width of a corner, the size of a block, and whether to take Newton steps."""
        unused = {"gain_rows": "", "eta": 0.0, "block_size": 0, "newton": False}
        return {"rule": self.name, **unused}


@dataclass(frozen=True)
class MostViolatingPair(WorkingSet):
    """The pair with the largest KKT violation (LIBSVM paper, eq. 13 and 14)."""

    name: ClassVar[str] = "most-violating-pair"


@dataclass(frozen=True)
class SecondOrder(WorkingSet):
    """The most violating variable, and the partner that would lower the objective most if there
    were no bounds (LIBSVM 2.8; maximum-gain paper, Section 1.3).

    ``newton``: also take Newton steps on the free variables where they pay (docs/newton.md)."""

    newton: bool = False
    name: ClassVar[str] = "second-order"

    def options(self) -> dict[str, Any]:
        return {**super().options(), "newton": self.newton}


@dataclass(frozen=True)
class MaximumGain(WorkingSet):
    """The pair with the largest gain among those that share a variable with the previous working
    set (maximum-gain paper, Section 2.3).  May get stuck short of the optimum (its Theorem 7).

    ``rows``: compute gains from "one" row of the previous working set (alternating), from "two",
    or from all "cached" rows (Sections 2.5 and 4.6).
    """

    rows: str = "two"
    name: ClassVar[str] = "maximum-gain"

    def __post_init__(self) -> None:
        if self.rows not in ("one", "two", "cached"):
            raise ValueError(f"rows={self.rows!r}: use 'one', 'two' or 'cached'.")

    def options(self) -> dict[str, Any]:
        return {**super().options(), "gain_rows": self.rows}


@dataclass(frozen=True)
class HybridMaximumGain(MaximumGain):
    """Maximum gain, but the most violating pair if the previous working set ended in a corner:
    closer to its bounds than ``eta`` times the box (maximum-gain paper, Section 2.4)."""

    eta: float = 1e-8
    name: ClassVar[str] = "hybrid-maximum-gain"

    def __post_init__(self) -> None:
        super().__post_init__()
        # With eta >= 0.5, the whole box would be a corner.
        if not (isinstance(self.eta, (int, float)) and 0 <= self.eta < 0.5):
            raise ValueError(f"eta={self.eta!r}: use a number in [0, 0.5).")

    def options(self) -> dict[str, Any]:
        return {**super().options(), "eta": self.eta}


@dataclass(frozen=True)
class Block(WorkingSet):
    """Many variables at a time: the strongest violators and the variables worth keeping from the
    last block.  Kernel rows are computed in batches.

    ``newton``: also take Newton steps on the free variables where they pay (docs/newton.md)."""

    size: int = 512
    newton: bool = False
    name: ClassVar[str] = "block"

    def __post_init__(self) -> None:
        size: Any = self.size
        if not (isinstance(size, Integral) and 2 <= int(size) <= LARGEST_BLOCK):
            raise ValueError(f"size={size!r}: use an integer from 2 to {LARGEST_BLOCK}.")
        if self.newton not in (True, False):
            raise ValueError(f"newton={self.newton!r}: use True or False.")

    def options(self) -> dict[str, Any]:
        return {**super().options(), "block_size": int(self.size), "newton": bool(self.newton)}


@dataclass(frozen=True)
class MostViolatingExample(WorkingSet):
    """The example with the largest KKT violation, for machines of all classes at once: its
    variables of all classes are set to their exact optimum."""

    name: ClassVar[str] = "most-violating-example"


@dataclass(frozen=True)
class MaximumGainExample(WorkingSet):
    """The example whose exact step raises the dual objective most, for machines of all classes at
    once.  The candidates are the most violating example and all examples with a cached kernel
    row."""

    name: ClassVar[str] = "maximum-gain-example"


BY_EXAMPLE: dict[str, WorkingSet] = {
    rule.name: rule for rule in (MostViolatingExample(), MaximumGainExample(), Block())
}
"""The rules of the machines for all classes at once, by name."""

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
