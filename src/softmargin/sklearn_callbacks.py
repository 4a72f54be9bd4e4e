"""scikit-learn's callback interface (``set_callbacks``), where its version has one (1.9)."""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec
from typing import Any

from softmargin.watching import Status

if find_spec("sklearn.callback"):
    CallbackSupportMixin: Any = import_module("sklearn.callback").CallbackSupportMixin
else:  # scikit-learn before 1.9 has no callbacks to support
    CallbackSupportMixin = type("CallbackSupportMixin", (), {})


STEPS = 100
DURING_FIT = ("_callback_fit_ctx", "_skl_callbacks_to_teardown")
"""What scikit-learn keeps on an estimator while it is fitted, and needs afterwards."""


class Tasks:
    """A fit as scikit-learn's callbacks see it: a task of 100 steps, one per cent of progress.

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
    """None where nobody has set callbacks."""
    return Tasks(estimator, X) if getattr(estimator, "_skl_callbacks", None) else None
