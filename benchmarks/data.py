"""Real data for the benchmarks, from the folder named by the environment variable SOFTMARGIN_DATA.

A data set is `<name>.npz` with arrays X and y, or X_train, y_train, X_test and y_test.
"""

import os
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

Array = NDArray[np.float64]
VARIABLE = "SOFTMARGIN_DATA"


def load(name: str, part: str = "train") -> tuple[Array, Array]:
    """The examples (of one part, where there are two) and their targets."""
    with _arrays(name) as arrays:
        suffix = "" if "X" in arrays else f"_{part}"
        X, y = arrays[f"X{suffix}"], arrays[f"y{suffix}"]
    return X.astype(np.float64), y.astype(np.float64)


def load_sparse(name: str, part: str = "train") -> tuple[Any, Array]:
    """The same, for data sets that are stored as CSR matrices."""
    with _arrays(name) as arrays:
        data, indices, indptr, shape = (
            arrays[f"X_{part}_{field}"] for field in ("data", "indices", "indptr", "shape")
        )
        y = arrays[f"y_{part}"].astype(np.float64)
    return sp.csr_matrix((data.astype(np.float64), indices, indptr), shape=tuple(shape)), y


def _arrays(name: str) -> Any:
    folder = os.environ.get(VARIABLE)
    if not folder:
        raise SystemExit(f"{VARIABLE} is not set; set it to the folder that holds {name}.npz.")
    path = Path(folder) / f"{name}.npz"
    if not path.is_file():
        raise SystemExit(f"{VARIABLE}={folder} has no {name}.npz.")
    return np.load(path)


def standardised(values: Array) -> Array:
    """Every column with mean 0 and variance 1; constant columns 0."""
    spread = values.std(axis=0)
    return (values - values.mean(axis=0)) / np.where(spread > 0, spread, 1.0)


def scaled(values: Array) -> Array:
    """Every column to [-1, 1]."""
    low, high = values.min(axis=0), values.max(axis=0)
    return 2 * (values - low) / np.where(high > low, high - low, 1.0) - 1
