"""Support vector regression: epsilon-SVR and nu-SVR."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Sequence
from numbers import Real
from os import PathLike
from typing import Any

import numpy as np
from sklearn.base import RegressorMixin, _fit_context
from sklearn.utils import assert_all_finite, column_or_1d
from sklearn.utils._param_validation import Interval

from softmargin.checkpoint import Checkpoint
from softmargin.formulations import (
    EpsilonSupportVectorRegression,
    Formulation,
    NuSupportVectorRegression,
)
from softmargin.machine import Array, KernelMachine
from softmargin.validation import prices, sample_weights, unchanged_on_error
from softmargin.watching import Status
from softmargin.working_sets import WorkingSet


class Regressor(RegressorMixin, KernelMachine):  # type: ignore[misc]
    """Base of SVR and NuSVR."""

    @abstractmethod
    def _problem(self, z: Array, weight: Array) -> Formulation: ...

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Regressor:
        """Fit the machine to examples X and their targets y.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features) or (n_samples, n_samples)
            The examples; the kernel matrix for ``kernel="precomputed"``.  float32 and float64,
            dense or CSR, are used as they are.
        y : array-like of shape (n_samples,)
            Target values.
        sample_weight : array-like of shape (n_samples,), default=None
            A weight of w counts as w repetitions of the example, zero as its absence.

        Returns
        -------
        self : object
        """
        with unchanged_on_error(self):
            X, y = self._validate_examples(X, y, numeric_target=True)
            target = column_or_1d(y, warn=True).astype(np.float64)
            assert_all_finite(target, input_name="y")
            weight = sample_weights(sample_weight, len(target))
            ids = np.flatnonzero(weight > 0).astype(np.int32)
            (model,) = self._solve(X, weight, [(ids, self._problem(target[ids], weight[ids]))])
            used = model.coef != 0
            n_support = np.array([used.sum()], dtype=np.int32)
            self._keep(X, ids[used], n_support, model.coef[None, used])
            self.intercept_ = np.array([model.intercept])
            self.n_iter_ = int(self._n_iter[0])
            self._warn_unless_converged()
        return self

    def predict(self, X: Any) -> Array:
        """Predicted targets of the samples in X."""
        values: Array = self._expand(X)[:, 0, 0] + self.intercept_[0]
        return values


class SVR(Regressor):
    """Epsilon-support vector regression.

    Minimises ``1/2 w'w + C * sum of epsilon-insensitive losses`` exactly.

    Parameters
    ----------
    C : float, default=1.0
        Price of a unit of error beyond epsilon.
    epsilon : float, default=0.1
        Half the width of the tube within which errors cost nothing.

    See Also
    --------
    SVC : the other parameters and the attributes. For a regression, ``n_support_`` has one entry,
        ``dual_coef_`` one row, and ``n_iter_`` is an int.

    Examples
    --------
    >>> from softmargin import SVR
    >>> machine = SVR(kernel="linear", C=10).fit([[0.0], [1.0], [2.0]], [0.0, 1.0, 2.0])
    >>> machine.predict([[1.0]]).round(6)
    array([1.])
    """

    _parameter_constraints = {  # noqa: RUF012
        name: rule
        for name, rule in KernelMachine._parameter_constraints.items()
        if name
        not in ("nu", "class_weight", "random_state", "decision_function_shape", "break_ties")
    }

    def __init__(
        self,
        *,
        kernel: str | Callable[[Any, Any], Any] = "rbf",
        degree: int = 3,
        gamma: str | float = "scale",
        coef0: float = 0.0,
        tol: float = 1e-3,
        C: float = 1.0,
        epsilon: float = 0.1,
        shrinking: bool = True,
        cache_size: float | str = "auto",
        verbose: bool | int = False,
        max_iter: int = -1,
        working_set: str | WorkingSet = "auto",
        precision: str = "auto",
        n_jobs: int | None = None,
        time_limit: float | None = None,
        on_interrupt: str = "raise",
        callbacks: Sequence[Callable[[Status], Any]] | None = None,
        warm_start: bool = False,
        checkpoint: str | PathLike[str] | Checkpoint | None = None,
    ) -> None:
        self.kernel = kernel
        self.degree = degree
        self.gamma = gamma
        self.coef0 = coef0
        self.tol = tol
        self.C = C
        self.epsilon = epsilon
        self.shrinking = shrinking
        self.cache_size = cache_size
        self.verbose = verbose
        self.max_iter = max_iter
        self.working_set = working_set
        self.precision = precision
        self.n_jobs = n_jobs
        self.time_limit = time_limit
        self.on_interrupt = on_interrupt
        self.callbacks = callbacks
        self.warm_start = warm_start
        self.checkpoint = checkpoint

    def _problem(self, z: Array, weight: Array) -> Formulation:
        return EpsilonSupportVectorRegression(z, prices(self.C, weight), self.epsilon)


class NuSVR(Regressor):
    """nu-support vector regression: nu instead of epsilon.

    Parameters
    ----------
    nu : float, default=0.5
        In (0, 1]: an upper bound on the fraction of errors beyond the tube and a lower bound on
        the fraction of support vectors.
    C : float, default=1.0
        Price of a unit of error beyond the tube.

    See Also
    --------
    SVC, SVR : the other parameters and the attributes.
    """

    _parameter_constraints = {  # noqa: RUF012
        **{name: rule for name, rule in SVR._parameter_constraints.items() if name != "epsilon"},
        "nu": KernelMachine._parameter_constraints["nu"],
        "C": [Interval(Real, 0.0, None, closed="neither")],
    }

    def __init__(
        self,
        *,
        nu: float = 0.5,
        C: float = 1.0,
        kernel: str | Callable[[Any, Any], Any] = "rbf",
        degree: int = 3,
        gamma: str | float = "scale",
        coef0: float = 0.0,
        shrinking: bool = True,
        tol: float = 1e-3,
        cache_size: float | str = "auto",
        verbose: bool | int = False,
        max_iter: int = -1,
        working_set: str | WorkingSet = "auto",
        precision: str = "auto",
        n_jobs: int | None = None,
        time_limit: float | None = None,
        on_interrupt: str = "raise",
        callbacks: Sequence[Callable[[Status], Any]] | None = None,
        warm_start: bool = False,
        checkpoint: str | PathLike[str] | Checkpoint | None = None,
    ) -> None:
        self.nu = nu
        self.C = C
        self.kernel = kernel
        self.degree = degree
        self.gamma = gamma
        self.coef0 = coef0
        self.shrinking = shrinking
        self.tol = tol
        self.cache_size = cache_size
        self.verbose = verbose
        self.max_iter = max_iter
        self.working_set = working_set
        self.precision = precision
        self.n_jobs = n_jobs
        self.time_limit = time_limit
        self.on_interrupt = on_interrupt
        self.callbacks = callbacks
        self.warm_start = warm_start
        self.checkpoint = checkpoint

    def _problem(self, z: Array, weight: Array) -> Formulation:
        prices(self.C, weight.sum(keepdims=True))  # what the tube's width may cost
        return NuSupportVectorRegression(z, prices(self.C, weight), self.nu)
