"""DaskLinearSVC and DaskLinearSVR."""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from os import PathLike
from typing import Any

import dask
import numpy as np
from distributed import Client
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.utils.validation import check_is_fitted

from softmargin.checkpoint import Checkpoint
from softmargin.dask.cluster import Cluster
from softmargin.dask.collections import chunks_of, cut, is_frame, lazily
from softmargin.dask.crew import DaskSource
from softmargin.estimator import block_fit
from softmargin.estimator.keeps_client import KeepsClient
from softmargin.estimator.linear_machine import LinearMachine
from softmargin.estimator.validation import unchanged_on_error
from softmargin.linear import LinearSVC, LinearSVR
from softmargin.watching import Status

ON_CLUSTER = ("client", "wait_limit")
"""Parameters that the machines without Dask do not have."""


class _DaskMachine(KeepsClient, BaseEstimator):  # type: ignore[misc]
    """What both share.  The fitted machine is an ordinary one, `_local`."""

    _kind: type[LinearMachine]
    _local: LinearMachine
    client: Client | None
    wait_limit: float
    n_blocks: int | None

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Any:
        """Fit the machine to the examples of all workers.

        Parameters
        ----------
        X : Dask array (of dense or sparse chunks) or dataframe of shape (n_samples, n_features)
            Each chunk of rows is a block, unless `n_blocks` says otherwise.
        y : Dask array or series, or array of shape (n_samples,)
        sample_weight : the same, default=None

        Returns
        -------
        self : object
        """
        with unchanged_on_error(self) as began:
            cluster = Cluster(self.client, self.wait_limit)
            given = self.get_params(deep=False)
            local = self._kind(**{k: v for k, v in given.items() if k not in ON_CLUSTER})
            local._validate_params()
            try:
                arrays = cut(X, y, sample_weight, self.n_blocks)
                source = DaskSource(cluster, chunks_of(cluster, *arrays))
                run = block_fit.fit(local, source, began)
            finally:
                cluster.close()
            if is_frame(X):
                self.feature_names_in_ = np.asarray(X.columns, dtype=object)
            self._keep(local)
            self.traffic_ = {
                "sent": cluster.sent,
                "received": cluster.received,
                "losses": run.lost,
            }
            local._warn_unless_converged()
        return self

    def _keep(self, local: LinearMachine) -> None:
        self._local = local
        for name in ("coef_", "intercept_", "solution_", "n_iter_", "n_features_in_"):
            setattr(self, name, getattr(local, name))

    @property
    def history_(self) -> Any:
        """How the fit progressed, as for the machines without Dask."""
        check_is_fitted(self)
        return self._local.history_

    def to_local(self) -> Any:
        """The fitted machine as an ordinary one, which needs no cluster."""
        check_is_fitted(self)
        local = copy.copy(self._local)
        local.coef_, local.intercept_ = self.coef_.copy(), self.intercept_.copy()
        if hasattr(self, "feature_names_in_"):
            local.feature_names_in_ = self.feature_names_in_
        return local

    def predict(self, X: Any) -> Any:
        """The predictions for examples X: a Dask array, computed when it is asked for; for an
        ordinary array, an ordinary array."""
        return self._apply(X, "predict", self._prediction_dtype, None)

    def _apply(self, X: Any, method: str, dtype: Any, columns: int | None) -> Any:
        check_is_fitted(self)
        if not dask.is_dask_collection(X):
            return getattr(self.to_local(), method)(X)
        if is_frame(X) and hasattr(self, "feature_names_in_"):
            found, known = list(X.columns), list(self.feature_names_in_)
            if found != known:
                raise ValueError(
                    f"X has the columns {found}; the machine was fitted to {known}. Select them in"
                    " this order."
                )
        return lazily(X, getattr(block_fit.bare(self._local), method), dtype, columns)

    @property
    def _prediction_dtype(self) -> Any:
        raise NotImplementedError


