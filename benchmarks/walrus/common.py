"""What the Walrus benchmarks share: the command line, solver runs pass by pass, tables."""

from __future__ import annotations

import argparse
import math
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from data import ALL, SMALL, DataSet

from softmargin import _core
from softmargin.fitting.linear_solver import NEAR_CACHE_BYTES


def arguments(description: str, default: Iterable[str] = tuple(ALL)) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--quick", action="store_true", help="small data and few settings")
    parser.add_argument("--data", nargs="+", choices=[*ALL], help="data sets, all if not given")
    parser.add_argument("--out", type=Path, default=Path("results"), help="folder for pictures")
    found = parser.parse_args()
    found.data = found.data or ([n for n in default if n in SMALL] if found.quick else [*default])
    found.out.mkdir(parents=True, exist_ok=True)
    return found


def solver(
    data: DataSet,
    C: float = 1.0,
    machine: str = "weston_watkins",
    method: str = "newton",
    tol: float = 1e-3,
    shrinking: bool = True,
    extrapolation: bool = True,
    precision: str = "Float64",
    seed: int = 0,
) -> Any:
    """The core's solver for (P), without an intercept."""
    core = _core.linear
    X = data.X
    if sp.issparse(X):
        rows = core.Rows.csr(X.data, X.indices, X.indptr, X.shape[1], 0.0)
    else:
        rows = core.Rows.dense(X, 0.0)
    labels, codes = np.unique(data.y, return_inverse=True)
    problem = (rows, codes.astype(np.int32), np.full(len(codes), float(C)), len(labels))
    options = (tol, shrinking, extrapolation, seed)
    if method == "newton":
        return getattr(core, f"Solver{precision}")(*problem, machine, *options)
    if machine != "weston_watkins":
        raise ValueError(f"There is no {method} sub-problem solver for {machine}.")
    by_method = getattr(_core.testing, f"linear_solver_{precision.lower()}")
    return by_method(method, *problem, *options)


class Fit(NamedTuple):
    seconds: float
    """CPU time, set-up and checks included; infinite for a fit that did not end in time."""
    status: Any
    solver: Any
    passes: int
    visits: int
    support_visits: int
    checks: int


def timed_fit(
    data: DataSet, precision: str = "auto", limit: float = math.inf, **options: Any
) -> Fit:
    """A fit as LinearSVC makes it: float32 first if W is large, ended and certified in float64."""
    start = time.process_time()
    large = 8 * data.X.shape[1] * data.classes > NEAR_CACHE_BYTES
    statuses, dual = [], None
    if precision == "float32" or (precision == "auto" and large):
        first = solver(data, precision="Float32", **options)
        statuses.append(first.run(100_000, limit))
        dual = first.dual_variables()
        del first  # its weights
    last = solver(data, **options)
    if dual:
        last.start_from(*dual)
    status = last.run(100_000, limit)
    seconds = time.process_time() - start if status.optimal else math.inf
    statuses.append(status)
    counts = ("passes", "visits", "support_visits", "checks")
    return Fit(seconds, status, last, *(sum(getattr(s, c) for s in statuses) for c in counts))


class Point(NamedTuple):
    seconds: float
    primal: float
    dual: float

    @property
    def gap(self) -> float:
        return self.primal - self.dual


def passes(data: DataSet, **options: Any) -> Iterator[Point]:
    """One point per pass over the data; the clock is stopped while objectives are measured."""
    start = time.process_time()
    run = solver(data, tol=1e-300, shrinking=False, extrapolation=False, **options)
    seconds = time.process_time() - start
    while True:
        start = time.process_time()
        run.run(1, 1e9)
        seconds += time.process_time() - start
        status = run.finish()
        yield Point(seconds, status.primal, status.dual)


def until(points: Iterator[Point], decay: float, max_passes: int = 3000) -> list[Point]:
    """The points up to a gap of `decay` times the first."""
    found: list[Point] = []
    for point in points:
        found.append(point)
        if point.gap <= decay * found[0].gap or len(found) >= max_passes:
            return found
    return found


def print_table(header: list[str], rows: Iterable[list[Any]]) -> None:
    print("| " + " | ".join(header) + " |")
    print("|" + "---|" * len(header), flush=True)
    for row in rows:
        print("| " + " | ".join(_cell(value) for value in row) + " |", flush=True)


def _cell(value: Any) -> str:
    return f"{value:.3g}" if isinstance(value, float) else str(value)
