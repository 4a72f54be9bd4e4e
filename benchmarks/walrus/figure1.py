"""Figure 1: primal and dual objectives against time, for few classes and for many (C = 1; the
clock stands still while objectives are measured; every example and class visited in each pass)."""

from __future__ import annotations

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
from common import arguments, passes, print_table, until
from data import ALL

options = arguments(__doc__, default=("satimage", "plant_margin", "sector_like", "clinc150"))
decay = 1e-2 if options.quick else 1e-4
methods = {"newton": "C0", "sorted": "C1", "greedy": "C2"}
figure, axes = plt.subplots(2, len(options.data), figsize=(5 * len(options.data), 7), squeeze=False)
rows = []
for column, name in enumerate(options.data):
    data = ALL[name]()
    for method, colour in methods.items():
        points = until(passes(data, method=method), decay, 400)
        seconds = [p.seconds for p in points]
        objectives, gaps = axes[:, column]
        objectives.plot(seconds, [p.primal for p in points], colour, label=f"{method}, primal")
        objectives.plot(seconds, [p.dual for p in points], colour, ls="--", label=f"{method}, dual")
        gaps.semilogy(seconds, [p.gap / p.primal for p in points], colour, label=method)
        last = points[-1]
        rows.append(
            [
                name,
                data.classes,
                method,
                len(points),
                last.seconds,
                last.primal,
                last.gap / last.primal,
            ]
        )
    low, high = points[-1].dual, points[-1].primal
    objectives.set_ylim(low * 0.8, high * 1.3)
    objectives.set_title(f"{name}, k = {data.classes}")
    objectives.set_ylabel("objective")
    objectives.legend(fontsize=7)
    gaps.set_ylabel("relative gap")
    gaps.set_xlabel("CPU seconds")
    gaps.legend()
    for axis in (objectives, gaps):
        axis.locator_params(axis="x", nbins=4)
print_table(["data", "k", "method", "passes", "CPU s", "primal", "relative gap"], rows)
figure.savefig(options.out / "figure1.png", dpi=120, bbox_inches="tight")
