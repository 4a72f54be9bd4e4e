"""One measurement, in a process of its own:

    SOFTMARGIN_DATA=<folder> python benchmarks/peers/measure.py connect-4 softmargin

prints, as JSON, wall and CPU seconds of the fit, the memory it took beyond what was there before,
and the dual objective, recomputed from the coefficients with kernel values in float64.
"""

import json
import re
import sys
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from packages import PACKAGES, RULES, Coefficients
from sklearn.metrics.pairwise import rbf_kernel
from works import MORE, WORKS, Work

MISSING = 3  # the exit code for a package without this estimator
PREDICTIONS = 3


def memory(field: str) -> int:
    """VmRSS (now) or VmHWM (the peak) of this process, in bytes."""
    status = Path("/proc/self/status").read_text()
    match = re.search(rf"{field}:\s+(\d+) kB", status)
    return int(match[1]) * 1024 if match else 0


def forget_peak() -> int:
    """Resets the peak; returns the bytes in use now."""
    Path("/proc/self/clear_refs").write_text("5")
    return memory("VmRSS")


class Clock:
    def __enter__(self) -> "Clock":
        self.wall, self.cpu = -time.perf_counter(), -time.process_time()
        return self

    def __exit__(self, *_: object) -> None:
        self.wall += time.perf_counter()
        self.cpu += time.process_time()


def dual_objective(work: Work, X: Any, y: Any, solved: Coefficients) -> float:
    """The sum over pairs of classes of sum alpha - 1/2 alpha'Q alpha, or what corresponds to it."""
    starts = np.concatenate([[0], np.cumsum(solved.counts)])
    pairs = [(i, j) for j in range(len(starts) - 1) for i in range(j)]
    if work.estimator not in ("SVC", "NuSVC"):
        return pair_objective(work, X, y, np.asarray(solved.values)[0], solved.support)
    total = 0.0
    for i, j in pairs:
        first, second = slice(starts[i], starts[i + 1]), slice(starts[j], starts[j + 1])
        values = np.concatenate([solved.values[j - 1][first], solved.values[i][second]])
        support = np.concatenate([solved.support[first], solved.support[second]])
        total += pair_objective(work, X, y, values, support)
    return total


def pair_objective(work: Work, X: Any, y: Any, values: Any, support: Any) -> float:
    nu, epsilon = work.parameters.get("nu"), work.parameters.get("epsilon", 0.0)
    if nu is not None:  # coefficients of nu-SVC are alpha / rho; alpha adds up to nu n
        values = values * (nu * len(y) / np.abs(values).sum())
    vectors, quadratic = X[support].astype(np.float64), 0.0
    for start in range(0, len(values), 1000):
        block = slice(start, start + 1000)
        K = rbf_kernel(vectors[block], vectors, gamma=work.parameters["gamma"])
        quadratic += values[block] @ (K @ values)
    linear = 0.0
    if work.estimator == "SVC":
        linear = np.abs(values).sum()
    elif work.estimator == "SVR":
        linear = y[support] @ values - epsilon * np.abs(values).sum()
    return float(linear - 0.5 * quadratic)


def floor(X: Any, support: Any, gamma: float) -> float:
    """Seconds for the kernel rows of the support vectors, each once, in float32 on all cores:
    products of dense rows by BLAS, then our kernel function. Nothing is kept."""
    from softmargin import _core  # not in every version of softmargin that is measured
    from softmargin.fitting import planning

    threads = planning.threads(None)
    X = np.asarray(X.todense() if sp.issparse(X) else X, dtype=np.float32)
    norms = np.einsum("ij,ij->i", X, X)
    products = np.empty((512, len(X)), dtype=np.float32)
    with Clock() as clock:
        for start in range(0, len(support), 512):
            rows = support[start : start + 512]
            block = np.matmul(X[rows], X.T, out=products[: len(rows)])
            row_norms = norms[rows].astype(np.float64)
            _core.testing.apply_kernel(block, row_norms, norms, "rbf", gamma, 0.0, 1, threads)
    return clock.wall


def measure(work: Work, name: str) -> dict[str, float]:
    package = {**PACKAGES, **RULES}[name]
    X, y = work.load()
    parts = [
        slice(p * len(y) // work.fits, (p + 1) * len(y) // work.fits) for p in range(work.fits)
    ]
    prepared = [package.prepare(work, X[part], y[part]) for part in parts]
    before = forget_peak()
    with Clock() as clock:
        for (machine, data), part in zip(prepared, parts, strict=True):
            machine.fit(data, y[part])
    result = {"wall": clock.wall, "cpu": clock.cpu, "peak": memory("VmHWM") - before}
    solved = [package.coefficients(machine) for machine, _ in prepared]
    result["objective"] = sum(
        dual_objective(work, X[part], y[part], s) for s, part in zip(solved, parts, strict=True)
    )
    result["support"] = sum(len(s.support) for s in solved)
    if work.predict:
        rows = work.predict().astype(prepared[0][1].dtype, copy=False)
        with Clock() as clock:
            for _ in range(PREDICTIONS):
                machine.predict(rows)
        result |= {"predict": clock.wall / PREDICTIONS, "predict_cpu": clock.cpu / PREDICTIONS}
    if work.floor and name == "softmargin":
        result["floor"] = floor(X, solved[0].support, work.parameters["gamma"])
    return result


def main() -> None:
    warnings.simplefilter("ignore")
    work, package = sys.argv[1:]
    try:
        print(json.dumps(measure({**MORE, **WORKS}[work], package)))
    except (AttributeError, ImportError) as error:
        print(error, file=sys.stderr)
        raise SystemExit(MISSING) from None


if __name__ == "__main__":
    main()
