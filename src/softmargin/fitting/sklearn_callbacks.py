"""scikit-learn's callback interface (``set_callbacks``), for versions that have it (from 1.9)."""

from __future__ import annotations

from typing import Any

from softmargin.watching import Status

STEPS = 100
DURING_FIT = ("_callback_fit_ctx", "_skl_callbacks_to_teardown")
"""Attributes that scikit-learn sets on an estimator during a fit and needs afterwards."""


class Tasks:
    """A fit as scikit-learn's callbacks see it: a task of 100 steps of one per cent each.

    A callback whose ``on_fit_task_end`` returns True stops the fit.
    """

    def __init__(self, estimator: Any, X: Any) -> None:
        self.estimator, self.X, self.step = estimator, X, 0
        self.context = estimator._init_callback_context(max_subtasks=STEPS)
        self.context.call_on_fit_task_begin(estimator=estimator, X=X)

    def __call__(self, status: Status) -> bool:
        stop = False
        while self.step < min(int(STEPS * status.progress), STEPS):
            self.step += 1
            task = self.context.subcontext(task_name="per cent")
            task.call_on_fit_task_begin(estimator=self.estimator, X=self.X)
            stop |= task.call_on_fit_task_end(estimator=self.estimator, X=self.X)
        return stop

    def end(self) -> None:
        self.context.call_on_fit_task_end(estimator=self.estimator, X=self.X)


def tasks(estimator: Any, X: Any) -> Tasks | None:
    """None if no callbacks are set."""
    return Tasks(estimator, X) if getattr(estimator, "_skl_callbacks", None) else None
