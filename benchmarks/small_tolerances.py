"""A small tolerance: default machines at tol = 1e-3 and 1e-8, ours compared with scikit-learn's.

    SOFTMARGIN_DATA=folder python benchmarks/small_tolerances.py [--repeats 3]

SVC, NuSVC, SVR, NuSVR and OneClassSVM with their default parameters on standardised features, one
thread.  The four fits of a row take turns; times are medians of CPU seconds.  Each fit runs in a
process of its own, which is ended after ten minutes.
"""

from __future__ import annotations

import argparse
import multiprocessing
import statistics
import time
import warnings
from typing import Any

import numpy as np
from data import load, standardised
from sklearn import svm

import softmargin

LIMIT = 600.0
"""Seconds after which a fit is ended."""

TARGETS = ("cadata",)
ROWS = (
    ("SVC", "spambase", 4601),
    ("SVC", "connect4", 5000),
    ("SVC", "letter", 4000),
    ("SVR", "cadata", 4000),
    ("NuSVC", "spambase", 4601),
    ("NuSVR", "cadata", 4000),
    ("OneClassSVM", "letter", 4000),
)


def data(name: str, most: int) -> tuple[Any, Any]:
    X, y = load(name)
    rows = np.random.default_rng(0).permutation(len(X))[:most]
    X, y = standardised(X[rows]), y[rows]
    return X, standardised(y[:, None])[:, 0] if name in TARGETS else y


def fit(machine: Any, X: Any, y: Any, answer: Any) -> None:
    warnings.simplefilter("ignore")
    begin = time.process_time()
    machine.fit(X, y)
    answer.send(time.process_time() - begin)


def seconds(machine: Any, X: Any, y: Any) -> float:
    """Of one fit; infinite if it was ended."""
    context = multiprocessing.get_context("fork")
    answer, end = context.Pipe(duplex=False)
    process = context.Process(target=fit, args=(machine, X, y, end))
    process.start()
    taken: float = answer.recv() if answer.poll(LIMIT) else np.inf
    process.terminate()
    process.join()
    return taken


def row(kind: str, name: str, most: int, repeats: int) -> str:
    X, y = data(name, most)
    theirs, ours = getattr(svm, kind), getattr(softmargin, kind)
    machines = [ours(tol=tol, n_jobs=1) for tol in (1e-3, 1e-8)]
    machines += [theirs(tol=tol) for tol in (1e-3, 1e-8)]
    times: list[list[float]] = [[] for _ in machines]
    for _ in range(repeats):
        for machine, own in zip(machines, times, strict=True):
            if np.inf not in own:
                own.append(seconds(machine, X, y))
    large, small, *others = (statistics.median(own) for own in times)
    cells = [
        kind,
        f"{name}, {len(y):,}",
        f"{large:.3f} s",
        f"{small:.3f} s",
        f"{small / large:.1f}",
    ]
    cells += [f"{other:.2f} s" if other < np.inf else f"> {LIMIT:.0f} s" for other in others]
    return f"| {' | '.join(cells)} |"


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeats", type=int, default=3)
    options = parser.parse_args()
    print("| | data, rows | tol = 1e-3 | 1e-8 | ratio | scikit-learn, 1e-3 | 1e-8 |")
    print("|---|---|---|---|---|---|---|")
    for one in ROWS:
        print(row(*one, options.repeats), flush=True)
