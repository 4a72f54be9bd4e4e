"""Whether decision values, labels and certificates are right for every kind of input.

Each data set as it is and standardised, dense and CSR, float32 and float64, several gammas; SVC
(target above its median), SVR and OneClassSVM.  Decision values and the duality gap are compared
with kernel values from sums of squared differences in float64, of the same rows.

    SOFTMARGIN_DATA=... python benchmarks/precision.py [--rows 1200] [--sets cpusmall ...]

A label counts as wrong wherever it differs from the recomputed one.  A certificate is wrong if its
error of a gap is more than 1 % of the gap and 1e-6 of the objective.
"""

import argparse
import os
import sys
import warnings
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from data import VARIABLE, standardised
from numpy.typing import NDArray
from scipy.spatial.distance import cdist

from softmargin import SVC, SVR, OneClassSVM

Array = NDArray[Any]
GAMMAS = ("scale", 0.001, 0.01, 0.1, 1.0, 10.0, 100.0, 1000.0)
UNSEEN = 300
"""Rows that are predicted and not fitted."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=1200, help="rows to fit")
    parser.add_argument("--sets", nargs="*", help="names of data sets; default: all")
    parser.add_argument("--all", action="store_true", help="print every fit, not the worst only")
    args = parser.parse_args()
    results: dict[tuple[str, ...], list[tuple[Any, ...]]] = defaultdict(list)
    try:
        for name in args.sets or names():
            print(name, file=sys.stderr, flush=True)
            X, y = rows_of(name, args.rows + UNSEEN)
            for scaling, Z in (("raw", X), ("scaled", standardised(X))):
                for dtype in ("float64", "float32"):
                    compare(name, scaling, Z.astype(dtype), y, args.rows, results, args.all)
    finally:  # also of a run that is interrupted
        summary(results)


def names() -> list[str]:
    folder = Path(os.environ[VARIABLE])
    return sorted(str(path.relative_to(folder))[:-4] for path in folder.rglob("*.npz"))


def rows_of(name: str, count: int) -> tuple[Array, Array]:
    """Some rows in a random order that is always the same, dense; the first part of two."""
    with np.load(Path(os.environ[VARIABLE]) / f"{name}.npz") as arrays:
        suffix = "_train" if "y_train" in arrays else ""
        y = arrays[f"y{suffix}"].astype(float)
        chosen = np.random.default_rng(0).permutation(len(y))[:count]
        if f"X{suffix}" in arrays:
            return arrays[f"X{suffix}"][chosen].astype(float), y[chosen]
        prefix = f"X{suffix}_" if f"X{suffix}_data" in arrays else ""
        parts = [arrays[f"{prefix}{part}"] for part in ("data", "indices", "indptr")]
        X = sp.csr_matrix(tuple(parts), shape=tuple(arrays[f"{prefix}shape"]))[chosen]
        used = np.unique(X.indices)
        return X[:, used].toarray().astype(float), y[chosen]


def compare(
    name: str,
    scaling: str,
    X: Array,
    y: Array,
    rows: int,
    results: dict[tuple[str, ...], list[tuple[Any, ...]]],
    show: bool,
) -> None:
    rows = min(rows, len(y) * 3 // 4)
    exact = X.astype(np.float64)
    distances = cdist(exact, exact[:rows], "sqeuclidean")
    for gamma in GAMMAS:
        for sparse in (False, True):
            data = sp.csr_matrix(X) if sparse else X
            for machine, target in machines(gamma, y):
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    machine.fit(data[:rows], target[:rows])
                K = np.exp(-machine._gamma * distances)
                row = judged(machine, data, target[:rows], K)
                form = (scaling, "CSR" if sparse else "dense", X.dtype.name)
                label = f"{name}, gamma={gamma}, {type(machine).__name__}"
                results[form].append((*row, label))
                if show or row[1] or not row[2]:
                    print(*form, label, *row, machine.solution_.precision, flush=True)


def machines(gamma: Any, y: Array) -> Iterator[tuple[Any, Array]]:
    above = y > np.median(y)
    if not above.any():
        above = y >= np.median(y)
    if above.any() and not above.all():
        yield SVC(gamma=gamma), np.where(above, 1.0, -1.0)
    yield SVR(gamma=gamma), (y - y.mean()) / (y.std() or 1.0)
    yield OneClassSVM(gamma=gamma, nu=0.1), y


def judged(machine: Any, X: Any, target: Array, K: Array) -> tuple[float, int, bool, float]:
    """The largest error of a decision value relative to the largest of 1 and all values, labels
    that differ, whether the certificate is right, and by how much its gap is off."""
    coef = np.zeros(len(target))
    dual_coef = machine.dual_coef_
    coef[machine.support_] = (dual_coef.toarray() if sp.issparse(dual_coef) else dual_coef)[0]
    f = K @ coef
    values = f + machine.intercept_[0]
    regression = isinstance(machine, SVR)
    computed = machine.predict(X) if regression else machine.decision_function(X)
    error = float(np.abs(computed - values).max() / max(1.0, np.abs(values).max()))
    wrong = 0 if regression else int(((computed >= 0) != (values >= 0)).sum())
    if isinstance(machine, OneClassSVM):  # on the boundary is inside
        near = np.abs(values) <= 1e-9 * abs(machine.intercept_[0])
        wrong = int(((computed >= 0) != (values >= 0))[~near].sum())
    primal, dual = objectives(machine, coef, f[: len(target)], target)
    claimed = machine.solution_.duality_gap
    off = abs(claimed - (primal - dual))
    right = off <= max(0.01 * (primal - dual), 1e-6 * abs(primal))
    return error, wrong, bool(right), off / max(abs(primal), 1e-300)


def objectives(machine: Any, coef: Array, f: Array, target: Array) -> tuple[float, float]:
    quadratic, value = 0.5 * coef @ f, f + machine.intercept_[0]
    if isinstance(machine, SVC):
        loss = np.maximum(0, 1 - target * value).sum()
        return quadratic + machine.C * loss, np.abs(coef).sum() - quadratic
    if isinstance(machine, SVR):
        loss = np.maximum(0, np.abs(target - value) - machine.epsilon).sum()
        dual = target @ coef - machine.epsilon * np.abs(coef).sum() - quadratic
        return quadratic + machine.C * loss, dual
    rho = -machine.intercept_[0]
    loss = np.maximum(0, -value).sum() - machine.nu * len(target) * rho
    return quadratic + loss, -quadratic


def summary(results: dict[tuple[str, ...], list[tuple[Any, ...]]]) -> None:
    print("| data | fits | largest error | labels wrong | certificates wrong | gap off by |")
    print("|---|---|---|---|---|---|")
    for form, rows in results.items():
        errors, wrong, right, off = (np.array([row[k] for row in rows]) for k in range(4))
        print(
            f"| {', '.join(form)} | {len(rows)} | {errors.max():.1e} | {wrong.sum()} |"
            f" {(~right).sum()} | {off.max():.1e} |"
        )
        print("  worst:", rows[int(errors.argmax())][-1], ";", rows[int(off.argmax())][-1])


if __name__ == "__main__":
    main()
