"""What a shared search saves over scikit-learn's GridSearchCV, with its SVC and with ours.

    python benchmarks/search.py                            # all data sets, 10 x 10 points, 5 folds
    python benchmarks/search.py banana svmguide1 --every 2 # every second C and gamma
    python benchmarks/search.py banana --check             # scores of all cells at tol=1e-6
    python benchmarks/search.py mnist --without-own        # two searches instead of three
    python benchmarks/search.py letter --sample 1          # scikit-learn's time from a tenth of it

C = 2^-5 ... 2^13, gamma = 2^-15 ... 2^3 (of cadata also epsilon), standardised features, without
refit.  Seconds of CPU with one job (--jobs 2: wall clock, two jobs), and ratios to scikit-learn.
With --sample K only K tenths of the points, in which each C and each gamma occurs equally often,
are given to scikit-learn's search, and its time is scaled up; "best" then says in how many rows the
scores of these points differ at most.
`floor` is the time of the kernel matrices by BLAS and exp, and one matrix product per point.
"""

from __future__ import annotations

import argparse
import time
import warnings
from typing import Any

import numpy as np
import scipy.sparse as sp
import sklearn.model_selection
import sklearn.svm
from data import load, load_sparse, standardised

import softmargin

ROWS = {"letter": 5000, "a9a": 5000, "mnist": 3000, "cadata": 3000}
NAMES = (
    *("banana", "svmguide1", "spambase", "splice_libsvm", "satimage", "letter", "a9a", "mnist"),
    "cadata",
)
REGRESSION = ("cadata",)


def data(name: str, rows: int | None) -> tuple[Any, Any]:
    sparse = name == "a9a"
    X, y = load_sparse(name) if sparse else load(name)
    count = rows or ROWS.get(name, 2000)
    chosen = np.random.default_rng(0).permutation(X.shape[0])[:count]
    X, y = X[chosen], y[chosen]
    if not sparse:
        X = standardised(X)
    return X, standardised(y[:, None])[:, 0] if name in REGRESSION else y


def grid(name: str, every: int) -> dict[str, Any]:
    points: dict[str, Any] = {
        "C": 2.0 ** np.arange(-5, 14, 2)[::every],
        "gamma": 2.0 ** np.arange(-15, 4, 2)[::every],
    }
    if name in REGRESSION:
        points["epsilon"] = [0.01, 0.1, 0.5][:: min(every, 2)]
    return points


def search(kind: Any, machine: Any, points: Any, X: Any, y: Any, jobs: int) -> tuple[float, Any]:
    clock = time.process_time if jobs == 1 else time.perf_counter
    begin = clock()
    found = kind(machine, points, cv=5, refit=False, n_jobs=jobs).fit(X, y)
    return clock() - begin, found


def floor(X: Any, points: dict[str, Any], jobs: int) -> float:
    """The kernel matrices, and one product with a vector for each point."""
    clock = time.process_time if jobs == 1 else time.perf_counter
    begin = clock()
    X = X.toarray() if sp.issparse(X) else X
    squares = (X**2).sum(axis=1)
    distances = squares[:, None] + squares - 2 * (X @ X.T)
    cells = int(np.prod([len(values) for values in points.values()])) // len(points["gamma"])
    for gamma in points["gamma"]:
        np.exp(-gamma * distances) @ np.ones((len(X), cells))
    return clock() - begin


def sample(points: dict[str, Any], count: int) -> list[dict[str, Any]]:
    """`count` points for each C: as many for each gamma, with an epsilon in turn."""
    C, gamma = points["C"], points["gamma"]
    shuffled = np.random.default_rng(1).permutation(len(gamma))
    chosen = []
    for shift in range(count):
        for k, c in enumerate(C):
            point = {"C": [c], "gamma": [gamma[shuffled[(k + shift) % len(gamma)]]]}
            if "epsilon" in points:
                point["epsilon"] = [points["epsilon"][(k + shift) % len(points["epsilon"])]]
            chosen.append(point)
    return chosen


def of_points(results: Any, points: list[dict[str, Any]]) -> Any:
    """The scores of these points alone."""
    wanted = [{name: values[0] for name, values in point.items()} for point in points]
    places = [results["params"].index(point) for point in wanted]
    return {name: v[places] for name, v in results.items() if name.endswith("test_score")}


def check(theirs: Any, ours: Any, rows: int, regression: bool) -> str:
    """By how much the scores of cells and folds differ: in rows of a fold, or as they are."""
    most = max(
        float(np.abs(theirs[name] - ours[name]).max())
        for name in theirs
        if name.startswith("split") and name.endswith("test_score")
    )
    return f"{most:.1e} (R^2)" if regression else f"{round(most * rows / 5)} rows"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", default=list(NAMES))
    parser.add_argument("--every", type=int, default=1)
    parser.add_argument("--rows", type=int)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--check", action="store_true", help="tol=1e-6, and compare all scores")
    parser.add_argument(
        "--without-own", action="store_true", help="leave out our SVC in scikit-learn's search"
    )
    parser.add_argument("--sample", type=int, help="tenths of the points for scikit-learn's search")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    tol = 1e-6 if options.check else 1e-3
    X, y = data("banana", 100)  # the first search imports what all of them need
    softmargin.GridSearchCV(softmargin.SVC(), {"C": [1, 2]}).fit(X, y)
    print(
        f"{'data':15}{'scikit-learn':>13}{'our SVC':>9}{'our search':>12}{'ratio':>8}{'floor':>8}"
        f"  best{'  largest difference' if options.check else ''}"
    )
    for name in options.names:
        X, y = data(name, options.rows)
        points, regression = grid(name, options.every), name in REGRESSION
        kinds = ("SVR",) * 2 if regression else ("SVC",) * 2
        theirs, ours = (getattr(m, kinds[0])(tol=tol) for m in (sklearn.svm, softmargin))
        both = sklearn.model_selection.GridSearchCV
        shared, found = search(softmargin.GridSearchCV, ours, points, X, y, options.jobs)
        least = floor(X, points, options.jobs)
        left_out = options.check or options.without_own or options.sample
        own, _ = (np.nan, None) if left_out else search(both, ours, points, X, y, options.jobs)
        some = sample(points, options.sample) if options.sample else points
        reference, expected = search(both, theirs, some, X, y, options.jobs)
        text, theirs_only = "", expected.cv_results_
        if options.sample:
            reference *= len(found.cv_results_["params"]) / len(theirs_only["params"])
            of_ours = of_points(found.cv_results_, some)
            same = check(of_points(theirs_only, some), of_ours, len(y), regression)
        else:
            same = "same" if found.best_params_ == expected.best_params_ else "other"
        if options.check:
            text = "  " + check(theirs_only, found.cv_results_, len(y), regression)
        print(
            f"{name:15}{reference:13.1f}{own:9.1f}{shared:12.2f}{reference / shared:8.1f}"
            f"{least:8.2f}  {same}{text}",
            flush=True,
        )


if __name__ == "__main__":
    main()
