"""One-vs-one: one problem per pair of classes, and a vote (LIBSVM paper, Section 5).

With k classes, ``dual_coef`` has k - 1 rows.  The support vectors are grouped by class, and a
support vector of class i has its coefficient against class j in row j - 1 if j > i, else in row j.
"""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


def pairs(classes: int) -> list[tuple[int, int]]:
    return list(combinations(range(classes), 2))


def layout(
    members: list[NDArray[np.int32]], coefficients: dict[tuple[int, int], Array]
) -> tuple[NDArray[np.int32], NDArray[np.int32], Array]:
    """The support vectors by class, how many each class has, and ``dual_coef``.

    `members` are the examples of each class; `coefficients[i, j]` those of the pair's problem,
    first the examples of class i, then of class j.
    """
    k = len(members)
    blocks = [np.zeros((k - 1, len(rows))) for rows in members]
    for (i, j), coef in coefficients.items():
        split = len(members[i])
        blocks[i][j - 1], blocks[j][i] = coef[:split], coef[split:]
    used = [block.any(axis=0) for block in blocks]
    support = np.concatenate([rows[mask] for rows, mask in zip(members, used, strict=True)])
    n_support = np.array([mask.sum() for mask in used], dtype=np.int32)
    dual_coef = np.hstack([block[:, mask] for block, mask in zip(blocks, used, strict=True)])
    return support, n_support, dual_coef


def pair_values(sums: Array, intercept: Array) -> Array:
    """Decision values per pair from the sums per class (points x classes x (classes - 1))."""
    columns = [sums[:, i, j - 1] + sums[:, j, i] for i, j in pairs(sums.shape[1])]
    return np.stack(columns, axis=1) + intercept


def vote(values: Array, classes: int) -> NDArray[np.intp]:
    """The class with most votes; a pair's value above zero is a vote for its first class.  Of
    classes with the same number of votes the first wins."""
    votes = np.zeros((values.shape[0], classes), dtype=np.int32)
    for column, (i, j) in enumerate(pairs(classes)):
        first = values[:, column] > 0
        votes[:, i] += first
        votes[:, j] += ~first
    winners: NDArray[np.intp] = votes.argmax(axis=1)
    return winners


def class_values(values: Array, classes: int) -> Array:
    """One value per class: its votes, and the confidence of the pairs to tell equal votes apart."""
    # scikit-learn is imported where it is needed: a vote does without.
    from sklearn.utils.multiclass import _ovr_decision_function

    return np.asarray(_ovr_decision_function(values < 0, -values, classes))


def pair_coef(dual_coef: Any, n_support: NDArray[np.int32], vectors: Any) -> list[Any]:
    """The weight vector of each pair, for a linear kernel."""
    ends = np.cumsum(n_support)
    spans = [slice(end - count, end) for end, count in zip(ends, n_support, strict=True)]
    return [
        dual_coef[[j - 1], spans[i]] @ vectors[spans[i]]
        + dual_coef[[i], spans[j]] @ vectors[spans[j]]
        for i, j in pairs(len(n_support))
    ]
