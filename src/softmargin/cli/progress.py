"""Progress on standard error, for a terminal and only there."""

from __future__ import annotations

import os
import sys
import time

WIDTH = 24
PATIENCE = 0.5  # seconds before the first line: what ends sooner needs none
INTERVAL = 0.1


class Progress:
    """One line that is written again and again, and goes away at the end."""

    def __init__(self, enabled: bool = True) -> None:
        self.enabled = enabled and sys.stderr is not None and sys.stderr.isatty()
        self.start = self.last = time.perf_counter()
        self.shown = 0

    def __enter__(self) -> Progress:
        return self

    def __exit__(self, *_: object) -> None:
        if self.shown:
            print("\r" + " " * self.shown + "\r", end="", file=sys.stderr, flush=True)

    def show(self, text: str, fraction: float | None = None) -> None:
        now = time.perf_counter()
        if not self.enabled or now - self.start < PATIENCE or now - self.last < INTERVAL:
            return
        self.last = now
        # A line that wraps could not be written over, and in the last column it may.
        room = _columns() - 1
        line = f"{bar(fraction)}{text}  {now - self.start:.0f} s"[:room]
        self.shown = min(max(self.shown, len(line)), room)
        print("\r" + line.ljust(self.shown), end="", file=sys.stderr, flush=True)


def _columns() -> int:
    """Of the terminal behind standard error; standard output may go elsewhere."""
    try:
        return os.get_terminal_size(sys.stderr.fileno()).columns or 80
    except OSError:
        return 80


def bar(fraction: float | None) -> str:
    if fraction is None:
        return ""
    done = round(WIDTH * min(max(fraction, 0.0), 1.0))
    return f"[{'#' * done}{'.' * (WIDTH - done)}] "
