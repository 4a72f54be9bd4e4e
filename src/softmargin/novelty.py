"""Novelty detection: the one-class machine."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from numbers import Real
from os import PathLike
from typing import Any

import numpy as np
from numpy.typing import NDArray

from softmargin.calibration.inliers import fit_marks, inlier_probability
from softmargin.checkpoint import Checkpoint
from softmargin.estimator.conventions import (
    Interval,
    NotFittedError,
    OutlierMixin,
    available_if,
    fit_context,
    num_samples,
)
from softmargin.estimator.kernel_machine import Array, KernelMachine
from softmargin.estimator.scaling import warn_unless_scaled
from softmargin.estimator.validation import sample_weights, unchanged_on_error, with_probability
from softmargin.fitting.kernel_fit import FitResult
from softmargin.fitting.planning import Plan
from softmargin.fitting.problems import OneProblem
from softmargin.problem.formulations import OneClass, on_the_boundary_zero
from softmargin.problem.kernels import Kernel, take
from softmargin.watching import Status
from softmargin.working_sets import WorkingSet


class OneClassSVM(OutlierMixin, KernelMachine):  # type: ignore[misc]
    """One-class support vector machine: finds the region where most of the data lie.

    Parameters
    ----------
    nu : float, default=0.5
        In (0, 1]: an upper bound on the fraction of training examples outside the region and a
        lower bound on the fraction of support vectors.
    probability : bool, default=False
        Whether to compute what `inlier_probability` needs: LIBSVM's estimate, as with
        svm-train -b 1.

    Attributes
    ----------
    offset_ : ndarray of shape (1,)
        ``decision_function(X) = score_samples(X) - offset_``.

    See Also
    --------
    SVC : the other parameters and the attributes.
    """

    _parameter_constraints: dict[str, list[Any]] = {  # noqa: RUF012
        **KernelMachine._parameter_constraints,
        "nu": [Interval(Real, 0.0, 1.0, closed="right")],
        "probability": ["boolean"],
    }

    def __init__(
        self,
        *,
        kernel: str | Callable[[Any, Any], Any] = "rbf",
        degree: int = 3,
        gamma: str | float = "scale",
        coef0: float = 0.0,
        tol: float = 1e-3,
        nu: float = 0.5,
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
    ) -> None:
        self.kernel = kernel
        self.degree = degree
        self.gamma = gamma
        self.coef0 = coef0
        self.tol = tol
        self.nu = nu
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

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> OneClassSVM:
        """Find the region where the examples X lie.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features) or (n_samples, n_samples)
            The examples, or the kernel matrix for ``kernel="precomputed"``.
        y : Ignored
            There are no targets; accepted by scikit-learn's convention.
        sample_weight : array-like of shape (n_samples,), default=None
            A weight of w is equivalent to repeating the example w times; zero leaves it out.

        Returns
        -------
        self : object
        """
        with unchanged_on_error(self) as began:
            X, _ = self._validate_examples(X, None, numeric_target=False)
            problem, weight = self._state(np.empty(num_samples(X)), sample_weight)
            self._keep_result(X, self._solve(X, weight, problem, began))
            self._mark_inliers(X, problem.ids)
            self._warn_unless_converged()
            warn_unless_scaled(self, X, stacklevel=4)
        return self

    def _mark_inliers(self, X: Any, ids: NDArray[np.int32]) -> None:
        self.__dict__.pop("prob_density_marks_", None)
        if self.probability:
            self.prob_density_marks_ = fit_marks(self.decision_function(take(X, ids)))

    @available_if(with_probability("inlier_probability"))
    def inlier_probability(self, X: Any) -> Array:
        """LIBSVM's probability that a sample is an inlier, in tenths, for ``probability=True``."""
        values = self.decision_function(X)
        if not hasattr(self, "prob_density_marks_"):
            raise NotFittedError("Fit again with probability=True for inlier probabilities.")
        return inlier_probability(values, self.prob_density_marks_)

    def _plan(self, size: int, kernel: Kernel) -> Plan:
        """Without Newton steps in "auto": repeated examples and an optimum of zero (linear kernel,
        the origin among the data), are common; rounding would then decide where points lie."""
        plan = super()._plan(size, kernel)
        return plan.without_newton() or plan if self.working_set == "auto" else plan

    def _state(self, y: Any, sample_weight: Any = None) -> tuple[OneProblem, Array]:
        weight = sample_weights(sample_weight, len(y))
        ids = np.flatnonzero(weight > 0).astype(np.int32)
        return OneProblem(ids, OneClass(weight[ids], self.nu)), weight

    def _keep_result(self, X: Any, result: FitResult) -> None:
        super()._keep_result(X, result)
        self.offset_ = -self.intercept_

    def decision_function(self, X: Any) -> Array:
        """Decision values of the samples in X: positive inside the region, negative outside."""
        values = self._values(X)
        return on_the_boundary_zero(values, self.intercept_[0], len(self.support_))

    def score_samples(self, X: Any) -> Array:
        """The decision values before ``offset_`` is subtracted."""
        scores: Array = self.decision_function(X) + self.offset_
        return scores

    def predict(self, X: Any) -> NDArray[np.intp]:
        """+1 for samples inside the region or on its boundary, -1 for those outside.

        Free support vectors lie on the boundary only to within `tol`: about half of them are
        outside by less than that, as in scikit-learn.
        """
        return np.where(self.decision_function(X) >= 0, 1, -1).astype(np.intp)
