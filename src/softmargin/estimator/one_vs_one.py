"""One-vs-one: one problem per pair of classes, and a vote (LIBSVM paper, Section 5).

With k classes, ``dual_coef`` has k - 1 rows.  The support vectors are grouped by class, and a
support vector of class i has its coefficient against class j in row j - 1 if j > i, else in row j.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from softmargin import _core
from softmargin.estimator.examples_by_class import ExamplesByClass
from softmargin.fitting.problems import Stated

Array = NDArray[np.float64]
Indices = NDArray[np.int32]


def pairs(classes: int) -> list[tuple[int, int]]:
    return list(combinations(range(classes), 2))


@dataclass(frozen=True)
class Pairs(ExamplesByClass):
    """The problem of each pair of classes, stated on demand."""

    formulation: Callable[[Array, Array, range, NDArray[np.int64]], Any]
    """Makes a formulation from y in {+1, -1}, the prices, the pair numbers and their starts."""

    @cached_property
    def classes(self) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        """The first class of each pair, and the second."""
        first, second = np.triu_indices(len(self.labels), 1)
        return first, second

    @cached_property
    def sizes(self) -> NDArray[np.int64]:
        counts, (first, second) = np.diff(self.class_starts), self.classes
        sizes: NDArray[np.int64] = counts[first] + counts[second]
        return sizes

    def name(self, number: int) -> tuple[Any, Any]:
        first, second = self.classes
        return self.labels[first[number]], self.labels[second[number]]

    def state(self, numbers: range) -> Stated:
        spans = self._spans(numbers)
        places, starts = spans.places(), np.append(0, np.cumsum(spans.counts)[1::2])
        y = np.repeat(np.tile([1.0, -1.0], len(numbers)), spans.counts)
        formulation = self.formulation(y, self.price[places], numbers, starts)
        return Stated(self.order[places], formulation, starts)

    def _spans(self, numbers: range) -> _Spans:
        first, second = (c[numbers.start : numbers.stop] for c in self.classes)
        of_class = np.stack([first, second], axis=1).ravel()
        counts = np.diff(self.class_starts)[of_class]
        rows = np.stack([second - 1, first], axis=1).ravel()
        return _Spans(counts, self.class_starts[of_class], rows)

    def layout(self, coefficients: Iterable[tuple[range, Array]]) -> tuple[Indices, Indices, Array]:
        """The support vectors by class, how many each class has, and ``dual_coef``.  `coefficients`
        gives the coefficients of some pairs at a time: for each pair, first those of the examples
        of its first class, then of its second."""
        return self.support(self.spread(coefficients))

    def spread(self, coefficients: Iterable[tuple[range, Array]]) -> Array:
        """``dual_coef`` as if all examples, in `order`, were support vectors."""
        whole = np.zeros((len(self.labels) - 1, len(self.order)))
        for numbers, coef in coefficients:
            spans = self._spans(numbers)
            whole[np.repeat(spans.rows, spans.counts), spans.places()] = coef
        return whole


@dataclass(frozen=True)
class _Spans:
    """For the two classes of each pair: how many examples they have, where these begin in
    ``Pairs.order``, and the row of ``dual_coef`` for their coefficients."""

    counts: NDArray[np.int64]
    begins: NDArray[np.int64]
    rows: NDArray[np.intp]

    def places(self) -> NDArray[np.int64]:
        ends = np.cumsum(self.counts)
        shifts = np.repeat(self.begins - ends + self.counts, self.counts)
        places: NDArray[np.int64] = np.arange(ends[-1]) + shifts
        return places


def pair_values(sums: Array, intercept: Array) -> Array:
    """Decision values per pair from the sums per class (points x classes x (classes - 1))."""
    first, second = np.triu_indices(sums.shape[1], 1)
    values: Array = sums[:, first, second - 1]
    values += sums[:, second, first]
    values += intercept
    return values


def vote(sums: Array, intercept: Array, threads: int = 1) -> NDArray[np.int64]:
    """The class with the most votes; a positive value of a pair is a vote for its first class.
    Among classes with the same number of votes, the first wins."""
    winners: NDArray[np.int64] = _core.vote(
        np.ascontiguousarray(sums), np.ascontiguousarray(intercept, dtype=np.float64), threads
    )
    return winners


def class_values(values: Array, classes: int) -> Array:
    """One value per class: its votes, plus the confidence of its pairs to break ties."""
    # Imported here, not at the top, because a plain vote does not need scikit-learn.
    from sklearn.utils.multiclass import _ovr_decision_function

    return np.asarray(_ovr_decision_function(values < 0, -values, classes))


def pair_coef(dual_coef: Any, n_support: NDArray[np.int32], vectors: Any) -> list[Any]:
    """The weight vector of each pair, for a linear kernel."""
    return [
        dual_coef[[j - 1], first] @ vectors[first] + dual_coef[[i], second] @ vectors[second]
        for i, j, first, second in pair_spans(n_support)
    ]


def pair_spans(n_support: NDArray[np.int32]) -> list[tuple[int, int, slice, slice]]:
    """The classes of each pair, and the columns of ``dual_coef`` with their support vectors."""
    ends = np.cumsum(n_support)
    spans = [slice(end - count, end) for end, count in zip(ends, n_support, strict=True)]
    return [(i, j, spans[i], spans[j]) for i, j in pairs(len(spans))]
