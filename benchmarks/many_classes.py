"""Many classes with few rows each, and small data sets: our SVC compared with scikit-learn's.

    python benchmarks/many_classes.py [--repeats 3] [--classes 100 300 1000]

Each comparison takes turns; seconds are medians of wall time. The last table needs SOFTMARGIN_DATA
for vowel and segment, and has digits from scikit-learn in any case.
"""

from __future__ import annotations

import argparse
import os
import resource
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
from sklearn import svm
from sklearn.datasets import load_digits
from sklearn.preprocessing import StandardScaler

import softmargin

PACKAGES = {"softmargin": softmargin.SVC, "scikit-learn": svm.SVC}


def blobs(classes: int, rows: int) -> tuple[Any, Any]:
    rng = np.random.default_rng(0)
    y = np.repeat(np.arange(classes), rows)
    return rng.normal(size=(classes, 10))[y] + 0.5 * rng.normal(size=(len(y), 10)), y


def seconds(repeats: int, make: Any, X: Any, y: Any) -> dict[str, float]:
    found: dict[str, list[float]] = {name: [] for name in PACKAGES}
    for _ in range(repeats):
        for name, kind in PACKAGES.items():
            began = time.perf_counter()
            make(kind).fit(X, y)
            found[name].append(time.perf_counter() - began)
    return {name: float(np.median(values)) for name, values in found.items()}


def fits(repeats: int, counts: list[int]) -> None:
    print("| classes x 10 rows | softmargin s | scikit-learn s | ratio |\n|---|---|---|---|")
    for classes in counts:
        taken = seconds(repeats, lambda kind: kind(), *blobs(classes, 10))
        row(str(classes), taken)


def small_sets(repeats: int) -> None:
    print("\n| data, C | softmargin ms | scikit-learn ms | ratio |\n|---|---|---|---|")
    for name, (X, y) in data_sets().items():
        X = StandardScaler().fit_transform(X)
        for C in (1.0, 10.0, 100.0):
            taken = seconds(repeats, lambda kind, C=C: kind(C=C), X, y)
            row(f"{name}, {C:g}", {k: 1e3 * v for k, v in taken.items()})


def data_sets() -> dict[str, tuple[Any, Any]]:
    sets = {"digits": load_digits(return_X_y=True)}
    folder = os.environ.get("SOFTMARGIN_DATA")
    for name in ("vowel", "segment") if folder else ():
        with np.load(Path(folder) / f"{name}.npz") as file:
            split = "" if "X" in file else "_train"
            sets[name] = file[f"X{split}"].astype(float), file[f"y{split}"]
    return sets


def row(name: str, taken: dict[str, float]) -> None:
    ours, theirs = taken.values()
    print(f"| {name} | {ours:.3g} | {theirs:.3g} | {theirs / ours:.2f} |", flush=True)


def predictions() -> None:
    """Each in a process of its own, because memory is what is compared."""
    print("\n| predict 20,000 rows, 100 classes | s | MB more |\n|---|---|---|")
    for name in PACKAGES:
        command = [sys.executable, __file__, "--predict", name]
        found = subprocess.run(command, capture_output=True, text=True, check=True).stdout
        print(f"| {name} | {found.strip()} |", flush=True)


def predict(name: str) -> None:
    X, y = blobs(100, 20)
    machine = PACKAGES[name]().fit(X, y)
    points = np.repeat(X, 10, axis=0)
    machine.predict(points[:100])
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    began = time.perf_counter()
    machine.predict(points)
    taken = time.perf_counter() - began
    more = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024
    print(f"{taken:.2f} | {more:.0f}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--classes", type=int, nargs="+", default=[100, 300, 1000])
    parser.add_argument("--predict", choices=PACKAGES, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.predict:
        predict(args.predict)
    else:
        fits(args.repeats, args.classes)
        predictions()
        small_sets(args.repeats)
