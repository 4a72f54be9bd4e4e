"""What goes on between two slices of a solver: who is told, and who may stop the fit.

A fit has one `Watch`, whatever the number of problems that it solves and of threads that solve
them.  A solver's loop tells it where its problem stands (``look``) and that it is solved
(``done``); the watch passes a `Status` on to its observers (callbacks, history, progress) and says
whether to stop, and why.
"""

from __future__ import annotations

import math
import signal
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np

from softmargin.solution import Solution, StopReason


@dataclass(frozen=True)
class Measure:
    """What a solver's stopping rule looks at, and what it counts."""

    name: str
    steps: str
    value: Callable[[Solution], float]
    sentence: str

    def remaining(self, solution: Solution) -> str:
        return self.sentence.format(self.value(solution))


VIOLATION = Measure(
    "violation",
    "it",
    lambda solution: solution.kkt_violation,
    "The optimality conditions are violated by {:.3g}",
)
RELATIVE_GAP = Measure(
    "relative gap",
    "passes",
    lambda solution: solution.relative_gap,
    "The relative duality gap is {:.3g}",
)


@dataclass(frozen=True)
class Status:
    """Where a fit stands, as callbacks get it.

    ``problem`` of ``problems`` (one per pair of classes) is being solved, and ``ended`` have been.
    Of this problem: the ``iterations`` so far, by how much the optimality conditions are still
    violated (``violation``, which falls to ``tol``; not monotonically), the dual ``objective``
    (which rises), the ``active`` variables, that is those not shrunk, the ``kernel_rows`` computed
    and the ``cache_hits`` in their stead.  ``seconds`` since the fit began, and its ``progress``
    from 0 to 1 on the logarithmic scale of the violation.  ``gap`` is the duality gap, where it is
    known: at the end of a problem, else NaN.

    A linear machine counts passes over the data as ``iterations`` and examples as ``active``; its
    ``violation`` is the relative duality gap, estimated on the way, and it has no kernel rows.
    ``measure`` says which of the two it is.
    """

    problem: int
    problems: int
    ended: int
    iterations: int
    violation: float
    tol: float
    objective: float
    active: int
    kernel_rows: int
    cache_hits: int
    seconds: float
    progress: float
    gap: float = math.nan
    measure: Measure = VIOLATION
    stop: Callable[[], None] = field(default=lambda: None, repr=False, compare=False)
    """Call it to stop the fit after this slice, with the model as it is."""


Observer = Callable[[Status], Any]
"""Returns a StopReason or True to stop the fit; anything else lets it go on."""

REASONS_OF_OBSERVERS = (
    StopReason.MAX_ITER,
    StopReason.TIME_LIMIT,
    StopReason.INTERRUPTED,
    StopReason.CALLBACK,
)
"""Of the others only the solver knows whether they are so."""

Watcher = Callable[[Any, float], StopReason | None]
_watchers: ContextVar[tuple[Watcher, ...]] = ContextVar("watchers", default=())


@contextmanager
def watched(watcher: Watcher) -> Iterator[None]:
    """Has `watcher` called between the slices of every fit in this context.

    It gets the status and the seconds since the fit began; a reason to stop that it returns ends
    the fit there, with what has been reached.
    """
    token = _watchers.set((*_watchers.get(), watcher))
    try:
        yield
    finally:
        _watchers.reset(token)


def _with_seconds(watcher: Watcher, status: Status) -> StopReason | None:
    return watcher(status, status.seconds)


class Abandoned(Exception):  # noqa: N818 - it never reaches a user
    """The fit has failed or was interrupted elsewhere: what this thread does is for nobody."""


@dataclass
class Scale:
    """How far a problem's violation has fallen from its first value to tol, from 0 to 1 on a
    logarithmic scale."""

    first: float = 0.0
    progress: float = 0.0

    def see(self, violation: float, tol: float) -> None:
        if not math.isfinite(violation):
            return
        self.first = max(self.first, violation)
        if self.first > tol:
            fallen = math.log(self.first / max(violation, tol))
            self.progress = max(self.progress, fallen / math.log(self.first / tol))


