"""All classes in one problem, with one score per class.  The layout of ``dual_coef`` is that of
one-vs-rest (:mod:`softmargin.estimator.one_vs_rest`)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from softmargin.estimator.examples_by_class import ExamplesByClass
from softmargin.fitting.problems import Stated
from softmargin.problem.all_classes import AllClasses

Array = NDArray[np.float64]
Indices = NDArray[np.int32]


@dataclass(frozen=True)
class AllAtOnce(ExamplesByClass):
    """One problem for all classes."""

    machine: str

    @property
    def sizes(self) -> NDArray[np.int64]:
        return np.array([len(self.order)])

    def name(self, number: int) -> tuple[Any, ...]:
        return (self.machine, *self.labels)

    def state(self, numbers: range) -> Stated:
        formulation = AllClasses(self.codes, self.price, len(self.labels), self.machine)
        return Stated(self.order, formulation, np.array([0, len(self.order)]))

    def layout(self, answers: list[Any]) -> tuple[Indices, Indices, Array]:
        (answer,) = answers
        coef = self.state(range(1)).formulation.dual().coefficients(answer.beta)
        return self.support([coef[1] - coef[0]] if len(coef) == 2 else coef)

    def intercept(self, found: Array) -> Array:
        """Zeros: there is none."""
        return np.zeros(len(self.labels) if len(self.labels) > 2 else 1)
