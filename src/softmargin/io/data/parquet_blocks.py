"""The row groups of a Parquet file as blocks of examples."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from softmargin.io.data.block_folder import Blocks
from softmargin.io.data.columns import Wanted


class ParquetBlocks(Blocks):
    """The row groups of a Parquet file, for `LinearSVC.fit` and `LinearSVR.fit`.

    Each pass decodes the file again.  If a fit needs many passes, or there are many fits, convert
    it once (``softmargin convert --to blocks``).

    Parameters
    ----------
    path : str or path
    target : str, default=None
        The column with the targets, by name or by position (-1 is the last); by default the column
        called label, target, y or class.
    features : sequence of str, default=None
        The columns to read as features, in this order; by default all except the target, the
        weights and those in `ignore`.
    ignore : sequence of str, default=()
        Columns that are neither feature nor target.
    weight : str, default=None
        The column with the weights of the examples.
    dtype : {float64, float32}, default=float64
        Type of the values.

    Attributes
    ----------
    feature_names : tuple of str
    """

    def __init__(
        self,
        path: Any,
        *,
        target: str | None = None,
        features: Sequence[str] | None = None,
        ignore: Sequence[str] = (),
        weight: str | None = None,
        dtype: Any = np.float64,
    ) -> None:
        from softmargin.io.data.csv_parquet import opened_parquet, parquet_data

        self.path, self.dtype, self.weight = path, dtype, weight
        names = None if features is None else tuple(features)
        given = () if weight is None else (weight,)
        self._wanted = Wanted(target, None, names, (*ignore, *given))
        with opened_parquet(path) as file:
            self.count = file.num_row_groups
            empty = parquet_data(path, file.schema_arrow.empty_table(), self._wanted, dtype)
        self.feature_names, self.target_name = empty.feature_names, empty.target_name

    def read(self, k: int) -> tuple[Any, Any, Any]:
        from softmargin.estimator.block_fit import load
        from softmargin.io.data.csv_parquet import opened_parquet, parquet_data

        with opened_parquet(self.path) as file:
            table = file.read_row_group(k)
        data = parquet_data(self.path, table, self._wanted, self.dtype)
        weight = None
        if self.weight is not None:
            weight = table.column(self.weight).to_numpy()
        block = load(data.X, data.y, weight)
        return block.X, block.y, block.weight
