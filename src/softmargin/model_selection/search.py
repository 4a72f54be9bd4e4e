"""GridSearchCV and RandomizedSearchCV: scikit-learn's, with kernels and solutions shared."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Iterable
from numbers import Real
from os import PathLike
from typing import Any

import numpy as np
from sklearn import model_selection
from sklearn.utils._param_validation import Interval, StrOptions

from softmargin.checkpoint import Checkpoint
from softmargin.estimator.keeps_client import KeepsClient
from softmargin.model_selection.edges import edges, note
from softmargin.model_selection.evaluation import Evaluation
from softmargin.model_selection.held_out import offered
from softmargin.model_selection.pruning import PRUNE
from softmargin.model_selection.sklearn_seam import Fit, Result, data_of, fits_run_by
from softmargin.model_selection.suggestions import suggested_grid

MORE_PARAMETERS: dict[str, Any] = {
    "time_limit": [None, Interval(Real, 0.0, None, closed="neither")],
    "on_interrupt": [StrOptions({"raise", "keep"})],
    "checkpoint": [None, str, PathLike, Checkpoint],
    "prune": [None, StrOptions(set(PRUNE))],
    "client": "no_validation",  # its type is known only with Dask
    "wait_limit": [Interval(Real, 0.0, None, closed="neither")],
}


class Sharing(KeepsClient):
    """What is different from scikit-learn's searches: how their fits are run."""

    time_limit: float | None
    on_interrupt: str
    checkpoint: Any
    prune: str | None
    client: Any
    wait_limit: float

    def fit(self, X: Any, y: Any = None, **params: Any) -> Any:
        """Run fit with all sets of parameters.

        Parameters
        ----------
        X, y : examples and targets, as the estimator takes them
        **params : dict of str -> object
            As for scikit-learn's search: ``groups``, and parameters for ``fit`` of the estimator.

        Returns
        -------
        self : object
        """
        for name in ("edges_", "stop_reason_"):
            self.__dict__.pop(name, None)
        gaps = self.prune is not None or self.time_limit is not None or self.on_interrupt == "keep"
        with warnings.catch_warnings(), offered() as self._offered:
            if gaps:  # NaN is then what it should be: a fit that was left out
                warnings.filterwarnings("ignore", "One or more of the (test|train) scores are non")
            try:
                super().fit(X, y, **params)  # type: ignore[misc]
            finally:
                del self._offered
        if hasattr(self, "best_params_"):
            results = self.cv_results_  # type: ignore[attr-defined]
            self.edges_ = edges(self.best_params_, results["params"])
            text = note(self.best_params_, self.edges_)
            if text and self.verbose:  # type: ignore[attr-defined]
                print(text, file=sys.stderr)
        return self

    def report(self, path: str | PathLike[str], X: Any = None, y: Any = None) -> None:
        """Write a report of the best machine and of the search: one HTML file that needs no other.

        Parameters
        ----------
        path : str or path
        X, y : examples and their targets, default=None
            What to evaluate the machine on, preferably data that the search has not seen.
        """
        from softmargin.report import write_report

        machine = self.best_estimator_  # type: ignore[attr-defined]
        if hasattr(machine, "steps"):
            X = X if X is None else machine[:-1].transform(X)
            machine = machine[-1]
        write_report(path, machine, X, y, search=self)

    def _run_search(
        self, evaluate_candidates: Callable[..., Any], callback_ctx: Any = None
    ) -> None:
        # scikit-learn before 1.9 has no callbacks.
        context = {} if callback_ctx is None else {"callback_ctx": callback_ctx}

        def run(fits: list[Fit], ordinary: Callable[[Iterable[Fit]], list[Result]]) -> list[Result]:
            if not fits:
                return []  # scikit-learn says what is wrong
            evaluation = Evaluation(self, fits, ordinary, getattr(self, "_observe", None))
            results = evaluation.results()
            self.stop_reason_ = evaluation.watch.stop
            self._offered.append(evaluation.held_out)
            return results

        with fits_run_by(evaluate_candidates, run):
            self._run_candidates(evaluate_candidates, context)

    def _run_candidates(
        self, evaluate_candidates: Callable[..., Any], context: dict[str, Any]
    ) -> None:
        super()._run_search(evaluate_candidates, **context)  # type: ignore[misc]


