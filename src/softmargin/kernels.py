"""The kernels, one small frozen class each.

A kernel gives the core the rows of its matrix on training examples (``training``), and evaluates
kernel expansions at new points (``expand``).
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from softmargin import _core
from softmargin.columns import compact

Array = NDArray[np.float64]
Indices = NDArray[np.int32]
Sources = Callable[[str, Indices], tuple[Any, Indices]]
"""From a precision and examples to the core's row source and the rows that stand for them."""

CORES = {"float32": _core.float32, "float64": _core.float64}
LARGEST_FLOAT32 = float(np.finfo(np.float32).max)


@dataclass(frozen=True)
class FunctionOfProducts:
    """A kernel that is a function of inner products and norms: evaluated in the core."""

    gamma: float = 1.0
    coef0: float = 0.0
    degree: int = 1
    name: ClassVar[str]
    translation_invariant: ClassVar[bool] = False

    def training(self, X: Any) -> Sources:
        if sp.issparse(X):
            (X,) = compact(X)
        centre = self._centre(X)

        @cache
        def examples(precision: str) -> Any:
            return self._examples(X, CORES[precision], centre)

        def source(precision: str, ids: Indices) -> tuple[Any, Indices]:
            rows = CORES[precision].Rows.examples(
                examples(precision), self.name, self.gamma, self.coef0, self.degree
            )
            return rows, ids

        return source

    def expand(
        self, X: Any, vectors: Any, coef: Array, starts: list[int], threads: int = 1
    ) -> Array:
        """sums[t, g, o] = sum over the vectors v of group g of coef[o, v] K(X[t], v).

        Kernel values are computed in the precision of X, unless they are beyond the range of
        float32; the sums in float64."""
        if sp.issparse(X):
            X, vectors = compact(X, vectors)
        if X.dtype == np.float32 and self.gamma <= LARGEST_FLOAT32:
            sums = self._expand(CORES["float32"], X, vectors, coef, starts, threads)
            if np.isfinite(sums).all():
                return sums
        return self._expand(CORES["float64"], X, vectors, coef, starts, threads)

    def _expand(
        self, core: Any, X: Any, vectors: Any, coef: Array, starts: list[int], threads: int
    ) -> Array:
        centre = self._centre(vectors)
        sums: Array = core.expansion(
            self._examples(X, core, centre),
            self._examples(vectors, core, centre),
            self.name,
            self.gamma,
            self.coef0,
            self.degree,
            np.ascontiguousarray(coef, dtype=np.float64),
            starts,
            threads,
        )
        return sums

    def _centre(self, X: Any) -> Array:
        if not self.translation_invariant or sp.issparse(X) or X.shape[0] == 0:
            return np.empty(0)
        means: Array = _core.means(_rows_contiguous(X))
        return means

    @staticmethod
    def _examples(X: Any, core: Any, centre: Array) -> Any:
        if sp.issparse(X):
            return core.Examples.csr(X.data, X.indices, X.indptr, X.shape[1])
        return core.Examples.dense(_rows_contiguous(X), centre)


class Linear(FunctionOfProducts):
    """K(a, b) = <a, b>"""

    name = "linear"

    def expand(
        self, X: Any, vectors: Any, coef: Array, starts: list[int], threads: int = 1
    ) -> Array:
        """Through the weights of the features, in float64: they take the place of the vectors."""
        if sp.issparse(X):
            X, vectors = compact(X, vectors)
        # Sparse coefficients are added up one by one, whether the vectors are dense or sparse.
        coefficients = sp.csc_matrix(coef)
        weights = [
            _dense(coefficients[:, begin:end].tocsr() @ vectors[begin:end])
            for begin, end in itertools.pairwise(starts)
        ]
        W = np.concatenate(weights).astype(np.float64, copy=False)
        rows = sp.csr_matrix(W) if sp.issparse(X) else W
        sums = self._expand(
            CORES["float64"], X, rows, np.ones((1, len(W))), list(range(len(W) + 1)), threads
        )
        return sums.reshape(X.shape[0], len(weights), len(coef))


class Polynomial(FunctionOfProducts):
    """K(a, b) = (gamma <a, b> + coef0)^degree"""

    name = "poly"


