"""The loop around a solver: the core runs in slices, and between two slices Python is in charge."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from softmargin.solution import StopReason
from softmargin.watching import Watch

FIRST_SLICE, LONGEST_SLICE = 0.002, 0.05
"""Seconds.  Slice lengths double up to the longest, so that short fits have a history too.  A fit
of many problems has a history anyway, so its first slices are longer."""

NO_LIMIT = 2**62
"""More iterations than any fit takes, but few enough for the core to count."""


@dataclass
class Effort:
    """The total work of the solvers of one problem, in the fields that `Solution` has for it."""

    iterations: int = 0
    kernel_rows: int = 0
    kernel_evaluations: int = 0
    cache_hits: int = 0
    seconds: float = 0.0

    def plus(self, status: Any, seconds: float) -> Effort:
        return Effort(
            self.iterations + status.iterations,
            self.kernel_rows + status.kernel_rows,
            self.kernel_evaluations + status.kernel_evaluations,
            self.cache_hits + status.cache_hits,
            self.seconds + seconds,
        )


@dataclass(frozen=True)
class Point:
    """The state of a problem: its variables (by part; for a linear machine, as in CSR), the
    precision in use, and the effort so far.  A solver can start from any point."""

    beta: Sequence[Any]
    precision: str
    effort: Effort = field(default_factory=Effort)


def in_slices(
    status: Any,
    run: Callable[[Any, float], Any],
    running: Callable[[Any], bool],
    look: Callable[[Any], StopReason | None],
    watch: Watch,
) -> tuple[Any, StopReason | None]:
    """Runs a solver of either kind, from `status`, until it is done or something stops the fit.
    ``run(status, seconds)`` runs one slice; then ``look(status)`` may return a reason to stop."""
    stop, seconds = watch.expired(), min(FIRST_SLICE * watch.problems, LONGEST_SLICE)
    while running(status) and not stop:
        status = run(status, watch.slice(seconds))
        seconds = min(2 * seconds, LONGEST_SLICE)
        stop = look(status)
    return status, stop
