"""What the estimators use from scikit-learn, in one place.

Importing scikit-learn takes longer than most fits on the command line.  The command runs in its own
process and reads its data itself, so it sets ``softmargin.estimator.PLAIN`` and gets the stand-ins
of :mod:`softmargin.estimator.plain`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from softmargin import estimator

if TYPE_CHECKING or not estimator.PLAIN:
    from importlib import import_module
    from importlib.util import find_spec

    from sklearn.base import (
        BaseEstimator,
        ClassifierMixin,
        OutlierMixin,
        RegressorMixin,
    )
    from sklearn.base import _fit_context as fit_context
    from sklearn.exceptions import ConvergenceWarning, NotFittedError
    from sklearn.linear_model._base import LinearClassifierMixin, SparseCoefMixin
    from sklearn.utils import (
        assert_all_finite,
        check_array,
        check_consistent_length,
        check_random_state,
        column_or_1d,
        compute_class_weight,
    )
    from sklearn.utils._openmp_helpers import _openmp_effective_n_threads as effective_threads
    from sklearn.utils._param_validation import (
        Interval,
        StrOptions,
        validate_parameter_constraints,
    )
    from sklearn.utils.metaestimators import available_if
    from sklearn.utils.multiclass import check_classification_targets
    from sklearn.utils.validation import _num_samples as num_samples
    from sklearn.utils.validation import check_is_fitted, validate_data

    if find_spec("sklearn.callback"):
        CallbackSupportMixin: Any = import_module("sklearn.callback").CallbackSupportMixin
    else:  # scikit-learn before 1.9 has no callbacks
        CallbackSupportMixin = type("CallbackSupportMixin", (), {})
else:
    from softmargin.estimator.plain import (
        BaseEstimator,
        CallbackSupportMixin,
        ClassifierMixin,
        ConvergenceWarning,
        Interval,
        LinearClassifierMixin,
        NotFittedError,
        OutlierMixin,
        RegressorMixin,
        SparseCoefMixin,
        StrOptions,
        assert_all_finite,
        available_if,
        check_array,
        check_classification_targets,
        check_consistent_length,
        check_is_fitted,
        check_random_state,
        column_or_1d,
        compute_class_weight,
        effective_threads,
        fit_context,
        num_samples,
        validate_data,
        validate_parameter_constraints,
    )

__all__ = [
    "BaseEstimator",
    "CallbackSupportMixin",
    "ClassifierMixin",
    "ConvergenceWarning",
    "Interval",
    "LinearClassifierMixin",
    "NotFittedError",
    "OutlierMixin",
    "RegressorMixin",
    "SparseCoefMixin",
    "StrOptions",
    "assert_all_finite",
    "available_if",
    "check_array",
    "check_classification_targets",
    "check_consistent_length",
    "check_is_fitted",
    "check_random_state",
    "column_or_1d",
    "compute_class_weight",
    "effective_threads",
    "fit_context",
    "num_samples",
    "validate_data",
    "validate_parameter_constraints",
]
