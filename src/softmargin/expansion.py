"""A fitted kernel machine: support vectors with coefficients, and their kernel expansion."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted, validate_data

from softmargin import planning
from softmargin.columns import by_used_columns
from softmargin.kernels import BUILT_IN, Function, Kernel, Precomputed, take
from softmargin.validation import for_core, indexable, is_plain

Array = NDArray[np.float64]
Indices = NDArray[np.int32]


class Expansion:
    """The attributes that every fitted kernel machine has, and its sums over support vectors."""

    kernel: str | Callable[[Any, Any], Any]
    degree: int
    coef0: float
    n_jobs: int | None
    n_features_in_: int
    intercept_: Array
    dual_coef_: Any  # dense or CSR, as X was
    support_vectors_: Any
    _gamma: float

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "solution_")

    def _keep(self, X: Any, support: Indices, n_support: Indices, dual_coef: Array) -> None:
        """Sets the attributes that every fitted machine has."""
        self._sparse = sp.issparse(X) and not callable(self.kernel)
        self.shape_fit_ = X.shape if hasattr(X, "shape") else (len(X),)
        self.support_ = support.astype(np.int32)
        if self.kernel == "precomputed":
            self.support_vectors_ = np.empty((0, 0))
        else:
            self.support_vectors_ = take(X, support)
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
        if sp.issparse(self.support_vectors_):
            coef = by_used_columns(self._linear_coef, self.support_vectors_)
            coef.data.flags.writeable = False
            return coef
        coef = self._linear_coef(self.support_vectors_)
        coef.flags.writeable = False
        return coef

    def _linear_coef(self, vectors: Any) -> Any:
        return self.dual_coef_ @ vectors

    def _expand(self, X: Any) -> Array:
        """sums[t, g, o] over the support vectors of class g, all of them in one for others."""
        X = self._validate_points(X)
        coef, starts = self._checked_expansion()
        if self.kernel == "precomputed":
            X, vectors = X[:, self.support_], None
        else:
            vectors = self.support_vectors_
        threads = planning.threads(self.n_jobs)
        sums = self._fitted_kernel().expand(X, vectors, coef, starts, threads)
        if not np.isfinite(sums).all():
            row = int(np.flatnonzero(~np.isfinite(sums).all(axis=(1, 2)))[0])
            raise ValueError(
                f"The decision value of row {row} of X is not finite: its kernel values overflow,"
                " or the fitted attributes are not finite. Scale the data as for fit, or fit again."
            )
        return sums

    def _fitted_kernel(self) -> Kernel:
        if callable(self.kernel):
            return Function(self.kernel)
        if self.kernel == "precomputed":
            return Precomputed()
        if self.kernel not in BUILT_IN:
            raise ValueError(f"kernel={self.kernel!r} is unknown; it was changed after fit.")
        return BUILT_IN[self.kernel](float(self._gamma), float(self.coef0), int(self.degree))

    def _validate_points(self, X: Any) -> Any:
        check_is_fitted(self)
        if callable(self.kernel):
            return indexable(X)
        if not is_plain(X, self):
            checks = {"dtype": [np.float64, np.float32], "accept_sparse": "csr"}
            X = validate_data(self, X, reset=False, **checks)
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
        try:
            coef, counts = self._coefficients(), np.atleast_1d(self._n_support).astype(np.int64)
            consistent = self._consistent(coef, counts)
        except (AttributeError, IndexError, TypeError, ValueError):
            consistent = False
        if not consistent:
            raise ValueError(
                f"The internal representation of {type(self).__name__} was altered:"
                " support_, support_vectors_, n_support_, dual_coef_ and intercept_ do not fit"
                " together. Fit it again."
            )
        starts = [0, *np.cumsum(counts)] if len(coef) > 1 else [0, coef.shape[1]]
        return coef, [int(start) for start in starts]

    def _coefficients(self) -> Array:
        if not sp.issparse(self.dual_coef_):
            return np.asarray(self.dual_coef_, dtype=np.float64)
        self.dual_coef_.check_format(full_check=True)
        return np.asarray(self.dual_coef_.toarray(), dtype=np.float64)

    def _consistent(self, coef: Array, counts: NDArray[np.int64]) -> bool:
        groups = len(counts) if len(coef) > 1 else 1
        count = len(self.support_)
        if not (
            coef.shape == (max(groups - 1, 1), count)
            and (counts >= 0).all()
            and counts.sum() == count
            and np.shape(self.intercept_) == (max(groups * (groups - 1) // 2, 1),)
        ):
            return False
        if self.kernel == "precomputed":
            support = np.asarray(self.support_)
            within = (support >= 0) & (support < self.n_features_in_)
            return support.dtype.kind == "i" and bool(within.all())
        return callable(self.kernel) or self._vectors_consistent(count)

    def _vectors_consistent(self, count: int) -> bool:
        vectors = self.support_vectors_
        if sp.issparse(vectors) != self._sparse or vectors.shape != (count, self.n_features_in_):
            return False
        if self._sparse:
            vectors.check_format(full_check=True)
            return bool(vectors.format == "csr")
        return vectors.dtype in (np.float32, np.float64)
