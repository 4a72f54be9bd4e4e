"""What happens between two slices of a solver: who is informed, and who may stop the fit.

A fit has one `Watch`, however many problems it solves and however many threads it uses.  A solver's
loop reports the state of its problem (``look``) and its end (``done``); the watch passes a `Status`
to its observers (callbacks, history, progress) and says whether to stop, and why.
"""

from __future__ import annotations

import math
import signal
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from softmargin.solution import Certificates, Solution, StopReason


@dataclass(frozen=True)
class Measure:
    """The quantity that a solver's stopping rule compares with ``tol``, and its unit of work."""

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
    "The KKT violation is {:.3g}",
)
RELATIVE_GAP = Measure(
    "relative gap",
    "passes",
    lambda solution: solution.relative_gap,
    "The relative duality gap is {:.3g}",
)


@dataclass(frozen=True)
class Status:
    """The state of a fit, as callbacks receive it.

    Problem number ``problem`` of ``problems`` (one per pair of classes) is being solved, and
    ``ended`` of them have ended.  For this problem: the ``iterations`` so far, the KKT
    ``violation`` (which falls to ``tol``, not monotonically), the dual ``objective`` (which rises),
    the number of ``active`` variables (those not shrunk), the ``kernel_rows`` computed and the
    ``cache_hits`` (rows found in the cache instead).  For the fit: the ``seconds`` since it began,
    and its ``progress`` from 0 to 1 on a logarithmic scale of the violation.  ``gap`` is the
    duality gap where it is known, else NaN: at the end of a problem, and during the fit while no
    variable is shrunk and measuring it takes little time.

    A linear machine counts passes over the data as ``iterations`` and examples as ``active``; its
    ``violation`` is the relative duality gap, estimated during the fit, and it has no kernel rows.
    ``measure`` names the stopping quantity: KKT violation or relative gap.
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
    """Call it to stop the fit after this slice and keep the model reached so far."""


NEARLY = 0.99
"""The largest progress that is shown for a problem before it is known to be solved."""

RESERVE = 1.5
"""The time reserved for each problem that has not begun, as a multiple of the mean time that a
problem spends outside its solver."""

TOLD_ONE_BY_ONE = 1000
"""If a fit has more problems than this, observers are told only about groups of problems that end
together."""


class Started(NamedTuple):
    """Problems that began together at zero, where the dual objective is zero."""

    first: int
    seconds: float
    primal: NDArray[np.float64]
    active: NDArray[np.int64]


class Ended(NamedTuple):
    """Problems that ended together, after `before` others had ended."""

    first: int
    before: int
    seconds: float
    certificates: Certificates
    active: NDArray[np.int64]
    measure: Measure


Observer = Callable[[Status], Any]
"""Returns a StopReason or True to stop the fit; any other value lets it continue."""

REASONS_OF_OBSERVERS = (
    StopReason.MAX_ITER,
    StopReason.TIME_LIMIT,
    StopReason.INTERRUPTED,
    StopReason.CALLBACK,
)
"""The reasons that an observer may give; only the solver can tell whether the others are true."""

PATIENCE = 10.0
"""A fit waits for its certificate for at most this many seconds beyond the time limit, or, if that
is longer, for as long as the limit."""

MEASURING_SHARE, MEASURING_COST = 0.01, 5e-5
"""The share of a fit's time that may be spent on duality gaps during the fit, which only observers
need; and the least time, in seconds, that computing one takes."""


class Abandoned(Exception):  # noqa: N818 - it never reaches a user
    """The fit failed or was interrupted in another thread: nobody needs this thread's result."""


@dataclass
class Scale:
    """How far a problem's violation has fallen from its first value to tol, from 0 to 1 on a
    logarithmic scale."""

    first: float = 0.0
    progress: float = 0.0

    def see(self, violation: float, tol: float, most: float = 1.0) -> None:
        if not math.isfinite(violation):
            return
        self.first = max(self.first, violation)
        if self.first > tol:
            fallen = math.log(self.first / max(violation, tol))
            share = min(fallen / math.log(self.first / tol), most)
            self.progress = max(self.progress, share)


