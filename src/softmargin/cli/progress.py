"""Progress on standard error, only if it is a terminal: the same line as with ``verbose=1``."""

from __future__ import annotations

import sys
import time

from softmargin.cli.terminal import columns, is_terminal

PATIENCE = 0.5  # seconds before the first line: shorter work needs no progress
INTERVAL = 0.1


class Progress:
    """One line that is overwritten at each update and erased at the end."""

    def __init__(self, name: str, enabled: bool = True) -> None:
        self.name, self.enabled = name, enabled and is_terminal(sys.stderr)
        self.start = self.last = time.perf_counter()
        self.shown = 0

    def __enter__(self) -> Progress:
        return self

    def __exit__(self, *_: object) -> None:
        self.erase()

    def erase(self) -> None:
        """Makes room for other output; the next update brings the line back."""
        if self.shown:
            print("\r" + " " * self.shown + "\r", end="", file=sys.stderr, flush=True)
            self.shown = 0

    def show(self, text: str, fraction: float) -> None:
        now = time.perf_counter()
        if not self.enabled or now - self.start < PATIENCE or now - self.last < INTERVAL:
            return
        from softmargin.fitting.progress import live_line

        self.last = now
        # A wrapped line cannot be overwritten, and text in the last column may wrap.
        room = columns(sys.stderr) - 1
        line = live_line(self.name, fraction, now - self.start, text, room)
        self.shown = min(max(self.shown, len(line)), room)
        print("\r" + line.ljust(self.shown), end="", file=sys.stderr, flush=True)
