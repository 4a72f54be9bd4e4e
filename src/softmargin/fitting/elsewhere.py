"""Parts of a fit of a kernel machine that may run in other processes, as tasks of a cluster."""

from __future__ import annotations

from collections.abc import Callable
from contextvars import ContextVar
from typing import Any, Protocol

from softmargin.fitting.held_out import Folds
from softmargin.fitting.kernel_fit import Answers
from softmargin.fitting.problems import Problems
from softmargin.problem.kernels import Kernel
from softmargin.watching import Watch


class Elsewhere(Protocol):
    """Where the parts run."""

    def solve(
        self,
        machine: Any,
        kernel: Kernel,
        X: Any,
        problems: Problems,
        folds: Folds | None,
        watch: Watch,
        here: Callable[[range], Answers],
    ) -> list[Answers]:
        """The answers of all problems of a classifier, and of their folds; if `watch` stops the
        fit, `here` gives those that are missing."""


ELSEWHERE: ContextVar[Elsewhere | None] = ContextVar("ELSEWHERE", default=None)
"""Set where the user wants it (:func:`softmargin.dask.on_cluster`)."""
