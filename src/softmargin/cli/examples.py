"""Examples in the form that machines need: labels as integers if whole, kernel matrices square."""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp

from softmargin.cli.machine_options import LINEAR_REGRESSIONS, linear_name
from softmargin.cli.terminal import label_text
from softmargin.io.data.csv_hints import is_number
from softmargin.io.data.formats import as_labels

if TYPE_CHECKING:
    from softmargin.io.data.formats import Data
    from softmargin.io.models.record import Record

REGRESSIONS = ("epsilon-svr", "nu-svr")


@dataclass(frozen=True)
class Examples:
    X: Any
    y: Any
    serials: Any = None
    """With a precomputed kernel: the column of the kernel matrix that belongs to each row."""

    @property
    def given(self) -> tuple[Any, ...]:
        """What fit takes; blocks on disk have their own targets."""
        return (self.X, self.y) if hasattr(self.X, "dtype") else (self.X,)

    def with_serials(self, record: Record) -> Record:
        """The record of a machine trained on these examples, with serial numbers (counted from 0)
        as the indices of its support vectors."""
        if self.serials is None:
            return record
        width = int(self.serials.max(initial=-1)) + 1
        record.attributes["support_"] = self.serials[record.attributes["support_"]]
        record.attributes |= {"shape_fit_": (width, width), "n_features_in_": width}
        return record


MANY_CLASSES, ROWS_PER_CLASS = 50, 10
"""With more classes than the first and fewer rows per class than the second, numeric labels are
probably the targets of a regression."""
VERY_MANY_CLASSES = 1000


def ask_whether_classes(args: argparse.Namespace, y: Any, remedy: str) -> None:
    """Raises ValueError if the labels look like the targets of a regression: training with that
    many classes would take hours."""
    if y.dtype.kind not in "fiu":
        return
    fractions = y[y != np.floor(y)]
    if len(fractions):
        raise ValueError(
            f"{args.data}: {fractions[0]:g} is not a class: did you mean -s epsilon-svr? {remedy}"
        )
    count = len(np.unique(y))
    few_rows = count > MANY_CLASSES and count * ROWS_PER_CLASS > len(y)
    if few_rows or count > VERY_MANY_CLASSES:
        raise ValueError(
            f"{args.data}: {count:,} classes in {len(y):,} rows: did you mean -s epsilon-svr?"
            f" {remedy}"
        )


def training_examples(args: argparse.Namespace, data: Data) -> Examples:
    if args.formulation is None and not args.linear:
        ask_whether_classes(args, data.y, "If they are classes, use whole numbers and -s c-svc.")
    named = linear_name(args.linear) if args.linear else args.formulation
    regression = named in (*REGRESSIONS, *LINEAR_REGRESSIONS)
    y = data.y if regression else as_labels(data.y)
    if regression and y.dtype.kind not in "fiub":
        word = next((text for text in y.tolist() if not is_number(text)), y[0])
        raise ValueError(f"{args.data}: {named} needs numbers as targets, not {str(word)!r}.")
    if not regression and named != "one-class" and (y == y[0]).all():
        raise ValueError(
            f"{args.data}: all {len(y):,} labels are {label_text(y[:1].tolist()[0])}: a classifier"
            " needs two classes or more. Did you mean -s one-class?"
        )
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


UNEVEN = 100
"""If the ranges of two features differ by this factor, the data are probably not scaled."""


def unscaled(data: Data) -> str:
    """A sentence about features whose ranges differ too much for a kernel, or ""."""
    from softmargin.io.data.ranges import Range

    scale = Range.of(data.X)
    spans = scale.maximum - scale.minimum
    if len(spans) < 2 or spans.max() < UNEVEN * spans.min():
        return ""
    small, large = (int(scale.features[k]) for k in (spans.argmin(), spans.argmax()))

    def named(k: int) -> str:
        return data.feature_names[k] if data.feature_names else f"feature {k + 1}"

    return (
        f"the ranges of the features differ by a factor of {spans.max() / spans.min():.3g}"
        f" ({named(small)}: {spans.min():.3g}, {named(large)}: {spans.max():.3g}), and the largest"
        " decide most distances."
    )


def kernel_matrix(X: Any, path: str) -> tuple[Any, Any]:
    """The kernel values of a file, and the column that belongs to each row.

    LIBSVM's text has ``0:serial`` in each row, and then the kernel values with all training
    examples; in other formats X is the kernel matrix, and row i belongs to column i.
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
