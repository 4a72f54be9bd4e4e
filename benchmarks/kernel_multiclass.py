"""SVC's four ways to treat more than two classes, on real data: fit, accuracy, prediction.

    python benchmarks/kernel_multiclass.py [--data vowel segment ...] [--rows N] [--fixed]
        [--machines ovo ...] [--time-limit SECONDS]
    python benchmarks/kernel_multiclass.py --rules [--data ...]
    python benchmarks/kernel_multiclass.py --cells [--kernel linear] [--data ...]
        [--time-limit SECONDS]
    python benchmarks/kernel_multiclass.py --growth
    python benchmarks/kernel_multiclass.py --memory

Needs SOFTMARGIN_DATA. Features are scaled to [-1, 1] by the training part; where a data set has no
test part, every third row is held out. C and gamma are chosen on the training part alone, for each
machine, by three folds over the same small grid (gamma relative to 1 / features), on at most 1,000
of its examples. Then each machine is fitted and predicts on one thread, in turn with the others;
seconds are medians of processor time. With --rows, the first N rows of a random order are fitted.
The second form counts steps and kernel rows of the rules that choose one example at a time. The
third fits every cell of a grid of C and gamma, also where the kernel matrix is nearly singular, on
at most 2,000 examples; with --kernel linear, C alone. The fourth fits made-up data (normal
clusters) of growing n and k. The last prints the peak memory of fits of made-up data, each in a
process of its own, beyond what it takes anyway: the data, the modules (a small fit imports them
first) and the cached kernel rows.
"""

from __future__ import annotations

import argparse
import itertools
import multiprocessing
import resource
import time
import warnings
from typing import Any

import numpy as np
from data import load
from sklearn.exceptions import ConvergenceWarning

import softmargin

MACHINES = ("ovo", "ovr", "weston_watkins", "crammer_singer")
GRID_C, GRID_GAMMA = (1.0, 10.0), (1.0, 3.0, 10.0)
CELLS_C, CELLS_GAMMA, MOST_IN_CELLS = (1.0, 100.0, 10_000.0), (0.03, 0.3, 3.0, 30.0), 2000
LINEAR_CELLS_C = (1.0, 100.0, 10_000.0, 1_000_000.0)
MOST_TO_CHOOSE = 1000
"""Parameters are chosen on at most this many training examples."""
CACHE_SIZE = 200.0
"""Of the fits whose memory is measured."""


def parts(name: str) -> tuple[Any, Any, Any, Any]:
    """Scaled training and test examples and their classes."""
    X, y = load(name)
    held_out, its_classes = load(name, "test")
    if len(held_out) == len(X):  # one part
        test = np.arange(len(X)) % 3 == 2
        X, y, held_out, its_classes = X[~test], y[~test], X[test], y[test]
    low, high = X.min(axis=0), X.max(axis=0)
    width = np.where(high > low, high - low, 1.0)
    return 2 * (X - low) / width - 1, y, 2 * (held_out - low) / width - 1, its_classes


def chosen(machine: str, X: Any, y: Any) -> dict[str, float]:
    rows = np.random.default_rng(0).permutation(len(y))[:MOST_TO_CHOOSE]
    grid = {"C": GRID_C, "gamma": [gamma / X.shape[1] for gamma in GRID_GAMMA]}
    svc = softmargin.SVC(multi_class=machine)
    search = softmargin.GridSearchCV(svc, grid, cv=3, refit=False)
    best: dict[str, float] = search.fit(X[rows], y[rows]).best_params_
    return best


def compare(
    name: str,
    machines: list[str],
    repeats: int,
    fixed: bool,
    rows: int | None,
    time_limit: float | None,
) -> None:
    X, y, held_out, classes = parts(name)
    if rows is not None:
        some = np.random.default_rng(0).permutation(len(y))[:rows]
        X, y = X[some], y[some]
    print(f"\n{name}: {len(X)} + {len(held_out)} rows, {X.shape[1]} features,", end=" ")
    print(f"{len(np.unique(y))} classes")
    print("machine         C  gamma d  accuracy    gap  fit s  kernel rows  vectors  predict s")
    default = {"C": 10.0, "gamma": 3.0 / X.shape[1]}
    found = {
        machine: softmargin.SVC(
            multi_class=machine,
            n_jobs=1,
            time_limit=time_limit,
            **(default if fixed else chosen(machine, X, y)),
        )
        for machine in machines
    }
    fits: dict[str, list[float]] = {machine: [] for machine in machines}
    predictions: dict[str, list[float]] = {machine: [] for machine in machines}
    for _ in range(repeats):
        for machine, svc in found.items():
            began = time.process_time()
            svc.fit(X, y)
            fits[machine].append(time.process_time() - began)
            began = time.process_time()
            svc.predict(held_out)
            predictions[machine].append(time.process_time() - began)
    for machine, svc in found.items():
        s = svc.solution_
        print(
            f"{machine:14} {svc.C:3g} {svc.gamma * X.shape[1]:7.2g}"
            f" {svc.score(held_out, classes):9.4f} {s.relative_gap:7.0e}"
            f" {np.median(fits[machine]):6.3f} {s.kernel_rows:12d} {len(svc.support_):8d}"
            f" {np.median(predictions[machine]):9.3f}",
            flush=True,
        )


