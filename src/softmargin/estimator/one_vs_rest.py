"""One-vs-rest: a machine for each class, with one score per class, of which the largest decides.

``dual_coef`` has a row per class, with the coefficients of that class's score; the support vectors
are grouped by class.  With two classes there is a single row, as in one-vs-one: the score of the
second class minus that of the first.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from softmargin.estimator.examples_by_class import ExamplesByClass
from softmargin.fitting.problems import Stated
from softmargin.problem.formulations import CSupportVectorClassification

Array = NDArray[np.float64]
Indices = NDArray[np.int32]


@dataclass(frozen=True)
class OneVsRest(ExamplesByClass):
    """A problem for each class: its examples against all others."""

    @property
    def sizes(self) -> NDArray[np.int64]:
        return np.full(len(self.labels), len(self.order))

    def name(self, number: int) -> Any:
        return self.labels[number]

    def state(self, numbers: range) -> Stated:
        y = np.concatenate([np.where(self.codes == c, 1.0, -1.0) for c in numbers])
        starts = len(self.order) * np.arange(len(numbers) + 1, dtype=np.int64)
        price = np.tile(self.price, len(numbers))
        formulation = CSupportVectorClassification(y, price, starts)
        return Stated(np.tile(self.order, len(numbers)), formulation, starts)

    def layout(self, answers: list[Any]) -> tuple[Indices, Indices, Array]:
        coef = np.concatenate([answer.coef for answer in answers])
        return self.support(coef.reshape(len(self.labels), len(self.order)))

    def intercept(self, found: Array) -> Array:
        return found
