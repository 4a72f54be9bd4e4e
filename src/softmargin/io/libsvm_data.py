"""Data in LIBSVM's (SVMlight's) text format: ``label index:value index:value ...`` per line.

Indices count from 1 and rise within a line; ``# ...`` is a comment; ``qid:n`` after the label is
passed over.  The core reads in blocks of lines, twice: it counts, and then fills arrays of the
right size, so that nothing but the result grows with the file.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from softmargin import _core
from softmargin.io.file_error import FileError
from softmargin.io.streams import (
    BLOCK_BYTES,
    available_processors,
    line_blocks,
    reading,
    writing,
)

Array = NDArray[np.float64]

ROWS_PER_WRITE = 4096
INT32_MAX = 2**31 - 1


def read_libsvm(
    path: Any,
    *,
    n_features: int | None = None,
    dtype: Any = np.float64,
    zero_based: bool = False,
    n_threads: int | None = None,
) -> tuple[sp.csr_matrix, Array]:
    """The examples, as a CSR matrix, and the labels of a file.

    Parameters
    ----------
    path : str, path or binary stream
        ``.gz``, ``.bz2``, ``.xz`` and ``.zst`` are decompressed; "-" is standard input.
    n_features : int, default=None
        Number of columns; by default the largest index in the file.
    dtype : {float64, float32}, default=float64
        Type of the values.  float32 is the nearest double, rounded.
    zero_based : bool, default=False
        Whether indices count from 0, as in files of precomputed kernels (``0:serial``).
    n_threads : int, default=None
        How many threads read; by default one per available processor.
    """
    with reading(path) as stream:
        labels, X, queries = read_rows(
            stream, path, leading=1, first_index=int(not zero_based), dtype=dtype, threads=n_threads
        )
    if queries:
        warnings.warn(
            f"{path}: {queries} qid fields were passed over: there is no ranking here.",
            stacklevel=2,
        )
    if n_features is not None:
        if X.shape[1] > n_features:
            raise FileError(
                path, f"indices up to n_features={n_features}", found=f"index {X.shape[1]}"
            )
        X = _resized(X, n_features)
    return X, labels[:, 0]


def read_rows(
    stream: Any,
    path: Any,
    *,
    leading: int,
    first_index: int,
    dtype: Any = np.float64,
    threads: int | None = None,
    first_line: int = 1,
) -> tuple[Array, sp.csr_matrix, int]:
    """The rows from here to the end of a stream: their leading numbers, the rest as CSR, and how
    many had a qid."""
    start = stream.tell()
    threads = threads or available_processors()
    block_bytes = BLOCK_BYTES * threads
    blocks = line_blocks(stream, block_bytes)
    plans = [_core.text.plan(block, leading, first_index, threads) for block in blocks]
    rows = sum(plan.rows for plan in plans)
    if leading > 1:
        _check_first_line(stream, path, start, rows, leading, first_index, first_line)
    entries = sum(plan.entries for plan in plans)
    numbers = np.empty((rows, leading))
    values = np.empty(entries, dtype=_checked_dtype(dtype))
    for offset in (np.int32, np.int64) if entries <= INT32_MAX else (np.int64,):
        indices, starts = np.empty(entries, offset), np.zeros(rows + 1, offset)
        stream.seek(start)
        blocks = line_blocks(stream, block_bytes)
        width = _fill(blocks, path, plans, numbers, values, indices, starts, first_line)
        if width <= INT32_MAX:
            break
    X = sp.csr_matrix((values, indices, starts), shape=(rows, width), copy=False)
    return numbers, X, sum(plan.queries for plan in plans)


def _check_first_line(
    stream: Any, path: Any, start: int, rows: int, leading: int, first_index: int, line: int
) -> None:
    """Refuses rows that cannot have the leading numbers announced, before making room for them:
    each takes at least two bytes."""
    if 2 * rows * leading <= stream.tell() - start + 1:
        return
    stream.seek(start)
    for block in line_blocks(stream):
        for problem in _core.text.problems(block, leading, first_index, line, 1):
            raise problem_error(path, problem)
        line += _core.text.plan(block, leading, first_index, 1).lines


def _fill(
    blocks: Iterable[memoryview],
    path: Any,
    plans: list[Any],
    numbers: Array,
    values: NDArray[Any],
    indices: NDArray[Any],
    starts: NDArray[Any],
    line: int,
) -> int:
    """Parses the planned blocks into the arrays; returns how many columns there are."""
    row = entry = width = 0
    for plan, block in zip(plans, blocks, strict=True):
        row_end, entry_end = row + plan.rows, entry + plan.entries
        filled = _core.text.fill(
            block,
            plan,
            numbers[row:row_end],
            values[entry:entry_end],
            indices[entry:entry_end],
            starts[row + 1 : row_end + 1],
            entry,
            line,
        )
        if filled.problem:
            raise problem_error(path, filled.problem)
        width = max(width, filled.width)
        row, entry, line = row_end, entry_end, line + plan.lines
    return width


def problem_error(path: Any, problem: Any) -> FileError:
    """The core's report of a broken line, as an error."""
    return FileError(
        path, problem.expected, found=problem.found, line=problem.line, column=problem.column
    )


def problems(path: Any, *, zero_based: bool = False, limit: int = 100) -> list[FileError]:
    """The first `limit` broken lines of a file, each with the first thing wrong in it."""
    found: list[FileError] = []
    first_index, line = int(not zero_based), 1
    with reading(path) as stream:
        for block in line_blocks(stream):
            some = _core.text.problems(block, 1, first_index, line, limit - len(found))
            found += [problem_error(path, problem) for problem in some]
            if len(found) >= limit:
                break
            line += _core.text.plan(block, 1, first_index, 1).lines
    return found


def write_libsvm(path: Any, X: Any, y: Any, *, zero_based: bool = False) -> None:
    """Writes examples and labels, zeros left out, each number with the fewest digits that read
    back the same."""
    X, labels = as_csr(X), np.asarray(y, dtype=np.float64).reshape(-1, 1)
    if labels.shape[0] != X.shape[0]:
        raise ValueError(f"X has {X.shape[0]} rows, but y has {labels.shape[0]} labels.")
    with writing(path) as stream:
        write_rows(stream, labels, X, first_index=int(not zero_based))


def write_rows(stream: Any, leading: Array, X: sp.csr_matrix, *, first_index: int) -> None:
    for start in range(0, X.shape[0], ROWS_PER_WRITE):
        rows = X[start : start + ROWS_PER_WRITE]
        numbers = np.ascontiguousarray(leading[start : start + ROWS_PER_WRITE], dtype=np.float64)
        stream.write(_core.text.format(numbers, rows.data, rows.indices, rows.indptr, first_index))


def as_csr(X: Any) -> sp.csr_matrix:
    """X as the core writes it: canonical CSR of float32 or float64 without zeros."""
    X = sp.csr_matrix(X)
    if X.dtype not in (np.float32, np.float64):
        X = X.astype(np.float64)
    if not X.has_canonical_format or (X.data == 0).any():
        X = X.copy()
        X.sum_duplicates()
        X.eliminate_zeros()
    return X


def _resized(X: sp.csr_matrix, n_features: int) -> sp.csr_matrix:
    return sp.csr_matrix((X.data, X.indices, X.indptr), shape=(X.shape[0], n_features), copy=False)


def _checked_dtype(dtype: Any) -> np.dtype[Any]:
    wanted: np.dtype[Any] = np.dtype(dtype)
    if wanted not in (np.dtype(np.float64), np.dtype(np.float32)):
        raise ValueError(f"dtype={dtype!r} is not supported: use float64 or float32.")
    return wanted
