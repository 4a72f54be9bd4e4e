"""Tables with named columns: CSV with a header, and Parquet (with the package pyarrow)."""

from __future__ import annotations

import csv
import io
import itertools
import math
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from softmargin.io.data.columns import Wanted, choose_columns, shell_word
from softmargin.io.data.csv_hints import counting_columns, header_problem, text_column
from softmargin.io.data.formats import Data
from softmargin.io.file_error import FileError
from softmargin.io.streams import reading, writing

ROWS_PER_PIECE = 4096


def csv_pieces(path: Any, wanted: Wanted, dtype: Any) -> Iterator[Data]:
    """Some rows at a time.  Targets are text, because a later one may not be a number."""
    with _table(path, wanted) as table:
        choice, notes = table.choice, table.choice.notes
        while some := list(itertools.islice(table.rows, ROWS_PER_PIECE)):
            X = np.array([table.numbers(*row) for row in some], dtype=dtype)
            y = np.array([table.target_of(*row) for row in some], dtype=str)
            X = X.reshape(len(some), len(choice.features))
            yield Data(X, y, choice.feature_names, notes, choice.target_name)
            notes = ()


def parquet_pieces(path: Any, wanted: Wanted, dtype: Any) -> Iterator[Data]:
    """Some rows at a time."""
    with opened_parquet(path) as file:
        import pyarrow

        for batch in file.iter_batches(ROWS_PER_PIECE):
            yield parquet_data(path, pyarrow.Table.from_batches([batch]), wanted, dtype)


def read_csv(path: Any, wanted: Wanted, dtype: Any) -> Data:
    with _table(path, wanted) as table:
        values, targets, lines = [], [], []
        for number, row in table.rows:
            values.append(table.numbers(number, row))
            targets.append(table.target_of(number, row))
            lines.append(number)
    choice = table.choice
    X = np.array(values, dtype=dtype).reshape(len(targets), len(choice.features))
    y = None if choice.target is None else as_targets(targets)
    notes = table.notes(X)
    if y is not None:
        notes += table.doubts(y, lines)
    return Data(X, y, choice.feature_names, notes, choice.target_name)


def csv_problems(path: Any, wanted: Wanted, limit: int) -> list[FileError]:
    """The first `limit` broken lines of a file, each with its first error."""
    found: list[FileError] = []
    try:
        with _table(path, wanted) as table:
            first = list(itertools.islice(table.rows, 2))
            found += table.leave_out_words(first)
            for number, row in itertools.chain(first, table.rows):
                if len(found) >= limit:
                    break
                try:
                    table.numbers(number, row)
                    table.target_of(number, row)
                except FileError as error:
                    found.append(error)
    except FileError as error:  # the rest of the file cannot be read
        found.append(error)
    return found[:limit]


@contextmanager
def _table(path: Any, wanted: Wanted) -> Iterator[_Table]:
    with reading(path) as stream:
        text = io.TextIOWrapper(stream, encoding="utf-8-sig", newline="")
        rows = csv.reader(text, strict=True)
        try:
            yield _Table(path, rows, wanted)
        except UnicodeDecodeError as error:
            raise FileError(path, f"text in UTF-8 ({NOT_UTF8})", found=_byte(error)) from error
        except csv.Error as error:
            expected = _csv_problem(str(error))
            raise FileError(path, expected, found=str(error), line=rows.line_num) from error
        finally:
            text.detach()


NO_MISSING_VALUES = " (missing values have to be filled in, or their rows left out)"
NOT_UTF8 = "iconv -f latin1 -t utf-8 converts a file from Western Europe"


def _byte(error: UnicodeDecodeError) -> str:
    return f"the byte 0x{error.object[error.start]:02x}"


def _csv_problem(text: str) -> str:
    if "unexpected end of data" in text:
        return "the quote that ends a quoted field"
    return "valid CSV"


