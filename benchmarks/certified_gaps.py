"""What a small gap costs: the ten digits at growing C, with gap_tol and without.

    python benchmarks/certified_gaps.py           the table of docs/engineering/certified_gaps.md
    python benchmarks/certified_gaps.py --easy    the same for the usual data at C = 1
    python benchmarks/certified_gaps.py --limits  time limits, and the times that fits take

All parameters except C and gap_tol are at their defaults.  The two sides take turns; times are
medians of CPU seconds.  The digits come with scikit-learn; the others need SOFTMARGIN_DATA.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import time
import warnings
from pathlib import Path

from sklearn.datasets import load_digits

from softmargin import SVC, SVR, LinearSVC

sys.path.insert(0, str(Path(__file__).parent))

REPEATS = 7


EASY = ("banana", "diabetes_scale", "german_numer_scale", "svmguide1", "splice_libsvm", "spambase")
EASY_CLASSES = ("vowel", "segment", "satimage", "letter")
EASY_TARGETS = ("abalone", "space_ga", "kin8nm", "cadata")
MOST_ROWS = 5000


def timed(machine, X, y, clock=time.process_time):
    begin = clock()
    machine.fit(X, y)
    return clock() - begin


def head(first):
    sides = [f"gap, {side} | iterations | seconds" for side in ("only tol", "gap_tol=1e-3")]
    print(f"| {first} | {' | '.join(sides)} | largest gap of a problem |")
    print("|---" * 8 + "|")


def row(name, kind, X, y, **options):
    machines = kind(gap_tol=None, **options), kind(**options)
    times = [[timed(machine, X, y) for machine in machines] for _ in range(REPEATS)]
    cells = [name]
    for machine, seconds in zip(machines, zip(*times, strict=True), strict=True):
        solution = machine.solution_
        cells += [f"{solution.relative_gap:.2g}", f"{solution.iterations:,}"]
        cells += [f"{statistics.median(seconds):.3f}"]
    solution = machines[1].solution_
    worst = max(one.relative_gap for one in solution.problems or [solution])
    print(f"| {' | '.join([*cells, f'{worst:.2g}'])} |", flush=True)


def gaps():
    X, y = load_digits(return_X_y=True)
    head("C")
    for C in (1, 10, 100, 1000, 10000):
        row(f"{C:,}", SVC, X / 16, y, C=C)


def easy():
    from data import load, standardised

    head("data, C = 1")
    for name in (*EASY, *EASY_CLASSES, *EASY_TARGETS):
        X, y = load(name)
        X, y = standardised(X[:MOST_ROWS]), y[:MOST_ROWS]
        is_target = name in EASY_TARGETS
        row(name, SVR if is_target else SVC, X, standardised(y) if is_target else y)


LINEAR = {"C": 10, "tol": 1e-8, "random_state": 0}


def limits():
    from data import load, standardised

    warnings.simplefilter("ignore")
    X, y = load("connect4")
    X = standardised(X)
    print("| machine | rows | time_limit | fit returned after | stopped | relative gap |")
    print("|---|---|---|---|---|---|")
    for kind, options, count in (
        (SVC, {"C": 10}, 30_000),
        (SVC, {"C": 10, "kernel": "linear"}, 30_000),
        (LinearSVC, {"multi_class": "weston_watkins", **LINEAR}, 30_000),
    ):
        for limit in (0.5, 1, 2, 4):
            machine = kind(**options, time_limit=limit)
            seconds = timed(machine, X[:count], y[:count], time.perf_counter)
            reason, gap = machine.solution_.stop_reason.name, machine.solution_.relative_gap
            name = f"{kind.__name__} {options.get('kernel', '')}".strip()
            print(f"| {name} | {count:,} | {limit:g} | {seconds:.2f} | {reason} | {gap:.2g} |")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--easy", action="store_true", help="the usual data at C = 1")
    parser.add_argument("--limits", action="store_true", help="time limits of fits of 30,000 rows")
    args = parser.parse_args()
    (limits if args.limits else easy if args.easy else gaps)()
