"""Scaling features to a range, and the range files of svm-scale.

A feature with the smallest value min and the largest value max in the training data is scaled to
lower + (upper - lower) (value - min) / (max - min).  Constant features are left out, and so are
features that the range file does not list.  The format of the file::

    y                          only if the targets are scaled
    lower upper
    min max
    x
    lower upper
    index min max              for each feature that is not constant
    # columns ["a", "b"]       the names of the columns of a table; svm-scale stops reading here
"""

from __future__ import annotations

import json
import math
import re
from dataclasses import dataclass
from typing import Any, NoReturn

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from softmargin.io.file_error import FileError
from softmargin.io.models.text_header import finite, whole
from softmargin.io.streams import reading, writing
from softmargin.problem.sparse_columns import widened

Array = NDArray[np.float64]
BLOCK_ENTRIES = 2**22
NAMES = "# columns "


@dataclass(frozen=True)
class TargetRange:
    lower: float
    upper: float
    minimum: float
    maximum: float

    def apply(self, y: Array) -> Array:
        scaled: Array = _scaled(y, self.lower, self.upper, self.minimum, self.maximum)
        return scaled


@dataclass(frozen=True)
class Range:
    """The smallest and largest value of each feature, which scale it to [lower, upper].

    `features` are column numbers, counted from 0, in increasing order.
    """

    lower: float
    upper: float
    features: NDArray[np.int64]
    minimum: Array
    maximum: Array
    target: TargetRange | None = None
    names: tuple[str, ...] = ()
    """The columns of the table that the range is of, in order."""

    @classmethod
    def of(cls, X: Any, lower: float = -1.0, upper: float = 1.0) -> Range:
        """The range of X; entries that a sparse matrix does not store count as zeros."""
        if sp.issparse(X):
            features, low, high = _sparse_extremes(X.tocsr())
        else:
            X = np.asarray(X, dtype=np.float64)
            features, low, high = np.arange(X.shape[1]), X.min(axis=0), X.max(axis=0)
        varies = low != high
        return cls(lower, upper, features[varies], low[varies], high[varies])

    def plain(self) -> tuple[Any, ...]:
        """The tuple that a model file stores; ``Range(*plain)`` scales features the same way."""
        return self.lower, self.upper, self.features, self.minimum, self.maximum

    def apply(self, X: Any) -> sp.csr_matrix:
        """X scaled; it gets more columns if the range has features beyond the last column of X."""
        X = sp.csr_matrix(X, dtype=np.float64)
        width = max(X.shape[1], int(self.features.max(initial=-1)) + 1)
        X = widened(X, width)
        zeros = _scaled(np.zeros(len(self.features)), *self._limits())
        if zeros.any():
            return self._apply_to_all(X)
        return self._apply_to_entries(X)

    def _limits(self) -> tuple[float, float, Array, Array]:
        return self.lower, self.upper, self.minimum, self.maximum

    def _apply_to_entries(self, X: sp.csr_matrix) -> sp.csr_matrix:
        """If zeros stay zero, only the stored entries need scaling."""
        place, known = self._places(X.indices)
        data = np.zeros_like(X.data)
        low, high = self.minimum[place[known]], self.maximum[place[known]]
        data[known] = _scaled(X.data[known], self.lower, self.upper, low, high)
        scaled = sp.csr_matrix((data, X.indices, X.indptr), shape=X.shape, copy=True)
        scaled.eliminate_zeros()
        return scaled

    def _apply_to_all(self, X: sp.csr_matrix) -> sp.csr_matrix:
        # Selecting columns of X takes memory in proportion to the largest index, and a file of a
        # few bytes can make that index huge.  So the known features are renumbered from 0.
        place, known = self._places(X.indices)
        known_part = (np.where(known, X.data, 0.0), place, X.indptr)
        compact = sp.csr_matrix(known_part, shape=(X.shape[0], len(self.features)))
        rows = max(1, BLOCK_ENTRIES // len(self.features))
        blocks = []
        for start in range(0, X.shape[0], rows):
            values = compact[start : start + rows].toarray()
            block = sp.coo_matrix(_scaled(values, *self._limits()))
            block = (block.data, (block.row, self.features[block.col]))
            blocks.append(sp.csr_matrix(block, shape=(len(values), X.shape[1])))
        return sp.vstack(blocks, format="csr") if blocks else X

    def _places(self, columns: NDArray[np.integer]) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
        """The position of each column in `features`, and whether it is there at all."""
        place = np.searchsorted(self.features, columns)
        place = np.minimum(place, max(len(self.features) - 1, 0))
        known = self.features[place] == columns if len(self.features) else columns < 0
        return place, known

    def unknown(self, X: Any) -> list[int]:
        """Features of X, counted from 1, that the range does not have and so leaves out."""
        used = np.unique(sp.csr_matrix(X).indices)
        return [int(k) + 1 for k in np.setdiff1d(used, self.features)]


def _sparse_extremes(X: sp.csr_matrix) -> tuple[NDArray[np.int64], Array, Array]:
    """The columns that have entries, their smallest and their largest values."""
    features, column = np.unique(X.indices, return_inverse=True)
    entries = np.bincount(column, minlength=len(features))
    start = np.where(entries < X.shape[0], 0.0, np.nan)
    low, high = start.copy(), start.copy()
    np.fmin.at(low, column, X.data)
    np.fmax.at(high, column, X.data)
    return features.astype(np.int64), low, high


def _scaled(values: Any, lower: float, upper: float, low: Any, high: Any) -> Any:
    scaled = lower + (upper - lower) * (values - low) / (high - low)
    # The endpoints are set exactly, so that rounding cannot put them just outside the range.
    return np.where(values == low, lower, np.where(values == high, upper, scaled))


def write_range(path: Any, scale: Range) -> None:
    lines = []
    if scale.target is not None:
        target = scale.target
        lines += ["y", f"{_g(target.lower)} {_g(target.upper)}"]
        lines.append(f"{_g(target.minimum)} {_g(target.maximum)}")
    lines += ["x", f"{_g(scale.lower)} {_g(scale.upper)}"]
    rows = zip(scale.features.tolist(), scale.minimum, scale.maximum, strict=True)
    lines += [f"{index + 1} {_g(low)} {_g(high)}" for index, low, high in rows]
    if scale.names:
        lines.append(NAMES + json.dumps(scale.names))
    with writing(path) as stream:
        stream.write("".join(f"{line}\n" for line in lines).encode())


def _g(value: float) -> str:
    return f"{value:.17g}" if float(f"{value:.16g}") != value else f"{value:.16g}"


def read_range(path: Any) -> Range:
    with reading(path) as stream:
        return _RangeReader(path, stream).read()


class _RangeReader:
    """Reads a range file line by line."""

    def __init__(self, path: Any, stream: Any) -> None:
        self.path, self.line = path, 0
        self.lines = iter(stream)
        self.words: list[tuple[int, str]] = []
        self.raw = b""

    def read(self) -> Range:
        if not self._next():
            self._fail("x or y", "", None)
        target = self._target() if self._is_letter("y") else None
        if not self._is_letter("x"):
            self._fail("x", self._text(), 1)
        self._expect_line("the lower and the upper end of the range")
        lower, upper = self._pair()
        features: list[int] = []
        minimum, maximum = [], []
        names: tuple[str, ...] = ()
        while self._next():
            if self._text().startswith(NAMES):
                names = self._names()
                continue
            index, low, high = self._feature(features[-1] if features else 0)
            features.append(index)
            minimum.append(low)
            maximum.append(high)
        indices = np.array(features, dtype=np.int64) - 1
        return Range(lower, upper, indices, np.array(minimum), np.array(maximum), target, names)

    def _names(self) -> tuple[str, ...]:
        try:
            names = json.loads(self.raw.decode("utf-8").strip()[len(NAMES) :])
        except (ValueError, RecursionError):
            names = None
        if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
            self._fail("a list of names", self._text(), 1)
        return tuple(names)

    def _target(self) -> TargetRange:
        self._expect_line("the lower and the upper end of the range of the targets")
        lower, upper = self._pair()
        self._expect_line("the least and the greatest target")
        low, high = self._pair()
        self._expect_line("x")
        return TargetRange(lower, upper, low, high)

    def _feature(self, previous: int) -> tuple[int, float, float]:
        if len(self.words) != 3:
            self._fail("index min max", self._text(), 1)
        index = self._number(0, whole, "an index")
        if index <= previous:
            self._fail(f"an index above {previous}", self.words[0][1], self.words[0][0])
        low, high = (self._number(k, finite, "a finite number") for k in (1, 2))
        if low >= high or not math.isfinite(high - low):
            self._fail("a min below the max", self._text(), self.words[1][0])
        return index, low, high

    def _pair(self) -> tuple[float, float]:
        if len(self.words) != 2:
            self._fail("two numbers", self._text(), 1)
        low, high = (self._number(k, finite, "a finite number") for k in (0, 1))
        if low >= high or not math.isfinite(high - low):
            self._fail("a lower end below the upper end", self._text(), 1)
        return low, high

    def _number(self, place: int, convert: Any, what: str) -> Any:
        column, word = self.words[place]
        try:
            return convert(word)
        except ValueError:
            self._fail(what, word, column)

    def _is_letter(self, letter: str) -> bool:
        return [word for _, word in self.words] == [letter]

    def _text(self) -> str:
        return " ".join(word for _, word in self.words)

    def _next(self) -> bool:
        """Moves to the next line that is not empty; False at the end of the file."""
        for raw in self.lines:
            self.line += 1
            self.raw = raw
            text = raw.decode("latin-1")
            self.words = [(m.start() + 1, m.group()) for m in re.finditer(r"\S+", text)]
            if self.words:
                return True
        self.line += 1
        self.words = []
        return False

    def _expect_line(self, what: str) -> None:
        if not self._next():
            self._fail(what, "", None)

    def _fail(self, expected: str, found: str, column: int | None) -> NoReturn:
        raise FileError(self.path, expected, found=found, line=self.line, column=column)
