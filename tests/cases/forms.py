"""The same data in other memory layouts: strides, index types, orders, records."""

import numpy as np
import scipy.sparse as sp


def with_index_type(X, dtype):
    return sp.csr_matrix((X.data, X.indices.astype(dtype), X.indptr.astype(dtype)), shape=X.shape)


def unsorted(X):
    """Each row's entries in reverse order."""
    order = np.concatenate(
        [np.arange(b - 1, a - 1, -1) for a, b in zip(X.indptr[:-1], X.indptr[1:], strict=True)]
    )
    return sp.csr_matrix((X.data[order], X.indices[order], X.indptr), shape=X.shape)


def duplicated(X):
    """Each entry twice, each time with half its value."""
    return sp.csr_matrix((X.data.repeat(2) / 2, X.indices.repeat(2), X.indptr * 2), shape=X.shape)


def with_strides(X):
    """Each of the three arrays is a view of every second value of a longer one."""
    arrays = (array.repeat(2)[::2] for array in (X.data, X.indices, X.indptr))
    return sp.csr_matrix(tuple(arrays), shape=X.shape)


def field_of_records(X):
    """A matrix whose row stride is not a multiple of the size of a value."""
    records = np.zeros(len(X), dtype=[("flag", "u1"), ("row", "f8", X.shape[1])])
    records["row"] = X
    return records["row"]