class RadialBasisFunction(FunctionOfProducts):
    """K(a, b) = exp(-gamma |a - b|^2)"""

    name = "rbf"
    translation_invariant = True


class Sigmoid(FunctionOfProducts):
    """K(a, b) = tanh(gamma <a, b> + coef0)"""

    name = "sigmoid"


@dataclass(frozen=True)
class Precomputed:
    """K is given: a square matrix for training, and one row per new point for prediction."""

    def training(self, X: Any) -> Sources:
        matrix = np.asarray(X)
        return lambda precision, ids: (CORES[precision].Rows.precomputed(matrix), ids)

    def expand(
        self, X: Any, vectors: Any, coef: Array, starts: list[int], threads: int = 1
    ) -> Array:
        return _grouped_product(X, coef, starts)


@dataclass(frozen=True)
class Function:
    """K(A, B) is a Python function that returns the matrix of kernel values of two sets of
    examples.  It is asked only for the rows that the solver needs."""

    function: Callable[[Any, Any], Any]
    diagonal_block: ClassVar[int] = 64

    def training(self, X: Any) -> Sources:
        def source(precision: str, ids: Indices) -> tuple[Any, Indices]:
            examples = take(X, ids)

            def values(rows: Indices) -> Array:
                return self.matrix(take(examples, rows), examples)

            rows = CORES[precision].Rows.function(values, self._diagonal(examples))
            return rows, np.arange(len(ids), dtype=np.int32)

        return source

    def expand(
        self, X: Any, vectors: Any, coef: Array, starts: list[int], threads: int = 1
    ) -> Array:
        count, batch = _count(X), max(1, 2**22 // max(coef.shape[1], 1))
        blocks = [
            _grouped_product(
                self.matrix(take(X, np.arange(i, min(i + batch, count))), vectors),
                coef,
                starts,
            )
            for i in range(0, count, batch)
        ]
        return np.concatenate(blocks)

    def matrix(self, A: Any, B: Any) -> Array:
        values = self.function(A, B)
        values = np.asarray(values.toarray() if sp.issparse(values) else values)
        if values.dtype.kind not in "fiub":
            raise ValueError(
                f"The kernel function returned an array of type {values.dtype}; every kernel value"
                " must be a real number."
            )
        values = np.ascontiguousarray(values, dtype=np.float64)
        expected = (_count(A), _count(B))
        if values.shape != expected:
            raise ValueError(
                f"The kernel function returned an array of shape {values.shape} for"
                f" {expected[0]} and {expected[1]} examples; it must return one of shape"
                f" {expected}: entry (i, j) is the kernel of A[i] and B[j]."
            )
        if not np.isfinite(values).all():
            raise ValueError(
                "The kernel function returned NaN or infinity; every kernel value must be finite."
            )
        return values

    def _diagonal(self, X: Any) -> Array:
        count, block = _count(X), self.diagonal_block
        parts = []
        for i in range(0, count, block):
            examples = take(X, np.arange(i, min(i + block, count)))
            parts.append(np.diagonal(self.matrix(examples, examples)))
        return np.concatenate(parts)


# scikit-learn is imported where a kernel function needs it: the built-in kernels predict without,
# and importing it takes longer than predicting a row.
def _dense(matrix: Any) -> Array:
    return np.asarray(matrix.toarray() if sp.issparse(matrix) else matrix)


def _rows_contiguous(X: Any) -> Any:
    return X if X.strides[1] == X.itemsize else np.ascontiguousarray(X)


def take(X: Any, rows: NDArray[Any]) -> Any:
    """Some of the examples, whatever holds them."""
    if isinstance(X, np.ndarray) or sp.issparse(X):
        return X[rows]
    from sklearn.utils import _safe_indexing

    return _safe_indexing(X, rows)


def _count(X: Any) -> int:
    from sklearn.utils.validation import _num_samples

    return int(_num_samples(X))


def _grouped_product(K: Array, coef: Array, starts: list[int]) -> Array:
    groups = itertools.pairwise(starts)
    return np.stack([K[:, a:b] @ coef[:, a:b].T for a, b in groups], axis=1)


BUILT_IN: dict[str, type[FunctionOfProducts]] = {
    kernel.name: kernel for kernel in (Linear, Polynomial, RadialBasisFunction, Sigmoid)
}
Kernel = FunctionOfProducts | Precomputed | Function
