"""What every estimator has in common that can be watched, limited, stopped and gone on with."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from numbers import Real
from os import PathLike
from typing import Any

from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils._param_validation import Interval, StrOptions

from softmargin import sklearn_callbacks as skl
from softmargin.checkpoint import Checkpoint, Recorder, Variables, identity
from softmargin.history import History
from softmargin.progress import shown
from softmargin.solution import Solution
from softmargin.watching import VIOLATION, Measure, Status, Watch

WITHOUT_EFFECT = (
    "cache_size",
    "callbacks",
    "checkpoint",
    "max_iter",
    "n_jobs",
    "on_interrupt",
    "random_state",
    "time_limit",
    "verbose",
    "warm_start",
)
"""Parameters that do not change the problem: a fit may go on from a checkpoint with others."""


class Observed(skl.CallbackSupportMixin, BaseEstimator):  # type: ignore[misc]
    """Base of all estimators: the parameters that say who watches a fit and who may stop it."""

    _observed_constraints: dict[str, list[Any]] = {  # noqa: RUF012
        "verbose": ["verbose"],
        "time_limit": [None, Interval(Real, 0.0, None, closed="left")],
        "on_interrupt": [StrOptions({"raise", "keep"})],
        "callbacks": [None, list, tuple],
        "warm_start": ["boolean"],
        "checkpoint": [None, str, PathLike, Checkpoint],
    }
    _measure: Measure = VIOLATION

    tol: float
    max_iter: int
    verbose: bool | int
    time_limit: float | None
    on_interrupt: str
    callbacks: Sequence[Callable[[Status], Any]] | None
    warm_start: bool
    checkpoint: str | PathLike[str] | Checkpoint | None
    solution_: Solution
    _history: History

    @contextmanager
    def _watched(self, X: Any, problems: int, recorder: Recorder | None) -> Iterator[Watch]:
        """Watches over a fit of so many problems; keeps its history."""
        self._check_callbacks()
        history, tasks = History(), skl.tasks(self, X)
        with shown(self.verbose, type(self).__name__) as observers:
            observers += [history, *([tasks] if tasks else []), *(self.callbacks or [])]
            watch = Watch(
                problems,
                float(self.tol),
                time_limit=self.time_limit,
                observers=observers,
                measure=self._measure,
                scales=recorder.scales if recorder else None,
            )
            with watch.interruptible(self.on_interrupt == "keep"):
                yield watch
        if tasks:
            tasks.end()
        self._history = history

    def _check_callbacks(self) -> None:
        for callback in self.callbacks or ():
            if not callable(callback):
                raise TypeError(
                    f"callbacks has {callback!r}, which is no function; each is called with a"
                    " Status. Callbacks of scikit-learn are set with set_callbacks(...)."
                )

    @property
    def history_(self) -> NDArray[Any]:
        """The course of the last fit.  Not an attribute of its own, because how many points it has
        depends on the time the fit took, and fitted arrays are the same for the same data."""
        if not hasattr(self, "_history"):
            raise AttributeError(
                f"This {type(self).__name__} has no history_: it was not fitted, or it was loaded"
                " from a file, which does not keep it."
            )
        return self._history.array()

    def _recorder(
        self, X: Any, stated: Iterable[Any], variables: Sequence[Variables], **others: Any
    ) -> Recorder | None:
        """Records the fit in its checkpoint, if there is to be one.  `stated` are the arrays and
        numbers that state the problems, `variables` those that they solve for; `others` are what
        counts as parameters beside them."""
        if self.checkpoint is None:
            return None
        checkpoint = self.checkpoint
        if not isinstance(checkpoint, Checkpoint):
            checkpoint = Checkpoint(checkpoint)
        parameters = {
            name: value
            for name, value in self.get_params(deep=False).items()
            if name not in WITHOUT_EFFECT
        }
        return Recorder(checkpoint, identity(parameters | others, X, stated), variables)

    def _warn_unless_converged(self) -> None:
        """To be called by ``fit`` itself, so that the warning points to the caller of ``fit``."""
        solution = self.solution_
        if solution.converged:
            return
        reason = solution.stop_reason
        warnings.warn(  # with two spaces between the first sentences, as scikit-learn's own
            f"{reason.cause.format(max_iter=self.max_iter)}  {reason.remedy}"
            f" {self._measure.remaining(solution)} (tol={self.tol:.3g}); the objective is within"
            f" {solution.duality_gap:.3g} of the optimum ({solution.relative_gap:.2g} relative).",
            ConvergenceWarning,
            stacklevel=4,
        )
