"""Input checks that all estimators share."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from numbers import Real
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from softmargin.estimator.conventions import (
    assert_all_finite,
    check_array,
    check_classification_targets,
    column_or_1d,
    compute_class_weight,
    validate_data,
)
from softmargin.fitting.sklearn_callbacks import DURING_FIT

Array = NDArray[np.float64]

CHECKS = {"dtype": [np.float64, np.float32], "accept_sparse": "csr"}
"""Arguments of scikit-learn's validation: the types and formats that it accepts."""

INTEGERS = "iub"
"""The dtype kinds of integer and boolean arrays."""


@contextmanager
def unchanged_on_error(estimator: Any) -> Iterator[float]:
    """Restores the estimator's attributes if the fit fails.  Yields the time at which the fit
    began."""
    before = dict(estimator.__dict__)
    try:
        yield time.perf_counter()
    except BaseException:
        during = {name: vars(estimator)[name] for name in DURING_FIT if name in vars(estimator)}
        estimator.__dict__.clear()
        estimator.__dict__.update(before | during)
        raise


def is_plain(X: Any) -> bool:
    """Whether scikit-learn's validation would return X unchanged and without a warning.  A quick
    check, because that validation takes longer than the prediction of a row, and a sixth of the
    time of a small fit."""
    return (
        type(X) is np.ndarray
        and X.dtype.type in (np.float64, np.float32)
        and X.dtype.isnative
        and X.ndim == 2
        and 0 not in X.shape
        and _all_finite(X)
    )


def _is_plain_target(y: Any) -> bool:
    if type(y) is not np.ndarray or y.ndim != 1 or not y.dtype.isnative:
        return False
    return y.dtype.kind in INTEGERS or (y.dtype.type in (np.float64, np.float32) and _all_finite(y))


def _all_finite(values: NDArray[Any]) -> bool:
    with np.errstate(over="ignore", invalid="ignore"):
        total = values.sum()  # finite only if all values are, and no copy is needed
    return bool(np.isfinite(total) or np.isfinite(values).all())


def validate_examples(estimator: Any, X: Any, y: Any, numeric_target: bool) -> tuple[Any, Any]:
    """X as float32 or float64, dense or CSR, and y, after scikit-learn's checks."""
    if _is_plain_target(y) and is_plain(X) and len(y) == len(X):
        estimator.__dict__.pop("feature_names_in_", None)
        estimator.n_features_in_ = X.shape[1]
        return X, y
    X, y = validate_data(estimator, X, y, y_numeric=numeric_target, **CHECKS)
    return X, y


def classes_of(y: Any) -> tuple[NDArray[Any], NDArray[Any], NDArray[np.intp]]:
    """The labels, the classes, and the number of each label's class.  Whole numbers are always
    valid labels; scikit-learn's check of them, a tenth of the time of a small fit, can only warn
    that there are very many classes."""
    labels = y if type(y) is np.ndarray and y.ndim == 1 else column_or_1d(y, warn=True)
    if labels.dtype.kind == "f" and not _all_finite(labels):
        assert_all_finite(labels, input_name="y")
    if labels.dtype.kind not in INTEGERS + "f":
        check_classification_targets(labels)
        return labels, *np.unique(labels, return_inverse=True)
    classes, codes = np.unique(labels, return_inverse=True)
    if 2 * len(classes) > len(labels) or not _are_whole(classes):
        check_classification_targets(labels)
    return labels, classes, codes


def _are_whole(classes: NDArray[Any]) -> bool:
    return classes.dtype.kind in INTEGERS or bool(
        np.all((classes == np.floor(classes)) & (np.abs(classes) < 2**53))
    )


def indexable(X: Any) -> Any:
    """X in a form from which examples can be selected, for a kernel function."""
    if sp.issparse(X):
        return X.tocsr()
    if isinstance(X, (list, tuple)):
        array = np.asarray(X) if len(X) and np.ndim(X[0]) == 1 else None
        return array if array is not None and array.dtype.kind in "fiub" else list(X)
    return X


LARGEST_INDEX = 2**31 - 1


