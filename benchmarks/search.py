"""What a shared search saves over scikit-learn's GridSearchCV, with its SVC and with ours.

    python benchmarks/search.py                            # all data sets, 10 x 10 points, 5 folds
    python benchmarks/search.py banana svmguide1 --every 2 # every second C and gamma
    python benchmarks/search.py banana --check             # scores of all cells at tol=1e-6
    python benchmarks/search.py mnist --without-own        # two searches instead of three
    python benchmarks/search.py letter --sample 1          # scikit-learn's time from a tenth of it
    python benchmarks/search.py letter --sample 1 --check --keep FOLDER --minutes 5   # in pieces

C = 2^-5 ... 2^13, gamma = 2^-15 ... 2^3 (of cadata also epsilon), standardised features, without
refit.  Seconds of CPU with one job (--jobs 2: wall clock, two jobs), and ratios to scikit-learn.
With --sample K only K tenths of the points, in which each C and each gamma occurs equally often,
are given to scikit-learn's search, and its time is scaled up.  The last columns say in how many
rows the scores of a fold differ at most, and where; --check compares them at tol=1e-6, no times.
With --keep FOLDER the scores of scikit-learn are kept there, point by point, not computed again;
--minutes ends a run after the point during which the time is up.
`floor` is the time of the kernel matrices by BLAS and exp, and one matrix product per point.
"""

from __future__ import annotations

import argparse
import tempfile
import time
import warnings
from pathlib import Path
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


def names_of_splits(results: Any) -> list[str]:
    return [name for name in results if name.startswith("split") and name.endswith("test_score")]


def scores(results: Any, points: list[dict[str, Any]]) -> Any:
    """The scores of these points, one row for each."""
    places = [results["params"].index(point) for point in points]
    return np.array([results[name][places] for name in names_of_splits(results)]).T


def single(point: dict[str, Any]) -> dict[str, Any]:
    return {name: values[0] for name, values in point.items()}


def kept_scores(machine: Any, points: list[Any], X: Any, y: Any, prefix: str, end: float) -> Any:
    """scikit-learn's scores at each point, from a file or computed now, until the time is up."""
    rows = []
    for point in points:
        path = Path(prefix + "-".join(f"{value:.6g}" for value in point.values()) + ".npy")
        if not path.exists():
            if time.monotonic() > end:
                break
            one = {name: [value] for name, value in point.items()}
            _, found = search(sklearn.model_selection.GridSearchCV, machine, one, X, y, 1)
            np.save(path, scores(found.cv_results_, [point])[0])
        rows.append(np.load(path))
    return np.array(rows)


def differences(theirs: Any, ours: Any, points: list[Any], rows: int, regression: bool) -> str:
    """By how much the scores of cells and folds differ: in rows of a fold, or as they are."""
    apart = np.abs(theirs - ours)
    point, fold = np.unravel_index(np.argmax(apart), apart.shape)
    most = f"{apart.max():.1e} (R^2)" if regression else f"{round(apart.max() * rows / 5)} rows"
    where = ", ".join(f"{name}=2^{np.log2(value):g}" for name, value in points[point].items())
    beyond = "" if regression else f", {(apart * rows / 5 > 1.5).sum()} of {apart.size} above 1 row"
    return most + ("" if apart.max() == 0 else f" ({where}, fold {fold}{beyond})")


def compare(name: str, options: argparse.Namespace) -> None:
    """The same answers: scores at tol=1e-6."""
    X, y = data(name, options.rows)
    points, regression = grid(name, options.every), name in REGRESSION
    theirs, ours = machines(name, 1e-6)
    every = list(sklearn.model_selection.ParameterGrid(points))
    some = [single(point) for point in sample(points, options.sample)] if options.sample else every
    _, found = search(softmargin.GridSearchCV, ours, points, X, y, options.jobs)
    with tempfile.TemporaryDirectory() as folder:
        prefix = f"{options.keep or folder}/{name}-{len(y)}-"
        end = time.monotonic() + 60 * (options.minutes or np.inf)
        expected = kept_scores(theirs, some, X, y, prefix, end)
    some = some[: len(expected)]
    own = scores(found.cv_results_, some)
    best = np.flatnonzero(np.isclose(expected.mean(1), expected.mean(1).max(), rtol=0, atol=1e-12))
    same = "same" if np.argmax(own.mean(1)) in best else "other"
    print(
        f"{name:15}{len(y):6} rows, {len(some):4} points  best: {same}  "
        f"{differences(expected, own, some, len(y), regression)}",
        flush=True,
    )


def machines(name: str, tol: float) -> tuple[Any, Any]:
    kind = "SVR" if name in REGRESSION else "SVC"
    return getattr(sklearn.svm, kind)(tol=tol), getattr(softmargin, kind)(tol=tol)


def measure(name: str, options: argparse.Namespace) -> None:
    """The times, at tol=1e-3."""
    X, y = data(name, options.rows)
    points, regression = grid(name, options.every), name in REGRESSION
    theirs, ours = machines(name, 1e-3)
    both = sklearn.model_selection.GridSearchCV
    shared, found = search(softmargin.GridSearchCV, ours, points, X, y, options.jobs)
    least = floor(X, points, options.jobs)
    left_out = options.without_own or options.sample
    own, _ = (np.nan, None) if left_out else search(both, ours, points, X, y, options.jobs)
    some = sample(points, options.sample) if options.sample else points
    reference, expected = search(both, theirs, some, X, y, options.jobs)
    compared = expected.cv_results_["params"]
    reference *= len(found.cv_results_["params"]) / len(compared)
    apart = differences(
        scores(expected.cv_results_, compared),
        scores(found.cv_results_, compared),
        compared,
        len(y),
        regression,
    )
    if not options.sample:
        apart = ("same  " if found.best_params_ == expected.best_params_ else "other ") + apart
    print(
        f"{name:15}{reference:13.1f}{own:9.1f}{shared:12.2f}{reference / shared:8.1f}"
        f"{least:8.2f}  {apart}",
        flush=True,
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", default=list(NAMES))
    parser.add_argument("--every", type=int, default=1)
    parser.add_argument("--rows", type=int)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--check", action="store_true", help="compare scores at tol=1e-6, no times")
    parser.add_argument("--keep", help="with --check: a folder for the scores of scikit-learn")
    parser.add_argument("--minutes", type=float, help="with --check: end after this time")
    parser.add_argument(
        "--without-own", action="store_true", help="leave out our SVC in scikit-learn's search"
    )
    parser.add_argument("--sample", type=int, help="tenths of the points for scikit-learn's search")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    X, y = data("banana", 100)  # the first search imports what all of them need
    softmargin.GridSearchCV(softmargin.SVC(), {"C": [1, 2]}).fit(X, y)
    if not options.check:
        print(
            f"{'data':15}{'scikit-learn':>13}{'our SVC':>9}{'our search':>12}{'ratio':>8}"
            f"{'floor':>8}  best, largest difference"
        )
    for name in options.names:
        (compare if options.check else measure)(name, options)


if __name__ == "__main__":
    main()
