"""What Newton steps save, over grids of C and gamma: time of every fit with them and without.

    python benchmarks/hard_cells.py                       # all data sets, all cells
    python benchmarks/hard_cells.py banana cadata --every 2
    python benchmarks/hard_cells.py cadata --c 7 9 11 --gamma -1
    python benchmarks/hard_cells.py --save cells.csv --picture cells.png
    python benchmarks/hard_cells.py --from cells.csv --picture cells.png
    python benchmarks/hard_cells.py --nu                  # NuSVC, NuSVR and OneClassSVM
    python benchmarks/hard_cells.py --large               # thousands of free variables
    python benchmarks/hard_cells.py --rules --every 2     # "auto" compared with fixed rules

C = 2^-5 ... 2^13, gamma = 2^-15 ... 2^3, standardised features, tol=1e-3, one thread: blocks
without Newton steps compared with "auto". Prints the CPU time of every cell, then the ten that take
longest without Newton steps, and the cells that lose most. `--every 2` takes every second C and
gamma. `--save` appends each cell to a file, from which `--from` prints and draws again. `--nu` and
`--large` print a few cells each, of the nu machines and of problems with more free variables.
`--rules` prints, for each data set, the cells in which a fixed rule is faster than "auto".
"""

from __future__ import annotations

import argparse
import csv
import time
import warnings
from dataclasses import astuple, dataclass, fields
from pathlib import Path
from typing import Any

import numpy as np
from data import load, standardised

from softmargin import SVC, SVR, NuSVC, NuSVR, OneClassSVM
from softmargin.fitting.planning import SMALL
from softmargin.working_sets import Block, SecondOrder

CLASSIFICATION = ("banana", "diabetes_scale", "german_numer_scale", "svmguide1", "splice_libsvm")
REGRESSION = ("cadata", "kin8nm")
MOST = 2000
NU_CELLS = (  # a smaller nu, or gamma, leaves these classes without a margin
    ("svmguide1", NuSVC, {"nu": 0.1, "gamma": 2.0**-3}),
    ("banana", NuSVC, {"nu": 0.3, "gamma": 2.0**-1}),
    ("cadata", NuSVR, {"nu": 0.5, "C": 2.0**5, "gamma": 2.0**-3}),
    ("cadata", NuSVR, {"nu": 0.5, "C": 2.0**9, "gamma": 2.0**-5}),
    ("svmguide1", OneClassSVM, {"nu": 0.1, "gamma": 2.0**-3}),
    ("svmguide1", OneClassSVM, {"nu": 0.5, "gamma": 2.0**-9}),
)
LARGE_CELLS = (
    ("cadata", SVR, {"C": 100.0, "gamma": 0.5}),
    ("kin8nm", SVR, {"C": 100.0, "gamma": 0.125}),
)
MOST_OF_LARGE = 10_000
FIXED_RULES = {
    "second-order": SecondOrder(),
    "second-order, Newton": SecondOrder(newton=True),
    "blocks of 512": Block(512),
    "blocks of 512, Newton": Block(512, newton=True),
}
TOO_SHORT = 0.02
"""Seconds: shorter fits are too short for a ratio of two times to mean anything."""

C_EXPONENTS, GAMMA_EXPONENTS = range(-5, 14, 2), range(-15, 4, 2)


@dataclass(frozen=True)
class Cell:
    name: str
    c: int
    gamma: int
    before: float
    after: float
    gap_before: float
    gap_after: float

    @classmethod
    def read(cls, row: list[str]) -> Cell:
        kinds = {"str": str, "int": int, "float": float}
        return cls(*(kinds[str(f.type)](v) for f, v in zip(fields(cls), row, strict=True)))

    @property
    def ratio(self) -> float:
        return self.before / self.after

    def __str__(self) -> str:
        return (
            f"{self.name:20}{f'2^{self.c}':>6}{f'2^{self.gamma}':>7}{self.before:9.3f}"
            f"{self.after:9.3f}{self.ratio:7.2f}  {self.gap_before:.1e} -> {self.gap_after:.1e}"
        )


