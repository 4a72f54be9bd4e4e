"""How long the certificate of a problem takes if its fit is stopped now, for time limits."""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import reduce
from typing import Any

import numpy as np

from softmargin.fitting.slices import LONGEST_SLICE
from softmargin.problem.formulations import Array

MORE_EXACT_COST = 2.0
"""Cost of a kernel value in the next arithmetic, relative to the current one."""

MEMORY = 0.8
"""Weight of earlier slices in the moving average of how busy the machine is."""


@dataclass
class CertificateCost:
    """Estimates after each slice how long the certificate would take: the time to compute the
    kernel values that the gradient of all examples needs (the core knows how many), plus the
    largest overrun of a slice."""

    examples: int
    rate: float = math.inf
    """Seconds per kernel value, in the fastest slice."""
    stretch: float = 1.0
    """Wall-clock seconds per second of CPU time: a moving average.  `stretch_of_rate` is that of
    the fastest slice."""
    stretch_of_rate: float = 1.0
    overrun: float = 0.0
    """The largest overrun of a slice, in seconds."""
    evaluations: int = 0
    last: tuple[float, float] = field(default_factory=lambda: _now())

    def seconds(self, status: Any, beta: Sequence[Array], again: bool) -> float:
        """The estimate.  `again`: the certificate computes all its kernel values again, in a more
        precise arithmetic."""
        now, before = _now(), self.last
        fresh, taken = status.kernel_evaluations - self.evaluations, now[0] - before[0]
        self.evaluations, self.last = status.kernel_evaluations, now
        self.overrun = max(self.overrun, taken - LONGEST_SLICE)
        stretch = taken / max(now[1] - before[1], 1e-3 * taken, 1e-9)
        self.stretch = MEMORY * self.stretch + (1 - MEMORY) * stretch
        if fresh > 0 and taken / fresh < self.rate:
            self.rate, self.stretch_of_rate = taken / fresh, stretch
        if self.rate == math.inf:
            return self.overrun
        busier = max(self.stretch / self.stretch_of_rate, 1.0)
        values = float(status.to_rebuild)
        if again:
            vectors = int(np.count_nonzero(reduce(np.logical_or, beta)))
            values += MORE_EXACT_COST * vectors * self.examples
        return self.overrun + busier * self.rate * values


def _now() -> tuple[float, float]:
    """Wall-clock time and CPU time, in seconds."""
    return time.perf_counter(), time.process_time()
