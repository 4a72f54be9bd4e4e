"""A pass over k = 1,000 classes, n = 20,000 examples and d = 128 features against its floor: each
visit reads all of W once, n * d * k numbers, at the bandwidth at which the machine sums an array
of W's size again and again, measured in turn with the passes.  CPU seconds, no shrinking."""

from __future__ import annotations

import time

import numpy as np
from common import arguments, print_table, solver
from data import aloi_like

from softmargin import _core

options = arguments(__doc__, default=())
n, d, k = (2_000 if options.quick else 20_000), 128, 1000
data = aloi_like(n)
rows = []
for precision, dtype in (("Float64", np.float64), ("Float32", np.float32)):
    run = solver(data, tol=1e-300, shrinking=False, precision=precision)
    array = np.ones(d * k, dtype)
    run.run(3, 1e9)  # the first passes change most classes
    bandwidths, passes = [], []
    for _ in range(5):
        bandwidths.append(max(_core.testing.read_bandwidth(array, 2000) for _ in range(3)))
        start = time.process_time()
        run.run(1, 1e9)
        passes.append(time.process_time() - start)
    size = n * d * k * dtype().itemsize
    floor = size / max(bandwidths)
    best = min(passes)
    rows.append([precision, size / 1e9, max(bandwidths) / 1e9, floor, best, best / floor])
header = [
    "weights",
    "read per pass (GB)",
    "bandwidth (GB/s)",
    "floor (s)",
    "pass (s)",
    "pass / floor",
]
print_table(header, rows)
