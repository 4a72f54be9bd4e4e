"""Tables with named columns: CSV with a header, and Parquet (with the package pyarrow)."""

from __future__ import annotations

import csv
import io
from typing import Any

import numpy as np
from numpy.typing import NDArray

from softmargin.io.data_file import Data, target_column
from softmargin.io.file_error import FileError
from softmargin.io.streams import reading, writing


def read_csv(path: Any, target: str | None, dtype: Any) -> Data:
    with reading(path) as stream:
        text = io.TextIOWrapper(stream, encoding="utf-8-sig", newline="")
        try:
            return _parse_csv(path, csv.reader(text, strict=True), target, dtype)
        except UnicodeDecodeError as error:
            raise FileError(path, "text in UTF-8", found=str(error)) from error
        finally:
            text.detach()


def _parse_csv(path: Any, rows: Any, target: str | None, dtype: Any) -> Data:
    try:
        names: list[str] = next(rows, [])
        if not names:
            raise FileError(path, "a header with the names of the columns", found="", line=1)
        column = target_column(path, names, target)
        values, targets = _parse_cells(path, rows, names, column)
    except csv.Error as error:
        raise FileError(path, "valid CSV", found=str(error), line=rows.line_num) from error
    width = len(names) - 1
    X = np.array(values, dtype=dtype).reshape(len(targets), width)
    features = tuple(name for k, name in enumerate(names) if k != column)
    return Data(X, as_targets(targets), features)


def _parse_cells(
    path: Any, rows: Any, names: list[str], column: int
) -> tuple[list[list[float]], list[str]]:
    values, targets = [], []
    for row in rows:
        if not row:
            continue
        if len(row) != len(names):
            raise FileError(
                path, f"{len(names)} fields", found=f"{len(row)} fields", line=rows.line_num
            )
        targets.append(row.pop(column))
        try:
            numbers = [_number(cell) for cell in row]
            broken = not np.isfinite(numbers).all()
        except ValueError:
            broken = True
        if broken:
            raise _broken_cell(path, row, column, names, rows.line_num)
        values.append(numbers)
    return values, targets


def _broken_cell(path: Any, row: list[str], target: int, names: list[str], line: int) -> FileError:
    for k, cell in enumerate(row):
        try:
            finite = np.isfinite(_number(cell))
        except ValueError:
            finite = False
        if not finite:
            field = k if k < target else k + 1
            return FileError(
                path,
                f"a finite number in the column {names[field]!r}",
                found=cell,
                line=line,
                column=field + 1,
            )
    raise AssertionError("a cell of the row is broken")


def _number(text: str) -> float:
    """As ``float``, but 1_0 is not a number in anybody's table but Python's."""
    if "_" in text:
        raise ValueError
    return float(text)


def as_targets(texts: list[str]) -> NDArray[Any]:
    """Numbers where all of them are, else names."""
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
        table.writerow(["label", *names])
        for label, row in zip(np.asarray(y).tolist(), X, strict=True):
            table.writerow([label, *row.tolist()])
        text.flush()
        text.detach()


def read_parquet(path: Any, target: str | None, dtype: Any) -> Data:
    parquet = _pyarrow(path)
    import pyarrow

    try:
        table = parquet.read_table(path)
    except (pyarrow.ArrowInvalid, pyarrow.ArrowNotImplementedError) as error:
        raise FileError(path, "a valid Parquet file", found=str(error)) from error
    names = list(table.column_names)
    column = target_column(path, names, target)
    features = [k for k in range(len(names)) if k != column]
    X = np.empty((table.num_rows, len(features)), dtype=dtype)
    for j, k in enumerate(features):
        X[:, j] = _numeric_column(path, table.column(k), names[k])
    y = np.asarray(table.column(column).to_pylist())
    return Data(X, y, tuple(names[k] for k in features))


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
    columns = {"label": np.asarray(y), **{name: X[:, k] for k, name in enumerate(names)}}
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
