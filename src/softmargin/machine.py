"""What the five kernel machines have in common: parameters, validation, training, expansion."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from numbers import Integral, Real
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import _safe_indexing
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import (
    check_consistent_length,
    check_is_fitted,
    validate_data,
)

from softmargin import _core
from softmargin.formulations import Formulation, Model
from softmargin.io.saving import Saving
from softmargin.kernels import BUILT_IN, Function, Kernel, Precomputed
from softmargin.memory import cache_bytes
from softmargin.solution import Solution
from softmargin.training import Settings, train
from softmargin.validation import for_core, sample_weights, unchanged_on_error

Array = NDArray[np.float64]
Indices = NDArray[np.int32]


class KernelMachine(Saving, BaseEstimator):  # type: ignore[misc]
    """Base of the kernel machines; a subclass states its problems and what it predicts."""

    _parameter_constraints: dict[str, list[Any]] = {  # noqa: RUF012
        "kernel": [StrOptions({*BUILT_IN, "precomputed"}), callable],
        "degree": [Interval(Integral, 0, None, closed="left")],
        "gamma": [StrOptions({"scale", "auto"}), Interval(Real, 0.0, None, closed="left")],
        "coef0": [Interval(Real, None, None, closed="neither")],
        "tol": [Interval(Real, 0.0, None, closed="neither")],
        "C": [Interval(Real, 0.0, None, closed="right")],
        "nu": [Interval(Real, 0.0, 1.0, closed="right")],
        "epsilon": [Interval(Real, 0.0, None, closed="left")],
        "shrinking": ["boolean"],
        "cache_size": [StrOptions({"auto"}), Interval(Real, 0, None, closed="neither")],
        "class_weight": [StrOptions({"balanced"}), dict, None],
        "verbose": ["verbose"],
        "max_iter": [Interval(Integral, -1, None, closed="left")],
        "random_state": ["random_state"],
        "decision_function_shape": [StrOptions({"ovr", "ovo"})],
        "break_ties": ["boolean"],
    }

    kernel: str | Callable[[Any, Any], Any]
    degree: int
    gamma: str | float
    coef0: float
    tol: float
    shrinking: bool
    cache_size: float | str
    verbose: bool | int
    max_iter: int

    dual_coef_: Any  # dense or CSR, as X was
    support_vectors_: Any

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = self.kernel == "precomputed"
        tags.input_tags.sparse = self.kernel != "precomputed"
        return tags

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "solution_")

    # --- fitting -----------------------------------------------------------------------------

    _unchanged_on_error = unchanged_on_error
    _weights = staticmethod(sample_weights)

    def _validate_examples(self, X: Any, y: Any, numeric_target: bool) -> tuple[Any, Any]:
        """X as the core takes it, without a copy where its type already fits; and y."""
        if sp.issparse(X) and self.kernel == "precomputed":
            raise TypeError("Sparse precomputed kernels are not supported.")
        if callable(self.kernel):
            # What an example is, is between the user and the function.
            X = _indexable(X)
            if y is not None:
                check_consistent_length(X, y)
            return X, y
        checks = {"dtype": [np.float64, np.float32], "accept_sparse": "csr"}
        if y is None:
            X = validate_data(self, X, **checks)
        else:
            X, y = validate_data(self, X, y, y_numeric=numeric_target, **checks)
        if self.kernel == "precomputed" and X.shape[0] != X.shape[1]:
            raise ValueError(
                "Precomputed matrix must be a square matrix."
                f" Input is a {X.shape[0]}x{X.shape[1]} matrix."
            )
        return for_core(X), y

    def _make_kernel(self, X: Any) -> Kernel:
        if callable(self.kernel):
            return Function(self.kernel)
        if self.kernel == "precomputed":
            return Precomputed()
        self._gamma = self._gamma_value(X)
        return BUILT_IN[self.kernel](float(self._gamma), float(self.coef0), int(self.degree))

    def _gamma_value(self, X: Any) -> float:
        if self.gamma == "auto":
            return 1.0 / int(X.shape[1])
        if self.gamma != "scale":
            return float(self.gamma)
        variance = _variance(X)
        if not np.isfinite(variance):
            raise ValueError(
                f"gamma='scale' needs the variance of X, which is {variance}."
                " Scale the data (StandardScaler), or give gamma as a number."
            )
        return 1.0 / (X.shape[1] * variance) if variance != 0 else 1.0

    def _solve(self, X: Any, problems: list[tuple[Indices, Formulation]]) -> list[Model]:
        """Solves the problems, each on the examples given by its indices, and keeps their
        certificates in ``solution_``."""
        core = _core.float64
        rows_of = self._make_kernel(X).training(X, core)
        settings = Settings(
            working_set="most-violating-pair",
            tol=float(self.tol),
            shrinking=bool(self.shrinking),
            cache_bytes=cache_bytes(self.cache_size),
            max_iter=int(self.max_iter),
            report=_print_status if self.verbose else None,
        )
        solved = [train(problem, *rows_of(ids), core, settings) for ids, problem in problems]
        solutions = [solution for _, solution in solved]
        self.solution_ = Solution.combine(solutions)
        self.fit_status_ = int(not self.solution_.converged)
        self._n_iter = np.array([solution.iterations for solution in solutions])
        self._warn_unless_converged()
        return [model for model, _ in solved]

    def _warn_unless_converged(self) -> None:
        solution = self.solution_
        if solution.converged:
            return
        reason = solution.stop_reason
        warnings.warn(
            f"{reason.cause.format(max_iter=self.max_iter)}  {reason.remedy}"
            f" The optimality conditions are violated by {solution.kkt_violation:.3g}"
            f" (tol={self.tol:.3g}); the objective is within {solution.duality_gap:.3g} of the"
            f" optimum ({solution.relative_gap:.2g} relative).",
            ConvergenceWarning,
            stacklevel=4,
        )

    def _keep(self, X: Any, support: Indices, n_support: Indices, dual_coef: Array) -> None:
        """Sets the attributes that every fitted machine has."""
        self._sparse = sp.issparse(X) and not callable(self.kernel)
        self.shape_fit_ = X.shape if hasattr(X, "shape") else (len(X),)
        self.support_ = support.astype(np.int32)
        if self.kernel == "precomputed":
            self.support_vectors_ = np.empty((0, 0))
        else:
            self.support_vectors_ = _safe_indexing(X, support)
        self._n_support = n_support
        self.dual_coef_ = sp.csr_matrix(dual_coef) if self._sparse else dual_coef

    @property
    def n_support_(self) -> Indices:
        """Number of support vectors, for each class of a classifier."""
        if not self.__sklearn_is_fitted__():
            raise AttributeError(f"{type(self).__name__} is not fitted yet: n_support_ is unknown.")
        return self._n_support

    @property
    def coef_(self) -> Any:
        """Weights of the features, for ``kernel="linear"`` only."""
        if self.kernel != "linear":
            raise AttributeError("coef_ is only available when using a linear kernel")
        coef = self._linear_coef()
        (coef.data if sp.issparse(coef) else coef).flags.writeable = False
        return coef

    def _linear_coef(self) -> Any:
        return self.dual_coef_ @ self.support_vectors_

    # --- prediction --------------------------------------------------------------------------

    def _expand(self, X: Any) -> Array:
        """sums[t, g, o] over the support vectors of class g, all of them in one for others."""
        X = self._validate_points(X)
        coef, starts = self._checked_expansion()
        if self.kernel == "precomputed":
            X, vectors = X[:, self.support_], None
        else:
            vectors = self.support_vectors_
        return self._fitted_kernel().expand(X, vectors, coef, starts)

    def _fitted_kernel(self) -> Kernel:
        if callable(self.kernel):
            return Function(self.kernel)
        if self.kernel == "precomputed":
            return Precomputed()
        return BUILT_IN[self.kernel](float(self._gamma), float(self.coef0), int(self.degree))

    def _validate_points(self, X: Any) -> Any:
        check_is_fitted(self)
        if callable(self.kernel):
            return _indexable(X)
        X = validate_data(self, X, dtype=[np.float64, np.float32], accept_sparse="csr", reset=False)
        if sp.issparse(X) and not self._sparse:
            raise ValueError(
                f"cannot use sparse input in {type(self).__name__!r} trained on dense data"
            )
        if self._sparse and not sp.issparse(X):
            X = sp.csr_matrix(X)
        return for_core(X)

    def _checked_expansion(self) -> tuple[Array, list[int]]:
        """Coefficients and group starts, after checking that the fitted attributes still fit
        together: they are open to the user, and the core trusts its input."""
        coef = self.dual_coef_.toarray() if sp.issparse(self.dual_coef_) else self.dual_coef_
        coef = np.asarray(coef, dtype=np.float64)
        counts = np.atleast_1d(np.asarray(self._n_support, dtype=np.int64))
        groups = len(counts) if coef.shape[0] > 1 else 1
        count = len(self.support_)
        consistent = (
            coef.ndim == 2
            and coef.shape[1] == count == counts.sum()
            and (counts >= 0).all()
            and coef.shape[0] == max(groups - 1, 1)
            and np.shape(self.intercept_) == (max(groups * (groups - 1) // 2, 1),)
        )
        if consistent and self.kernel == "precomputed":
            support = np.asarray(self.support_)
            consistent = count == 0 or (support.min() >= 0 and support.max() < self.shape_fit_[0])
        elif consistent and not callable(self.kernel):
            consistent = self._vectors_consistent(count)
        if not consistent:
            raise ValueError(
                f"The internal representation of {type(self).__name__} was altered:"
                " support_, support_vectors_, n_support_, dual_coef_ and intercept_ do not fit"
                " together. Fit it again."
            )
        starts = [0, *np.cumsum(counts)] if groups > 1 else [0, count]
        return coef, [int(start) for start in starts]

    def _vectors_consistent(self, count: int) -> bool:
        vectors = self.support_vectors_
        if sp.issparse(vectors) != self._sparse or vectors.shape != (count, self.n_features_in_):
            return False
        if self._sparse:
            try:
                vectors.check_format(full_check=True)
            except ValueError:
                return False
            return bool(vectors.format == "csr")
        return vectors.dtype in (np.float32, np.float64)


def _indexable(X: Any) -> Any:
    """X such that examples can be taken out of it, for a kernel function."""
    if sp.issparse(X):
        return X.tocsr()
    if isinstance(X, (list, tuple)):
        array = np.asarray(X) if len(X) and np.ndim(X[0]) == 1 else None
        return array if array is not None and array.dtype.kind in "fiub" else list(X)
    return X


def _variance(X: Any) -> float:
    """The variance of all entries of X, in float64 without a copy of X in float64."""
    if sp.issparse(X):
        total, squares = _sums(X.data, 0.0)
        count = int(X.shape[0]) * int(X.shape[1])
        return squares / count - (total / count) ** 2
    mean = float(X.mean(dtype=np.float64))
    with np.errstate(over="ignore", invalid="ignore"):
        return _sums(X, mean)[1] / int(X.size)


def _sums(values: Any, shift: float) -> tuple[float, float]:
    total = squares = 0.0
    rows = max(1, 2**18 // max(1, values[:1].size))
    for start in range(0, values.shape[0], rows):
        block = values[start : start + rows].astype(np.float64) - shift
        total += float(block.sum())
        squares += float(np.square(block).sum())
    return total, squares


def _print_status(status: Any, seconds: float) -> None:
    print(
        f"[softmargin] {seconds:8.1f} s  {status.iterations:9d} iterations"
        f"  violation {status.violation:.3e}  objective {status.objective:.9g}"
        f"  active {status.active}  kernel rows {status.kernel_rows}",
        flush=True,
    )
