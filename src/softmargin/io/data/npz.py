"""NumPy's ``.npz``: X and y; a sparse X is stored as data, indices, indptr and shape."""

from __future__ import annotations

import zipfile
import zlib
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.lib import format as npy
from numpy.typing import NDArray

from softmargin.io.data.formats import Data
from softmargin.io.file_error import FileError
from softmargin.io.streams import writing

PARTS = ("data", "indices", "indptr", "shape")
BYTES_AT_ONCE = 2**22
STARTS_AT_ONCE = 2**16
"""How many elements of indptr are in memory at a time, if pieces are read."""


def read_npz(path: Any, dtype: Any, *, target_is_needed: bool = True) -> Data:
    with _stored(path, target_is_needed) as stored:
        arrays = {name: array.take(array.shape[0]) for name, array in stored.items()}
    if "X" in arrays:
        return Data(arrays["X"].astype(dtype, copy=False), arrays.get("y"))
    _check_starts(path, arrays["indptr"])
    parts = arrays["data"].astype(dtype), arrays["indices"], arrays["indptr"]
    return Data(_sparse(path, parts, arrays["shape"]), arrays.get("y"))


def npz_pieces(path: Any, dtype: Any, size: int) -> Iterator[Data]:
    """Examples and targets of a file, about `size` bytes of examples at a time.

    Where the columns of X are contiguous (Fortran order), each piece reads the file again, if it is
    compressed."""
    with _stored(path, True) as stored:
        if "X" not in stored:
            yield from _sparse_pieces(path, stored, dtype, size)
            return
        rows, columns = stored["X"].shape
        some = -(-size // max(columns * np.dtype(dtype).itemsize, 1))
        for begin in range(0, rows, some):
            count = min(some, rows - begin)
            yield Data(stored["X"].take(count).astype(dtype, copy=False), stored["y"].take(count))


def _sparse_pieces(path: Any, stored: dict[str, _Stored], dtype: Any, size: int) -> Iterator[Data]:
    rows, columns = stored["shape"].take(2)
    if rows != stored["indptr"].shape[0] - 1:
        raise _invalid_csr(path, f"{rows} rows and {stored['indptr'].shape[0]} elements of indptr")
    entries = -(-size // (np.dtype(dtype).itemsize + stored["indices"].dtype.itemsize))
    starts = stored["indptr"].take(1)
    if starts[0] != 0:
        raise _invalid_csr(path, f"indptr that begins with {starts[0]}")
    for begin in range(0, rows, STARTS_AT_ONCE):
        more = stored["indptr"].take(min(STARTS_AT_ONCE, rows - begin))
        starts = np.concatenate([starts[-1:], more]).astype(np.int64)
        _check_starts(path, starts)
        for a, b in _cuts(starts, entries):
            count = int(starts[b] - starts[a])
            parts = stored["data"].take(count).astype(dtype), stored["indices"].take(count)
            X = _sparse(path, (*parts, starts[a : b + 1] - starts[a]), [b - a, columns])
            yield Data(X, stored["y"].take(b - a))


def _cuts(starts: NDArray[np.int64], entries: int) -> Iterator[tuple[int, int]]:
    """Ranges of rows with at least this many entries, as short as possible; the last range may have
    fewer."""
    a, last = 0, len(starts) - 1
    while a < last:
        b = min(int(np.searchsorted(starts, starts[a] + entries)), last)
        yield a, b
        a = b


class _Stored:
    """An array in an archive, whose rows are read one after another."""

    def __init__(self, stream: Any) -> None:
        self.stream = stream
        first_version = npy.read_magic(stream) == (1, 0)
        read = npy.read_array_header_1_0 if first_version else npy.read_array_header_2_0
        self.shape, self.by_columns, self.dtype = read(stream)
        self.ndim, self.taken = len(self.shape), 0
        if self.dtype.hasobject:
            raise ValueError("pickled objects instead of numbers")
        self.begin = stream.tell()

    def take(self, count: int) -> NDArray[Any]:
        """The next rows."""
        if self.by_columns and self.ndim == 2:
            found = self._from_columns(count)
        else:
            row = tuple(self.shape[1:])
            found = self._read(count * int(np.prod(row, dtype=np.int64))).reshape(count, *row)
        self.taken += count
        return found

    def _from_columns(self, count: int) -> NDArray[Any]:
        rows, columns = self.shape
        found = np.empty((count, columns), self.dtype)
        for j in range(columns):
            self.stream.seek(self.begin + (j * rows + self.taken) * self.dtype.itemsize)
            found[:, j] = self._read(count)
        return found

    def _read(self, count: int) -> NDArray[Any]:
        found = np.empty(count, self.dtype)
        left = found.view(np.uint8).data
        while len(left):
            got = self.stream.readinto(left[:BYTES_AT_ONCE])
            if not got:
                raise EOFError(f"{self.stream.name} is shorter than its header says")
            left = left[got:]
        return found


@contextmanager
def _stored(path: Any, target_is_needed: bool) -> Iterator[dict[str, _Stored]]:
    """The arrays of a file that are needed, which exist and fit together."""
    try:
        with zipfile.ZipFile(path) as archive, ExitStack() as opened:
            files = {name.removesuffix(".npy"): name for name in archive.namelist()}
            stored = {
                name: _Stored(opened.enter_context(archive.open(files[name])))
                for name in ("X", "y", *PARTS)
                if name in files
            }
            _check(path, list(files), stored, target_is_needed)
            yield stored
    except FileError:
        raise
    except (zipfile.BadZipFile, zlib.error, ValueError, EOFError, MemoryError) as error:
        raise FileError(path, "a valid .npz file of numbers", found=str(error)) from error


def _check(path: Any, names: list[str], arrays: dict[str, _Stored], target_is_needed: bool) -> None:
    """FileError if arrays are missing, or do not fit together."""
    has_target = "y" in arrays or not target_is_needed
    if not has_target or not ("X" in arrays or all(part in arrays for part in PARTS)):
        raise FileError(
            path,
            "arrays X and y, or data, indices, indptr, shape (of a CSR matrix) and y",
            found=", ".join(names),
        )
    if "X" in arrays:
        X = arrays["X"]
        if X.ndim != 2 or X.dtype.kind not in "fiub":
            found = f"{X.ndim} dimensions of {X.dtype}"
            raise FileError(path, "X of two dimensions and of numbers", found=found)
        rows = X.shape[0]
    else:
        rows = _check_parts(path, {part: arrays[part] for part in PARTS})
    y = arrays.get("y")
    if y is not None and (y.ndim != 1 or y.shape[0] != rows):
        raise FileError(path, f"y of shape ({rows},)", found=f"y of shape {tuple(y.shape)}")


def _check_parts(path: Any, parts: dict[str, _Stored]) -> int:
    """The number of rows of a CSR matrix."""
    shapes = {name: tuple(part.shape) for name, part in parts.items()}
    flat = all(len(shape) == 1 for shape in shapes.values())
    fit = shapes["shape"] == (2,) and shapes["data"] == shapes["indices"]
    if not flat or not fit or shapes["indptr"] == (0,):
        raise _invalid_csr(path, ", ".join(f"{name} of shape {s}" for name, s in shapes.items()))
    for name, part in parts.items():
        if part.dtype.kind not in ("fiub" if name == "data" else "iu"):
            raise _invalid_csr(path, f"{name} of {part.dtype}")
    rows: int = shapes["indptr"][0] - 1
    return rows


def _check_starts(path: Any, starts: NDArray[Any]) -> None:
    """Rejects an indptr that decreases: SciPy does not notice a decrease to 0 at the end."""
    if (starts[1:] < starts[:-1]).any():
        raise _invalid_csr(path, "indptr that decreases")


def _sparse(path: Any, parts: tuple[Any, Any, Any], shape: Iterable[Any]) -> sp.csr_matrix:
    try:
        X = sp.csr_matrix(parts, shape=tuple(int(length) for length in shape), copy=False)
        X.check_format(full_check=True)
    except (ValueError, TypeError) as error:
        raise _invalid_csr(path, str(error)) from error
    return X


def _invalid_csr(path: Any, found: str) -> FileError:
    return FileError(path, "the parts of a valid CSR matrix", found=found)


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