def data(name: str, most: int = MOST) -> tuple[Any, Any]:
    X, y = load(name)
    rows = np.random.default_rng(0).permutation(len(X))[:most]
    X, y = standardised(X[rows]), y[rows]
    return X, standardised(y[:, None])[:, 0] if name in REGRESSION else y


def seconds(name: str, X: Any, y: Any, c: int, gamma: int) -> Cell:
    kind = SVR if name in REGRESSION else SVC
    rules = Block(len(y) if len(y) <= SMALL else 512), "auto"
    machines = [kind(C=2.0**c, gamma=2.0**gamma, n_jobs=1, working_set=rule) for rule in rules]
    best = again_if_slower(machines, 1, X, y)
    gaps = (float(machine.solution_.relative_gap) for machine in machines)
    return Cell(name, c, gamma, *best, *gaps)


def shortest(machines: list[Any], X: Any, y: Any) -> list[float]:
    """The shorter of two fits of each machine, taking turns; of long fits there is only one."""
    best = [np.inf] * len(machines)
    for _ in range(2):
        for k, machine in enumerate(machines):
            if best[k] < 1 or np.isinf(best[k]):
                begin = time.process_time()
                machine.fit(X, y)
                best[k] = min(best[k], time.process_time() - begin)
    return best


def again_if_slower(machines: list[Any], one: int, X: Any, y: Any) -> list[float]:
    """Times the machines again, up to five times, while one of them looks slower than another: on a
    busy machine, equal fits differ by more than a tenth."""
    best = np.array(shortest(machines, X, y))
    for _ in range(5):
        if best[one] > 1.1 * best.min():
            best = np.minimum(best, shortest(machines, X, y))
    return best.tolist()


def few(cells: tuple[Any, ...], most: int) -> None:
    """Blocks without Newton steps and with them."""
    print("| machine, data, rows | parameters | free | without | with | ratio |")
    print("|---" * 6 + "|")
    for name, kind, parameters in cells:
        X, y = data(name, most)
        rules = Block(512), Block(512, newton=True)
        machines = [kind(**parameters, n_jobs=1, working_set=rule) for rule in rules]
        before, after = shortest(machines, X, y)
        size = np.abs(machines[1].dual_coef_)
        free = int((size < size.max() * (1 - 1e-12)).sum())
        settings = ", ".join(f"{key} = {value:g}" for key, value in parameters.items())
        print(
            f"| {kind.__name__}, {name}, {len(y):,} | {settings} | {free:,} | {before:.2f} s"
            f" | {after:.2f} s | {before / after:.1f} |",
            flush=True,
        )


def compare_rules(names: list[str], cs: Any, gammas: Any) -> None:
    """Where a fixed rule is faster than "auto"."""
    for name in names:
        X, y = data(name)
        kind, totals = SVR if name in REGRESSION else SVC, np.zeros(1 + len(FIXED_RULES))
        slower = 0
        for c in cs:
            for gamma in gammas:
                rules = ["auto", *FIXED_RULES.values()]
                fixed = {"C": 2.0**c, "gamma": 2.0**gamma, "n_jobs": 1}
                machines = [kind(**fixed, working_set=rule) for rule in rules]
                best = np.array(again_if_slower(machines, 0, X, y))
                totals += best
                ratio, rule = best[0] / best[1:].min(), list(FIXED_RULES)[int(best[1:].argmin())]
                if ratio > 1.1:
                    slower += 1
                    print(f"{name:20}{f'2^{c}':>6}{f'2^{gamma}':>7}{best[0]:9.3f}", end=" ")
                    print(f"{ratio:5.2f} times the {best[1:].min():.3f} s of {rule}", flush=True)
        print(f"{name}: {slower} of {len(cs) * len(gammas)} cells; seconds of all:", end=" ")
        named = zip(["auto", *FIXED_RULES], totals, strict=True)
        print(", ".join(f"{rule} {total:.2f}" for rule, total in named), flush=True)


def measure(names: list[str], cs: Any, gammas: Any, file: Path | None) -> list[Cell]:
    cells = []
    for name in names:
        X, y = data(name)
        for c in cs:
            for gamma in gammas:
                cells.append(seconds(name, X, y, c, gamma))
                print(cells[-1], flush=True)
                if file:
                    with file.open("a") as out:
                        csv.writer(out).writerow(astuple(cells[-1]))
    return cells


