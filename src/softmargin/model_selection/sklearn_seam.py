"""The one place that knows how scikit-learn's search runs its fits.

scikit-learn's ``fit`` hands ``_run_search`` a nested function, which gives all candidates and
splits to a ``joblib.Parallel`` and turns the results into ``cv_results_``.  Here, that ``Parallel``
and the estimator that is cloned for each fit are replaced while the function runs.  So everything
around the fits stays scikit-learn's own: splits, metadata routing, scorers, error_score, messages,
callbacks.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from types import CellType
from typing import Any

from sklearn.base import ClassifierMixin, RegressorMixin, clone
from sklearn.metrics import accuracy_score
from sklearn.metrics._scorer import _BaseScorer, _MultimetricScorer, _PassthroughScorer
from sklearn.pipeline import Pipeline

Result = dict[str, Any]


@dataclass(frozen=True)
class Fit:
    """One fit and its scores, as scikit-learn is about to run it."""

    function: Callable[..., Result]
    X: Any
    y: Any
    options: dict[str, Any]

    @property
    def parameters(self) -> dict[str, Any]:
        parameters: dict[str, Any] = self.options["parameters"]
        return parameters

    @property
    def candidate(self) -> int:
        return int(self.options["candidate_progress"][0])

    @property
    def split(self) -> int:
        return int(self.options["split_progress"][0])

    def without_search(self) -> Fit:
        """The same, for another process; only scikit-learn's callbacks need the search."""
        mine: dict[str, Any] = dict.fromkeys({"caller", "callback_ctx"} & self.options.keys())
        return replace(self, options={**self.options, **mine})

    def run(self, estimator: Any, X: Any = None) -> Result:
        """Fits and scores this estimator, in this thread."""
        # The wrapper hands the configuration of this thread to others.
        function = getattr(self.function, "function", self.function)
        return function(estimator, self.X if X is None else X, self.y, **self.options)


class _Original:
    """Stands for the estimator; its clones are itself, because most of them are never fitted."""

    def __sklearn_clone__(self) -> _Original:
        return self


Run = Callable[[list[Fit], Callable[[Iterable[Fit]], list[Result]]], list[Result]]
"""Gets all fits and a function that runs some of them in scikit-learn's own way."""


@contextmanager
def fits_run_by(evaluate_candidates: Callable[..., Any], run: Run) -> Iterator[None]:
    """Within this context, ``evaluate_candidates`` has its fits run by `run`.  If scikit-learn's
    function is not of the known form, nothing changes."""
    cells = _cells(evaluate_candidates)
    if cells is None:
        yield
        return
    parallel, original = cells["parallel"].cell_contents, cells["base_estimator"].cell_contents

    def ordinary(fits: Iterable[Fit]) -> list[Result]:
        results: list[Result] = parallel(
            (fit.function, (clone(original), fit.X, fit.y), fit.options) for fit in fits
        )
        return results

    def replacement(calls: Iterable[Any]) -> list[Result]:
        fits = [Fit(function, X, y, options) for function, (_, X, y), options in calls]
        return run(fits, ordinary)

    cells["parallel"].cell_contents = replacement
    cells["base_estimator"].cell_contents = _Original()
    try:
        yield
    finally:
        cells["parallel"].cell_contents = parallel
        cells["base_estimator"].cell_contents = original


def data_of(evaluate_candidates: Callable[..., Any]) -> tuple[Any, Any]:
    """X and y of the search that this function belongs to."""
    cells = _cells(evaluate_candidates) or {}
    return cells["X"].cell_contents, cells["y"].cell_contents


def _cells(function: Callable[..., Any]) -> dict[str, CellType] | None:
    names = getattr(getattr(function, "__code__", None), "co_freevars", ())
    cells = dict(zip(names, getattr(function, "__closure__", None) or (), strict=True))
    return cells if {"parallel", "base_estimator"} <= cells.keys() else None


def response_methods(scorer: Any, machine: Any) -> set[str] | None:
    """The methods whose results are all that a scorer looks at; None if it may look at more."""
    if isinstance(scorer, _MultimetricScorer):
        sets = [response_methods(one, machine) for one in scorer._scorers.values()]
        known = [one for one in sets if one is not None]
        return set().union(*known) if len(known) == len(sets) else None
    if isinstance(scorer, _PassthroughScorer):
        return {"predict"}
    if not isinstance(scorer, _BaseScorer):
        return None
    names = scorer._response_method
    for name in [names] if isinstance(names, str) else names:
        if hasattr(machine, name):
            return {name}
    return None


def is_accuracy(scorer: Any, machine: Any) -> bool:
    """Whether it is plain accuracy, by whatever name."""
    if isinstance(scorer, _PassthroughScorer):
        return type(machine).score is ClassifierMixin.score
    return (
        isinstance(scorer, _BaseScorer)
        and scorer._score_func is accuracy_score
        and scorer._sign == 1
        and not scorer._kwargs
    )


def scored(scores: Any, refit: Any) -> float:
    """The score that decides, of one or many."""
    if not isinstance(scores, dict):
        return float(scores)
    # scikit-learn reports a name that is not there, at the end.
    first = next(iter(scores.values()))
    return float(scores.get(refit, first) if isinstance(refit, str) else first)


AT_MOST_ONE = {
    "accuracy_score",
    "average_precision_score",
    "balanced_accuracy_score",
    "d2_absolute_error_score",
    "explained_variance_score",
    "f1_score",
    "fbeta_score",
    "jaccard_score",
    "matthews_corrcoef",
    "precision_score",
    "r2_score",
    "recall_score",
    "roc_auc_score",
}
LOSSES = (
    "hamming_loss",
    "hinge_loss",
    "max_error",
    "mean_absolute_error",
    "mean_absolute_percentage_error",
    "mean_squared_error",
    "median_absolute_error",
    "root_mean_squared_error",
    "zero_one_loss",
)


def largest_score(scorer: Any, refit: Any) -> float | None:
    """The largest value that the deciding score can have, if it is known."""
    if callable(refit):
        return None
    if isinstance(scorer, _MultimetricScorer):
        return largest_score(scorer._scorers[refit], refit) if isinstance(refit, str) else None
    if isinstance(scorer, _PassthroughScorer):
        own = getattr(type(scorer._estimator), "score", None)
        usual = own in (ClassifierMixin.score, RegressorMixin.score, Pipeline.score)
        return 1.0 if usual else None
    if not isinstance(scorer, _BaseScorer):
        return None
    name = getattr(scorer._score_func, "__name__", "")
    if name in AT_MOST_ONE and scorer._sign == 1:
        return 1.0
    return 0.0 if name in LOSSES and scorer._sign == -1 else None


def has_callbacks(estimator: Any) -> bool:
    """Whether callbacks of scikit-learn want to see the fits."""
    return bool(getattr(estimator, "_skl_callbacks", None))
