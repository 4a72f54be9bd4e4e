"""How does the time of a fit grow with the number of examples?

    SOFTMARGIN_DATA=<folder> python benchmarks/peers/growth.py docs/growth.png

Times n = 2,000 to 60,000 as `python benchmarks/peers` does, fits time = a n^b, prints a table and
draws a chart. A package that took longer than --limit seconds is not asked for larger n.
"""

import argparse
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
from compare import OURS, compare, markdown
from packages import INTELEX
from works import MORE, SIZES

PACKAGES = [OURS, "scikit-learn 2000 MB", f"{INTELEX} float32 2000 MB"]
DATA = ("connect-4", "mnist")
Times = dict[str, dict[int, float]]


def times(data: str, repeats: int, limit: float) -> Times:
    """Wall seconds by package and n."""
    result: Times = {package: {} for package in PACKAGES}
    for n in SIZES:
        if f"{data}-{n}" not in MORE:
            continue
        asked = [p for p in PACKAGES if all(seconds < limit for seconds in result[p].values())]
        for package, medians in compare(f"{data}-{n}", asked, repeats, limit).items():
            result[package][n] = medians["wall"]
    return result


def exponent(seconds: dict[int, float]) -> float:
    return float(np.polyfit(np.log(list(seconds)), np.log(list(seconds.values())), 1)[0])


def print_table(data: str, measured: Times) -> None:
    sizes = list(measured[OURS])
    print(f"\n### {data}: wall seconds\n")
    print(markdown("package", *(f"{n:,}" for n in sizes), "exponent"))
    print(markdown(*["---"] * (len(sizes) + 2)))
    for package, seconds in measured.items():
        cells = (f"{seconds[n]:.2f}" if n in seconds else "" for n in sizes)
        print(markdown(package, *cells, f"{exponent(seconds):.2f}"), flush=True)


def draw(measured: dict[str, Times], path: Path) -> None:
    figure, axes = plt.subplots(1, len(measured), figsize=(9, 3.8), sharey=True, layout="tight")
    for axis, (data, by_package) in zip(axes, measured.items(), strict=True):
        for package, seconds in by_package.items():
            label = f"{package}, n^{exponent(seconds):.2f}"
            axis.loglog(list(seconds), list(seconds.values()), "o-", label=label)
        axis.set(title=data, xlabel="examples")
        axis.set_xticks(sizes := list(by_package[OURS]), [f"{n:,}" for n in sizes], fontsize=8)
        axis.minorticks_off()
        axis.grid(alpha=0.3)
        axis.legend(fontsize=8)
    axes[0].set_ylabel("seconds of a fit")
    figure.savefig(path, dpi=130)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("picture", type=Path)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--limit", type=float, default=60)
    args = parser.parse_args()
    measured = {}
    for data in DATA:
        measured[data] = times(data, args.repeats, args.limit)
        print_table(data, measured[data])
    draw(measured, args.picture)


if __name__ == "__main__":
    main()