def summary(cells: list[Cell]) -> None:
    print("\nThe ten cells that take longest without Newton steps:")
    for cell in sorted(cells, key=lambda cell: -cell.before)[:10]:
        print(cell)
    total = [sum(getattr(cell, side) for cell in cells) for side in ("before", "after")]
    print(f"\n{len(cells)} cells: {total[0]:.1f} s without, {total[1]:.1f} s with")
    slower = [cell for cell in cells if cell.ratio < 1 / 1.1]
    same = sum(cell.gap_before == cell.gap_after for cell in slower)
    print(f"{len(slower)} cells take more than 1.1 times as long; {same} of them by the same steps")
    long = [cell for cell in cells if cell.before + cell.after > 2 * TOO_SHORT]
    for cell in sorted(long, key=lambda cell: cell.ratio)[:5]:
        print("loses most:", cell)


def picture(cells: list[Cell], file: Path) -> None:
    """One row per data set: seconds without Newton steps, with them, and the ratio."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt
    from matplotlib.colors import LogNorm

    names = list(dict.fromkeys(cell.name for cell in cells))
    figure, axes = plt.subplots(
        len(names), 3, figsize=(10, 2.6 * len(names)), squeeze=False, layout="constrained"
    )
    for row, name in zip(axes, names, strict=True):
        own = [cell for cell in cells if cell.name == name]
        cs, gammas = (sorted({getattr(cell, axis) for cell in own}) for axis in ("c", "gamma"))
        longest = max(cell.before for cell in own)
        norms = [LogNorm(5e-3, max(longest, 0.1))] * 2 + [LogNorm(1 / 20, 20)]
        titles = "without Newton steps, s", "with, s", "times faster"
        for axes_of_one, side, norm, title in zip(
            row, ("before", "after", "ratio"), norms, titles, strict=True
        ):
            values = np.full((len(cs), len(gammas)), np.nan)
            for cell in own:
                values[cs.index(cell.c), gammas.index(cell.gamma)] = getattr(cell, side)
            colours = "RdBu" if side == "ratio" else "viridis"
            image = axes_of_one.imshow(
                values, origin="lower", norm=norm, cmap=colours, aspect="auto",
                extent=(gammas[0] - 1, gammas[-1] + 1, cs[0] - 1, cs[-1] + 1),
            )  # fmt: skip
            axes_of_one.set_title(f"{name}: {title}", fontsize=9)
            axes_of_one.set_xlabel("log2 gamma", fontsize=8)
            axes_of_one.set_ylabel("log2 C", fontsize=8)
            figure.colorbar(image, ax=axes_of_one)
    figure.savefig(file, dpi=80)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", default=[*CLASSIFICATION, "cadata"])
    parser.add_argument("--every", type=int, default=1)
    parser.add_argument("--c", type=int, nargs="+", help="exponents of 2, instead of all")
    parser.add_argument("--gamma", type=int, nargs="+", help="the same for gamma")
    parser.add_argument("--save", type=Path)
    parser.add_argument("--from", type=Path, dest="source")
    parser.add_argument("--picture", type=Path)
    parser.add_argument("--nu", action="store_true")
    parser.add_argument("--large", action="store_true")
    parser.add_argument("--rules", action="store_true")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    if options.nu or options.large:
        few(NU_CELLS, MOST) if options.nu else few(LARGE_CELLS, MOST_OF_LARGE)
        return
    cs = options.c or C_EXPONENTS[:: options.every]
    gammas = options.gamma or GAMMA_EXPONENTS[:: options.every]
    if options.rules:
        compare_rules(options.names, cs, gammas)
        return
    if options.source:
        with options.source.open() as file:
            cells = [Cell.read(row) for row in csv.reader(file)]
    else:
        print(f"{'data':20}{'C':>6}{'gamma':>7}{'without':>9}{'with':>9}{'ratio':>7}  relative gap")
        cells = measure(options.names, cs, gammas, options.save)
    summary(cells)
    if options.picture:
        picture(cells, options.picture)


if __name__ == "__main__":
    main()
