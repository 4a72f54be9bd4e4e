"""Progress for the eye (one live line) and for the log (a line now and then)."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager

from softmargin.watching import Observer, Status

LOGGER = logging.getLogger("softmargin")
INTERVAL = 0.2
"""Seconds between two refreshes of the live line: they cost more than all else that is watched."""
BAR_FORMAT = "{desc}: {percentage:3.0f}%|{bar:10}| {elapsed}{postfix}"
NOTEBOOK_FORMAT = BAR_FORMAT.replace("{bar:10}", "{bar}")
"""A widget takes the place of ``{bar}``; one with a width is drawn in characters as well."""


@contextmanager
def shown(verbose: int, name: str) -> Iterator[list[Observer]]:
    """The observers that show a fit's progress: none, a live line, or lines in the log."""
    if not verbose:
        yield []
    elif int(verbose) == 1:
        with _bar(name) as bar:
            yield [bar]
    else:
        yield [Lines(name, _logger())]


def summary(status: Status) -> str:
    """What matters most comes first: a narrow terminal cuts the rest."""
    pairs = f"{status.ended}/{status.problems} problems, " if status.problems > 1 else ""
    rows = f", {status.kernel_rows} rows, {status.cache_hits} hits" if status.kernel_rows else ""
    sign = ">" if status.violation > status.tol else "<="
    return (
        f"{pairs}{status.measure.name} {status.violation:.1e} {sign} {status.tol:.0e},"
        f" {status.iterations} {status.measure.steps}, objective {status.objective:.6g},"
        f" {status.active} active{rows}"
    )


@contextmanager
def _bar(name: str) -> Iterator[Observer]:
    from tqdm.auto import tqdm

    notebook = any(ancestor.__module__ == "tqdm.notebook" for ancestor in tqdm.__mro__)
    bar_format = NOTEBOOK_FORMAT if notebook else BAR_FORMAT
    with tqdm(total=100, desc=name, bar_format=bar_format, dynamic_ncols=True) as bar:
        shown_at = -INTERVAL

        def show(status: Status) -> None:
            nonlocal shown_at
            if status.seconds < shown_at + INTERVAL and status.ended < status.problems:
                return
            shown_at = status.seconds
            bar.set_postfix_str(summary(status), refresh=False)
            bar.n = round(100 * status.progress, 1)
            bar.refresh()

        yield show


class Lines:
    """A line at the start, then after ever longer times, up to a minute; and one per fit's end."""

    def __init__(self, name: str, logger: logging.Logger) -> None:
        self.name, self.logger, self.next = name, logger, 0.0

    def __call__(self, status: Status) -> None:
        ended = status.ended == status.problems
        if not ended and status.seconds < self.next:
            return
        self.next = status.seconds + min(max(1.0, 0.5 * status.seconds), 60.0)
        self.logger.info(
            "%s: %3.0f%% after %.1f s, %s",
            self.name,
            100 * status.progress,
            status.seconds,
            summary(status),
        )


def _logger() -> logging.Logger:
    """The package's logger.  Who asks for lines shall get them: where no logging is set up, one of
    the fit's own writes them to standard error, and what the process shares stays as it is."""
    if LOGGER.hasHandlers():
        return LOGGER
    own, handler = logging.Logger(LOGGER.name, logging.INFO), logging.StreamHandler()
    handler.setFormatter(logging.Formatter("%(asctime)s %(message)s"))
    own.addHandler(handler)
    return own
