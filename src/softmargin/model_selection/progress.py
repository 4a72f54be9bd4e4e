"""The live line of a search: fits done, best so far, time left."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from softmargin.fitting.progress import INTERVAL, bar

BAR_FORMAT = "{desc}: {percentage:3.0f}%|{bar:10}| {elapsed}<{remaining}{postfix}"


@dataclass
class State:
    """How far a search has come."""

    total: int
    done: float = 0.0
    """Fits, and the shares of those that are being solved."""
    best: float = float("nan")
    best_parameters: Mapping[str, Any] = field(default_factory=dict)
    seconds: float = 0.0

    @property
    def fraction(self) -> float:
        return min(self.done / self.total, 1.0) if self.total else 1.0

    @property
    def seconds_left(self) -> float:
        return self.seconds * (1 / self.fraction - 1) if self.fraction > 0 else float("nan")

    def text(self) -> str:
        best = ""
        if self.best == self.best:
            values = ", ".join(
                f"{name}={value:g}" if isinstance(value, (int, float)) else f"{name}={value}"
                for name, value in self.best_parameters.items()
            )
            best = f", best {self.best:.4g} ({values})"
        return f"{int(self.done)} of {self.total} fits{best}"


Show = Callable[[State], None]


@contextmanager
def live(name: str, enabled: bool) -> Iterator[Show]:
    """A function that shows the state now and then, on a line of its own."""
    if not enabled:
        yield lambda state: None
        return
    with bar(name, BAR_FORMAT) as draw:
        shown = -INTERVAL

        def show(state: State) -> None:
            nonlocal shown
            now = time.perf_counter()
            if now < shown + INTERVAL and state.fraction < 1:
                return
            shown = now
            draw(state.fraction, state.text())

        yield show
