"""Data files of every kind, told apart by their names.

``.csv`` (with a header), ``.npz`` and ``.parquet``; everything else is LIBSVM's text.  CSV and
text may be compressed, and then have a second suffix: ``data.csv.gz``.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from softmargin.io.file_error import FileError
from softmargin.io.libsvm_data import read_libsvm, write_libsvm
from softmargin.io.streams import suffix_within

TARGET_NAMES = ("label", "target", "y", "class")


@dataclass(frozen=True)
class Data:
    """Examples, their targets, and what else the file said."""

    X: Any
    y: NDArray[Any]
    feature_names: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


def read_data(
    path: Any,
    *,
    target: str | None = None,
    dtype: Any = np.float64,
    zero_based: bool = False,
    n_features: int | None = None,
) -> Data:
    """Reads a data file; its name says which format it is in.

    Parameters
    ----------
    path : str, path, or binary stream of LIBSVM text
    target : str, default=None
        Column of a CSV or Parquet file with the targets; by default the one that is called
        label, target, y or class.
    dtype : {float64, float32}, default=float64
        Type of the values.
    zero_based : bool, default=False
        For LIBSVM text: whether indices count from 0.
    n_features : int, default=None
        For LIBSVM text: the number of columns, where the file alone does not say.
    """
    kind = suffix_within(path)
    if kind == ".csv":
        from softmargin.io.table import read_csv

        return read_csv(path, target, dtype)
    if kind == ".parquet":
        from softmargin.io.table import read_parquet

        return read_parquet(path, target, dtype)
    if target is not None:
        raise ValueError(
            f"target={target!r} names a column of a .csv or .parquet file; {path} is neither."
        )
    if kind == ".npz":
        from softmargin.io.arrays import read_npz

        return read_npz(path, dtype)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        X, y = read_libsvm(path, dtype=dtype, zero_based=zero_based, n_features=n_features)
    return Data(X, y, notes=tuple(str(warning.message) for warning in caught))


def write_data(path: Any, X: Any, y: Any, *, feature_names: tuple[str, ...] = ()) -> None:
    """Writes examples and targets in the format that the name of the file says."""
    kind = suffix_within(path)
    if kind in (".csv", ".parquet"):
        from softmargin.io.table import write_csv, write_parquet

        write: Callable[..., None] = write_csv if kind == ".csv" else write_parquet
        write(path, X.toarray() if sp.issparse(X) else np.asarray(X), y, feature_names)
    elif kind == ".npz":
        from softmargin.io.arrays import write_npz

        write_npz(path, X, y)
    else:
        write_libsvm(path, X, _numbers(y, path))


def _numbers(y: Any, path: Any) -> NDArray[np.float64]:
    try:
        return np.asarray(y, dtype=np.float64)
    except ValueError:
        raise FileError(
            path,
            "numbers as labels: LIBSVM's format has no names; write .csv instead",
            found=f"labels such as {np.asarray(y).tolist()[0]}",
        ) from None


def target_column(path: Any, names: list[str], target: str | None) -> int:
    """Which of the named columns holds the targets."""
    if target is not None:
        if target not in names:
            raise FileError(path, f"a column {target!r}", found=f"columns {', '.join(names)}")
        return names.index(target)
    likely = [k for k, name in enumerate(names) if name.strip().lower() in TARGET_NAMES]
    if len(likely) != 1:
        raise FileError(
            path,
            "one column called label, target, y or class; say which it is with target"
            " (on the command line --target)",
            found=f"columns {', '.join(names[:8])}{', ...' if len(names) > 8 else ''}",
            line=1,
        )
    return likely[0]
