"""Dask arrays and dataframes as blocks of examples, and predictions for them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import dask
import dask.array as da
import numpy as np
from distributed import Client

from softmargin.dask.cluster import Cluster


def is_frame(X: Any) -> bool:
    return dask.is_dask_collection(X) and hasattr(X, "to_dask_array")


def as_array(X: Any, name: str, lengths: bool) -> Any:
    """A Dask array; `lengths`: whether to compute the sizes of its chunks, if they are unknown."""
    if is_frame(X):
        X = X.to_dask_array()
    if not isinstance(X, da.Array):
        raise TypeError(
            f"{name} is of the type {type(X).__name__}; a Dask array or dataframe is needed. Use"
            " dask.array.from_array, or the machine without Dask."
        )
    if lengths and np.isnan(X.chunks[0]).any():
        X = X.compute_chunk_sizes()
    return X


def cut(X: Any, y: Any, weight: Any, count: int | None) -> tuple[Any, Any, Any]:
    """Arrays of the same row chunks: those of X, or `count` of nearly the same size."""
    local = [name for name, v in {"y": y, "w": weight}.items() if isinstance(v, np.ndarray)]
    X = as_array(X, "X", count is not None or bool(local))
    if X.ndim != 2:
        raise ValueError(f"X has {X.ndim} dimension(s); it must have two: examples and features.")
    if count is not None:
        edges = np.linspace(0, X.shape[0], min(count, max(X.shape[0], 1)) + 1).astype(int)
        X = X.rechunk({0: tuple(int(size) for size in np.diff(edges))})
    X = X.rechunk({1: -1})
    return X, _like(X, y, "y"), None if weight is None else _like(X, weight, "sample_weight")


def _like(X: Any, values: Any, name: str) -> Any:
    """A column with the row chunks of X."""
    if isinstance(values, (np.ndarray, list)):
        values = da.from_array(np.asarray(values), chunks=-1)
    values = as_array(values, name, not np.isnan(X.chunks[0]).any())
    values = values.rechunk({1: -1}) if values.ndim == 2 else values
    known = not np.isnan(X.chunks[0]).any()
    if known and values.shape[0] != X.shape[0]:
        raise ValueError(
            f"X has {X.shape[0]} rows, and {name} has {values.shape[0]}; both need the same number."
        )
    if known:
        return values.rechunk({0: X.chunks[0]})
    if len(values.chunks[0]) != len(X.chunks[0]):
        raise ValueError(
            f"X has {len(X.chunks[0])} chunks of unknown sizes, and {name} has"
            f" {len(values.chunks[0])}. Call X.compute_chunk_sizes(), or cut both at the same rows."
        )
    return values


def chunks_of(cluster: Cluster, X: Any, y: Any, weight: Any) -> list[tuple[Any, Any, Any]]:
    """The futures of the chunks of each block; Dask computes them again if they are lost."""
    columns = [_futures(cluster.client, values) for values in (X, y, weight) if values is not None]
    if weight is None:
        columns.append([None] * len(columns[0]))
    return list(zip(*columns, strict=True))


def _futures(client: Client, values: Any) -> list[Any]:
    return list(client.compute(list(values.to_delayed().ravel())))


def lazily(X: Any, work: Callable[[Any], Any], dtype: Any, columns: int | None) -> Any:
    """The Dask array of what `work` makes of each block of rows: a number each, or `columns`."""
    X = as_array(X, "X", False).rechunk({1: -1})
    empty = np.empty((0,) if columns is None else (0, columns), dtype)
    if columns is None:
        return X.map_blocks(_unless_empty, work, empty, dtype=dtype, drop_axis=1, meta=empty)
    chunks = (X.chunks[0], (columns,))
    return X.map_blocks(_unless_empty, work, empty, dtype=dtype, chunks=chunks, meta=empty)


def _unless_empty(X: Any, work: Callable[[Any], Any], empty: Any) -> Any:
    if hasattr(X, "to_scipy_sparse"):
        X = X.to_scipy_sparse()
    return work(X) if X.shape[0] else empty
