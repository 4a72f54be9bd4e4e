"""What all estimators share: fits that can be watched, limited, stopped and resumed."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from inspect import signature
from numbers import Integral, Real
from os import PathLike
from typing import Any

from numpy.typing import NDArray

from softmargin.checkpoint import Checkpoint, Recorder, Variables, identity
from softmargin.estimator.conventions import (
    BaseEstimator,
    CallbackSupportMixin,
    ConvergenceWarning,
    Interval,
    StrOptions,
    validate_parameter_constraints,
)
from softmargin.fitting import sklearn_callbacks as skl
from softmargin.fitting.history import History
from softmargin.fitting.progress import shown
from softmargin.solution import Convexity, Solution, StopReason
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
"""Parameters that do not change the problem: they may differ when a fit resumes from a
checkpoint."""


class Observed(CallbackSupportMixin, BaseEstimator):  # type: ignore[misc]
    """Base of all estimators: the parameters for watching, stopping and resuming a fit."""

    _parameter_constraints: dict[str, list[Any]] = {  # noqa: RUF012
        "verbose": ["verbose"],
        "time_limit": [None, Interval(Real, 0.0, None, closed="left")],
        "on_interrupt": [StrOptions({"raise", "keep"})],
        "callbacks": [None, list, tuple],
        "warm_start": ["boolean"],
        "checkpoint": [None, str, PathLike, Checkpoint],
        "tol": [Interval(Real, 0.0, None, closed="neither")],
        "gap_tol": [None, Interval(Real, 0.0, None, closed="neither")],
        "shrinking": ["boolean"],
        "n_jobs": [None, Integral],
    }
    _measure: Measure = VIOLATION

    tol: float
    gap_tol: float | None
    max_iter: int
    verbose: bool | int
    time_limit: float | None
    on_interrupt: str
    callbacks: Sequence[Callable[[Status], Any]] | None
    warm_start: bool
    checkpoint: str | PathLike[str] | Checkpoint | None
    solution_: Solution
    _history: History

    def _validate_params(self) -> None:
        """Checks the parameters that are not at their defaults.  The defaults are checked once for
        each class: checking all of them takes a noticeable part of a small fit."""
        kind: Any = type(self)
        defaults = _checked_defaults(kind)
        own = {name: getattr(self, name) for name in defaults}
        changed = {name: value for name, value in own.items() if value is not defaults[name]}
        _check(changed, kind)

    @contextmanager
    def _watched(
        self, X: Any, problems: int, recorder: Recorder | None, began: float | None = None
    ) -> Iterator[Watch]:
        """Watches a fit of this many problems, which began at `began`; keeps its history."""
        try:
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
                    began=began,
                )
                with watch.interruptible(self.on_interrupt == "keep"):
                    yield watch
            if tasks:
                tasks.end()
            self._history = history
        finally:
            if recorder:
                recorder.release()

    def _check_callbacks(self) -> None:
        for callback in self.callbacks or ():
            if not callable(callback):
                raise TypeError(
                    f"callbacks has {callback!r}, which is not a function; each is called with a"
                    " Status. Callbacks of scikit-learn are set with set_callbacks(...)."
                )

    @property
    def history_(self) -> NDArray[Any]:
        """The history of the last fit.  A property, because its length depends on how long the fit
        took, whereas fitted arrays must be the same for the same data."""
        if not hasattr(self, "_history"):
            raise AttributeError(
                f"This {type(self).__name__} has no history_: it was not fitted, or it was loaded"
                " from a file that does not keep it."
            )
        return self._history.array()

    def report(self, path: str | PathLike[str], X: Any = None, y: Any = None) -> None:
        """Write a report of the fitted machine: one HTML file that needs no other.

        Parameters
        ----------
        path : str or path
        X, y : examples and their targets, default=None
            What to evaluate the machine on, preferably data that it was not trained on.
        """
        from softmargin.report import write_report

        write_report(path, self, X, y)

    def _recorder(
        self,
        X: Any,
        stated: Iterable[Any],
        variables: Sequence[Variables],
        kernel_values: Any = None,
        **others: Any,
    ) -> Recorder | None:
        """The recorder of the fit, if it has a checkpoint.  `stated` holds the arrays and numbers
        that state the problems, `variables` describes the unknowns of each problem, `kernel_values`
        are some values of a kernel function, and `others` are compared like parameters."""
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
        known = identity(parameters | others, X, stated, kernel_values)
        return Recorder(checkpoint, known, variables)

    @property
    def _kernel_of_the_user(self) -> bool:
        """Whether the kernel is the user's own: fit warns if it is not positive semi-definite."""
        return False

    def _warn_unless_converged(self) -> None:
        """Call this only from ``fit`` itself: the warning then points to the caller of ``fit``."""
        solution = self.solution_
        if not solution.converged:
            reason, known = solution.stop_reason, solution.convexity is not Convexity.REFUTED
            distance = "the distance to the optimum is not known."
            warnings.warn(  # two spaces between the first sentences, as in scikit-learn
                f"{reason.cause_with(max_iter=self.max_iter)}  {reason.remedy}"
                f" {self._measure.remaining(solution)} (tol={self.tol:.3g}); "
                + (_distance(solution, self.gap_tol) if known else distance),
                ConvergenceWarning,
                stacklevel=4,
            )
        elif solution.stop_reason is StopReason.STATIONARY and self._kernel_of_the_user:
            warnings.warn(
                f"{solution.stop_reason.cause} {solution.stop_reason.remedy}",
                ConvergenceWarning,
                stacklevel=4,
            )


def _distance(solution: Solution, gap_tol: float | None) -> str:
    asked = "" if gap_tol is None else f"; gap_tol={gap_tol:.3g}"
    return (
        f"the objective is within {solution.duality_gap:.3g} of the optimum"
        f" ({solution.relative_gap:.2g} relative{asked})."
    )


def parameter_names(machine: Observed) -> set[str]:
    """The names of the parameters, cached for each class: scikit-learn's get_params inspects the
    signature at every call, which takes longer than some fits of a search."""
    kind: Any = type(machine)
    return set(_checked_defaults(kind))


@cache
def _checked_defaults(kind: Any) -> dict[str, Any]:
    """The default of each parameter, or `inspect.Parameter.empty`."""
    parameters = signature(kind).parameters.values()
    _check({one.name: one.default for one in parameters if one.default is not one.empty}, kind)
    return {one.name: one.default for one in parameters}


def _check(params: dict[str, Any], kind: Any) -> None:
    validate_parameter_constraints(kind._parameter_constraints, params, caller_name=kind.__name__)
