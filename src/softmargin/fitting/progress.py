"""Progress of a fit, on the terminal (one live line) and in the log (a line now and then)."""

from __future__ import annotations

import logging
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

from softmargin.watching import RELATIVE_GAP, Observer, Status

LOGGER = logging.getLogger("softmargin")
INTERVAL = 0.2
"""Seconds between refreshes of the live line, which cost more than all other observers."""
BAR_FORMAT = "{desc}: {percentage:3.0f}%|{bar:10}| {elapsed}{postfix}"

COUNTED = ("iterations", "active", "kernel_rows", "cache_hits")
SUMMED = (*COUNTED, "objective")
"""What is summed over the problems of a fit."""


@contextmanager
def shown(verbose: int, name: str) -> Iterator[list[Observer]]:
    """The observers that show a fit's progress: none, a live line, or lines in the log."""
    if not verbose:
        yield []
    elif int(verbose) == 1:
        with _live(name) as observer:
            yield [observer]
    else:
        yield [Lines(name, _logger())]


def summary(status: Status) -> str:
    """One line; what matters most comes first, because a narrow terminal cuts off the rest."""
    # A linear machine has one problem, split into as many parts as there are threads.
    noun = "parts" if status.measure is RELATIVE_GAP else "problems"
    pairs = f"{status.ended}/{status.problems} {noun}, " if status.problems > 1 else ""
    rows = f", {status.kernel_rows} rows, {status.cache_hits} hits" if status.kernel_rows else ""
    sign = ">" if status.violation > status.tol else "<="
    return (
        f"{pairs}{status.measure.name} {status.violation:.1e} {sign} {status.tol:.0e},"
        f" {status.iterations} {status.measure.steps}, objective {status.objective:.6g},"
        f" {status.active} active{rows}"
    )


class Summary:
    """`summary` of the current problem and, at the end of the fit, of all its problems: sums, and
    the largest violation."""

    def __init__(self) -> None:
        self.sums = dict.fromkeys(SUMMED, 0.0)
        self.violation = 0.0
        self.ended = 0

    def __call__(self, status: Status) -> str:
        if status.ended > self.ended:
            self.ended = status.ended
            for name in SUMMED:
                self.sums[name] += getattr(status, name)
            self.violation = max(self.violation, status.violation)
        if status.problems > 1 and status.ended == status.problems:
            whole: dict[str, Any] = {name: int(self.sums[name]) for name in COUNTED}
            whole["objective"] = self.sums["objective"]
            status = replace(status, violation=self.violation, **whole)
        return summary(status)


def live_line(name: str, progress: float, seconds: float, text: str, columns: int) -> str:
    """The text of the live line, for callers that write it themselves.  Where it is too long for
    the terminal, its last facts are left out."""
    from tqdm import tqdm

    facts = text.split(", ")
    while True:
        line: str = tqdm.format_meter(
            round(100 * progress, 1),
            100,
            seconds,
            prefix=name,
            bar_format=BAR_FORMAT,
            postfix=", ".join(facts),
            ascii=" 123456789#" if not _has_blocks() else False,
        )
        if len(line) <= columns or len(facts) == 1:
            return line[:columns]
        facts.pop()


def _has_blocks() -> bool:
    """Whether standard error can show the characters that bars are drawn with."""
    try:
        "\u258f\u2588".encode(getattr(sys.stderr, "encoding", None) or "ascii")
    except (UnicodeEncodeError, LookupError):
        return False
    return True


@contextmanager
def bar(name: str, bar_format: str = BAR_FORMAT) -> Iterator[Callable[[float, str], None]]:
    """A function that shows progress (from 0 to 1) and a text, in a terminal or a notebook."""
    from tqdm.auto import tqdm

    if any(ancestor.__module__ == "tqdm.notebook" for ancestor in tqdm.__mro__):
        # A widget replaces {bar}; a bar with a width would also be drawn in characters.
        bar_format = bar_format.replace("{bar:10}", "{bar}")
    with tqdm(total=100, desc=name, bar_format=bar_format, dynamic_ncols=True) as line:

        def show(progress: float, text: str) -> None:
            line.set_postfix_str(text, refresh=False)
            line.n = round(100 * progress, 1)
            line.refresh()

        yield show


@contextmanager
def _live(name: str) -> Iterator[Observer]:
    with bar(name) as show:
        shown_at, text_of = -INTERVAL, Summary()

        def look(status: Status) -> None:
            nonlocal shown_at
            text = text_of(status)
            if status.seconds < shown_at + INTERVAL and status.ended < status.problems:
                return
            shown_at = status.seconds
            show(status.progress, text)

        yield look


class Lines:
    """Logs a line at the start, then at growing intervals of up to a minute, and at the end."""

    def __init__(self, name: str, logger: logging.Logger) -> None:
        self.name, self.logger, self.next = name, logger, 0.0
        self.text_of = Summary()

    def __call__(self, status: Status) -> None:
        ended, text = status.ended == status.problems, self.text_of(status)
        if not ended and status.seconds < self.next:
            return
        self.next = status.seconds + min(max(1.0, 0.5 * status.seconds), 60.0)
        self.logger.info(
            "%s: %3.0f%% after %.1f s, %s",
            self.name,
            100 * status.progress,
            status.seconds,
            text,
        )


def _logger() -> logging.Logger:
    """The package's logger.  If logging is not set up, a logger of the fit's own writes to standard
    error, so that the lines appear and the process's logging stays as it is."""
    if LOGGER.hasHandlers():
        return LOGGER
    own, handler = logging.Logger(LOGGER.name, logging.INFO), logging.StreamHandler()
    handler.setFormatter(logging.Formatter("%(asctime)s %(message)s"))
    own.addHandler(handler)
    return own
