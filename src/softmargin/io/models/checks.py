"""Checks that the contents of a model file are consistent: the core trusts the arrays it gets."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import scipy.sparse as sp

from softmargin.calibration.class_scores import SLOPES
from softmargin.calibration.inliers import MARKS
from softmargin.calibration.signed_curve import KNOTS
from softmargin.io.file_error import FileError
from softmargin.io.models.record import CLASSIFIERS, KERNEL_MACHINES, MACHINES, Record
from softmargin.problem.kernel_names import NAMES


def check_record(record: Record, path: Any) -> None:
    """Raises FileError for a machine that cannot be used."""
    if record.is_linear:
        problem = _width_problem(record) or _linear_problem(record)
        problem = problem or _score_problem(record)
    elif record.kind in KERNEL_MACHINES:
        problem = _width_problem(record) or _kernel_problem(record) or _shape_problem(record)
        problem = problem or _probability_problem(record)
    else:
        raise FileError(path, f"one of {', '.join(MACHINES)} as class", found=record.kind)
    problem = problem or _names_problem(record) or _scaling_problem(record)
    if problem:
        raise FileError(path, problem)


def checked_estimator(record: Record, path: Any) -> Any:
    """The estimator of a record; FileError if a parameter is unknown, or if an attribute would hide
    a method or property of the class."""
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


def _names_problem(record: Record) -> str | None:
    values, width = record.attributes, record.attributes["n_features_in_"]
    names, target = values.get("feature_names_in_"), values.get("_target_name")
    if target is not None and not isinstance(target, str):
        return "text as _target_name"
    if names is None:
        return None
    texts = isinstance(names, np.ndarray) and all(isinstance(name, str) for name in names.flat)
    return None if texts and names.shape == (width,) else f"{width} names as feature_names_in_"


def _scaling_problem(record: Record) -> str | None:
    """The scaled features must be features of the machine, in increasing order."""
    if "_scaling" not in record.attributes:
        return None
    if record.is_linear or record.precomputed:
        return "no _scaling: the machine has no kernel of features"
    try:
        lower, upper, features, low, high = record.attributes["_scaling"]
        fits = (
            features.dtype.kind in "iu"
            and features.ndim == low.ndim == high.ndim == 1
            and len(features) == len(low) == len(high)
            and (np.diff(features.astype(np.int64)) > 0).all()
            and features.min(initial=0) >= 0
            and features.max(initial=-1) < record.attributes["n_features_in_"]
            and bool(np.isfinite([lower, upper]).all() and np.isfinite([low, high]).all())
            and bool((low < high).all())
        )
    except (AttributeError, TypeError, ValueError):
        fits = False
    return None if fits else "ranges of features as _scaling"


def _kernel_problem(record: Record) -> str | None:
    params = record.params
    if params.get("kernel") not in NAMES:
        return f"one of {', '.join(NAMES)} as kernel"
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
    classes = 1
    if record.kind in CLASSIFIERS:
        labels = values.get("classes_")
        if not isinstance(labels, np.ndarray) or labels.ndim != 1 or len(labels) < 2:
            return "two classes or more as classes_"
        classes = len(labels)
    if not record.precomputed and values.get("_sparse") is not sp.issparse(
        values.get("support_vectors_")
    ):
        return "support_vectors_ as sparse as _sparse says"
    try:
        expansion = record.expansion()
        fault = expansion.fault(values["n_features_in_"])
    except (LookupError, TypeError, ValueError) as error:
        return f"arrays that fit together ({error})"
    rows = classes if record.scores_classes and classes > 2 else max(classes - 1, 1)
    if fault or len(counts) != classes or len(expansion.coef) != rows:
        return fault or "dual_coef_, intercept_, support_ and n_support_ that fit together"
    if not (np.isfinite(expansion.coef).all() and np.isfinite(expansion.intercept).all()):
        return "finite numbers in dual_coef_ and intercept_"
    if not record.precomputed and not _finite(expansion.vectors):
        return "finite numbers in support_vectors_"
    return None


def _probability_problem(record: Record) -> str | None:
    """The probability parameters that a model may have must match the classes."""
    values = record.attributes
    scored = record.scores_classes and len(values["classes_"]) > 2
    pairs = (0,) if scored else values["intercept_"].shape
    shapes = {"probA_": pairs, "probB_": pairs, "prob_density_marks_": (MARKS,)}
    if not scored:
        shapes["_curve"] = (2, len(KNOTS))
    for name, shape in shapes.items():
        array = values.get(name, np.zeros(shape))
        empty = isinstance(array, np.ndarray) and array.shape == (0,)
        if empty and record.is_classifier and name in ("probA_", "probB_"):
            continue  # a machine without probabilities
        fits = isinstance(array, np.ndarray) and array.dtype.kind == "f" and array.shape == shape
        if not fits or not np.isfinite(array).all():
            return f"{name} of shape {shape} and finite"
    residuals = values.get("_residuals", np.zeros((2, 0)))
    table = isinstance(residuals, np.ndarray) and residuals.ndim == 2 and len(residuals) == 2
    if not table or residuals.dtype.kind != "f" or not np.isfinite(residuals).all():
        return "two rows of finite numbers as _residuals"
    if record.is_classifier and np.size(values.get("probA_", ())) != np.size(
        values.get("probB_", ())
    ):
        return "probA_ and probB_ of the same length"
    two = record.is_classifier and len(values["classes_"]) == 2
    if two and values.get("_agreeing") and "_curve" not in values:
        return "the slopes of the probability curve as _curve"
    return _score_problem(record) if scored else None


def _score_problem(record: Record) -> str | None:
    """Like `_probability_problem`, for a machine with a score for each class."""
    values = record.attributes
    if "_curve" not in values:
        return None
    classes = len(values.get("classes_", ()))
    if classes < 2:
        return "no _curve: the machine has no classes"
    shapes: dict[str, list[tuple[int, ...]]] = {"_curve": [(2, len(KNOTS))]}
    if classes > 2:
        shapes = {"_curve": [(SLOPES,)], "_mixing": [(classes, 0), (classes, classes + 1)]}
    for name, allowed in shapes.items():
        array: Any = values.get(name)
        fits = isinstance(array, np.ndarray) and array.dtype.kind == "f" and array.shape in allowed
        if not fits or not np.isfinite(array).all():
            return f"{name} of shape {' or '.join(map(str, allowed))} and finite"
    return None


def _finite(matrix: Any) -> bool:
    return bool(np.isfinite(matrix.data if sp.issparse(matrix) else matrix).all())


def _linear_problem(record: Record) -> str | None:
    """What is inconsistent in a linear machine, if anything."""
    values = record.attributes
    coef, intercept, classes = (values.get(k, ()) for k in ("coef_", "intercept_", "classes_"))
    columns = 1
    if not record.is_regressor:
        if not isinstance(classes, np.ndarray) or classes.ndim != 1 or len(classes) < 2:
            return "two classes or more as classes_"
        columns = 1 if len(classes) == 2 else len(classes)
    elif isinstance(coef, np.ndarray) and coef.ndim == 1:
        coef = coef[None, :]
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