class Watch:
    """Watches over one fit.  Threads that solve its problems share it."""

    def __init__(
        self,
        problems: int,
        tol: float,
        *,
        time_limit: float | None = None,
        observers: Sequence[Observer] = (),
        measure: Measure = VIOLATION,
        scales: dict[int, Scale] | None = None,
    ) -> None:
        self.problems, self.tol, self.time_limit = problems, tol, time_limit
        self.measure = measure
        watchers = [partial(_with_seconds, watcher) for watcher in _watchers.get()]
        self.observers: tuple[Observer, ...] = (*observers, *watchers)
        self.begin = time.perf_counter()
        self.stop: StopReason | None = None
        self.abandoned = threading.Event()
        self.ended = 0
        self._lock = threading.Lock()
        self._scales = {} if scales is None else scales  # by problem; with a past, if it goes on
        self._hurry: dict[int, Callable[[], None]] = {}

    @property
    def seconds(self) -> float:
        return time.perf_counter() - self.begin

    def slice(self, longest: float) -> float:
        """How long a solver may run until it looks here again."""
        if self.time_limit is None:
            return longest
        return min(longest, max(self.time_limit - self.seconds, 0.0))

    @contextmanager
    def hurried(self, problem: int, hurry: Callable[[], None]) -> Iterator[None]:
        """Has a solver told when Ctrl-C stops the fit: a slice may be long, and its end far."""
        self._hurry[problem] = hurry
        try:
            yield
        finally:
            del self._hurry[problem]

    def look(self, problem: int, **counts: Any) -> StopReason | None:
        """Tells the observers where a problem stands; returns why to stop, if so."""
        if self.abandoned.is_set():
            raise Abandoned
        with self._lock:
            self._scales.setdefault(problem, Scale()).see(counts["violation"], self.tol)
            self._tell(problem, counts)
        return self.expired()

    def expired(self) -> StopReason | None:
        """Why to stop, if so."""
        if self.stop is None and self.time_limit is not None and self.seconds >= self.time_limit:
            self.stop = StopReason.TIME_LIMIT
        return self.stop

    def done(self, problem: int, solution: Solution, active: int) -> None:
        """A problem has ended; its certificate is known."""
        with self._lock:
            self.ended += 1
            if solution.stop_reason.final:
                self._scales.setdefault(problem, Scale()).progress = 1.0
            counts = {
                "iterations": solution.iterations,
                "violation": self.measure.value(solution),
                "objective": solution.dual_objective,
                "active": active,
                "kernel_rows": solution.kernel_rows,
                "cache_hits": solution.cache_hits,
                "gap": solution.duality_gap,
            }
            self._tell(problem, counts)

    def _tell(self, problem: int, counts: dict[str, Any]) -> None:
        if not self.observers:
            return
        progress = sum(scale.progress for scale in self._scales.values())
        status = Status(
            problem=problem,
            problems=self.problems,
            ended=self.ended,
            tol=self.tol,
            seconds=self.seconds,
            progress=min(progress / self.problems, 1.0),
            measure=self.measure,
            stop=self._stopped_by_callback,
            **counts,
        )
        for observer in self.observers:
            answer = observer(status)
            if isinstance(answer, StopReason) and answer in REASONS_OF_OBSERVERS:
                self.stop = self.stop or answer
            elif isinstance(answer, (StopReason, bool, np.bool_)) and answer:
                self._stopped_by_callback()

    def _stopped_by_callback(self) -> None:
        self.stop = self.stop or StopReason.CALLBACK

    @contextmanager
    def interruptible(self, keep: bool) -> Iterator[None]:
        """With `keep`, Ctrl-C stops the fit instead of raising KeyboardInterrupt; a second one
        raises.  Signals reach the main thread alone, so there is nothing to do in others."""
        previous = signal.getsignal(signal.SIGINT)
        in_main = threading.current_thread() is threading.main_thread()
        if not keep or not in_main or previous is None:
            yield
            return

        def interrupt(*_: Any) -> None:
            if self.stop is StopReason.INTERRUPTED:
                raise KeyboardInterrupt
            self.stop = StopReason.INTERRUPTED
            for hurry in list(self._hurry.values()):
                hurry()

        signal.signal(signal.SIGINT, interrupt)
        try:
            yield
        finally:
            signal.signal(signal.SIGINT, previous)
