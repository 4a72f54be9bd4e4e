"""The history of a fit, in a limited number of points."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from operator import attrgetter
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from softmargin.watching import RELATIVE_GAP, Ended, Started, Status

OF_ONE_PROBLEM = [
    ("seconds", np.float64),
    ("problem", np.int64),
    ("iterations", np.int64),
    ("violation", np.float64),
    ("objective", np.float64),
    ("gap", np.float64),
    ("active", np.int64),
]
OF_ALL = [("dual", np.float64), ("primal", np.float64)]
FIELDS = [*OF_ONE_PROBLEM, *OF_ALL]
_of_one_problem = attrgetter(*(name for name, _ in OF_ONE_PROBLEM))
LIMIT = 1000


class History:
    """Records the states that it observes, as points.  At `limit` points it drops every second
    point, and from then on keeps only every second (then every fourth, ...) new one.  The last
    point is always kept.

    Events are queued, and become points only when the points are requested or the queue is long:
    otherwise a fit of fifty small problems would take twice as long."""

    def __init__(self, limit: int = LIMIT) -> None:
        self.limit, self.stride, self.seen = limit, 1, 0
        self.points: list[tuple[Any, ...]] = []
        self.last: tuple[Any, ...] | None = None
        self.totals = Totals()
        self.waiting: list[tuple[Callable[..., None], Any]] = []

    def started(
        self, problem: int, seconds: float, dual: float, primal: float, active: int
    ) -> None:
        """A problem begins with these objectives."""
        self._later(History._start, problem, seconds, dual, primal, active)

    def started_together(self, event: Started) -> None:
        self._later(History._start_together, event)

    def ended_together(self, event: Ended) -> None:
        self._later(History._end_together, event)

    def __call__(self, status: Status) -> None:
        # not the status itself, which would keep everything alive that watched the fit
        self._later(
            History._see,
            status.problem,
            status.ended,
            status.objective,
            primal_bound(status),
            _of_one_problem(status),
        )

    def _later(self, method: Callable[..., None], *arguments: Any) -> None:
        self.waiting.append((method, arguments))
        if len(self.waiting) >= self.limit:
            self._catch_up()

    def __getstate__(self) -> dict[str, Any]:
        self._catch_up()
        return vars(self).copy()

    def _catch_up(self) -> None:
        waiting, self.waiting = self.waiting, []
        for method, arguments in waiting:
            method(self, *arguments)

    def _see(
        self, problem: int, ended: int, dual: float, primal: float, row: tuple[Any, ...]
    ) -> None:
        self.totals.see(problem, dual, primal)
        self.totals.end(ended, problem)
        self._keep(row)

    def _start_together(self, event: Started) -> None:
        for k, primal in enumerate(event.primal.tolist()):
            self._start(event.first + k, event.seconds, 0.0, primal, int(event.active[k]))

    def _start(self, problem: int, seconds: float, dual: float, primal: float, active: int) -> None:
        self.totals.see(problem, dual, primal)
        self._keep((seconds, problem, 0, math.inf, dual, primal - dual, active))

    def _end_together(self, event: Ended) -> None:
        for k, one in enumerate(event.certificates):
            problem, dual, gap = event.first + k, one.dual_objective, one.duality_gap
            self.totals.see(problem, dual, dual + gap)
            self.totals.end(event.before + k + 1, problem)
            violation, active = event.measure.value(one), int(event.active[k])
            self._keep((event.seconds, problem, one.iterations, violation, dual, gap, active))

    def _keep(self, row: tuple[Any, ...]) -> None:
        self.last = (*row, *self.totals.now())
        if self.seen % self.stride == 0:
            self.points.append(self.last)
        self.seen += 1
        if len(self.points) >= self.limit:
            self.points, self.stride = self.points[::2], 2 * self.stride

    def array(self) -> NDArray[Any]:
        """A structured array with one row per point."""
        self._catch_up()
        points = list(self.points)
        if self.last is not None and (not points or points[-1] is not self.last):
            points.append(self.last)
        history = np.array(points, dtype=FIELDS)
        for name, first in zip(("dual", "primal"), self.totals.first, strict=True):
            history[name] += first  # problems that had not begun count with their start
        return history


@dataclass(frozen=True)
class Past:
    """The history of a machine from a file."""

    rows: NDArray[Any]

    def array(self) -> NDArray[Any]:
        return self.rows


class Totals:
    """The sums of the objectives over all problems of a fit.  A problem that has not begun counts
    with the objectives of its start.  These are known only when it begins, so the sums leave them
    out, and the caller adds `first`, their total, at the end."""

    def __init__(self) -> None:
        self.first, self.count = (0.0, 0.0), 0
        self.ended = Objectives(0.0, 0.0)
        self.running: dict[int, Objectives] = {}
        self._sum, self._unknown = Objectives(0.0, 0.0), 0  # of `running`; primals that are NaN

    def see(self, problem: int, dual: float, primal: float) -> None:
        before = self.running.get(problem)
        now = Objectives(dual, primal if math.isfinite(primal) else math.nan)
        if before is None:
            self._add_to_first(dual, 0.0)
        elif not math.isnan(before.primal):
            # Every primal objective is an upper bound on the optimum, so the lowest is best.
            now = Objectives(dual, before.primal if not primal < before.primal else primal)
        if not math.isnan(now.primal) and (before is None or math.isnan(before.primal)):
            self._add_to_first(0.0, now.primal)
        if before is not None:
            self._count(before, -1)
        self._count(now, 1)
        self.running[problem] = now

    def _count(self, one: Objectives, sign: int) -> None:
        """Updates the sum incrementally: adding up all problems for each point would take long if
        there are many."""
        unknown = math.isnan(one.primal)
        self._unknown += sign * unknown
        primal = 0.0 if unknown else sign * one.primal
        self._sum = Objectives(self._sum.dual + sign * one.dual, self._sum.primal + primal)

    def _add_to_first(self, dual: float, primal: float) -> None:
        self.first = self.first[0] + dual, self.first[1] + primal

    def end(self, ended: int, problem: int) -> None:
        if ended > self.count:
            self.count, last = ended, self.running.pop(problem, Objectives(0.0, 0.0))
            self._count(last, -1)
            if not self.running:
                self._sum = Objectives(0.0, 0.0)  # without leftover rounding errors
            self.ended = Objectives(self.ended.dual + last.dual, self.ended.primal + last.primal)

    def now(self) -> tuple[float, float]:
        dual = self.ended.dual + self._sum.dual
        primal = math.nan if self._unknown else self.ended.primal + self._sum.primal
        return dual - self.first[0], primal - self.first[1]


class Objectives(NamedTuple):
    dual: float
    primal: float


def primal_bound(status: Status) -> float:
    """The primal objective, or NaN where it is not known.  A linear machine estimates it during a
    pass: its violation is (primal - dual) / primal."""
    if not math.isnan(status.gap):
        return status.objective + status.gap
    if status.measure is RELATIVE_GAP and status.violation < 1:
        return status.objective / (1 - status.violation)
    return math.nan
