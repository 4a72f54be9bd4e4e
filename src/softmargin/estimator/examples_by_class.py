"""The examples of a fit of several classes, class by class."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Indices = NDArray[np.int32]


@dataclass(frozen=True)
class ExamplesByClass:
    """What the problems of a fit are stated from (see softmargin.fitting.problems)."""

    labels: list[Any]
    order: Indices
    """The examples, class by class."""
    class_starts: NDArray[np.int64]
    """Where each class begins in `order`, and where the last one ends."""
    price: Array
    """The C of each example, in that order; for nu-SVC, its weight."""

    @cached_property
    def codes(self) -> NDArray[np.int32]:
        """The class of each example, in that order."""
        return np.repeat(
            np.arange(len(self.labels), dtype=np.int32), np.diff(self.class_starts)
        ).astype(np.int32)

    def without(self, left_out: NDArray[np.bool_]) -> Any:
        """The same problems, in which these rows of X have a price of zero."""
        return replace(self, price=np.where(left_out[self.order], 0.0, self.price))

    def support(self, whole: Array | Sequence[Array]) -> tuple[Indices, Indices, Array]:
        """From the coefficients of all examples in `order`, row by row: the support vectors, how
        many each class has, and their coefficients."""
        used = np.zeros(len(self.order), dtype=bool)
        for row in whole:
            used |= row != 0
        coef = np.empty((len(whole), np.count_nonzero(used)))
        for k, row in enumerate(whole):
            coef[k] = row[used]
        n_support = np.add.reduceat(used.astype(np.int32), self.class_starts[:-1], dtype=np.int32)
        return self.order[used], n_support, coef
