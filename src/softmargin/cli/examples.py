"""Examples as a machine takes them: labels as integers where they are, kernel matrices square."""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp

if TYPE_CHECKING:
    from softmargin.io.data_file import Data
    from softmargin.io.record import Record

REGRESSIONS = ("epsilon-svr", "nu-svr")


@dataclass(frozen=True)
class Examples:
    X: Any
    y: Any
    serials: Any = None
    """With a precomputed kernel: the column of the kernel matrix that stands for each row."""

    def with_serials(self, record: Record) -> Record:
        """The record of a machine that was trained on these, its support vectors by serial."""
        if self.serials is None:
            return record
        width = int(self.serials.max(initial=-1)) + 1
        record.attributes["support_"] = self.serials[record.attributes["support_"]]
        record.attributes |= {"shape_fit_": (width, width), "n_features_in_": width}
        return record


def training_examples(args: argparse.Namespace, data: Data) -> Examples:
    y = data.y if args.formulation in REGRESSIONS else as_labels(data.y)
    if args.formulation in REGRESSIONS and y.dtype.kind not in "fiub":
        raise ValueError(f"{args.data}: {args.formulation} needs numbers as targets, not {y[0]!r}.")
    if args.kernel != "precomputed":
        if data.X.shape[1] >= 2**31:
            raise ValueError(
                f"{args.data}: index {data.X.shape[1]} is too large; at most 2^31 - 1."
            )
        return Examples(data.X, y)
    matrix, serials = kernel_matrix(data.X, args.data)
    if serials.max(initial=0) >= matrix.shape[1]:
        raise ValueError(
            f"{args.data}: serial number {serials.max() + 1}, but only {matrix.shape[1]} kernel"
            " values in a row."
        )
    return Examples(np.ascontiguousarray(matrix[:, serials]), y, serials)


def kernel_matrix(X: Any, path: str) -> tuple[Any, Any]:
    """The kernel values of a file, and which column each row is.

    LIBSVM's text has ``0:serial`` in each row, and then the kernel values with all training
    examples; in other formats X is the kernel matrix, row i for column i.
    """
    if not sp.issparse(X):
        return X, np.arange(X.shape[0], dtype=np.int32)
    first = X[:, :1].toarray().ravel()
    if not ((first >= 1) & (first == np.floor(first)) & (first < 2**31)).all():
        row = int(np.flatnonzero(~((first >= 1) & (first == np.floor(first))))[0])
        raise ValueError(
            f"{path}, row {row + 1}: expected 0:serial first, with the row's serial number from 1"
            " (the kernel is precomputed)."
        )
    if X.shape[0] * X.shape[1] > 4 * X.nnz + 2**16:
        raise ValueError(f"{path}: most kernel values are missing; each row needs all of them.")
    return X[:, 1:].toarray(), first.astype(np.int32) - 1


def as_labels(y: Any) -> Any:
    """Integers where all labels are."""
    if y.dtype.kind == "f" and (y == np.floor(y)).all() and np.abs(y).max(initial=0) < 2**53:
        return y.astype(np.int64)
    return y
