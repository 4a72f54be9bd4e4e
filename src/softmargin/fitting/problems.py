"""The problems of one fit, each stated only when it is solved, because there may be very many."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from softmargin.problem.formulations import Formulation

Indices = NDArray[np.int32]


@dataclass(frozen=True)
class Stated:
    """One problem, or several in the same arrays: problem k has ids[starts[k]:starts[k + 1]]."""

    ids: Indices
    formulation: Any
    starts: NDArray[np.int64]


class Problems(Protocol):
    """The problems of a fit, by number."""

    @property
    def sizes(self) -> NDArray[np.int64]:
        """The number of examples of each."""

    def name(self, number: int) -> Any:
        """Identifies a problem, in this fit and in the next."""

    def state(self, numbers: range) -> Stated:
        """These problems, in the same arrays."""

    def without(self, left_out: NDArray[np.bool_]) -> Problems:
        """The same problems, but these rows of X have a price of zero, so their variables stay at
        zero."""


@dataclass(frozen=True)
class OneProblem:
    """The problems of a fit that has only one."""

    ids: Indices
    formulation: Formulation

    @property
    def sizes(self) -> NDArray[np.int64]:
        return np.array([len(self.ids)])

    def name(self, number: int) -> Any:
        return None

    def without(self, left_out: NDArray[np.bool_]) -> OneProblem:
        formulation: Any = self.formulation
        C = np.where(left_out[self.ids], 0.0, formulation.C)
        return OneProblem(self.ids, replace(formulation, C=C))

    def state(self, numbers: range) -> Stated:
        return Stated(self.ids, self.formulation, np.array([0, len(self.ids)]))