class _Table:
    """The rows of a CSV file, after its header."""

    def __init__(self, path: Any, rows: Any, wanted: Wanted) -> None:
        self.path, self.wanted = path, wanted
        names: list[str] = next(rows, [])
        if not names:
            raise FileError(path, "a header with the names of the columns", found="", line=1)
        problem = header_problem(names)
        if problem:
            raise FileError(path, problem, line=1)
        self.names = names
        self.choice = choose_columns(path, names, wanted)
        self.rows = ((rows.line_num, row) for row in rows if row)

    def numbers(self, line: int, row: list[str]) -> list[float]:
        if len(row) != len(self.names):
            expected = f"{len(self.names)} fields"
            raise FileError(self.path, expected, found=f"{len(row)} fields", line=line)
        try:
            numbers = [_number(row[k]) for k in self.choice.features]
        except ValueError:
            numbers = [math.nan]
        if not np.isfinite(numbers).all():
            raise self._broken_cell(line, row)
        return numbers

    def leave_out_words(self, rows: list[tuple[int, list[str]]]) -> list[FileError]:
        """Drops the features that are text in all of `rows` and returns one error for each.
        Otherwise every line would report the same error."""
        if len(rows) < 2 or any(len(row) != len(self.names) for _, row in rows):
            return []
        words = [k for k in self.choice.features if all(_is_word(row[k]) for _, row in rows)]
        features = tuple(k for k in self.choice.features if k not in words)
        errors = [self._broken(*rows[0], k) for k in words]
        self.choice = replace(self.choice, features=features)
        return errors

    def target_of(self, line: int, row: list[str]) -> str:
        k = self.choice.target
        if k is None:
            return ""
        if not row[k].strip():
            name = self.names[k]
            expected = (
                f"a label or target in the column {name!r} (--ignore {shell_word(name)} reads the"
                " file without targets)"
            )
            raise FileError(self.path, expected, found="", line=line, column=k + 1)
        return row[k]

    def doubts(self, y: Any, lines: list[int]) -> tuple[str, ...]:
        """A note if most targets are numbers and a few are not: these may be missing values.
        Raises FileError if a number is not finite."""
        name = self.choice.target_name
        if y.dtype.kind == "f":
            bad = np.flatnonzero(~np.isfinite(y))
            if len(bad):
                place = {"line": lines[bad[0]], "column": (self.choice.target or 0) + 1}
                expected = f"a finite number in the column {name!r}"
                raise FileError(self.path, expected, found=str(y[bad[0]]), **place)
            return ()
        words = [k for k, text in enumerate(y.tolist()) if _is_word(text)]
        if len(words) * 10 > len(y):
            return ()
        first = words[0]
        return (
            f"the column {name!r} is read as words: {str(y[first])!r} in line {lines[first]} is"
            " not a number",
        )

    def notes(self, X: Any) -> tuple[str, ...]:
        counting = [] if self.wanted.features else counting_columns(self.choice.feature_names, X)
        more = [
            f"the column {name!r} numbers the rows and is used as a feature;"
            f" --ignore {shell_word(name)} leaves it out"
            for name in counting
        ]
        return (*self.choice.notes, *more)

    def _broken_cell(self, line: int, row: list[str]) -> FileError:
        for k in self.choice.features:
            if _is_word(row[k]) or not row[k].strip() or not math.isfinite(_number(row[k])):
                return self._broken(line, row, k)
        raise AssertionError("a cell of the row is broken")

    def _broken(self, line: int, row: list[str], k: int) -> FileError:
        hint = text_column(self.names[k], self.choice.target is not None)
        expected = f"a finite number in the column {self.names[k]!r}"
        expected += hint if _is_word(row[k]) else "" if row[k].strip() else NO_MISSING_VALUES
        return FileError(self.path, expected, found=row[k], line=line, column=k + 1)


def _is_word(text: str) -> bool:
    try:
        _number(text)
    except ValueError:
        return bool(text.strip())
    return False


def _number(text: str) -> float:
    """Like ``float``, but rejects underscores: 1_0 is a number only in Python."""
    if "_" in text:
        raise ValueError
    return float(text)


def as_targets(texts: list[str]) -> NDArray[Any]:
    """Numbers if every text is a number, else the texts."""
    try:
        numbers = np.array([_number(text) for text in texts])
    except ValueError:
        return np.array(texts, dtype=str)
    return numbers


def write_csv(path: Any, X: NDArray[Any], y: Any, feature_names: tuple[str, ...]) -> None:
    names = feature_names or tuple(f"x{k + 1}" for k in range(X.shape[1]))
    with writing(path) as stream:
        text = io.TextIOWrapper(stream, encoding="utf-8", newline="")
        table = csv.writer(text, lineterminator="\n")
        table.writerow([*(["label"] if y is not None else []), *names])
        labels = [[]] * len(X) if y is None else [[label] for label in np.asarray(y).tolist()]
        for label, row in zip(labels, X, strict=True):
            table.writerow([*label, *row.tolist()])
        text.flush()
        text.detach()


def read_parquet(path: Any, wanted: Wanted, dtype: Any) -> Data:
    with _parquet(path) as parquet:
        return parquet_data(path, parquet.read_table(path), wanted, dtype)


@contextmanager
def opened_parquet(path: Any) -> Iterator[Any]:
    """The file, to be read in parts."""
    with _parquet(path) as parquet, parquet.ParquetFile(path) as file:
        yield file


@contextmanager
def _parquet(path: Any) -> Iterator[Any]:
    """The module that reads such files; its errors are FileError."""
    parquet = _pyarrow(path)
    import pyarrow

    try:
        yield parquet
    except (pyarrow.ArrowInvalid, pyarrow.ArrowNotImplementedError) as error:
        raise FileError(path, "a valid Parquet file", found=str(error)) from error


def parquet_data(path: Any, table: Any, wanted: Wanted, dtype: Any) -> Data:
    """The chosen columns of a table, or of some rows of it."""
    names = list(table.column_names)
    choice = choose_columns(path, names, wanted)
    X = np.empty((table.num_rows, len(choice.features)), dtype=dtype)
    for j, k in enumerate(choice.features):
        X[:, j] = _numeric_column(path, table.column(k), names[k])
    y = None if choice.target is None else np.asarray(table.column(choice.target).to_pylist())
    return Data(X, y, choice.feature_names, choice.notes, choice.target_name)


def _numeric_column(path: Any, column: Any, name: str) -> NDArray[np.float64]:
    try:
        values = np.asarray(column.to_numpy(), dtype=np.float64)
    except (TypeError, ValueError):
        values = None
    if values is None or not np.isfinite(values).all():
        raise FileError(
            path, "finite numbers", found=f"column {name!r} of type {column.type} with others"
        )
    return values


def write_parquet(path: Any, X: NDArray[Any], y: Any, feature_names: tuple[str, ...]) -> None:
    parquet = _pyarrow(path)
    import pyarrow

    names = feature_names or tuple(f"x{k + 1}" for k in range(X.shape[1]))
    columns = {} if y is None else {"label": np.asarray(y)}
    columns |= {name: X[:, k] for k, name in enumerate(names)}
    with writing(path) as stream:
        parquet.write_table(pyarrow.table(columns), stream)


def _pyarrow(path: Any) -> Any:
    try:
        import pyarrow.parquet
    except ImportError:
        raise FileError(
            path,
            "the package pyarrow for .parquet files: install it with"
            " pip install 'softmargin[parquet]'",
        ) from None
    return pyarrow.parquet
