"""Data files in every format; the suffix decides which.

``.csv`` (with a header), ``.npz`` and ``.parquet``; everything else is LIBSVM's text format.  CSV
and text files may be compressed, with a second suffix: ``data.csv.gz``.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from softmargin.io.data.columns import Wanted
from softmargin.io.data.libsvm_text import read_libsvm, write_libsvm
from softmargin.io.file_error import FileError, name_of
from softmargin.io.streams import suffix_within

TABLES = (".csv", ".parquet")
"""Files whose columns have names."""


@dataclass(frozen=True)
class Data:
    """The contents of a data file; `notes` are messages for the user."""

    X: Any
    y: Any
    """None if the file has no targets and they were not required."""
    feature_names: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    target_name: str | None = None


def read_data(
    path: Any,
    *,
    target: str | None = None,
    features: Sequence[str] | None = None,
    ignore: Sequence[str] = (),
    target_is_needed: bool = True,
    usual_target: str | None = None,
    dtype: Any = np.float64,
    zero_based: bool = False,
    n_features: int | None = None,
    kind: str | None = None,
) -> Data:
    """Reads a data file; the suffix of its name decides the format.

    Parameters
    ----------
    path : str, path, or binary stream of LIBSVM text
    target : str, default=None
        For CSV and Parquet: the column with the targets, by name or by position (-1 is the last);
        by default the column called label, target, y or class.
    features : sequence of str, default=None
        For CSV and Parquet: the columns to read as features, in this order; by default all except
        the target and those in `ignore`.
    ignore : sequence of str, default=()
        For CSV and Parquet: columns that are neither feature nor target.
    target_is_needed : bool, default=True
        If False, a file without targets is accepted, and ``y`` is then None.
    usual_target : str, default=None
        With ``target=None``: the name of the target column, if the file has a column of that name.
    dtype : {float64, float32}, default=float64
        Type of the values.
    zero_based : bool, default=False
        For LIBSVM text: whether indices count from 0.
    n_features : int, default=None
        For LIBSVM text: the number of columns; by default the largest index in the file.
    kind : str, default=None
        The suffix of the format, such as ".csv"; by default that of the file's name.
    """
    kind = suffix_within(path) if kind is None else kind
    if kind in TABLES:
        from softmargin.io.data.csv_parquet import read_csv, read_parquet

        names = None if features is None else tuple(features)
        wanted = Wanted(target, usual_target, names, tuple(ignore), target_is_needed)
        return (read_csv if kind == ".csv" else read_parquet)(path, wanted, dtype)
    refuse_columns(path, target=target, ignore=ignore or None)
    if kind == ".npz":
        from softmargin.io.data.npz import read_npz

        return read_npz(path, dtype, target_is_needed=target_is_needed)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        X, y = read_libsvm(
            path,
            dtype=dtype,
            zero_based=zero_based,
            n_features=n_features,
            labels_are_needed=target_is_needed,
        )
    return Data(X, y, notes=tuple(str(warning.message) for warning in caught))


def refuse_columns(path: Any, **options: Any) -> None:
    """ValueError if an option names columns, for a file that has none."""
    for option, value in options.items():
        if value is not None:
            raise ValueError(
                f"{option}={value!r} names a column of a .csv or .parquet file; {name_of(path)} is"
                " neither."
            )


def as_labels(y: Any) -> Any:
    """The labels as integers if all of them are whole numbers."""
    if y.dtype.kind == "f" and (y == np.floor(y)).all() and np.abs(y).max(initial=0) < 2**53:
        return y.astype(np.int64)
    return y


def write_data(path: Any, X: Any, y: Any, *, feature_names: tuple[str, ...] = ()) -> None:
    """Writes examples and targets (or None); the suffix of the file's name decides the format."""
    kind = suffix_within(path)
    if kind in (".csv", ".parquet"):
        from softmargin.io.data.csv_parquet import write_csv, write_parquet

        write: Callable[..., None] = write_csv if kind == ".csv" else write_parquet
        write(path, X.toarray() if sp.issparse(X) else np.asarray(X), y, feature_names)
    elif kind == ".npz":
        from softmargin.io.data.npz import write_npz

        write_npz(path, X, y)
    else:
        write_libsvm(path, X, None if y is None else _numbers(y, path))


def _numbers(y: Any, path: Any) -> NDArray[np.float64]:
    try:
        return np.asarray(y, dtype=np.float64)
    except ValueError:
        raise FileError(
            path,
            "numbers as labels: LIBSVM's format has no names; write .csv instead",
            found=f"labels such as {np.asarray(y).tolist()[0]}",
        ) from None
