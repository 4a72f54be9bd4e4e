"""The fitted attributes of the kernel machines, and the validation of points to predict."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from softmargin.estimator.conventions import check_is_fitted, validate_data
from softmargin.estimator.kernel_expansion import KernelExpansion
from softmargin.estimator.validation import CHECKS, for_core, indexable, is_plain
from softmargin.fitting.kernel_fit import FitResult
from softmargin.fitting.planning import threads
from softmargin.io.data.ranges import Range
from softmargin.problem.kernels import FunctionOfProducts, Kernel, make_kernel, take
from softmargin.problem.sparse_columns import by_used_columns
from softmargin.solution import Solution

Array = NDArray[np.float64]
Indices = NDArray[np.int32]


class Fitted:
    """The attributes of every fitted kernel machine, and the expansion that it predicts with."""

    kernel: str | Callable[[Any, Any], Any]
    degree: int
    coef0: float
    n_jobs: int | None
    n_features_in_: int
    intercept_: Array
    dual_coef_: Any  # dense or CSR, as X was
    support_vectors_: Any
    solution_: Solution
    n_iter_: Any  # a number, or for a classifier one per pair of classes
    warm_start: bool
    _gamma: float

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "solution_")

    def _keep(
        self,
        X: Any,
        result: FitResult,
        support: Indices,
        n_support: Indices,
        dual_coef: Array,
        sign: float = 1.0,
    ) -> None:
        """Sets the attributes that every fitted kernel machine has, from the result of its fit;
        the decision values are multiplied by `sign`."""
        self.__dict__.pop("_scaling", None)  # of the machine that was loaded before this fit
        self.solution_ = Solution.combine(result.certificates)
        self.fit_status_ = int(not self.solution_.converged)
        if isinstance(result.kernel, FunctionOfProducts):
            self._gamma = result.kernel.gamma
        self._sparse = sp.issparse(X) and not callable(self.kernel)
        self.shape_fit_ = X.shape if hasattr(X, "shape") else (len(X),)
        self.support_ = support.astype(np.int32)
        if self.kernel == "precomputed":
            self.support_vectors_ = np.empty((0, 0))
        else:
            self.support_vectors_ = take(X, support)
        self._n_support = n_support
        dual_coef *= sign  # in place: it may be the largest table of all
        self.dual_coef_ = sp.csr_matrix(dual_coef) if self._sparse else dual_coef
        self.intercept_ = sign * result.intercept
        # For many pairs of classes, what a warm start needs takes more memory than the model.
        self.__dict__.pop("_kept", None)
        if self.warm_start or not result.final:
            self._kept = result.kept()

    def _keep_result(self, X: Any, result: FitResult) -> None:
        """Like `_keep`, for a machine with one problem."""
        (answer,), ids = result.answers, result.problems.state(range(1)).ids
        used = answer.coef != 0
        count = np.array([used.sum()], dtype=np.int32)
        self._keep(X, result, ids[used], count, answer.coef[None, used])
        self.n_iter_ = int(result.iterations[0])

    @property
    def n_support_(self) -> Indices:
        """Number of support vectors; for a classifier, one number per class."""
        if not self.__sklearn_is_fitted__():
            raise AttributeError(f"{type(self).__name__} is not fitted yet: n_support_ is unknown.")
        return self._n_support

    @property
    def coef_(self) -> Any:
        """Weights of the features, for ``kernel="linear"`` only."""
        if self.kernel != "linear":
            raise AttributeError("coef_ is only available when using a linear kernel")
        if sp.issparse(self.support_vectors_):
            coef = by_used_columns(self._linear_coef, self.support_vectors_)
            coef.data.flags.writeable = False
            return coef
        coef = self._linear_coef(self.support_vectors_)
        coef.flags.writeable = False
        return coef

    def _linear_coef(self, vectors: Any) -> Any:
        return self.dual_coef_ @ vectors

    def _fitted_kernel(self) -> Kernel:
        return make_kernel(self.kernel, getattr(self, "_gamma", 1.0), self.coef0, self.degree)

    def _expansion(self) -> KernelExpansion:
        """The kernel expansion that predicts, after a check that the fitted attributes are
        consistent: users can change them."""
        kernel = self._fitted_kernel()
        try:
            expansion = KernelExpansion.of(kernel, vars(self))
            fault = expansion.fault(getattr(self, "n_features_in_", 0))
            if not callable(self.kernel) and self.kernel != "precomputed":
                fault = fault or self._fault_of_form()
        except (AttributeError, LookupError, TypeError, ValueError):
            fault = "arrays"
        if fault:
            raise ValueError(
                f"The internal representation of {type(self).__name__} was altered:"
                " support_, support_vectors_, n_support_, dual_coef_ and intercept_ do not fit"
                " together. Fit it again."
            )
        return expansion

    def _values(self, X: Any) -> Array:
        X = self._validate_points(X)
        return self._expansion().values(X, threads(self.n_jobs))

    def _fault_of_form(self) -> str | None:
        sparse = sp.issparse(self.support_vectors_)
        return None if sparse == self._sparse else "support_vectors_ as sparse as X was"

    def _validate_points(self, X: Any) -> Any:
        check_is_fitted(self)
        if callable(self.kernel):
            return indexable(X)
        named = hasattr(self, "feature_names_in_")
        if named or not is_plain(X) or X.shape[1] != self.n_features_in_:
            X = validate_data(self, X, reset=False, **CHECKS)
        X = self._scaled(X)
        if sp.issparse(X) and not self._sparse:
            raise ValueError(
                f"cannot use sparse input in {type(self).__name__!r} trained on dense data"
            )
        if self._sparse and not sp.issparse(X):
            X = sp.csr_matrix(X)
        return for_core(X)

    def _scaled(self, X: Any) -> Any:
        """X scaled like the training data, if the machine's model file says how."""
        if not hasattr(self, "_scaling"):
            return X
        scaled = Range(*self._scaling).apply(X)
        return scaled if self._sparse else scaled.toarray()
