"""Novelty detection: the one-class machine."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from os import PathLike
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import OutlierMixin, _fit_context
from sklearn.utils.validation import _num_samples

from softmargin.checkpoint import Checkpoint
from softmargin.formulations import OneClass, on_the_boundary_zero
from softmargin.machine import Array, KernelMachine
from softmargin.validation import sample_weights, unchanged_on_error
from softmargin.watching import Status
from softmargin.working_sets import WorkingSet


class OneClassSVM(OutlierMixin, KernelMachine):  # type: ignore[misc]
    """One-class support vector machine: the region where most of the data lie.

    Parameters
    ----------
    nu : float, default=0.5
        In (0, 1]: an upper bound on the fraction of training examples outside and a lower bound
        on the fraction of support vectors.

    Attributes
    ----------
    offset_ : ndarray of shape (1,)
        ``decision_function(X) = score_samples(X) - offset_``.

    See Also
    --------
    SVC : the other parameters and the attributes.
    """

    _parameter_constraints = {  # noqa: RUF012
        name: rule
        for name, rule in KernelMachine._parameter_constraints.items()
        if name
        not in (
            *("C", "epsilon", "class_weight"),
            *("random_state", "decision_function_shape", "break_ties"),
        )
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
        self.nu = nu
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

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> OneClassSVM:
        """Find the region where the examples X lie.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features) or (n_samples, n_samples)
            The examples; the kernel matrix for ``kernel="precomputed"``.
        y : Ignored
            There are no targets; here by convention.
        sample_weight : array-like of shape (n_samples,), default=None
            A weight of w counts as w repetitions of the example, zero as its absence.

        Returns
        -------
        self : object
        """
        with unchanged_on_error(self):
            X, _ = self._validate_examples(X, None, numeric_target=False)
            weight = sample_weights(sample_weight, _num_samples(X))
            ids = np.flatnonzero(weight > 0).astype(np.int32)
            (model,) = self._solve(X, weight, [(ids, OneClass(weight[ids], self.nu))])
            used = model.coef != 0
            n_support = np.array([used.sum()], dtype=np.int32)
            self._keep(X, ids[used], n_support, model.coef[None, used])
            self.intercept_ = np.array([model.intercept])
            self.offset_ = -self.intercept_
            self.n_iter_ = int(self._n_iter[0])
            self._warn_unless_converged()
        return self

    def decision_function(self, X: Any) -> Array:
        """Signed distance to the region's boundary (in units of the model): positive inside."""
        values: Array = self._expand(X)[:, 0, 0] + self.intercept_[0]
        return on_the_boundary_zero(values, self.intercept_[0], len(self.support_))

    def score_samples(self, X: Any) -> Array:
        """The decision values before the offset is taken off."""
        scores: Array = self.decision_function(X) + self.offset_
        return scores

    def predict(self, X: Any) -> NDArray[np.intp]:
        """+1 for samples inside the region or on its boundary, -1 for those outside."""
        return np.where(self.decision_function(X) >= 0, 1, -1).astype(np.intp)