class Watch:
    """Watches one fit.  The threads that solve its problems share it."""

    def __init__(
        self,
        problems: int,
        tol: float,
        *,
        time_limit: float | None = None,
        observers: Sequence[Observer] = (),
        measure: Measure = VIOLATION,
        scales: dict[int, Scale] | None = None,
        began: float | None = None,
    ) -> None:
        """`began`: when the fit began, by ``time.perf_counter``.  The time between then and now
        counts for the time limit, and the work after the solvers is expected to take as long."""
        self.problems, self.tol, self.time_limit = problems, tol, time_limit
        self.measure = measure
        self.observers = tuple(observers)
        now = time.perf_counter()
        self.begin = now if began is None else began
        self.stop: StopReason | None = None
        self.abandoned = threading.Event()
        self.measuring = 0.0
        self.ended = 0
        self._lock = threading.Lock()
        self._scales = {} if scales is None else scales  # by problem; filled if the fit resumes
        self._past = {k for k, scale in self._scales.items() if scale.progress == 1.0}
        self._solved = len(self._past)
        self._open = {k: scale for k, scale in self._scales.items() if k not in self._past}
        self._hurry: dict[int, Callable[[], None]] = {}
        self._reserved: dict[int, float] = {}
        self._begun: set[int] = set()
        self._around, self._beside = now - self.begin, 0.0

    @property
    def seconds(self) -> float:
        return time.perf_counter() - self.begin

    def slice(self, longest: float) -> float:
        """How many seconds a solver may run before it reports again."""
        return min(longest, max(self._end_of_time() - self.seconds, 0.0))

    def reserve(self, problem: int, seconds: float) -> None:
        """Reserves this much of the time limit for the certificate of a problem."""
        self._reserved[problem] = seconds

    def began(self, problems: range, seconds: float) -> None:
        """Preparing the solvers of these problems took this many seconds.  The other problems will
        take as long to prepare, even if the time is up before they begin."""
        self._begun.update(problems)
        self.spent(seconds)

    def spent(self, seconds: float) -> None:
        """This many seconds were spent on a problem, or on several together, outside the solver."""
        with self._lock:
            self._beside += seconds

    def _end_of_time(self) -> float:
        if self.time_limit is None:
            return math.inf
        reserved = list(self._reserved.values())
        each = RESERVE * self._beside / max(len(self._begun), 1)
        waiting = (self.problems - len(self._begun)) * each / max(len(reserved), 1)
        return self.time_limit - self._around - max(reserved, default=0.0) - waiting

    @contextmanager
    def hurried(self, problem: int, hurry: Callable[[], None]) -> Iterator[None]:
        """Calls `hurry` when Ctrl-C stops the fit, because a slice may take long to end."""
        self._hurry[problem] = hurry
        try:
            yield
        finally:
            del self._hurry[problem]

    def started(self, problem: int, dual: float, primal: float, active: int) -> None:
        """Tells the observers with a method `started` (the history) the objectives at which a
        problem starts."""
        with self._lock:
            for observer in self.observers:
                if hasattr(observer, "started"):
                    observer.started(problem, self.seconds, dual, primal, active)

    def started_together(
        self, first: int, primal: NDArray[np.float64], active: NDArray[np.int64]
    ) -> None:
        """Like `started`, for problems that start at zero, from number `first` on."""
        with self._lock:
            for observer in self.observers:
                if hasattr(observer, "started_together"):
                    observer.started_together(Started(first, self.seconds, primal, active))

    def may_measure(self) -> bool:
        """Whether a duality gap may be computed now, for observers only."""
        return self.measuring + MEASURING_COST <= MEASURING_SHARE * self.seconds

    @contextmanager
    def measured(self) -> Iterator[None]:
        """Counts the time spent on objectives that only observers need."""
        begin = time.perf_counter()
        yield
        self.measuring += time.perf_counter() - begin

    def look(self, problem: int, **counts: Any) -> StopReason | None:
        """Tells the observers the state of a problem; returns the reason to stop, if any."""
        if self.abandoned.is_set():
            raise Abandoned
        with self._lock:
            scale = self._scales.setdefault(problem, Scale())
            # A solver that reports its own tolerance may lower it, so reaching it is not the end of
            # the problem.
            most = NEARLY if "tol" in counts else 1.0
            scale.see(counts["violation"], counts.setdefault("tol", self.tol), most)
            if problem not in self._past:
                self._open[problem] = scale
            self._tell(problem, counts)
        return self.expired()

    def expired(self) -> StopReason | None:
        """The reason to stop, if there is one."""
        if self.stop is None and self.seconds >= self._end_of_time():
            self.stop = StopReason.TIME_LIMIT
        return self.stop

    def overdue(self) -> bool:
        """Whether the fit is so far beyond its time limit that it should not even wait for a
        certificate."""
        limit = math.inf if self.time_limit is None else self.time_limit
        return self.seconds > limit + max(limit, PATIENCE)

    def done(self, problem: int, solution: Solution, active: int) -> None:
        """A problem has ended; its certificate is known."""
        with self._lock:
            self._end(problem, solution.stop_reason)
            self._tell_end(problem, solution, active)

    def done_together(self, first: int, solutions: Certificates, active: NDArray[Any]) -> None:
        """The problems from number `first` on have ended.  If all observers have a method
        `ended_together`, they are told in one call; otherwise they are told about each problem.  If
        the fit has very many problems, they get one status for the whole group: sums, and the
        largest violation."""
        with self._lock:
            before, reasons = self.ended, solutions.columns["stop_reason"]
            if self.problems > TOLD_ONE_BY_ONE:
                self._end_together(first, reasons)
                last = first + len(solutions) - 1
                self._tell_end(last, Solution.combine(solutions), int(active.sum()))
            elif all(hasattr(observer, "ended_together") for observer in self.observers):
                self._end_together(first, reasons)
                event = Ended(first, before, self.seconds, solutions, active, self.measure)
                for observer in self.observers:
                    observer.ended_together(event)  # type: ignore[attr-defined]
            else:
                for k, (solution, size) in enumerate(zip(solutions, active.tolist(), strict=True)):
                    self._end(first + k, solution.stop_reason)
                    self._tell_end(first + k, solution, size)

    def _end_together(self, first: int, reasons: NDArray[Any]) -> None:
        ended = range(first, first + len(reasons))
        self.ended += len(reasons)
        self._solved += sum((reasons == reason).sum() for reason in set(reasons) if reason.final)
        for k in [k for k in self._reserved if k in ended]:
            del self._reserved[k]
        for k in [k for k in self._open if k in ended and reasons[k - first].final]:
            self._open.pop(k).progress = 1.0

    def _end(self, problem: int, reason: StopReason) -> None:
        self.ended += 1
        self._reserved.pop(problem, None)
        if reason.final:
            self._solved += problem not in self._past
            scale = self._open.pop(problem, None)
            if scale:
                scale.progress = 1.0

    def _tell_end(self, problem: int, solution: Solution, active: int) -> None:
        counts = {
            "iterations": solution.iterations,
            "violation": self.measure.value(solution),
            "tol": self.tol,
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
        # Only problems being solved are summed: there may be very many others.  Rounding must not
        # make progress fall.
        progress = math.fsum([self._solved, *(scale.progress for scale in self._open.values())])
        status = Status(
            problem=problem,
            problems=self.problems,
            ended=self.ended,
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
        raises.  Only the main thread receives signals; other threads have nothing to do."""
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
