"""Stand-ins for what the estimators use from scikit-learn, for the command line.

They only decide whether parameters and data are valid.  If not, they import scikit-learn, which
says what is wrong.  So the messages are the same, and only users who make a mistake wait for the
import.
"""

from __future__ import annotations

import inspect
import math
import os
from collections.abc import Callable
from functools import wraps
from typing import Any

import numpy as np
import scipy.sparse as sp

from softmargin.io.streams import available_processors


class BaseEstimator:
    """Parameters are the arguments of ``__init__``, as in scikit-learn."""

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        names = list(inspect.signature(type(self).__init__).parameters)
        return {name: getattr(self, name) for name in names[1:]}

    def set_params(self, **params: Any) -> Any:
        vars(self).update(params)
        return self


class CallbackSupportMixin: ...


class ClassifierMixin: ...


class RegressorMixin: ...


class OutlierMixin: ...


class LinearClassifierMixin: ...


class SparseCoefMixin: ...


class ConvergenceWarning(UserWarning): ...


class NotFittedError(ValueError): ...


def available_if(check: Callable[[Any], bool]) -> Callable[[Any], Any]:
    """Returns the method unchanged: the command line calls it only if there are probabilities."""
    return lambda method: method


class Interval:
    """Numbers of a type between two bounds; None for no bound."""

    def __init__(self, kind: Any, left: Any, right: Any, *, closed: str) -> None:
        self.arguments, self.closed = (kind, left, right), closed

    def allows(self, value: Any) -> bool:
        kind, left, right = self.arguments
        if not isinstance(value, kind) or isinstance(value, bool) or value != value:
            return False
        above = left is None or value > left or (value == left and self.closed in ("left", "both"))
        below = (
            right is None or value < right or (value == right and self.closed in ("right", "both"))
        )
        open_end = abs(value) == math.inf and self.closed in ("neither", "left")
        return above and below and not open_end

    def original(self) -> Any:
        from sklearn.utils._param_validation import Interval as Original

        return Original(*self.arguments, closed=self.closed)


class StrOptions:
    """One of several strings."""

    def __init__(self, options: set[str]) -> None:
        self.options = options

    def allows(self, value: Any) -> bool:
        return isinstance(value, str) and value in self.options

    def original(self) -> Any:
        from sklearn.utils._param_validation import StrOptions as Original

        return Original(self.options)


_NAMED: dict[Any, Callable[[Any], bool]] = {
    None: lambda value: value is None,
    callable: callable,
    "cv_object": lambda value: value is None or (isinstance(value, int) and value >= 2),
    "boolean": lambda value: isinstance(value, bool),
    "verbose": lambda value: isinstance(value, int) and value >= 0,
    "random_state": lambda value: value is None or (isinstance(value, int) and value >= 0),
}


def _allowed(rule: Any, value: Any) -> bool:
    if hasattr(rule, "allows"):
        return bool(rule.allows(value))
    return isinstance(value, rule) if isinstance(rule, type) else _NAMED[rule](value)


def fit_context(*, prefer_skip_nested_validation: bool) -> Callable[[Any], Any]:
    """Decorates ``fit``: parameters are checked first."""

    def decorate(fit: Any) -> Any:
        @wraps(fit)
        def checked(self: Any, *args: Any, **options: Any) -> Any:
            self._validate_params()
            return fit(self, *args, **options)

        return checked

    return decorate


def validate_parameter_constraints(
    parameter_constraints: dict[str, Any], params: dict[str, Any], caller_name: str
) -> None:
    rules = {name: parameter_constraints[name] for name in params}
    if all(any(_allowed(r, params[name]) for r in rules[name]) for name in rules):
        return
    from sklearn.utils._param_validation import validate_parameter_constraints as validate

    originals = {
        key: [rule.original() if hasattr(rule, "original") else rule for rule in some]
        for key, some in rules.items()
    }
    validate(originals, params, caller_name=caller_name)


def validate_data(estimator: Any, X: Any, y: Any = None, **checks: Any) -> Any:
    numeric_target = checks.pop("y_numeric", False)
    if not _is_matrix(X) or not (y is None or _is_target(y, X.shape[0])):
        from sklearn.utils import check_array as array
        from sklearn.utils import check_X_y as arrays

        checks["estimator"] = type(estimator).__name__
        if y is None:
            X = array(X, **checks)
        else:
            X, y = arrays(X, y, y_numeric=numeric_target, **checks)
    estimator.n_features_in_ = X.shape[1]
    return X if y is None else (X, y)


def _is_matrix(X: Any) -> bool:
    """Whether X is what the file readers return; scikit-learn would return it unchanged."""
    if not (type(X) is np.ndarray or type(X) is sp.csr_matrix) or X.ndim != 2:
        return False
    values = X.data if sp.issparse(X) else X
    return bool(
        X.dtype in (np.float64, np.float32) and min(X.shape) > 0 and np.isfinite(values).all()
    )


def _is_target(y: Any, rows: int) -> bool:
    numbers = y.dtype.kind in "fiub" and bool(np.isfinite(y).all())
    return y.shape == (rows,) and (numbers or y.dtype.kind == "U")


def check_classification_targets(y: Any) -> None:
    if y.dtype.kind in "iubU" or bool((y == np.floor(y)).all()):
        return
    from sklearn.utils.multiclass import check_classification_targets as check

    check(y)


def check_is_fitted(estimator: Any) -> None:
    if not hasattr(estimator, "solution_"):
        raise ValueError(f"This {type(estimator).__name__} is not fitted yet.")


def check_random_state(seed: int | None) -> np.random.RandomState:
    return np.random.RandomState(seed)


def effective_threads(n_jobs: int | None) -> int:
    """n_jobs as scikit-learn interprets it; negative values count back from all processors."""
    word = os.environ.get("OMP_NUM_THREADS", "").partition(",")[0].strip()
    most = int(word) if word.isdecimal() and int(word) > 0 else available_processors()
    if n_jobs is None:
        return most
    return n_jobs if n_jobs > 0 else max(1, most + n_jobs + 1)


def num_samples(X: Any) -> int:
    return int(X.shape[0])


def assert_all_finite(values: Any, *, input_name: str = "") -> None:
    if not np.isfinite(values).all():
        raise ValueError(f"Input {input_name} contains NaN or infinity.")


def column_or_1d(y: Any, *, warn: bool = False) -> Any:
    return y  # `validate_data` has checked it


def check_array(*args: Any, **options: Any) -> Any:
    from sklearn.utils import check_array as original

    return original(*args, **options)


def check_consistent_length(*arrays: Any) -> None:
    from sklearn.utils import check_consistent_length as original

    original(*arrays)


def compute_class_weight(class_weight: Any, *, classes: Any, y: Any) -> Any:
    if isinstance(class_weight, dict):  # the command line ensures that keys are classes
        return np.array([float(class_weight.get(label, 1.0)) for label in classes.tolist()])
    from sklearn.utils import compute_class_weight as original

    return original(class_weight, classes=classes, y=y)
