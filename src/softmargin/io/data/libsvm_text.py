"""Data in LIBSVM's (SVMlight's) text format: ``label index:value index:value ...`` per line.

Indices count from 1 and increase within a line; ``# ...`` is a comment; ``qid:n`` after the label
is ignored.  The core reads the file twice, in blocks of lines: first it counts rows and entries,
then it fills arrays of exactly that size.  So only the result needs memory that grows with the
file.
"""

from __future__ import annotations

import io
import warnings
from collections.abc import Iterable, Iterator
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
from softmargin.problem.sparse_columns import widened

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
    labels_are_needed: bool = True,
) -> tuple[sp.csr_matrix, Any]:
    """Reads a file and returns its examples, as a CSR matrix, and its labels.

    Parameters
    ----------
    path : str, path or binary stream
        ``.gz``, ``.bz2``, ``.xz`` and ``.zst`` are decompressed; "-" is standard input.
    n_features : int, default=None
        Number of columns; by default the largest index in the file.
    dtype : {float64, float32}, default=float64
        Type of the values.  A float32 is rounded from the nearest float64.
    zero_based : bool, default=False
        Whether indices count from 0, as in files of precomputed kernels (``0:serial``).
    n_threads : int, default=None
        Number of threads; by default one per available processor.
    labels_are_needed : bool, default=True
        If False, a file whose first row begins with ``index:value`` is read as one without labels,
        and None is returned for them.
    """
    with reading(path) as stream:
        leading = 1 if labels_are_needed or _has_labels(stream) else 0
        labels, X, queries = read_rows(
            stream,
            path,
            leading=leading,
            first_index=int(not zero_based),
            dtype=dtype,
            threads=n_threads,
        )
    if queries:
        warnings.warn(
            f"{path}: {queries} qid fields were ignored: ranking is not supported.",
            stacklevel=2,
        )
    _check_labels(path, labels)
    if n_features is not None:
        if X.shape[1] > n_features:
            raise FileError(
                path, f"indices up to n_features={n_features}", found=f"index {X.shape[1]}"
            )
        X = widened(X, n_features)
    return X, labels[:, 0] if leading else None


def libsvm_pieces(
    path: Any, *, dtype: Any = np.float64, zero_based: bool = False
) -> Iterator[tuple[sp.csr_matrix, Array]]:
    """Examples and labels of a file, some megabytes at a time.  Each piece has as many columns as
    its largest index."""
    threads, line, first_index = available_processors(), 1, int(not zero_based)
    with reading(path) as stream:
        for block in line_blocks(stream, BLOCK_BYTES * threads):
            lines = _core.text.plan(block, 1, first_index, threads).lines
            labels, X, _ = read_rows(
                io.BytesIO(block),
                path,
                leading=1,
                first_index=first_index,
                dtype=dtype,
                threads=threads,
                first_line=line,
            )
            _check_labels(path, labels)
            yield X, labels[:, 0]
            line += lines


def _check_labels(path: Any, labels: Any) -> None:
    """Whole numbers from 2^53 on are rounded, so classes could be merged silently."""
    large = (np.abs(labels) > 2.0**53) & (np.abs(labels) < 2.0**64)  # as identifiers may be
    if large.any() and (labels == np.rint(labels)).all():
        warnings.warn(
            f"{path}: the label {labels[large][0]:.0f} is beyond 2^53: labels are read as float64,"
            " and those that differ in their last digits are the same. Renumber the classes.",
            stacklevel=3,
        )


def _has_labels(stream: Any) -> bool:
    """Whether the first row begins with a label, that is, a token without a colon.  The position
    of the stream does not change."""
    start = stream.tell()
    for line in stream:
        words = line.partition(b"#")[0].split()
        if words:
            break
    else:
        words = [b""]
    stream.seek(start)
    return b":" not in words[0]


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
    """Reads from the current position to the end of a stream.  Returns the `leading` numbers of
    each row, the index:value entries as CSR, and the number of rows with a qid."""
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
    """Rejects a file that is too short for `leading` numbers per row, before memory is allocated
    for them: each number takes at least two bytes."""
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
    """Parses the planned blocks into the arrays; returns the number of columns."""
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
    """The core's report of a broken line as a FileError."""
    return FileError(
        path, problem.expected, found=problem.found, line=problem.line, column=problem.column
    )


def problems(
    path: Any, *, zero_based: bool = False, limit: int = 100, labels_are_needed: bool = True
) -> list[FileError]:
    """The first `limit` broken lines of a file, each with its first error."""
    found: list[FileError] = []
    first_index, line = int(not zero_based), 1
    with reading(path) as stream:
        leading = 1 if labels_are_needed or _has_labels(stream) else 0
        for block in line_blocks(stream):
            some = _core.text.problems(block, leading, first_index, line, limit - len(found))
            found += [problem_error(path, problem) for problem in some]
            if len(found) >= limit:
                break
            line += _core.text.plan(block, leading, first_index, 1).lines
    return found


def write_libsvm(path: Any, X: Any, y: Any, *, zero_based: bool = False) -> None:
    """Writes examples and labels (or None) without zeros; each number has the fewest digits that
    read back as the same number."""
    X = as_csr(X) if y is not None else _without_empty_rows(as_csr(X))
    labels = np.empty((X.shape[0], 0)) if y is None else np.asarray(y, np.float64).reshape(-1, 1)
    if labels.shape[0] != X.shape[0]:
        raise ValueError(f"X has {X.shape[0]} rows, but y has {labels.shape[0]} labels.")
    with writing(path) as stream:
        write_rows(stream, labels, X, first_index=int(not zero_based))


def write_rows(stream: Any, leading: Array, X: sp.csr_matrix, *, first_index: int) -> None:
    for start in range(0, X.shape[0], ROWS_PER_WRITE):
        rows = X[start : start + ROWS_PER_WRITE]
        numbers = np.ascontiguousarray(leading[start : start + ROWS_PER_WRITE], dtype=np.float64)
        text = _core.text.format(numbers, rows.data, rows.indices, rows.indptr, first_index)
        stream.write(text if leading.shape[1] else text.replace(b"\n ", b"\n").lstrip(b" "))


def _without_empty_rows(X: sp.csr_matrix) -> sp.csr_matrix:
    """Adds an explicit zero to each empty row: without a label, its line would be empty and would
    not count as a row."""
    empty = np.flatnonzero(np.diff(X.indptr) == 0)
    data, indices = (np.insert(array, X.indptr[empty], 0) for array in (X.data, X.indices))
    starts = X.indptr + np.searchsorted(empty, np.arange(X.shape[0] + 1)).astype(X.indptr.dtype)
    return sp.csr_matrix((data, indices, starts), shape=(X.shape[0], max(X.shape[1], 1)))


def as_csr(X: Any) -> sp.csr_matrix:
    """X in the form that the core writes: canonical CSR of float32 or float64 without zeros."""
    X = sp.csr_matrix(X)
    if X.dtype not in (np.float32, np.float64):
        X = X.astype(np.float64)
    if not X.has_canonical_format or (X.data == 0).any():
        X = X.copy()
        X.sum_duplicates()
        X.eliminate_zeros()
    return X


def _checked_dtype(dtype: Any) -> np.dtype[Any]:
    wanted: np.dtype[Any] = np.dtype(dtype)
    if wanted not in (np.dtype(np.float64), np.dtype(np.float32)):
        raise ValueError(f"dtype={dtype!r} is not supported: use float64 or float32.")
    return wanted
