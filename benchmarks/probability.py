"""How good are the probabilities and intervals, and what do they cost, compared with those of
others?

    SOFTMARGIN_DATA=<folder> python benchmarks/probability.py [two] [many] [linear] [intervals]

two, many: SVC(probability=True) on five data sets of two classes and five of more, compared with
scikit-learn's SVC(probability=True) and its CalibratedClassifierCV (sigmoid, isotonic, temperature;
ensemble=False) of its SVC.  linear: the same of LinearSVC on the five of more.  Features are
standardised, parameters are the defaults (LinearSVC: C = 0.1), at most 2000 rows are trained on and
2000 tested.  "error" is the expected calibration error of the most probable class; "disagree"
counts test rows whose most probable class is not the one that the machine itself predicts.
"seconds" is the CPU time of the fit on one thread, and "time" the same divided by that of the same
package's machine without probabilities; medians of three rounds, taken in turns.

intervals: coverage and mean width of SVR(C=10, probability=True).predict_interval over ten splits,
compared with MAPIE's CrossConformalRegressor of the same machine (CV+, five folds), if it is
installed; at most 2000 rows are trained on, and targets are standardised.
"""

import argparse
import time
import warnings
from typing import Any

import numpy as np
import sklearn.svm
from data import Array, load, load_sparse, standardised
from sklearn.calibration import CalibratedClassifierCV
from sklearn.model_selection import train_test_split
from threadpoolctl import threadpool_limits

import softmargin
from softmargin.plotting.calibration import calibration_error, reliability

WHOLE = ("spambase", "banana", "splice_libsvm", "segment")  # without a test part
TWO = ("spambase", "svmguide1", "banana", "a9a", "splice_libsvm")
MANY = ("segment", "satimage", "usps", "letter", "vowel")
REGRESSIONS = ("cadata", "abalone", "kin8nm", "space_ga")
MOST = 2000
COVERAGE = 0.9
SPLITS = 10
ROUNDS = 3
METHODS = ("sigmoid", "isotonic", "temperature")


def some(X: Any, y: Array, seed: int) -> tuple[Array, Array]:
    rows = np.random.default_rng(seed).permutation(len(y))[:MOST]
    X = X[rows]
    return (X.toarray() if hasattr(X, "toarray") else X), y[rows]


def examples(name: str) -> tuple[Array, Array, Array, Array]:
    """Training and test examples, by the training examples' means and variances."""
    if name in WHOLE:
        X, y = load(name)
        X, points, y, truth = train_test_split(X, y, test_size=0.3, random_state=0, stratify=y)
    else:
        read = load_sparse if name == "a9a" else load
        (X, y), (points, truth) = read(name), read(name, "test")
    codes = np.unique(y)  # whole numbers from 0: scikit-learn's temperature fails for others
    X, y = some(X, np.searchsorted(codes, y), 0)
    points, truth = some(points, np.searchsorted(codes, truth), 1)
    mean, spread = X.mean(axis=0), X.std(axis=0)
    spread = np.where(spread > 0, spread, 1.0)
    return (X - mean) / spread, y, (points - mean) / spread, truth


def cpu_seconds(machine: Any, X: Array, y: Array) -> float:
    begin = time.process_time()
    machine.fit(X, y)
    return time.process_time() - begin


def candidates(linear: bool) -> dict[str, tuple[Any, Any]]:
    """By name: a machine with probabilities, and the same machine without."""
    if linear:
        theirs = sklearn.svm.LinearSVC(C=0.1, random_state=0)
        ours = {
            f"softmargin {kind}": {"C": 0.1, "random_state": 0, "multi_class": kind}
            for kind in ("ovr", "weston_watkins", "crammer_singer")
        }
        found = {
            name: (softmargin.LinearSVC(probability=True, **p), softmargin.LinearSVC(**p))
            for name, p in ours.items()
        }
    else:
        theirs = sklearn.svm.SVC()
        found = {
            "softmargin": (softmargin.SVC(probability=True, n_jobs=1), softmargin.SVC(n_jobs=1)),
            "SVC(probability)": (sklearn.svm.SVC(probability=True, random_state=0), theirs),
        }
    for method in METHODS:
        found[method] = (CalibratedClassifierCV(theirs, method=method, ensemble=False), theirs)
    return found


