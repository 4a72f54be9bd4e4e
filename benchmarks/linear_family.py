"""The whole linear family compared with LIBLINEAR (in scikit-learn, and liblinear-official): CPU
seconds until the primal objective is within 1e-3, and within 1e-6, of the optimum.

    OPENBLAS_NUM_THREADS=1 python benchmarks/linear_family.py [--data a9a letter] [--losses l1]
    python benchmarks/linear_family.py --tight      the optima themselves, at tight tolerances
    python benchmarks/linear_family.py --threads    n_jobs=1 and n_jobs=2, by the clock

Ours stops by its certificate (tol); of LIBLINEAR's tolerances 1, 0.1, ... 1e-6 the largest that
reaches the accuracy is taken, and only that fit counts.  The three take turns; medians.
"""

from __future__ import annotations

import argparse
import runpy
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn import svm

from softmargin import LinearSVC, LinearSVR

WALRUS = runpy.run_path(str(Path(__file__).parent / "walrus" / "data.py"))
folder, ALL = WALRUS["folder"], WALRUS["ALL"]

ACCURACIES = (1e-3, 1e-6)
CLASSIFICATION = {
    "squared_hinge": ({"loss": "squared_hinge"}, (2, 1)),
    "hinge": ({"loss": "hinge"}, (3,)),
    "l1": ({"penalty": "l1", "dual": False}, (5,)),
}
REGRESSION = {
    "epsilon_insensitive": ({"loss": "epsilon_insensitive", "epsilon": 0.1}, (13,)),
    "squared_epsilon_insensitive": (
        {"loss": "squared_epsilon_insensitive", "epsilon": 0.1},
        (11, 12),
    ),
}


def sparse(name: str, prefix: str) -> tuple[Any, Any]:
    file = np.load(folder() / f"{name}.npz")
    parts = (file[f"{prefix}{part}"] for part in ("data", "indices", "indptr"))
    data, indices, indptr = parts
    shape = tuple(file[f"{prefix}shape"])
    y = file["y_train" if prefix else "y"]
    return sp.csr_matrix((data.astype(np.float64), indices, indptr), shape=shape), y


def standardised(name: str) -> tuple[Any, Any]:
    file = np.load(folder() / f"{name}.npz")
    X, y = file["X"].astype(np.float64), file["y"].astype(np.float64)
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    return np.ascontiguousarray(X), (y - y.mean()) / y.std()


def made_up(n: int = 1_000_000, d: int = 10_000, per_row: int = 20) -> tuple[Any, Any]:
    """Sparse rows of 20 of 10,000 features, the first ones more often; noisy classes."""
    rng = np.random.default_rng(0)
    columns = (d * rng.random((n, per_row)) ** 3).astype(np.int32)
    w = rng.standard_normal(d)
    scores = w[columns].sum(axis=1) / per_row**0.5
    starts = np.arange(0, n * per_row + 1, per_row)
    X = sp.csr_matrix((np.full(n * per_row, per_row**-0.5), columns.ravel(), starts), shape=(n, d))
    X.sum_duplicates()
    return X, (scores + rng.standard_normal(n) > 0).astype(int)


def data_set(name: str) -> tuple[Any, Any]:
    if name == "a9a":
        return sparse("a9a", "X_train_")
    if name == "w8a":
        return sparse("w8a", "")
    if name == "made_up":
        return made_up()
    if name in ("cadata", "cpusmall"):
        return standardised(name)
    data = ALL[name]()
    X = sp.csr_matrix(data.X) if name == "mnist" else data.X
    return X, np.unique(data.y, return_inverse=True)[1]


def objective(W: Any, X: Any, y: Any, loss: str) -> float:
    """Of weights with the intercept as their last row, one column per class."""
    scores = np.asarray(X @ W[:-1]) + W[-1]
    if loss in REGRESSION:
        beyond = np.maximum(np.abs(y - scores[:, 0]) - 0.1, 0)
    else:
        classes = np.unique(y)
        sign = np.where(y[:, None] == (classes[1:] if len(classes) == 2 else classes), 1.0, -1.0)
        beyond = np.maximum(1 - sign * scores, 0)
    losses = beyond.sum() if loss in ("hinge", "epsilon_insensitive") else np.sum(beyond**2)
    return float((np.abs(W).sum() if loss == "l1" else np.sum(W**2) / 2) + losses)


def weights(machine: Any) -> Any:
    return np.vstack([np.atleast_2d(machine.coef_).T, np.atleast_1d(machine.intercept_)])


