"""Kernel matrices of all examples: inner products once, then one matrix per kernel parameter."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from softmargin import _core
from softmargin.problem.kernels import CORES, FunctionOfProducts, Kernel, Linear, Precomputed
from softmargin.problem.sparse_columns import compact

Array = NDArray[np.float64]
Indices = NDArray[np.int32]


@dataclass
class _Matrix:
    """A matrix that is computed by the first task that needs it, and kept until the last one."""

    uses: int
    lock: threading.Lock = field(default_factory=threading.Lock)
    values: Any = None


class WholeKernels:
    """The kernel matrices of the examples X.

    `matrix` computes one, or finds it; `release` says that a task no longer needs it.  `expect`
    says beforehand how many tasks will.
    """

    def __init__(self, X: Any, threads: int) -> None:
        if sp.issparse(X):
            (X,) = compact(X)
        self.X, self.threads, self.count = X, threads, X.shape[0]
        self._lock = threading.Lock()
        self._examples: dict[Any, Any] = {}
        self._products: dict[Any, _Matrix] = {}
        self._matrices: dict[Any, _Matrix] = {}
        self._unused: list[Array] = []

    def expect(self, kernel: Kernel, arithmetic: str) -> None:
        """One more task will use this matrix."""
        with self._lock:
            self._matrices.setdefault((kernel, arithmetic), _Matrix(0)).uses += 1

    def matrix(self, kernel: Kernel, arithmetic: str) -> Any:
        entry = self._matrices[kernel, arithmetic]
        with entry.lock:
            if entry.values is None:
                entry.values = self._values(kernel, arithmetic)
            return entry.values

    def release(self, kernel: Kernel, arithmetic: str) -> None:
        """A task no longer needs this matrix."""
        with self._lock:
            entry = self._matrices[kernel, arithmetic]
            entry.uses -= 1
            if entry.uses == 0:
                del self._matrices[kernel, arithmetic]
                if entry.values is not None and not isinstance(kernel, (Linear, Precomputed)):
                    self._unused.append(entry.values)

    def rounding(self, kernel: Kernel, arithmetic: str, ids: Indices, coef: Array) -> float:
        """About how much rounding of kernel values changes a decision value."""
        rows: Any
        if isinstance(kernel, FunctionOfProducts):
            rows = CORES[arithmetic].Rows.examples(
                self.examples(kernel, arithmetic),
                kernel.name,
                kernel.gamma,
                kernel.coef0,
                kernel.degree,
            )
        else:
            rows = CORES[arithmetic].Rows.precomputed(self.X)
        return float(rows.rounding(ids, coef))

    def examples(self, kernel: FunctionOfProducts, arithmetic: str) -> Any:
        key = kernel.translation_invariant, arithmetic
        with self._lock:
            if key not in self._examples:
                (self._examples[key],) = kernel._examples(arithmetic, self.X)
            return self._examples[key]

    def _values(self, kernel: Kernel, arithmetic: str) -> Any:
        if isinstance(kernel, Precomputed):
            return np.ascontiguousarray(self.X)
        assert isinstance(kernel, FunctionOfProducts)  # a kernel in Python is not shared
        examples, products = self.examples(kernel, arithmetic), self._all(kernel, arithmetic)
        if isinstance(kernel, Linear):
            return products
        values = self._space()
        finite = _core.float64.kernel_values(
            products=products,
            norms=_core.float64.squared_norms(examples),
            function=kernel.name,
            gamma=kernel.gamma,
            coef0=kernel.coef0,
            degree=kernel.degree,
            out=values,
            threads=self.threads,
        )
        if not finite:
            raise ValueError("The kernel matrix is not finite.")
        return values

    def _space(self) -> Array:
        """For a matrix.  Memory that was in use already costs less than new memory."""
        with self._lock:
            return self._unused.pop() if self._unused else np.empty((self.count, self.count))

    def _all(self, kernel: FunctionOfProducts, arithmetic: str) -> Array:
        """The products of all pairs of examples."""
        examples, key = (
            self.examples(kernel, arithmetic),
            (kernel.translation_invariant, arithmetic),
        )
        with self._lock:
            entry = self._products.setdefault(key, _Matrix(1))
        with entry.lock:
            if entry.values is None:
                entry.values = np.empty((self.count, self.count))
                _core.float64.products(examples, entry.values, self.threads)
            products: Array = entry.values
            return products