def compare(name: str, linear: bool) -> None:
    X, y, points, truth = examples(name)
    machines = candidates(linear)
    seconds: dict[str, list[tuple[float, float]]] = {who: [] for who in machines}
    for _ in range(ROUNDS):
        for who, (machine, plain) in machines.items():
            seconds[who].append((cpu_seconds(machine, X, y), cpu_seconds(plain, X, y)))
    for who, (machine, plain) in machines.items():
        p, codes = machine.predict_proba(points), np.searchsorted(machine.classes_, truth)
        own = p[np.arange(len(codes)), codes]
        loss = -np.log(np.clip(own, 1e-15, 1)).mean()
        brier = ((p - np.eye(p.shape[1])[codes]) ** 2).sum(axis=1).mean()
        error = calibration_error(*reliability(p.max(axis=1), p.argmax(axis=1) == codes))
        itself = machine if hasattr(machine, "decision_function") else plain
        wrong = int((machine.classes_[p.argmax(axis=1)] != itself.predict(points)).sum())
        cells = f"{loss:.4f} | {brier:.4f} | {error:.2%} | {wrong}"
        taken, alone = np.median(seconds[who], axis=0)
        print(f"| {name} | {who} | {cells} | {taken:.3f} | {taken / alone:.1f} |", flush=True)


def classes(names: tuple[str, ...], linear: bool) -> None:
    print("| data | probabilities | log loss | Brier | error | disagree | seconds | time |")
    print("|---|---|---|---|---|---|---|---|")
    for name in names:
        compare(name, linear)


def intervals() -> None:
    try:
        from mapie.regression import CrossConformalRegressor
    except ImportError:
        CrossConformalRegressor = None
    print(
        f"| data | coverage (asked {COVERAGE}) | least | most | width | MAPIE: coverage | width |"
    )
    print("|---|---|---|---|---|---|---|")
    for name in REGRESSIONS:
        X, y = load(name)
        X, y = standardised(X), standardised(y)
        ours, theirs = [], []
        for seed in range(SPLITS):
            order = np.random.default_rng(seed).permutation(len(y))
            train = order[: min(MOST, len(y) // 2)]
            test = order[len(train) :][:MOST]
            machine = softmargin.SVR(C=10, probability=True).fit(X[train], y[train])
            ours.append(judged(machine.predict_interval(X[test], COVERAGE), y[test]))
            if CrossConformalRegressor is not None:
                other = CrossConformalRegressor(
                    softmargin.SVR(C=10), confidence_level=COVERAGE, cv=5
                ).fit_conformalize(X[train], y[train])
                theirs.append(judged(other.predict_interval(X[test])[1][:, :, 0], y[test]))
        covered, width = np.array(ours).T
        cells = [covered.mean(), covered.min(), covered.max(), width.mean()]
        cells += list(np.mean(theirs, axis=0)) if theirs else [np.nan, np.nan]
        print(f"| {name} | " + " | ".join(f"{cell:.3f}" for cell in cells) + " |", flush=True)


def judged(interval: Array, y: Array) -> tuple[float, float]:
    """The share of the targets inside, and the mean width."""
    low, high = interval.T
    return float(((low <= y) & (y <= high)).mean()), float((high - low).mean())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parts = ("two", "many", "linear", "intervals")
    parser.add_argument("parts", nargs="*", choices=(*parts, []), default=parts)
    wanted = parser.parse_args().parts
    warnings.simplefilter("ignore")
    with threadpool_limits(1):
        for part in wanted:
            if part == "intervals":
                intervals()
            else:
                classes(TWO if part == "two" else MANY, part == "linear")


if __name__ == "__main__":
    main()
