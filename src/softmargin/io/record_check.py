"""Whether what a model file says fits together: the core trusts the arrays that it is given."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import scipy.sparse as sp

from softmargin.io.file_error import FileError
from softmargin.io.record import CLASSIFIERS, KERNEL_MACHINES, MACHINES, Record

KERNELS = ("linear", "poly", "rbf", "sigmoid", "precomputed")


def check_record(record: Record, path: Any) -> None:
    """Raises FileError for a machine that could not be used."""
    if record.kind == "LinearSVC":
        problem = _width_problem(record) or _linear_problem(record)
    elif record.kind in KERNEL_MACHINES:
        problem = _width_problem(record) or _kernel_problem(record) or _shape_problem(record)
        problem = problem or _probability_problem(record)
    else:
        raise FileError(path, f"one of {', '.join(MACHINES)} as class", found=record.kind)
    if problem:
        raise FileError(path, problem)


def checked_estimator(record: Record, path: Any) -> Any:
    """The estimator of a record; FileError where its parameters or attributes are not its own."""
    try:
        machine = record.estimator()
    except TypeError as error:
        raise FileError(path, f"parameters of {record.kind}", found=str(error)) from error
    wrong = [name for name in record.attributes if hasattr(type(machine), name)]
    if wrong:
        raise FileError(path, "only attributes that a fit sets", found=wrong[0])
    return machine


def _width_problem(record: Record) -> str | None:
    width = record.attributes.get("n_features_in_")
    if not isinstance(width, int) or isinstance(width, bool) or width < 0:
        return "a number of features as n_features_in_"
    return None


def _kernel_problem(record: Record) -> str | None:
    params = record.params
    if params.get("kernel") not in KERNELS:
        return f"one of {', '.join(KERNELS)} as kernel"
    numbers: dict[str, Any] = {"coef0": params.get("coef0"), "degree": params.get("degree")}
    if params["kernel"] != "precomputed":
        numbers["_gamma"] = record.attributes.get("_gamma")
    for name, value in numbers.items():
        if not isinstance(value, (int, float)) or not abs(value) <= sys.float_info.max:
            return f"a finite number as {name}"
    if numbers.get("_gamma", 0.0) < 0:
        return "a number of 0 or more as _gamma"
    degree = params["degree"]
    if not isinstance(degree, int) or not 0 <= degree < 2**31:
        return "an integer of 0 or more as degree"
    return None


def _shape_problem(record: Record) -> str | None:
    values = record.attributes
    names = ("dual_coef_", "intercept_", "support_", "_n_support")
    coef, intercept, support, counts = (values.get(name, ()) for name in names)
    for name, array in {"intercept_": intercept, "support_": support, "_n_support": counts}.items():
        if not isinstance(array, np.ndarray) or array.ndim != 1 or array.dtype.kind not in "fiu":
            return f"one-dimensional numbers as {name}"
    if getattr(coef, "ndim", 0) != 2 or coef.dtype != np.float64:
        return "a matrix of float64 as dual_coef_"
    classes = 0
    if record.kind in CLASSIFIERS:
        labels = values.get("classes_")
        if not isinstance(labels, np.ndarray) or labels.ndim != 1 or len(labels) < 2:
            return "two classes or more as classes_"
        classes = len(labels)
    pairs = classes * (classes - 1) // 2 if classes else 1
    fits = (
        coef.shape == (max(classes - 1, 1), len(support))
        and intercept.shape == (pairs,)
        and len(counts) == max(classes, 1)
        and counts.min() >= 0
        and int(counts.astype(np.float64).sum()) == len(support)
        and _finite(coef)
        and bool(np.isfinite(intercept).all())
    )
    if not fits:
        return "dual_coef_, intercept_, support_ and n_support_ that fit together"
    return _vectors_problem(record, support)


def _probability_problem(record: Record) -> str | None:
    """What LIBSVM's models may have for probabilities must fit the classes."""
    values = record.attributes
    pairs = values["intercept_"].shape
    for name, shape in {"probA_": pairs, "probB_": pairs, "prob_density_marks_": (10,)}.items():
        array = values.get(name, np.zeros(shape))
        fits = isinstance(array, np.ndarray) and array.dtype.kind == "f" and array.shape == shape
        if not fits or not np.isfinite(array).all():
            return f"{name} of shape {shape} and finite"
    return None


def _vectors_problem(record: Record, support: Any) -> str | None:
    values, count = record.attributes, len(support)
    if record.precomputed:
        width = values["n_features_in_"]
        if support.dtype.kind not in "iu" or (
            count and not 0 <= support.min() <= support.max() < width
        ):
            return f"indices of training examples, from 0 to {width - 1}, as support_"
        return None
    vectors, width = values.get("support_vectors_", ()), values.get("n_features_in_")
    sparse = sp.issparse(vectors)
    if not sparse and not isinstance(vectors, np.ndarray):
        return "a matrix as support_vectors_"
    if vectors.ndim != 2 or vectors.dtype not in (np.float32, np.float64):
        return "a matrix of float32 or float64 as support_vectors_"
    if vectors.shape != (count, width) or values.get("_sparse") is not sparse:
        return f"support_vectors_ of shape ({count}, {width})"
    return None if _finite(vectors) else "finite numbers in support_vectors_"


def _finite(matrix: Any) -> bool:
    return bool(np.isfinite(matrix.data if sp.issparse(matrix) else matrix).all())


def _linear_problem(record: Record) -> str | None:
    """What does not fit together in a linear machine, if anything."""
    values = record.attributes
    coef, intercept, classes = (values.get(k, ()) for k in ("coef_", "intercept_", "classes_"))
    if not isinstance(classes, np.ndarray) or classes.ndim != 1 or len(classes) < 2:
        return "two classes or more as classes_"
    columns = 1 if len(classes) == 2 else len(classes)
    if getattr(coef, "ndim", 0) != 2 or coef.dtype not in (np.float32, np.float64):
        return "a matrix of float32 or float64 as coef_"
    if coef.shape != (columns, values.get("n_features_in_")):
        return f"coef_ of shape ({columns}, {values.get('n_features_in_')})"
    if not isinstance(intercept, np.ndarray) or intercept.shape != (columns,):
        return f"intercept_ of shape ({columns},)"
    weights = coef.data if sp.issparse(coef) else coef
    if intercept.dtype.kind != "f" or not np.isfinite(weights).all():
        return "finite numbers as coef_ and intercept_"
    return None if np.isfinite(intercept).all() else "finite numbers as intercept_"
