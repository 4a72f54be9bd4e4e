"""Support vector regression: epsilon-SVR and nu-SVR."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Sequence
from numbers import Real
from os import PathLike
from typing import Any

import numpy as np

from softmargin.checkpoint import Checkpoint
from softmargin.estimator.conventions import (
    Interval,
    RegressorMixin,
    assert_all_finite,
    column_or_1d,
    fit_context,
)
from softmargin.estimator.intervals import Intervals
from softmargin.estimator.kernel_machine import Array, KernelMachine
from softmargin.estimator.out_of_fold import FitWithFolds
from softmargin.estimator.scaling import warn_unless_scaled
from softmargin.estimator.validation import prices, sample_weights, unchanged_on_error
from softmargin.fitting.problems import OneProblem
from softmargin.problem.formulations import (
    EpsilonSupportVectorRegression,
    Formulation,
    NuSupportVectorRegression,
)
from softmargin.watching import Status
from softmargin.working_sets import WorkingSet


class Regressor(Intervals, RegressorMixin, KernelMachine):  # type: ignore[misc]
    """Base of SVR and NuSVR."""

    _parameter_constraints: dict[str, list[Any]] = {  # noqa: RUF012
        **KernelMachine._parameter_constraints,
        "probability": ["boolean"],
        "cv": ["cv_object"],
    }

    @abstractmethod
    def _problem(self, z: Array, weight: Array) -> Formulation: ...

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Regressor:
        """Fit the machine to examples X and their targets y.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features) or (n_samples, n_samples)
            The examples, or the kernel matrix for ``kernel="precomputed"``.  float32 and float64,
            dense or CSR, are used without conversion.
        y : array-like of shape (n_samples,)
            Target values.
        sample_weight : array-like of shape (n_samples,), default=None
            A weight of w is equivalent to repeating the example w times; zero leaves it out.

        Returns
        -------
        self : object
        """
        with unchanged_on_error(self) as began:
            X, y = self._validate_examples(X, y, numeric_target=True)
            problem, weight = self._state(y, sample_weight)
            folds = self._folds(X, y, weight, problem)
            result = self._solve(X, weight, problem, began, folds)
            self._keep_result(X, result)
            self._keep_residuals(FitWithFolds(X, y, weight, result, folds, began))
            self._warn_unless_converged()
            warn_unless_scaled(self, X, stacklevel=4)
        return self

    def _state(self, y: Any, sample_weight: Any = None) -> tuple[OneProblem, Array]:
        target = column_or_1d(y, warn=True).astype(np.float64)
        assert_all_finite(target, input_name="y")
        weight = sample_weights(sample_weight, len(target))
        ids = np.flatnonzero(weight > 0).astype(np.int32)
        return OneProblem(ids, self._problem(target[ids], weight[ids])), weight

    def predict(self, X: Any) -> Array:
        """Predicted targets of the samples in X."""
        return self._values(X)


class SVR(Regressor):
    """Epsilon-support vector regression.

    Minimises ``1/2 w'w + C * sum of epsilon-insensitive losses`` exactly.

    Parameters
    ----------
    C : float, default=1.0
        Weight of the errors beyond epsilon against ``1/2 w'w``.
    epsilon : float, default=0.1
        Half the width of the tube within which errors cost nothing.
    probability : bool, default=False
        Whether to compute what `predict_interval` needs: the residuals of the training examples,
        each predicted by a machine that was not trained on it.
    cv : int, splitter, iterable of splits or None, default=None
        The folds for ``probability``: their number (None means 5), a splitter of scikit-learn, or
        the splits themselves.

    See Also
    --------
    SVC : the other parameters and the attributes. For regression, ``n_support_`` has one entry,
        ``dual_coef_`` one row, and ``n_iter_`` is an int.

    Examples
    --------
    >>> from softmargin import SVR
    >>> machine = SVR(kernel="linear", C=10).fit([[0.0], [1.0], [2.0]], [0.0, 1.0, 2.0])
    >>> machine.predict([[1.0]]).round(6)
    array([1.])
    """

    _parameter_constraints: dict[str, list[Any]] = {  # noqa: RUF012
        **Regressor._parameter_constraints,
        "C": [Interval(Real, 0.0, None, closed="right")],
        "epsilon": [Interval(Real, 0.0, None, closed="left")],
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
        probability: bool = False,
        cache_size: float | str = "auto",
        verbose: bool | int = False,
        max_iter: int = -1,
        working_set: str | WorkingSet = "auto",
        precision: str = "auto",
        n_jobs: int | None = None,
        gap_tol: float | None = 1e-3,
        time_limit: float | None = None,
        on_interrupt: str = "raise",
        callbacks: Sequence[Callable[[Status], Any]] | None = None,
        warm_start: bool = False,
        checkpoint: str | PathLike[str] | Checkpoint | None = None,
        cv: Any = None,
    ) -> None:
        self.kernel = kernel
        self.degree = degree
        self.gamma = gamma
        self.coef0 = coef0
        self.tol = tol
        self.C = C
        self.epsilon = epsilon
        self.shrinking = shrinking
        self.probability = probability
        self.cache_size = cache_size
        self.verbose = verbose
        self.max_iter = max_iter
        self.working_set = working_set
        self.precision = precision
        self.n_jobs = n_jobs
        self.gap_tol = gap_tol
        self.time_limit = time_limit
        self.on_interrupt = on_interrupt
        self.callbacks = callbacks
        self.warm_start = warm_start
        self.checkpoint = checkpoint
        self.cv = cv

    def _problem(self, z: Array, weight: Array) -> Formulation:
        return EpsilonSupportVectorRegression(z, prices(self.C, weight), self.epsilon)


class NuSVR(Regressor):
    """nu-support vector regression: the parameter nu replaces epsilon.

    Parameters
    ----------
    nu : float, default=0.5
        In (0, 1]: an upper bound on the fraction of examples outside the tube and a lower bound on
        the fraction of support vectors.
    C : float, default=1.0
        Weight of the errors beyond the tube against ``1/2 w'w``.
    probability, cv : as in :class:`SVR`.

    See Also
    --------
    SVC, SVR : the other parameters and the attributes.
    """

    _parameter_constraints: dict[str, list[Any]] = {  # noqa: RUF012
        **Regressor._parameter_constraints,
        "C": [Interval(Real, 0.0, None, closed="neither")],
        "nu": [Interval(Real, 0.0, 1.0, closed="right")],
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
        probability: bool = False,
        tol: float = 1e-3,
        cache_size: float | str = "auto",
        verbose: bool | int = False,
        max_iter: int = -1,
        working_set: str | WorkingSet = "auto",
        precision: str = "auto",
        n_jobs: int | None = None,
        gap_tol: float | None = 1e-3,
        time_limit: float | None = None,
        on_interrupt: str = "raise",
        callbacks: Sequence[Callable[[Status], Any]] | None = None,
        warm_start: bool = False,
        checkpoint: str | PathLike[str] | Checkpoint | None = None,
        cv: Any = None,
    ) -> None:
        self.nu = nu
        self.C = C
        self.kernel = kernel
        self.degree = degree
        self.gamma = gamma
        self.coef0 = coef0
        self.shrinking = shrinking
        self.probability = probability
        self.tol = tol
        self.cache_size = cache_size
        self.verbose = verbose
        self.max_iter = max_iter
        self.working_set = working_set
        self.precision = precision
        self.n_jobs = n_jobs
        self.gap_tol = gap_tol
        self.time_limit = time_limit
        self.on_interrupt = on_interrupt
        self.callbacks = callbacks
        self.warm_start = warm_start
        self.checkpoint = checkpoint
        self.cv = cv

    def _problem(self, z: Array, weight: Array) -> Formulation:
        prices(self.C, weight.sum(keepdims=True))  # only a check: C W must not overflow
        return NuSupportVectorRegression(z, prices(self.C, weight), self.nu)
