"""The kernels, one small frozen class each.

A kernel gives the core the rows of its matrix on training examples (``training``), and evaluates
kernel expansions at new points (``expand``).  ``positive_semidefinite`` is True if every matrix of
the kernel is positive semi-definite, False if some are not, and None if nothing is known.  Unless
it is True, ``known_values`` gives kernel values to check.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from softmargin import _core
from softmargin.problem.kernel_names import NAMES
from softmargin.problem.sparse_columns import compact
from softmargin.problem.symmetry import check_symmetric

Array = NDArray[np.float64]
Indices = NDArray[np.int32]
Sources = Callable[[str, Indices], tuple[Any, Indices]]
"""Maps an arithmetic and example numbers to the core's row source and the examples' rows in it."""

DIFFERENCES = "float64 differences"
"""Squared distances as sums of squared differences: slower than |a|^2 + |b|^2 - 2 a'b, but accurate
where large numbers would cancel."""

CORES = {"float32": _core.float32, "float64": _core.float64, DIFFERENCES: _core.float64}
"""The arithmetics for computing kernel values, each more precise than the one before."""

ENOUGH = {"float32": 1e-3, "float64": 1e-6}
"""How much the rounding of an arithmetic may change a decision value (estimated from norms, gamma
and coefficients) before prediction uses the next one.  For comparison, the margin is 1."""

DENSE_ENOUGH = 0.25
"""Differences are faster with dense rows if at least this fraction of the entries is stored."""


@dataclass(frozen=True)
class FunctionOfProducts:
    """A kernel that is a function of inner products and norms: evaluated in the core."""

    gamma: float = 1.0
    coef0: float = 0.0
    degree: int = 1
    name: ClassVar[str]
    translation_invariant: ClassVar[bool] = False

    @property
    def needs_sums(self) -> bool:
        """Whether it is positive semi-definite only for coefficients whose sum is fixed."""
        return False

    @property
    def arithmetics(self) -> tuple[str, ...]:
        return tuple(CORES) if self.translation_invariant else ("float32", "float64")

    @property
    def positive_semidefinite(self) -> bool | None:
        return True

    def known_values(self, X: Any, ids: Indices, first: Indices) -> tuple[Array, Indices]:
        """The kernel matrix, in float64, of the examples X[ids[rows]], and `rows`, which is `first`
        in ascending order."""
        rows = np.sort(first)
        examples = X[ids[rows]].astype(np.float64)
        if sp.issparse(examples):
            (examples,) = compact(examples)
        return self._of_products(_dense(examples @ examples.T)), rows

    def _of_products(self, products: Array) -> Array:
        raise NotImplementedError

    def training(self, X: Any) -> Sources:
        if sp.issparse(X):
            (X,) = compact(X)

        @cache
        def examples(arithmetic: str) -> Any:
            (made,) = self._examples(arithmetic, X)
            return made

        def source(arithmetic: str, ids: Indices) -> tuple[Any, Indices]:
            rows = CORES[arithmetic].Rows.examples(
                examples(arithmetic), self.name, self.gamma, self.coef0, self.degree
            )
            return rows, ids

        return source

    def expand(
        self,
        X: Any,
        vectors: Any,
        coef: Array,
        starts: list[int],
        threads: int = 1,
        intercept: float | None = None,
    ) -> Array:
        """sums[t, g, o] = sum over the vectors v of group g of coef[o, v] K(X[t], v).

        Kernel values are computed in the precision of X, or more precisely where rounding could be
        visible in a decision value; sums are in float64.  For a machine with a single sum,
        `intercept` is used to find the rows where rounding could change the sign of the decision
        value."""
        if sp.issparse(X):
            X, vectors = compact(X, vectors)
        coef = np.ascontiguousarray(coef, dtype=np.float64)
        arithmetics = self.arithmetics[self.arithmetics.index(X.dtype.name) :]
        return self._expand(arithmetics, X, vectors, coef, starts, threads, intercept)

    def rounding(self, vectors: Any, coef: Array, starts: list[int]) -> float:
        """About how much float64 rounding changes a decision value near the vectors."""
        points, expansion = self._expansion("float64", vectors, vectors, coef, starts)
        return float(expansion.rounding(points).max(initial=0.0))

    def _expand(
        self,
        arithmetics: tuple[str, ...],
        X: Any,
        vectors: Any,
        coef: Array,
        starts: list[int],
        threads: int,
        intercept: float | None = None,
    ) -> Array:
        """Computes each row in the first arithmetic that is precise enough for it, so that a row
        gets the same value alone and among others."""
        arithmetic, more_exact = arithmetics[0], arithmetics[1:]
        points, expansion = self._expansion(arithmetic, X, vectors, coef, starts)
        if not more_exact:
            sums: Array = expansion.at(points, threads)
            return sums

        def more_exactly(rows: Any) -> Array:
            return self._expand(more_exact, X[rows], vectors, coef, starts, threads, intercept)

        rounding = expansion.rounding(points)
        again = ~(rounding <= ENOUGH[arithmetic] * self._scale(expansion))
        if again.all() and len(again):
            return more_exactly(slice(None))
        sums = expansion.at(points, threads)
        again |= ~np.isfinite(sums).all(axis=(1, 2))
        if intercept is not None:
            again |= np.abs(sums[:, 0, 0] + intercept) <= rounding
        if again.any():
            sums[again] = more_exactly(again)
        return sums

    def _scale(self, expansion: Any) -> float:
        """The scale that rounding errors are compared with: the margin, which is 1, or, if
        coefficients are small, how far kernel values between 0 and 1 can move a decision value."""
        return min(1.0, expansion.length()) if self.translation_invariant else 1.0

    def _expansion(
        self, arithmetic: str, X: Any, vectors: Any, coef: Array, starts: list[int]
    ) -> tuple[Any, Any]:
        vectors, points = self._examples(arithmetic, vectors, X)
        expansion = CORES[arithmetic].Expansion(
            vectors, self.name, self.gamma, self.coef0, self.degree, coef, starts
        )
        return points, expansion

    def _examples(self, arithmetic: str, first: Any, *others: Any) -> list[Any]:
        """The matrices as the core takes them, all treated like the first: centred on its mean, or
        made dense if it is not sparse enough for differences of sparse rows."""
        core, matrices = CORES[arithmetic].Examples, (first, *others)
        _check_headroom()
        if arithmetic == DIFFERENCES:
            if sp.issparse(first) and first.nnz >= DENSE_ENOUGH * np.prod(first.shape):
                matrices = tuple(X.toarray() for X in matrices)
            return [_differences(core, X) for X in matrices]
        if sp.issparse(first):
            return [core.csr(X.data, X.indices, X.indptr, X.shape[1]) for X in matrices]
        centre = self._centre(first)
        return [core.dense(_rows_contiguous(X), centre) for X in matrices]

    def _centre(self, X: Any) -> Array:
        if not self.translation_invariant or X.shape[0] == 0:
            return np.empty(0)
        means: Array = _core.means(_rows_contiguous(X))
        return means


def _check_headroom() -> None:
    """Raises MemoryError if hardly any memory is left: nanobind ends the process if it cannot
    allocate the small objects that describe an array."""
    np.empty(2**20, dtype=np.uint8)


def _differences(core: Any, X: Any) -> Any:
    if not sp.issparse(X):
        return core.dense_differences(_rows_contiguous(X))
    if not X.has_sorted_indices:
        X = X.sorted_indices()
    return core.csr_differences(X.data, X.indices, X.indptr, X.shape[1])


class Linear(FunctionOfProducts):
    """K(a, b) = <a, b>"""

    name = "linear"

    def expand(
        self,
        X: Any,
        vectors: Any,
        coef: Array,
        starts: list[int],
        threads: int = 1,
        intercept: float | None = None,
    ) -> Array:
        """Uses feature weights, in float64, in place of the support vectors."""
        if sp.issparse(X):
            X, vectors = compact(X, vectors)
        # With sparse coefficients, terms are added one by one for dense and sparse vectors alike.
        coefficients = sp.csc_matrix(coef)
        weights = [
            _dense(coefficients[:, begin:end].tocsr() @ vectors[begin:end])
            for begin, end in itertools.pairwise(starts)
        ]
        W = np.concatenate(weights).astype(np.float64, copy=False)
        rows = sp.csr_matrix(W) if sp.issparse(X) else W
        starts = list(range(len(W) + 1))
        sums = self._expand(("float64",), X, rows, np.ones((1, len(W))), starts, threads)
        return sums.reshape(X.shape[0], len(weights), len(coef))


class Polynomial(FunctionOfProducts):
    """K(a, b) = (gamma <a, b> + coef0)^degree"""

    name = "poly"

    @property
    def positive_semidefinite(self) -> bool | None:
        # Up to degree 1, coef0 is just a constant: harmless if the sum of the variables is fixed.
        return True if self.coef0 >= 0 or self.degree <= 1 else None

    @property
    def needs_sums(self) -> bool:
        return self.coef0 < 0 and self.degree == 1

    def _of_products(self, products: Array) -> Array:
        with np.errstate(over="ignore"):
            values: Array = (self.gamma * products + self.coef0) ** self.degree
        return values


class RadialBasisFunction(FunctionOfProducts):
    """K(a, b) = exp(-gamma |a - b|^2)"""

    name = "rbf"
    translation_invariant = True


class Sigmoid(FunctionOfProducts):
    """K(a, b) = tanh(gamma <a, b> + coef0)"""

    name = "sigmoid"

    @property
    def positive_semidefinite(self) -> bool | None:
        return False

    def _of_products(self, products: Array) -> Array:
        values: Array = np.tanh(self.gamma * products + self.coef0)
        return values


@dataclass(frozen=True)
class Precomputed:
    """K is given: a square matrix for training, and one row per new point for prediction."""

    arithmetics: ClassVar[tuple[str, ...]] = ("float32", "float64")
    positive_semidefinite: ClassVar[bool | None] = None
    needs_sums: ClassVar[bool] = False

    def known_values(self, X: Any, ids: Indices, first: Indices) -> tuple[Array, Indices]:
        rows = np.sort(first)
        return np.asarray(X[np.ix_(ids[rows], ids[rows])], dtype=np.float64), rows

    def training(self, X: Any) -> Sources:
        matrix = np.asarray(X)
        return lambda arithmetic, ids: (CORES[arithmetic].Rows.precomputed(matrix), ids)

    def expand(
        self,
        X: Any,
        vectors: Any,
        coef: Array,
        starts: list[int],
        threads: int = 1,
        intercept: float | None = None,
    ) -> Array:
        return _grouped_product(X, coef, starts)


@dataclass(frozen=True)
class Function:
    """K(A, B) is a Python function that returns the matrix of kernel values of two sets of
    examples.  It is called only for the rows that the solver needs."""

    function: Callable[[Any, Any], Any]
    seen: dict[bytes, dict[int, Array]] = field(default_factory=dict, repr=False, compare=False)
    """Rows that solvers have requested, by the problem's examples, for reuse in `known_values`.
    For large problems, only the first block of the diagonal."""
    arithmetics: ClassVar[tuple[str, ...]] = ("float32", "float64")
    diagonal_block: ClassVar[int] = 64
    remembered: ClassVar[int] = 1000
    """Rows are remembered for problems of at most this many examples."""
    positive_semidefinite: ClassVar[bool | None] = None
    needs_sums: ClassVar[bool] = False

    def training(self, X: Any) -> Sources:
        def source(arithmetic: str, ids: Indices) -> tuple[Any, Indices]:
            examples = take(X, ids)
            seen = self.seen.setdefault(ids.tobytes(), {})
            diagonal, block = self._diagonal(examples)
            seen.update(enumerate(block) if len(ids) > self.remembered else ())

            def values(rows: Indices) -> Array:
                matrix = self.matrix(take(examples, rows), examples)
                if len(ids) <= self.remembered:
                    seen.update(zip(np.asarray(rows).tolist(), matrix.copy(), strict=True))
                return matrix

            rows = CORES[arithmetic].Rows.function(values, diagonal)
            return rows, np.arange(len(ids), dtype=np.int32)

        return source

    def expand(
        self,
        X: Any,
        vectors: Any,
        coef: Array,
        starts: list[int],
        threads: int = 1,
        intercept: float | None = None,
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

    def _diagonal(self, X: Any) -> tuple[Array, Array]:
        """The diagonal of the matrix, and its first block."""
        count, block = _count(X), self.diagonal_block
        parts, first = [], np.empty((0, 0))
        for i in range(0, count, block):
            examples = take(X, np.arange(i, min(i + block, count)))
            values = self.matrix(examples, examples)
            check_symmetric(
                values, "The matrix that the kernel function returns for equal examples"
            )
            parts.append(np.diagonal(values))
            first = first if len(first) else values
        return np.concatenate(parts), first

    def known_values(self, X: Any, ids: Indices, first: Indices) -> tuple[Array, Indices]:
        """The rows that the solver has requested are known already.  The missing values are
        computed, too, if they are at most a tenth as many, or no more than a block of the diagonal;
        otherwise only the known rows are returned."""
        seen = self.seen.pop(ids.tobytes(), {})
        rows = np.array(sorted(seen), dtype=np.int32)
        others = np.setdiff1d(np.arange(len(ids), dtype=np.int32), rows)
        if len(others) ** 2 > max(0.1 * len(rows) * len(ids), self.diagonal_block**2):
            return np.array([seen[row][rows] for row in rows]).reshape(len(rows), len(rows)), rows
        K = np.empty((len(ids), len(ids)))
        for row in rows:
            K[:, row] = seen[row]
        for row in rows:
            K[row] = seen[row]
        if len(others):
            examples = take(X, ids[others])
            K[np.ix_(others, others)] = self.matrix(examples, examples)
        return K, np.arange(len(ids), dtype=np.int32)

    def sample(self, X: Any) -> Array:
        """Some kernel values, to tell one function from another."""
        rows = np.unique(np.linspace(0, _count(X) - 1, 16).astype(np.int32))
        examples = take(X, rows)
        return self.matrix(examples, examples)


def _dense(matrix: Any) -> Array:
    return np.asarray(matrix.toarray() if sp.issparse(matrix) else matrix)


def _rows_contiguous(X: Any) -> Any:
    return X if X.strides[1] == X.itemsize else np.ascontiguousarray(X)


def take(X: Any, rows: NDArray[Any]) -> Any:
    """These rows of X, whatever its type."""
    if isinstance(X, np.ndarray) or sp.issparse(X):
        return X[rows]
    # Only kernel functions need scikit-learn: importing it takes longer than predicting a row.
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


def make_kernel(
    kernel: str | Callable[[Any, Any], Any], gamma: float, coef0: float, degree: int
) -> Kernel:
    if callable(kernel):
        return Function(kernel)
    if kernel == "precomputed":
        return Precomputed()
    if kernel not in BUILT_IN:
        raise ValueError(f"kernel={kernel!r} is unknown: use one of {', '.join(NAMES)}.")
    return BUILT_IN[kernel](float(gamma), float(coef0), int(degree))
