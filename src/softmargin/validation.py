"""Checks of input that all estimators share."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.utils import compute_class_weight
from sklearn.utils.validation import _check_sample_weight

Array = NDArray[np.float64]


@contextmanager
def unchanged_on_error(estimator: Any) -> Iterator[None]:
    """A fit that fails leaves the estimator as it was."""
    before = dict(vars(estimator))
    try:
        yield
    except BaseException:
        vars(estimator).clear()
        vars(estimator).update(before)
        raise


def for_core(X: Any) -> Any:
    """Rows contiguous in memory; CSR valid and without repeated indices."""
    if sp.issparse(X):
        X.check_format(full_check=True)
        if not X.has_canonical_format:
            X = X.copy()
            X.sum_duplicates()
        return X
    return X if X.strides[1] == X.itemsize else np.ascontiguousarray(X)


def sample_weights(X: Any, sample_weight: Any, count: int) -> Array:
    """One weight per example; an example of weight zero (or less) is absent."""
    if sample_weight is None:
        return np.ones(count)
    reference = X if hasattr(X, "shape") else np.empty((count, 0))
    weight: Array = _check_sample_weight(sample_weight, reference, dtype=np.float64)
    if not (weight > 0).any():
        raise ValueError("Invalid input - all samples have zero or negative weights.")
    return np.maximum(weight, 0.0)


def class_weights(class_weight: Any, classes: Any, labels: Any) -> Array:
    """One positive factor on C per class."""
    weights: Array = compute_class_weight(class_weight, classes=classes, y=labels)
    if not (np.isfinite(weights) & (weights > 0)).all():
        raise ValueError(
            f"class_weight={class_weight!r} gives the weights {weights.tolist()};"
            " every weight must be positive and finite."
        )
    return weights


def check_classes_present(classes: Any, present: Any) -> None:
    """Refuses classes whose examples all have zero weight; `present` tells them by position."""
    absent = np.flatnonzero(~np.asarray(present, dtype=bool))
    if len(absent) == 0:
        return
    raise ValueError(
        "Invalid input - all samples with positive weights belong to the same class."
        if len(absent) == len(classes) - 1
        else f"All samples of class {classes[absent[0]]!r} have zero weight; remove"
        " the class or give one of its samples a positive weight."
    )