class GridSearchCV(Sharing, model_selection.GridSearchCV):  # type: ignore[misc]
    """Search over all combinations of parameters, as scikit-learn's GridSearchCV.

    With a machine of softmargin, alone or as the last step of a Pipeline, the fits share their
    work: each kernel matrix is computed once for all folds and all C, each fit starts from the
    solution for the last C, and held-out rows are predicted from the same matrix.  The scores are
    those of separate fits, to within ``tol``.  Every other estimator is fitted as scikit-learn does
    it.

    Parameters
    ----------
    estimator, scoring, n_jobs, refit, cv, verbose, pre_dispatch, error_score, return_train_score
        As for scikit-learn's search.  ``n_jobs`` is the number of threads where work is shared.
        ``verbose=1`` also shows a live line: fits done, best score so far, time left.
    param_grid : dict, list of dicts, or "auto"
        "auto" is a grid that fits the machine and the data.
    time_limit : float or None, default=None
        Seconds after which the search stops.  Fits that were not made have NaN as scores.
    on_interrupt : {"raise", "keep"}, default="raise"
        What Ctrl-C does.  "keep": stop, and keep the results so far, as ``time_limit`` does.
    checkpoint : str, path, softmargin.checkpoint.Checkpoint or None, default=None
        A file to which results are saved every minute.  After a crash, ``fit`` with the same data
        and parameters resumes from it.  It is removed when the search is complete.
    prune : {"bound", "halving"} or None, default=None
        "bound" leaves out folds of candidates that can no longer win; the winner is the same.
        "halving" keeps the better half of the candidates after each fold: faster, a heuristic.
    client : dask.distributed.Client or None, default=None
        The fits are made by the workers of its cluster; scores, and the machine that is fitted to
        all examples, by this process.  ``n_jobs`` is then the workers' own matter.
    wait_limit : float, default=600
        Of a search with a client: if none of its tasks ends for so many seconds, it raises
        :class:`softmargin.dask.ClusterError`, which says what it was waiting for.

    Attributes
    ----------
    cv_results_, best_estimator_, best_params_, best_score_, best_index_, ...
        As for scikit-learn's search.
    edges_ : dict
        Parameters whose best value is at the edge of the grid: "smaller" or "larger", the
        direction in which to extend it.
    stop_reason_ : StopReason or None
        Why the search stopped early, if it did.

    Examples
    --------
    >>> from softmargin import SVC, GridSearchCV
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> search = GridSearchCV(SVC(), {"C": [0.1, 1, 10], "gamma": [0.1, 1]}).fit(X, y)
    >>> search.best_params_
    {'C': 1, 'gamma': 0.1}
    """

    _parameter_constraints: dict[str, list[Any]] = {  # noqa: RUF012
        **model_selection.GridSearchCV._parameter_constraints,
        **MORE_PARAMETERS,
        "param_grid": [dict, list, StrOptions({"auto"})],
    }

    param_grid: Any

    def __init__(
        self,
        estimator: Any,
        param_grid: Any,
        *,
        scoring: Any = None,
        n_jobs: int | None = None,
        refit: Any = True,
        cv: Any = None,
        verbose: int = 0,
        pre_dispatch: Any = "2*n_jobs",
        error_score: Any = np.nan,
        return_train_score: bool = False,
        time_limit: float | None = None,
        on_interrupt: str = "raise",
        checkpoint: str | PathLike[str] | Checkpoint | None = None,
        prune: str | None = None,
        client: Any = None,
        wait_limit: float = 600.0,
    ) -> None:
        super().__init__(
            estimator=estimator,
            param_grid=param_grid,
            scoring=scoring,
            n_jobs=n_jobs,
            refit=refit,
            cv=cv,
            verbose=verbose,
            pre_dispatch=pre_dispatch,
            error_score=error_score,
            return_train_score=return_train_score,
        )
        self.time_limit = time_limit
        self.on_interrupt = on_interrupt
        self.checkpoint = checkpoint
        self.prune = prune
        self.client = client
        self.wait_limit = wait_limit

    def _run_candidates(
        self, evaluate_candidates: Callable[..., Any], context: dict[str, Any]
    ) -> None:
        if not (isinstance(self.param_grid, str) and self.param_grid == "auto"):
            super()._run_candidates(evaluate_candidates, context)
            return
        # scikit-learn's own method reads the grid from the parameter.
        self.param_grid = suggested_grid(self.estimator, *data_of(evaluate_candidates))
        try:
            super()._run_candidates(evaluate_candidates, context)
        finally:
            self.param_grid = "auto"


class RandomizedSearchCV(Sharing, model_selection.RandomizedSearchCV):  # type: ignore[misc]
    """Search over random parameters, as scikit-learn's RandomizedSearchCV.

    With a machine of softmargin the fits share their work, as in :class:`softmargin.GridSearchCV`,
    which has the other parameters and the attributes.  Kernels are shared between candidates that
    have the same gamma: give gamma as a list, and C as a distribution.

    Parameters
    ----------
    estimator, param_distributions, n_iter, random_state
        As for scikit-learn's search.

    See Also
    --------
    GridSearchCV : the other parameters and the attributes.
    """

    _parameter_constraints: dict[str, list[Any]] = {  # noqa: RUF012
        **model_selection.RandomizedSearchCV._parameter_constraints,
        **MORE_PARAMETERS,
    }

    def __init__(
        self,
        estimator: Any,
        param_distributions: Any,
        *,
        n_iter: int = 10,
        scoring: Any = None,
        n_jobs: int | None = None,
        refit: Any = True,
        cv: Any = None,
        verbose: int = 0,
        pre_dispatch: Any = "2*n_jobs",
        random_state: Any = None,
        error_score: Any = np.nan,
        return_train_score: bool = False,
        time_limit: float | None = None,
        on_interrupt: str = "raise",
        checkpoint: str | PathLike[str] | Checkpoint | None = None,
        prune: str | None = None,
        client: Any = None,
        wait_limit: float = 600.0,
    ) -> None:
        super().__init__(
            estimator=estimator,
            param_distributions=param_distributions,
            n_iter=n_iter,
            scoring=scoring,
            n_jobs=n_jobs,
            refit=refit,
            cv=cv,
            verbose=verbose,
            pre_dispatch=pre_dispatch,
            random_state=random_state,
            error_score=error_score,
            return_train_score=return_train_score,
        )
        self.time_limit = time_limit
        self.on_interrupt = on_interrupt
        self.checkpoint = checkpoint
        self.prune = prune
        self.client = client
        self.wait_limit = wait_limit
