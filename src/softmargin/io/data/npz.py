"""NumPy's ``.npz``: X and y; a sparse X is stored as data, indices, indptr and shape."""

from __future__ import annotations

import zipfile
import zlib
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from softmargin.io.data.formats import Data
from softmargin.io.file_error import FileError
from softmargin.io.streams import writing

PARTS = ("data", "indices", "indptr", "shape")


def read_npz(path: Any, dtype: Any, *, target_is_needed: bool = True) -> Data:
    try:
        with np.load(path, allow_pickle=False) as archive:
            names = list(archive.files) if hasattr(archive, "files") else []
            wanted = [name for name in ("X", "y", *PARTS) if name in names]
            arrays = {name: archive[name] for name in wanted}
    except (zipfile.BadZipFile, zlib.error, ValueError, EOFError, KeyError, MemoryError) as error:
        found = str(error)
        if "pickle" in found:  # NumPy's words for a file that is no archive, and for objects
            found = "no NumPy archive of numbers"
        raise FileError(path, "a valid .npz file of numbers", found=found) from error
    has_target = "y" in arrays or not target_is_needed
    if not has_target or not ("X" in arrays or all(part in arrays for part in PARTS)):
        raise FileError(
            path,
            "arrays X and y, or data, indices, indptr, shape (of a CSR matrix) and y",
            found=", ".join(names),
        )
    X = _dense(path, arrays["X"], dtype) if "X" in arrays else _sparse(path, arrays, dtype)
    y = arrays.get("y")
    if y is not None and (y.ndim != 1 or len(y) != X.shape[0]):
        raise FileError(path, f"y of shape ({X.shape[0]},)", found=f"y of shape {y.shape}")
    return Data(X, y)


def _dense(path: Any, X: NDArray[Any], dtype: Any) -> NDArray[Any]:
    if X.ndim != 2 or X.dtype.kind not in "fiub":
        raise FileError(
            path, "X of two dimensions and of numbers", found=f"{X.ndim} dimensions of {X.dtype}"
        )
    return X.astype(dtype, copy=False)


def _sparse(path: Any, arrays: dict[str, NDArray[Any]], dtype: Any) -> sp.csr_matrix:
    try:
        shape = tuple(int(size) for size in arrays["shape"])
        parts = (arrays["data"].astype(dtype), arrays["indices"], arrays["indptr"])
        X = sp.csr_matrix(parts, shape=shape, copy=False)
        X.check_format(full_check=True)
    except (ValueError, TypeError) as error:
        raise FileError(path, "the parts of a valid CSR matrix", found=str(error)) from error
    return X


def write_npz(path: Any, X: Any, y: Any) -> None:
    target: dict[str, Any] = {} if y is None else {"y": np.asarray(y)}
    if sp.issparse(X):
        X = X.tocsr()
        parts: dict[str, Any] = {
            "data": X.data,
            "indices": X.indices,
            "indptr": X.indptr,
            "shape": X.shape,
        }
    else:
        parts = {"X": np.asarray(X)}
    with writing(path) as stream:
        np.savez(stream, **target, **parts)
