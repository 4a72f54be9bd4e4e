"""Figure 2: the time to a duality gap of delta times the first one, relative to the greedy
solver's, over data sets (the larger ones only when named by --data), C in 2^-6 ... 2^3 and delta.
Below 1 is faster than greedy."""

from __future__ import annotations

import itertools

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
from common import arguments, passes, print_table, until
from data import ALL

DECAYS = (0.1, 0.01, 0.001)
options = arguments(
    __doc__,
    default=(
        *("dna", "satimage", "news20_bow", "letter", "banking77"),
        *("plant_margin", "sector_like", "clinc150"),
    ),
)
powers = (-6, 0, 3) if options.quick else range(-6, 4)
rng = np.random.default_rng(0)
figure, axes = plt.subplots(1, 2, figsize=(12, 4.5), sharey=True)
rows, labels = [], []


def elapsed(points, decay):
    return next((p.seconds for p in points if p.gap <= decay * points[0].gap), float("nan"))


for place, name in enumerate(options.data):
    data = ALL[name]()
    labels.append(f"{name}\nk={data.classes}")
    found = {("newton", d): [] for d in DECAYS} | {("sorted", d): [] for d in DECAYS}
    worst_first = 0.0
    for power in powers:
        runs = {
            method: until(passes(data, method=method, C=2.0**power), DECAYS[-1], 300)
            for method in ("newton", "sorted", "greedy")
        }
        first = [points[0].gap for points in runs.values()]
        worst_first = max(worst_first, max(first) / min(first) - 1)
        for method, decay in itertools.product(("newton", "sorted"), DECAYS):
            ratio = elapsed(runs[method], decay) / elapsed(runs["greedy"], decay)
            found[method, decay].append(ratio)
    for (method, decay), ratios in found.items():
        axis = axes[0 if method == "newton" else 1]
        x = place + 0.5 * (rng.random(len(ratios)) - 0.5)
        axis.scatter(
            x, ratios, s=12, color=f"C{DECAYS.index(decay)}", label=decay if not place else None
        )
    rows.append(
        [
            name,
            data.classes,
            *(float(np.nanmedian(ratios)) for ratios in found.values()),
            worst_first,
        ]
    )
for axis, method in zip(axes, ("newton", "sorted (the paper's)"), strict=True):
    axis.set_yscale("log")
    axis.axhline(1, color="black", lw=0.8)
    axis.set_title(f"{method} / greedy")
    axis.set_xticks(range(len(labels)), labels, fontsize=7, rotation=45)
    axis.legend(title="delta")
axes[0].set_ylabel("ratio of CPU time")
header = [f"{m} / greedy, {d}" for m in ("newton", "sorted") for d in DECAYS]
print_table(["data", "k", *header, "first gaps differ by"], rows)
figure.savefig(options.out / "figure2.png", dpi=120, bbox_inches="tight")
