"""Sparse matrices with many more columns than entries."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray


def compact(*matrices: sp.csr_matrix) -> tuple[sp.csr_matrix, ...]:
    """The same CSR matrices, all of equal width, without the columns that are empty in all of them.

    Inner products stay the same.  The core allocates memory for each column, and a single column
    index of a billion must not cost a billion entries.  If there are few columns, nothing is done.
    """
    width, entries = matrices[0].shape[1], sum(matrix.nnz for matrix in matrices)
    if width <= 2**16 + 4 * entries:
        return matrices
    indices = np.concatenate([matrix.indices for matrix in matrices])
    used, columns = np.unique(indices, return_inverse=True)
    ends = np.cumsum([len(matrix.indices) for matrix in matrices])[:-1]
    parts = zip(matrices, np.split(columns, ends), strict=True)
    return tuple(with_columns(matrix, part, len(used)) for matrix, part in parts)


def by_used_columns(
    product: Callable[[sp.csr_matrix], sp.csr_matrix], X: sp.csr_matrix
) -> sp.csr_matrix:
    """product(X), computed without empty columns, because sparse products also allocate memory for
    each column."""
    used, columns = np.unique(X.indices, return_inverse=True)
    small = product(with_columns(X, columns, len(used)))
    return with_columns(small, used[small.indices], X.shape[1])


def widened(X: sp.csr_matrix, width: int) -> sp.csr_matrix:
    """The same entries in a matrix of `width` columns."""
    return with_columns(X, X.indices, width)


def with_columns(X: sp.csr_matrix, indices: NDArray[Any], width: int) -> sp.csr_matrix:
    """The same entries in other columns."""
    indices = indices.astype(X.indptr.dtype, copy=False)
    return sp.csr_matrix((X.data, indices, X.indptr), shape=(X.shape[0], width), copy=False)
