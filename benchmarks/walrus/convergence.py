"""The fall of the relative gap to 1e-8 (C = 1, shrinking on): estimated after each pass from the
visits as they were made, certified on all examples at the end."""

from __future__ import annotations

import time

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
from common import arguments, print_table, solver
from data import ALL

options = arguments(__doc__, default=("letter", "clinc150", "satimage"))
tol = 1e-5 if options.quick else 1e-8
rows = []
for name in options.data:
    data = ALL[name]()
    start = time.process_time()
    run = solver(data, tol=tol)
    gaps = []
    status = run.run(1, 1e9)
    while not (status.optimal or status.stuck) and status.passes < 100_000:
        gaps.append(status.estimated_gap)
        status = run.run(1, 1e9)
    spent = time.process_time() - start
    plt.semilogy(range(1, len(gaps) + 1), gaps, label=f"{name}, k = {data.classes}")
    visits = f"{status.visits / len(data.y):.1f}"
    rows.append([name, data.classes, status.passes, visits, spent, f"{status.relative_gap:.1e}"])
print_table(["data", "k", "passes", "visits / n", "CPU s", "certified relative gap"], rows)
plt.xlabel("passes")
plt.ylabel("relative gap (estimated)")
plt.legend()
plt.grid(alpha=0.3)
plt.savefig(options.out / "convergence.png", dpi=120, bbox_inches="tight")
