"""`softmargin grid` beside what grid.py does: LIBSVM's cross-validation at each point, on its own.

    SOFTMARGIN_DATA=folder python benchmarks/grid_procedure.py [svmguide1 letter] [--sample 1]

LIBSVM's 110 points (C = 2^-5 ... 2^15, gamma = 2^3 ... 2^-15) and 5 folds on data scaled to
[-1, 1]; letter: 5,000 rows.  CPU seconds.  LIBSVM, by its Python package, gets only a sample of the
points, in which each C occurs --sample times, and its time is scaled up; its folds differ from
ours.  The last column is the largest difference of an accuracy at these points.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import json
import os
import subprocess
import tempfile
import time
from pathlib import Path

import numpy as np
from data import load, scaled
from libsvm.svmutil import svm_problem, svm_train

from softmargin.io import write_data

ROWS = 5000
C, GAMMA = np.arange(-5, 16, 2), np.arange(3, -16, -2)


def cpu_of_children() -> float:
    times = os.times()
    return times.children_user + times.children_system


def our_grid(path: Path) -> tuple[float, dict[tuple[float, float], float]]:
    """CPU seconds, and the accuracy in per cent of each point."""
    before = cpu_of_children()
    command = ["softmargin", "grid", "-q", "--json", str(path)]
    printed = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    points = json.loads(printed)["points"]
    rates = {(np.log2(p["C"]), np.log2(p["gamma"])): 100 * p["accuracy"] for p in points}
    return cpu_of_children() - before, rates


def their_points(X: np.ndarray, y: np.ndarray, count: int) -> tuple[float, dict]:
    problem, rates, begin = svm_problem(y, X), {}, time.process_time()
    for k, c in enumerate(C):
        for shift in range(count):
            g = GAMMA[(3 * k + shift) % len(GAMMA)]  # each gamma about equally often
            with contextlib.redirect_stdout(io.StringIO()):
                options = f"-q -v 5 -m 200 -c {2.0**c} -g {2.0**g}"
                rates[float(c), float(g)] = svm_train(problem, options)
    return time.process_time() - begin, rates


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", default=["svmguide1", "letter"])
    parser.add_argument("--sample", type=int, default=1)
    options = parser.parse_args()
    print(f"{'data':12}{'rows':>6}{'grid':>8}{'LIBSVM':>9}{'ratio':>7}  largest difference")
    for name in options.names:
        X, y = load(name)
        chosen = np.random.default_rng(0).permutation(len(y))[:ROWS]
        X, y = scaled(X[chosen]), y[chosen]
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / name
            write_data(path, X, y)
            seconds, ours = our_grid(path)
        theirs_seconds, theirs = their_points(X, y, options.sample)
        theirs_seconds *= len(C) * len(GAMMA) / len(theirs)
        apart = max(abs(theirs[point] - ours[point]) for point in theirs)
        print(
            f"{name:12}{len(y):6}{seconds:8.1f}{theirs_seconds:9.0f}{theirs_seconds / seconds:7.0f}"
            f"  {apart:.2f} per cent"
        )


if __name__ == "__main__":
    main()
