"""A fitted kernel machine: support vectors, coefficients, intercepts, and predictions from them.

Both estimators and model files predict with it.  It does not need scikit-learn, whose import takes
longer than predicting a row.

With k > 2 classes the support vectors are grouped by class, and the values of the k (k - 1) / 2
pairs are computed from the sums of the groups (:mod:`softmargin.estimator.one_vs_one`); or there is
a value for each class, of which the largest decides (:mod:`softmargin.estimator.one_vs_rest`).
Every other machine has one group and one value.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from softmargin.estimator import one_vs_one
from softmargin.fitting.side_by_side import run_all
from softmargin.problem.kernels import Function, Kernel, Precomputed, take

Array = NDArray[np.float64]
Answer = Callable[[Array, int], NDArray[Any]]
"""Maps the sums of some rows, and the number of threads to use, to a prediction for each row."""

AT_ONCE = 2**22
"""About how many numbers a prediction holds in memory at a time."""

FEWEST = 16
"""The smallest number of rows that the core computes as a batch."""


@dataclass(frozen=True)
class KernelExpansion:
    kernel: Kernel
    support: NDArray[Any]
    """The indices of the support vectors among the training examples."""
    vectors: Any
    """The support vectors themselves, dense or CSR; not used by a precomputed kernel."""
    coef: Array
    """max(k - 1, 1) x support vectors; k x support vectors if each class has a score."""
    counts: NDArray[np.int64]
    """Support vectors in each group."""
    intercept: Array

    @classmethod
    def of(cls, kernel: Kernel, fitted: Mapping[str, Any]) -> KernelExpansion:
        """From the fitted attributes of an estimator; NumPy or SciPy raises if they are not arrays
        at all."""
        coef = fitted["dual_coef_"]
        if sp.issparse(coef):
            coef.check_format(full_check=True)
            coef = coef.toarray()
        return cls(
            kernel=kernel,
            support=np.asarray(fitted["support_"]),
            vectors=fitted["support_vectors_"],
            coef=np.ascontiguousarray(coef, dtype=np.float64),
            counts=np.atleast_1d(fitted["_n_support"]).astype(np.int64),
            intercept=np.asarray(fitted["intercept_"], dtype=np.float64),
        )

    def fault(self, features: int) -> str | None:
        """What the arrays should be, if they are inconsistent; the core does not check them."""
        groups, count = len(self.counts) if len(self.coef) > 1 else 1, len(self.support)
        rows, values = max(groups - 1, 1), max(groups * (groups - 1) // 2, 1)
        if self.scored:
            rows = values = groups
        if not (
            self.coef.shape == (rows, count)
            and (self.counts >= 0).all()
            and int(self.counts.astype(np.float64).sum()) == count
            and self.intercept.shape == (values,)
        ):
            return "dual_coef_, intercept_, support_ and n_support_ that fit together"
        if isinstance(self.kernel, Function):
            return None
        if isinstance(self.kernel, Precomputed):
            within = (self.support >= 0) & (self.support < features)
            if self.support.dtype.kind in "iu" and within.all():
                return None
            return f"indices of training examples, from 0 to {features - 1}, as support_"
        return self._fault_of_vectors((count, features))

    def _fault_of_vectors(self, shape: tuple[int, int]) -> str | None:
        if not sp.issparse(self.vectors) and not isinstance(self.vectors, np.ndarray):
            return "a matrix as support_vectors_"
        if self.vectors.ndim != 2 or self.vectors.dtype not in (np.float32, np.float64):
            return "a matrix of float32 or float64 as support_vectors_"
        if self.vectors.shape != shape:
            return f"support_vectors_ of shape {shape}"
        if sp.issparse(self.vectors):
            self.vectors.check_format(full_check=True)
            return None if self.vectors.format == "csr" else "support_vectors_ in CSR format"
        return None

    @property
    def classes(self) -> int:
        """How many classes there are; 0 for machines with a single decision value."""
        return len(self.counts) if len(self.coef) > 1 else 0

    @property
    def scored(self) -> bool:
        """Whether each class has a score; otherwise classes vote."""
        return len(self.coef) == len(self.counts) > 2

    @property
    def starts(self) -> list[int]:
        """Where each group begins, and where the last one ends."""
        if self.classes and not self.scored:
            return [0, *np.cumsum(self.counts).tolist()]
        return [0, len(self.support)]

    # --- predictions for the rows of X ----------------------------------------------------

    def values(self, X: Any, threads: int) -> Array:
        """Decision values: one for each row, or for each row and pair of classes, or class."""
        return self._by_rows(X, threads, lambda sums, _: self._values(sums))

    def class_values(self, X: Any, threads: int) -> Array:
        """One value for each row and class: its score; or its votes, and the confidence of its
        pairs."""
        return self._by_rows(X, threads, lambda sums, _: self._class_values(sums))

    def winners(self, X: Any, threads: int, break_ties: bool = False) -> NDArray[np.int64]:
        """The class number of each row: by the sign of its decision value, by the largest score, by
        vote, or (`break_ties`) by the class values, which break voting ties."""
        if not self.classes:
            return (self.values(X, threads) >= 0).astype(np.int64)
        return self._by_rows(X, threads, lambda sums, own: self._winners(sums, own, break_ties))

    def values_and_winners(
        self,
        X: Any,
        threads: int,
        break_ties: bool,
        answer: Callable[[Array, NDArray[np.int64]], NDArray[Any]],
    ) -> NDArray[Any]:
        """What `answer` returns for the decision values of some rows and the class numbers that
        `winners` gives them, for all rows."""

        def both(sums: Array, own: int) -> NDArray[Any]:
            return answer(self._values(sums), self._winners(sums, own, break_ties))

        return self._by_rows(X, threads, both)

    def _winners(self, sums: Array, threads: int, break_ties: bool) -> NDArray[np.int64]:
        if break_ties or self.scored:
            winners: NDArray[np.int64] = self._class_values(sums).argmax(1)
            return winners
        return one_vs_one.vote(sums, self.intercept, threads)

    def _values(self, sums: Array) -> Array:
        if self.scored:
            scores: Array = sums[:, 0, :] + self.intercept
            return scores
        if self.classes:
            return one_vs_one.pair_values(sums, self.intercept)
        values: Array = sums[:, 0, 0] + self.intercept[0]
        return values

    def _class_values(self, sums: Array) -> Array:
        if self.scored:
            return self._values(sums)
        return one_vs_one.class_values(self._values(sums), self.classes)

    def _by_rows(self, X: Any, threads: int, answer: Answer) -> NDArray[Any]:
        """The answers for all rows, in batches, because the number of sums per row grows with the
        square of the number of classes.  Batches run in parallel, or one after another with all
        threads."""
        count = X.shape[0] if hasattr(X, "shape") else len(X)
        rows = max(AT_ONCE // max(len(self.coef) * len(self.counts), 1), FEWEST)
        if count <= rows:
            return answer(self.sums(X, threads), threads)
        begins = range(0, count, rows)
        in_python = isinstance(self.kernel, Function)
        at_once = threads if len(begins) >= 2 * threads and not in_python else 1
        own = threads // at_once

        def batch(begin: int) -> NDArray[Any]:
            some = take(X, np.arange(begin, min(begin + rows, count)))
            return answer(self.sums(some, own, begin), own)

        return np.concatenate(
            run_all([partial(batch, begin) for begin in begins], at_once, threading.Event())
        )

    def sums(self, X: Any, threads: int, begin: int = 0) -> Array:
        """sums[t, g, o] over the support vectors of group g; X begins at row `begin` of the
        whole."""
        vectors, intercept = self.vectors, None if self.classes else float(self.intercept[0])
        if isinstance(self.kernel, Precomputed):
            X, vectors = X[:, self.support], None
        sums = self.kernel.expand(X, vectors, self.coef, self.starts, threads, intercept)
        if not np.isfinite(sums).all():
            row = begin + int(np.flatnonzero(~np.isfinite(sums).all(axis=(1, 2)))[0])
            raise ValueError(
                f"The decision value of row {row} of X is not finite: its kernel values overflow,"
                " or the fitted attributes are not finite. Scale the data as for fit, or fit again."
            )
        return sums