def ours(X: Any, y: Any, loss: str, tol: float) -> Any:
    made: Any = LinearSVR if loss in REGRESSION else LinearSVC
    options = (REGRESSION | CLASSIFICATION)[loss][0]
    return weights(made(tol=tol, max_iter=10**6, random_state=0, **options).fit(X, y))


def scikit_learn(X: Any, y: Any, loss: str, tol: float) -> Any:
    made: Any = svm.LinearSVR if loss in REGRESSION else svm.LinearSVC
    options = {"dual": "auto", **(REGRESSION | CLASSIFICATION)[loss][0]}
    return weights(made(tol=tol, max_iter=2000, random_state=0, **options).fit(X, y))


def official(X: Any, y: Any, loss: str, tol: float) -> Any:
    """liblinear-official, the faster of its solvers for n > d or n < d as its manual says."""
    from liblinear.liblinear import problem
    from liblinear.liblinearutil import train

    solvers = (REGRESSION | CLASSIFICATION)[loss][1]
    solver = solvers[0] if X.shape[0] > X.shape[1] else solvers[-1]
    given = problem(y, sp.csr_matrix(X), bias=1)
    begin = time.process_time()
    model = train(given, f"-q -s {solver} -e {tol} -B 1 -p 0.1")
    seconds = time.process_time() - begin
    columns = 1 if loss in REGRESSION or model.nr_class == 2 else model.nr_class
    rows = X.shape[1] + 1
    W = np.ctypeslib.as_array(model.w, (rows * columns,)).reshape(rows, columns).copy()
    if loss not in REGRESSION:
        order = np.argsort(model.get_labels())
        W = W[:, order] if columns > 1 else W * (1 if order[0] == 1 else -1)
    return W, seconds


def timed(fit: Callable[..., Any], *arguments: Any) -> tuple[Any, float]:
    begin = time.process_time()
    found = fit(*arguments)
    seconds = time.process_time() - begin
    return found if isinstance(found, tuple) else (found, seconds)


def reaching(fit: Any, X: Any, y: Any, loss: str, goal: float, patience: float) -> float | None:
    """The largest tolerance with which the objective is at most `goal`."""
    for power in range(0, -7, -1):
        W, seconds = timed(fit, X, y, loss, 10.0**power)
        if objective(W, X, y, loss) <= goal:
            return 10.0**power
        if seconds > patience:
            return None
    return None


def compare(name: str, loss: str, times: int, patience: float) -> None:
    X, y = data_set(name)
    optimum = objective(ours(X, y, loss, 1e-8), X, y, loss)
    for accuracy in ACCURACIES:
        goal = optimum * (1 + accuracy)
        peers = {"scikit-learn": scikit_learn, "liblinear": official}
        tolerance = {peer: reaching(fit, X, y, loss, goal, patience) for peer, fit in peers.items()}
        seconds: dict[str, list[float]] = {"ours": [], **{peer: [] for peer in peers}}
        for _ in range(times):
            W, spent = timed(ours, X, y, loss, accuracy)
            assert objective(W, X, y, loss) <= goal * (1 + 1e-12)
            seconds["ours"].append(spent)
            for peer, fit in peers.items():
                tol = tolerance[peer]
                if tol:
                    seconds[peer].append(timed(fit, X, y, loss, tol)[1])
        mine = float(np.median(seconds["ours"]))
        cells = [name, loss, f"{accuracy:.0e}", f"{mine:.3f}"]
        for peer in peers:
            theirs = float(np.median(seconds[peer])) if seconds[peer] else np.nan
            reached = not np.isnan(theirs)
            cells += [f"{theirs:.3f}", f"{theirs / mine:.1f}"] if reached else ["not reached", ""]
        print("| " + " | ".join(cells) + " |", flush=True)


MACHINES: dict[str, dict[str, Any]] = {
    "squared hinge": {},
    "hinge": {"loss": "hinge"},
    "l1": {"penalty": "l1"},
    "Weston-Watkins": {"multi_class": "weston_watkins"},
    "Crammer-Singer": {"multi_class": "crammer_singer"},
}


def accuracies(names: list[str]) -> None:
    """Test accuracy, nonzero weights and CPU seconds at the default parameters."""
    print("| data | machine | accuracy, % | nonzero weights, % | seconds |")
    print("|---|---|--:|--:|--:|")
    for name in names:
        data = ALL[name]()
        for machine, options in MACHINES.items():
            begin = time.process_time()
            found = LinearSVC(random_state=0, **options).fit(data.X, data.y)
            seconds = time.process_time() - begin
            score = 100 * found.score(data.X_test, data.y_test)
            used = 100 * np.mean(found.coef_ != 0)
            print(f"| {name} | {machine} | {score:.2f} | {used:.1f} | {seconds:.2f} |", flush=True)


