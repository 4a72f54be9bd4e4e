"""Which rows of the data are support vectors of a machine, alone or at the end of a pipeline."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray


def final(machine: Any) -> Any:
    """The machine itself: the last step of a pipeline."""
    return machine[-1] if hasattr(machine, "steps") else machine


def dense(X: Any) -> NDArray[Any]:
    return np.asarray(X.toarray() if sp.issparse(X) else X)


def support_mask(machine: Any, X: Any) -> NDArray[np.bool_] | None:
    """Which rows of X are support vectors; None if X is not the training data, or if
    the machine has no support vectors."""
    last = final(machine)
    support, shape = getattr(last, "support_", None), getattr(last, "shape_fit_", (None,))
    if support is None or shape[0] != _count(X):
        return None
    if last.kernel != "precomputed" and not callable(last.kernel):
        seen = machine[:-1].transform(X) if hasattr(machine, "steps") and len(machine) > 1 else X
        seen, vectors = dense(seen), dense(last.support_vectors_)
        if seen.shape[1] != vectors.shape[1] or not np.allclose(seen[support], vectors):
            return None
    return np.isin(np.arange(_count(X)), support)


def _count(X: Any) -> int:
    return int(X.shape[0] if hasattr(X, "shape") else len(X))


def feature_names(X: Any, machine: Any) -> list[str]:
    columns = getattr(X, "columns", None)
    if columns is None:
        columns = getattr(machine, "feature_names_in_", None)
    if columns is None:
        return [f"feature {k}" for k in range(dense(X).shape[1])]
    return [str(name) for name in columns]


def like(X: Any, values: NDArray[Any]) -> Any:
    """The values in the form of X: a table with the same columns, a sparse matrix or an array."""
    if hasattr(X, "columns"):
        return type(X)({name: values[:, k] for k, name in enumerate(X.columns)})
    return sp.csr_matrix(values) if sp.issparse(X) else values
