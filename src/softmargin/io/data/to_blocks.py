"""Converts a data file of any format to a folder of blocks, with one block in memory at a time."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from softmargin.io.data.block_folder import (
    BlockFolder,
    change_targets,
    empty_folder,
    write_block,
)
from softmargin.io.data.columns import Wanted
from softmargin.io.data.formats import TABLES, Data, as_labels, refuse_columns
from softmargin.io.data.libsvm_text import libsvm_pieces
from softmargin.io.file_error import FileError
from softmargin.io.streams import suffix_within
from softmargin.problem.sparse_columns import widened

BLOCK_SIZE = 100_000_000
"""Bytes of a block in memory, by default."""


def convert_to_blocks(
    path: Any,
    folder: Any,
    *,
    size: int = BLOCK_SIZE,
    dtype: Any = np.float64,
    target: str | None = None,
    ignore: Sequence[str] = (),
    zero_based: bool = False,
    kind: str | None = None,
    on_note: Callable[[str], None] = lambda note: None,
) -> BlockFolder:
    """Converts a data file to a folder of blocks.

    Labels become integers if all of them are whole numbers; the targets of a table are text unless
    all of them are numbers.

    Parameters
    ----------
    path : str or path
        LIBSVM's text, .csv, .parquet or .npz.
    folder : str or path
        A folder that does not exist yet, or is empty.
    size : int, default=100000000
        Bytes of a block in memory, about.  A fit has two blocks in memory.
    dtype : {float64, float32}, default=float64
        Type of the values; float32 is half as much to read in each pass of a fit.
    target, ignore, zero_based, kind
        As for :func:`softmargin.io.read_data`.
    on_note : callable
        Called with each note about the data.
    """
    if not size > 0:
        raise ValueError(f"size={size!r} must be a positive number of bytes.")
    place = empty_folder(folder)
    kind = suffix_within(path) if kind is None else kind
    wanted = Wanted(target, None, None, tuple(ignore))
    pieces = _pieces(path, kind, wanted, dtype, zero_based, size)
    count, width, targets = 0, 0, _Targets()
    names: tuple[str, ...] = ()
    target_name = None
    for block in _gathered(pieces, size):
        for note in block.notes:
            on_note(note)
        names, target_name = block.feature_names, block.target_name
        targets.see(block.y)
        write_block(place / str(count), block.X, block.y)
        count, width = count + 1, max(width, block.X.shape[1])
    if not count:
        raise FileError(path, "rows of data", found="none")
    change_targets(place, count, targets.final)
    return BlockFolder._complete(place, count, width, names, target_name)


def _pieces(
    path: Any, kind: str, wanted: Wanted, dtype: Any, zero_based: bool, size: int
) -> Iterator[Data]:
    if kind in TABLES:
        from softmargin.io.data.csv_parquet import csv_pieces, parquet_pieces

        yield from (csv_pieces if kind == ".csv" else parquet_pieces)(path, wanted, dtype)
        return
    refuse_columns(path, target=wanted.target, ignore=wanted.ignore or None)
    if kind == ".npz":
        from softmargin.io.data.npz import npz_pieces

        yield from npz_pieces(path, dtype, size)
    else:
        for X, y in libsvm_pieces(path, dtype=dtype, zero_based=zero_based):
            yield Data(X, y)


def _gathered(pieces: Iterator[Data], size: int) -> Iterator[Data]:
    """Joins pieces until they have at least `size` bytes."""
    some: list[Data] = []
    held = 0
    for piece in pieces:
        if not piece.X.shape[0]:
            continue
        some.append(piece)
        X = piece.X
        held += X.data.nbytes + X.indices.nbytes if sp.issparse(X) else X.nbytes
        if held >= size:
            yield _together(some)
            some, held = [], 0
    if some:
        yield _together(some)


def _together(pieces: list[Data]) -> Data:
    first = pieces[0]
    if len(pieces) == 1:
        return first
    y = np.concatenate([piece.y for piece in pieces])
    if sp.issparse(first.X):
        width = max(piece.X.shape[1] for piece in pieces)
        X = sp.vstack([widened(piece.X, width) for piece in pieces], format="csr")
    else:
        X = np.concatenate([piece.X for piece in pieces])
    notes = tuple(note for piece in pieces for note in piece.notes)
    return Data(X, y, first.feature_names, notes, first.target_name)


class _Targets:
    """Which type the targets of all blocks have, once all are known."""

    def __init__(self) -> None:
        self.numbers = self.whole = True

    def see(self, y: NDArray[Any]) -> None:
        found = _numbers(y)
        self.numbers = self.numbers and found.dtype.kind in "fiub"
        self.whole = self.whole and as_labels(found).dtype.kind in "iu"

    def final(self, y: NDArray[Any]) -> NDArray[Any]:
        if not self.numbers:
            return y
        found = _numbers(y)
        return np.asarray(as_labels(found)) if self.whole else found


def _numbers(y: NDArray[Any]) -> NDArray[Any]:
    """Text converted to numbers, if every text is a number; else unchanged."""
    if y.dtype.kind != "U":
        return y
    from softmargin.io.data.csv_parquet import as_targets

    return as_targets(y.tolist())