def rules(names: list[str]) -> None:
    """Steps and rows of the two rules for one example, with small and large caches."""
    print("data      machine         cache  rule                       steps  kernel rows")
    for name in names:
        X, y, _, _ = parts(name)
        rows = np.random.default_rng(0).permutation(len(y))[:1000]
        X, y = X[rows], y[rows]
        for machine in MACHINES[2:]:
            for share in (0.05, 1.0):
                for rule in ("most-violating-example", "maximum-gain-example"):
                    megabytes = share * 8 * len(X) ** 2 / 1e6
                    svc = softmargin.SVC(
                        multi_class=machine, C=10, working_set=rule, cache_size=megabytes, n_jobs=1
                    ).fit(X, y)
                    s = svc.solution_
                    print(
                        f"{name:9} {machine:14} {share:6.0%}  {rule:23} {s.iterations:8d}"
                        f" {s.kernel_rows:12d}",
                        flush=True,
                    )


def cells(names: list[str], machines: list[str], kernel: str, time_limit: float | None) -> None:
    """Processor time of all cells, of the slowest, and how many did not converge."""
    grid_C, grid_gamma = (CELLS_C, CELLS_GAMMA) if kernel == "rbf" else (LINEAR_CELLS_C, (0.0,))
    print(f"kernel {kernel}, C in {grid_C}, gamma in {grid_gamma} / features")
    print("data            machine         all s  slowest s  at C, gamma d  not converged")
    for name in names:
        X, y, _, _ = parts(name)
        rows = np.random.default_rng(0).permutation(len(y))[:MOST_IN_CELLS]
        X, y = X[rows], y[rows]
        for machine in machines:
            found = []
            for C, gamma in itertools.product(grid_C, grid_gamma):
                svc = softmargin.SVC(
                    multi_class=machine,
                    kernel=kernel,
                    C=C,
                    gamma=gamma / X.shape[1],
                    n_jobs=1,
                    time_limit=time_limit,
                )
                began = time.process_time()
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore", ConvergenceWarning)
                    svc.fit(X, y)
                seconds = time.process_time() - began
                found.append((seconds, C, gamma, svc.solution_.converged))
            slowest, C, gamma, _ = max(found)
            left = sum(not converged for *_, converged in found)
            total = sum(seconds for seconds, *_ in found)
            print(
                f"{name:15} {machine:14} {total:6.2f} {slowest:10.2f} {C:7g} {gamma:6g} {left:14d}",
                flush=True,
            )


def clusters(size: int, classes: int, features: int = 10) -> tuple[Any, Any]:
    """Overlapping normal clusters, one for each class."""
    rng = np.random.default_rng(0)
    y = np.arange(size) % classes
    return rng.normal(size=(size, features)) + 2 * rng.normal(size=(classes, features))[y], y


def growth() -> None:
    """Processor time with n at 10 classes, and with k at 2,000 examples."""
    cells = [(n, 10) for n in (1000, 2000, 4000, 8000)] + [(2000, k) for k in (5, 20, 40, 80)]
    print("    n     k  " + "  ".join(f"{machine:>14}" for machine in MACHINES))
    for size, classes in cells:
        X, y = clusters(size, classes)
        seconds = []
        for machine in MACHINES:
            svc = softmargin.SVC(multi_class=machine, n_jobs=1)
            began = time.process_time()
            svc.fit(X, y)
            seconds.append(time.process_time() - began)
        print(f"{size:5d} {classes:5d}  " + "  ".join(f"{s:14.3f}" for s in seconds), flush=True)


def peak(machine: str, size: int, classes: int) -> tuple[float, float, float]:
    """Megabytes before a fit and at most during it, and the seconds that it takes."""
    X, y = clusters(size, classes)
    svc = softmargin.SVC(multi_class=machine, cache_size=CACHE_SIZE, time_limit=60.0)
    svc.fit(X[:200], y[:200] % 10)
    unit = 1000.0  # ru_maxrss is in kB
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / unit
    svc.fit(X, y)
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / unit
    return before, most, svc.solution_.seconds


def memory() -> None:
    """Peak memory: the cached rows, and the scores as a float64 for each example and class."""
    print("    n     k  machine         before MB  peak MB  rows MB  scores MB  beyond / scores  s")
    for size, classes in ((60_000, 10), (5_000, 1_000)):
        for machine in MACHINES[2:]:
            with multiprocessing.get_context("spawn").Pool(1) as pool:
                before, most, seconds = pool.apply(peak, (machine, size, classes))
            rows = min(CACHE_SIZE, 4 * size**2 / 1e6)  # float32
            scores = 8 * size * classes / 1e6
            print(
                f"{size:5d} {classes:5d}  {machine:14} {before:10.0f} {most:8.0f} {rows:8.0f}"
                f" {scores:10.0f} {(most - before - rows) / scores:16.1f} {seconds:4.1f}",
                flush=True,
            )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--data", nargs="+", default=["vowel", "segment", "satimage", "dna", "usps"]
    )
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--fixed", action="store_true", help="C=10, gamma=3/d: nothing is chosen")
    parser.add_argument("--rules", action="store_true", help="steps and rows of selection rules")
    parser.add_argument("--rows", type=int, help="training rows at most")
    parser.add_argument("--machines", nargs="+", default=list(MACHINES), choices=MACHINES)
    parser.add_argument("--time-limit", type=float, help="seconds of a fit, by the clock")
    parser.add_argument("--cells", action="store_true", help="every cell of a grid of C and gamma")
    parser.add_argument("--kernel", choices=("rbf", "linear"), default="rbf", help="of --cells")
    parser.add_argument("--growth", action="store_true", help="time with n and k")
    parser.add_argument("--memory", action="store_true", help="peak memory of large fits")
    args = parser.parse_args()
    if args.rules:
        rules(args.data)
    elif args.cells:
        cells(args.data, args.machines, args.kernel, args.time_limit)
    elif args.growth:
        growth()
    elif args.memory:
        memory()
    else:
        for one in args.data:
            compare(one, args.machines, args.repeats, args.fixed, args.rows, args.time_limit)
