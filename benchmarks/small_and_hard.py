"""Small problems that are hard, and searches over many small fits: our SVC compared with
scikit-learn's.

    python benchmarks/small_and_hard.py [--repeats 3]

The digit 8 against the rest, linear, C = 100, on one fold of scikit-learn's gallery example
plot_grid_search_digits (718 rows, features as they are); the search of that example, with both its
scores; and fits of many small pairs of classes: vowel and segment (SOFTMARGIN_DATA), digits / 16.
One thread, medians of CPU time, taking turns.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from data import load
from sklearn import svm
from sklearn.datasets import load_digits
from sklearn.model_selection import GridSearchCV, StratifiedKFold, train_test_split

import softmargin
from softmargin.working_sets import Block

GRID = [
    {"kernel": ["rbf"], "gamma": [1e-3, 1e-4], "C": [1, 10, 100, 1000]},
    {"kernel": ["linear"], "C": [1, 10, 100, 1000]},
]


def half() -> tuple[Any, Any]:
    X, y = load_digits(return_X_y=True)
    X_train, _, y_train, _ = train_test_split(X, y == 8, test_size=0.5, random_state=0)
    return X_train, y_train


def in_turns(repeats: int, runs: dict[str, Callable[[], Any]]) -> dict[str, float]:
    taken: dict[str, list[float]] = {name: [] for name in runs}
    for _ in range(repeats):
        for name, run in runs.items():
            begin = time.process_time()
            run()
            taken[name].append(time.process_time() - begin)
    return {name: float(np.median(seconds)) for name, seconds in taken.items()}


def one_fit(repeats: int) -> None:
    X, y = half()
    rows, _ = next(StratifiedKFold(5).split(X, y))

    def fit(kind: Any, **parameters: Any) -> Callable[[], Any]:
        return lambda: kind(kernel="linear", C=100, **parameters).fit(X[rows], y[rows])

    runs = {"scikit-learn": fit(svm.SVC), "auto": fit(softmargin.SVC, n_jobs=1)}
    for name, rule in {"second-order": "second-order", "block": Block(800)}.items():
        runs[name] = fit(softmargin.SVC, n_jobs=1, working_set=rule)
    print(f"digit 8 against the rest, {len(rows)} rows, linear, C = 100:")
    for name, seconds in in_turns(repeats, runs).items():
        print(f"  {name:13}{1e3 * seconds:10.1f} ms", flush=True)


def search(repeats: int) -> None:
    X, y = half()

    def run(machine: Any) -> Callable[[], Any]:
        scores = ["precision", "recall"]
        return lambda: GridSearchCV(machine, GRID, scoring=scores, refit="recall").fit(X, y)

    runs = {"scikit-learn": run(svm.SVC()), "softmargin": run(softmargin.SVC(n_jobs=1))}
    taken = in_turns(repeats, runs)
    print("plot_grid_search_digits:")
    for name, seconds in taken.items():
        print(f"  {name:13}{seconds:8.2f} s")
    print(f"  ratio {taken['scikit-learn'] / taken['softmargin']:.2f}")


def many_pairs(repeats: int) -> None:
    X, y = load_digits(return_X_y=True)
    sets = {"vowel": load("vowel"), "digits": (X / 16, y), "segment": load("segment")}
    print("pairs of classes            C   scikit-learn   softmargin   ratio")
    for name, (X, y) in sets.items():
        for C in (1, 10, 100):
            runs = {
                "theirs": lambda C=C, X=X, y=y: svm.SVC(C=C).fit(X, y),
                "ours": lambda C=C, X=X, y=y: softmargin.SVC(C=C, n_jobs=1).fit(X, y),
            }
            taken = in_turns(repeats, runs)
            theirs, ours = (1e3 * taken[who] for who in runs)
            print(
                f"  {name:13}{C:14}{theirs:12.1f} ms{ours:10.1f} ms{theirs / ours:8.2f}", flush=True
            )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeats", type=int, default=3)
    options = parser.parse_args()
    one_fit(options.repeats)
    search(options.repeats)
    many_pairs(7 * options.repeats)