def for_core(X: Any) -> Any:
    """X with contiguous rows that are a whole number of values apart, or as valid CSR without
    repeated indices and with three contiguous arrays.  Copied only if X is not like that."""
    if max(X.shape) > LARGEST_INDEX:
        raise ValueError(
            f"X has the shape {X.shape}; at most {LARGEST_INDEX} rows and columns are supported."
            " Use fewer features (FeatureHasher, TruncatedSVD) or fewer rows."
        )
    if not sp.issparse(X):
        apart, within = X.strides
        fits = within == X.itemsize and apart % X.itemsize == 0 and X.flags.aligned
        return X if fits else np.array(X, order="C")
    try:
        X.check_format(full_check=True)
    except ValueError as error:
        raise ValueError(
            f"X is not a valid CSR matrix: {error}. Build it again from valid indices."
        ) from None
    if not X.has_canonical_format:
        X = X.copy()
        X.sum_duplicates()
    arrays = (X.data, X.indices, X.indptr)
    fits = all(array.flags.c_contiguous and array.flags.aligned for array in arrays)
    return X if fits else X.copy()


def sample_weights(sample_weight: Any, count: int) -> Array:
    """One weight per example; a weight of zero (or less) leaves the example out."""
    if sample_weight is None:
        return np.ones(count)
    if isinstance(sample_weight, Real):
        sample_weight = np.full(count, sample_weight)
    weight: Array = check_array(
        sample_weight, ensure_2d=False, dtype=np.float64, input_name="sample_weight"
    )
    if weight.shape != (count,):
        raise ValueError(
            f"sample_weight has the shape {weight.shape}; it must have the shape ({count},),"
            " one weight for each sample."
        )
    check_any_weight(weight)
    weight = np.maximum(weight, 0.0)
    with np.errstate(over="ignore"):
        total = weight.sum()
    if not np.isfinite(total):
        raise ValueError(
            "The sum of sample_weight is too large for float64. Divide the weights by their mean."
        )
    return weight


def check_any_weight(weight: Array) -> None:
    if not (weight > 0).any():
        raise ValueError("Invalid input - all samples have zero or negative weights.")


def prices(C: float, weight: Array, factor: Any = 1.0) -> Array:
    """The C of each example: C times its weight times a factor."""
    with np.errstate(over="ignore", under="ignore"):
        price: Array = float(C) * weight * factor
    vanished = (price == 0) & (weight > 0)
    if vanished.any() or (np.isinf(price).any() and not np.isinf(C)):
        extreme, remedy = ("small", "Raise") if vanished.any() else ("large", "Lower")
        raise ValueError(
            f"C={C} times a weight of sample_weight and class_weight is too {extreme} for float64."
            f" {remedy} C or the weights."
        )
    return price


def class_weights(
    class_weight: Any, classes: Any, labels: Any, counts: Array | None = None
) -> Array:
    """One positive factor on C per class.  "balanced" uses the `counts` of the classes, by default
    those of `labels`."""
    if class_weight is None:
        return np.ones(len(classes))
    weights: Array
    if class_weight == "balanced" and counts is not None:
        weights = counts.sum() / (len(classes) * counts)
    else:
        weights = compute_class_weight(class_weight, classes=classes, y=labels)
    if not (np.isfinite(weights) & (weights > 0)).all():
        raise ValueError(
            f"class_weight={class_weight!r} gives the weights {weights.tolist()};"
            " every weight must be positive and finite."
        )
    return weights


def with_probability(method: str) -> Callable[[Any], bool]:
    """For scikit-learn's ``available_if``: a machine has the method with ``probability=True``."""

    def check(machine: Any) -> bool:
        if not machine.probability:
            raise AttributeError(
                f"{method} is not available when probability=False. Fit with probability=True."
            )
        return True

    return check


def check_classes_present(classes: Any, present: Any) -> None:
    """Rejects classes whose examples all have zero weight; `present` has one entry per class."""
    absent = np.flatnonzero(~np.asarray(present, dtype=bool))
    if len(absent) == 0:
        return
    raise ValueError(
        "Invalid input - all samples with positive weights belong to the same class."
        " Give a sample of another class a positive weight."
        if len(absent) == len(classes) - 1
        else f"All samples of class {np.asarray(classes).tolist()[absent[0]]!r} have zero weight;"
        " remove the class or give one of its samples a positive weight."
    )