def by_distinct_feature(X: Any, W: Any) -> Any:
    """The weights of features that are equal in all examples, added up: only their sum is unique.
    Such features have the same product with random numbers."""
    key = np.asarray(X.T @ np.random.default_rng(0).standard_normal(X.shape[0]))
    _, feature = np.unique(np.round(key, 9), return_inverse=True)
    total = np.zeros((feature.max() + 2, W.shape[1]))
    np.add.at(total, feature, W[:-1])
    total[-1] = W[-1]
    return total


def agreement(name: str, loss: str, rows: int) -> None:
    """The difference of LIBLINEAR's objective at its tightest tolerance from ours, and how many
    weights are zero in one and not in the other (of features that are alike, the sum)."""
    X, y = data_set(name)
    X, y = X[:rows], y[:rows]
    mine = ours(X, y, loss, 1e-10)
    best = objective(mine, X, y, loss)
    solver = {"max_iter": 10**6, "tol": 1e-9, "random_state": 0, "dual": "auto"}
    made: Any = svm.LinearSVR if loss in REGRESSION else svm.LinearSVC
    peer = weights(made(**{**solver, **(REGRESSION | CLASSIFICATION)[loss][0]}).fit(X, y))
    difference = objective(peer, X, y, loss) / best - 1
    mine, peer = (by_distinct_feature(X, W) for W in (mine, peer))
    other = np.count_nonzero((mine != 0) != (peer != 0)) if loss == "l1" else ""
    print(f"| {name} | {loss} | {best:.10g} | {difference:.1e} | {other} |", flush=True)


def threads(name: str, loss: str, times: int) -> None:
    """One-vs-rest on one thread and on two, in turns, with the default tolerance."""
    X, y = data_set(name)
    seconds: dict[int, list[float]] = {1: [], 2: []}
    for _ in range(times):
        for jobs, found in seconds.items():
            machine = LinearSVC(n_jobs=jobs, random_state=0, **CLASSIFICATION[loss][0])
            begin = time.perf_counter()
            machine.fit(X, y)
            found.append(time.perf_counter() - begin)
    one, two = (float(np.median(found)) for found in seconds.values())
    print(f"| {name} | {loss} | {one:.3f} | {two:.3f} | {one / two:.2f} |", flush=True)


def main() -> None:
    warnings.simplefilter("ignore")
    parser = argparse.ArgumentParser(description=__doc__)
    regressions = ["cadata", "cpusmall"]
    several = ["news20_bow", "a9a", "w8a", "mnist", "clinc150", "udhr_lang", "letter", "made_up"]
    parser.add_argument("--data", nargs="+", default=[*several, *regressions])
    parser.add_argument("--losses", nargs="+", default=[*CLASSIFICATION, *REGRESSION])
    parser.add_argument("--times", type=int, default=3)
    parser.add_argument("--patience", type=float, default=60.0, help="seconds for a peer's fit")
    parser.add_argument("--accuracy", action="store_true", help="which machine for which data")
    parser.add_argument("--tight", action="store_true", help="compare the optima")
    parser.add_argument("--threads", action="store_true", help="one thread and two")
    parser.add_argument("--rows", type=int, default=2000, help="with --tight: the first so many")
    args = parser.parse_args()
    chosen = [
        (name, loss)
        for name in args.data
        for loss in (REGRESSION if name in regressions else CLASSIFICATION)
        if loss in args.losses
    ]
    if args.tight:
        print("| data | loss | our objective | theirs, relative difference | other zeros |")
        print("|---|---|--:|--:|--:|")
        for name, loss in chosen:
            agreement(name, loss, args.rows)
        return
    if args.accuracy:
        accuracies(args.data)
        return
    if args.threads:
        print("| data | loss | 1 thread, s | 2 threads, s | ratio |")
        print("|---|---|--:|--:|--:|")
        for name, loss in chosen:
            threads(name, loss, args.times)
        return
    print("| data | loss | within | ours, s | scikit-learn, s | times | liblinear, s | times |")
    print("|---|---|--:|--:|--:|--:|--:|--:|")
    for name, loss in chosen:
        compare(name, loss, args.times, args.patience)


if __name__ == "__main__":
    main()
