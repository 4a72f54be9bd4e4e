"""The course of a fit, in few points."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from softmargin.watching import Status

FIELDS = [
    ("seconds", np.float64),
    ("problem", np.int64),
    ("iterations", np.int64),
    ("violation", np.float64),
    ("objective", np.float64),
    ("gap", np.float64),
    ("active", np.int64),
]
LIMIT = 1000


class History:
    """Keeps what it observes.  Beyond `limit` points it forgets every second one, and from then on
    keeps only every second, fourth, ... of those that come; the last one always."""

    def __init__(self, limit: int = LIMIT) -> None:
        self.limit, self.stride, self.seen = limit, 1, 0
        self.points: list[tuple[Any, ...]] = []
        self.last: tuple[Any, ...] | None = None

    def __call__(self, status: Status) -> None:
        self.last = tuple(getattr(status, name) for name, _ in FIELDS)
        if self.seen % self.stride == 0:
            self.points.append(self.last)
        self.seen += 1
        if len(self.points) >= self.limit:
            self.points, self.stride = self.points[::2], 2 * self.stride

    def array(self) -> NDArray[Any]:
        """A structured array, a row per point."""
        points = list(self.points)
        if self.last is not None and (not points or points[-1] is not self.last):
            points.append(self.last)
        return np.array(points, dtype=FIELDS)