class DaskLinearSVC(ClassifierMixin, _DaskMachine):  # type: ignore[misc]
    """`LinearSVC` on a Dask cluster: the same problem, optimum and certificate.

    The examples are in blocks, which descend side by side (`LinearSVC(n_blocks=...)`).  The same
    blocks and seed give the same bits on any number of workers of the same kind of processor.

    Parameters
    ----------
    loss, tol, C, multi_class, fit_intercept, intercept_scaling, class_weight, verbose, random_state
        As for :class:`softmargin.LinearSVC`.
    max_iter, time_limit, on_interrupt, callbacks, checkpoint, gap_tol
        As there; a round is a pass.  After the client or the scheduler has died, the same fit
        resumes from its checkpoint.
    n_blocks : int or None, default=None
        The number of blocks; None: one per chunk of rows.
    client : dask.distributed.Client or None, default=None
        None: the current one.
    wait_limit : float, default=600
        If no task of the fit ends for this many seconds, it raises
        :class:`softmargin.dask.ClusterError`, which says what it was waiting for.

    Attributes
    ----------
    coef_, intercept_, classes_, class_weight_, solution_, history_, n_iter_, n_features_in_
        As for :class:`softmargin.LinearSVC`.
    feature_names_in_ : the columns of a dataframe
    traffic_ : dict
        Bytes "sent" to and "received" from the cluster by the client, and how often blocks were
        lost with a worker ("losses").

    Examples
    --------
    >>> import dask.array as da
    >>> from dask.distributed import Client
    >>> from softmargin.dask import DaskLinearSVC
    >>> client = Client()  # doctest: +SKIP
    >>> X, y = da.random.random((1000, 5), chunks=(250, 5)), da.arange(1000, chunks=250) % 3
    >>> machine = DaskLinearSVC(random_state=0).fit(X, y)  # doctest: +SKIP
    >>> machine.predict(X).compute()  # doctest: +SKIP
    """

    _kind = LinearSVC

    def __init__(
        self,
        loss: str = "squared_hinge",
        *,
        tol: float = 1e-4,
        C: float = 1.0,
        multi_class: str = "ovr",
        fit_intercept: bool = True,
        intercept_scaling: float = 1,
        class_weight: dict[Any, float] | str | None = None,
        verbose: bool | int = 0,
        random_state: Any = None,
        max_iter: int = 1000,
        n_blocks: int | None = None,
        time_limit: float | None = None,
        on_interrupt: str = "raise",
        callbacks: Sequence[Callable[[Status], Any]] | None = None,
        checkpoint: str | PathLike[str] | Checkpoint | None = None,
        gap_tol: float | None = None,
        client: Client | None = None,
        wait_limit: float = 600.0,
    ) -> None:
        self.loss = loss
        self.tol = tol
        self.C = C
        self.multi_class = multi_class
        self.fit_intercept = fit_intercept
        self.intercept_scaling = intercept_scaling
        self.class_weight = class_weight
        self.verbose = verbose
        self.random_state = random_state
        self.max_iter = max_iter
        self.n_blocks = n_blocks
        self.time_limit = time_limit
        self.on_interrupt = on_interrupt
        self.callbacks = callbacks
        self.checkpoint = checkpoint
        self.gap_tol = gap_tol
        self.client = client
        self.wait_limit = wait_limit

    def _keep(self, local: Any) -> None:
        super()._keep(local)
        self.classes_, self.class_weight_ = local.classes_, local.class_weight_

    def decision_function(self, X: Any) -> Any:
        """The scores of examples X, as a Dask array: a column per class, or one number for two
        classes."""
        check_is_fitted(self)
        columns = None if len(self.classes_) == 2 else len(self.classes_)
        return self._apply(X, "decision_function", np.dtype(np.float64), columns)

    @property
    def _prediction_dtype(self) -> Any:
        return self.classes_.dtype


class DaskLinearSVR(RegressorMixin, _DaskMachine):  # type: ignore[misc]
    """`LinearSVR` on a Dask cluster: the same problem, optimum and certificate.

    Parameters
    ----------
    epsilon, tol, C, loss, fit_intercept, intercept_scaling, verbose, random_state
        As for :class:`softmargin.LinearSVR`.
    max_iter, n_blocks, time_limit, on_interrupt, callbacks, checkpoint, gap_tol, client, wait_limit
        As for :class:`DaskLinearSVC`.

    Attributes
    ----------
    coef_, intercept_, solution_, history_, n_iter_, n_features_in_, feature_names_in_, traffic_
        As for :class:`DaskLinearSVC`.
    """

    _kind = LinearSVR

    def __init__(
        self,
        *,
        epsilon: float = 0.0,
        tol: float = 1e-4,
        C: float = 1.0,
        loss: str = "epsilon_insensitive",
        fit_intercept: bool = True,
        intercept_scaling: float = 1.0,
        verbose: bool | int = 0,
        random_state: Any = None,
        max_iter: int = 1000,
        n_blocks: int | None = None,
        time_limit: float | None = None,
        on_interrupt: str = "raise",
        callbacks: Sequence[Callable[[Status], Any]] | None = None,
        checkpoint: str | PathLike[str] | Checkpoint | None = None,
        gap_tol: float | None = None,
        client: Client | None = None,
        wait_limit: float = 600.0,
    ) -> None:
        self.epsilon = epsilon
        self.tol = tol
        self.C = C
        self.loss = loss
        self.fit_intercept = fit_intercept
        self.intercept_scaling = intercept_scaling
        self.verbose = verbose
        self.random_state = random_state
        self.max_iter = max_iter
        self.n_blocks = n_blocks
        self.time_limit = time_limit
        self.on_interrupt = on_interrupt
        self.callbacks = callbacks
        self.checkpoint = checkpoint
        self.gap_tol = gap_tol
        self.client = client
        self.wait_limit = wait_limit

    def _keep(self, local: Any) -> None:
        local.coef_ = local.coef_.ravel()
        super()._keep(local)

    @property
    def _prediction_dtype(self) -> Any:
        return np.dtype(np.float64)
