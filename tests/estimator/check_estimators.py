"""Run scikit-learn's check_estimator on all machines: python -m tests.estimator.check_estimators

Every check is run, none is expected to fail.  Two settings differ from the defaults.  tol, because
the checks compare a fit with weights and one with repeated rows to seven digits, with OneClassSVM
also the sign of the decision value of points on the boundary.  And nu of NuSVC, because random
data of theirs have pairs of classes for which no nu above 0.35 is feasible.
"""

from __future__ import annotations

import os

os.environ["SCIPY_ARRAY_API"] = "1"  # before SciPy is loaded, or the check of it is skipped

import sys
import warnings
from collections import Counter
from typing import Any

from sklearn.utils.estimator_checks import check_estimator

from softmargin import SVC, SVR, LinearSVC, LinearSVR, NuSVC, NuSVR, OneClassSVM

MACHINES = [
    SVC(tol=1e-9),
    NuSVC(tol=1e-8, nu=0.35),
    SVR(tol=1e-9),
    NuSVR(tol=1e-9),
    OneClassSVM(tol=1e-14),
    LinearSVC(multi_class="weston_watkins", tol=1e-15, max_iter=20_000),
    LinearSVC(multi_class="crammer_singer", tol=1e-15, max_iter=20_000),
    LinearSVC(loss="hinge", tol=1e-15, max_iter=20_000),
    LinearSVC(multi_class="weston_watkins", precision="float32", tol=1e-15, max_iter=20_000),
    LinearSVC(tol=1e-18, max_iter=20_000),
    LinearSVC(dual=True, tol=1e-18, max_iter=20_000),
    LinearSVR(tol=1e-15, max_iter=20_000),
    LinearSVR(loss="squared_epsilon_insensitive", tol=1e-15, max_iter=20_000),
]


def run(machine: Any) -> list[dict[str, Any]]:
    """The outcomes of all checks, each with check_name, status and exception."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        results: list[dict[str, Any]] = check_estimator(machine, on_fail=None, on_skip=None)
    return results


def main() -> int:
    failures = 0
    for machine in MACHINES:
        results = run(machine)
        counts = Counter(result["status"] for result in results)
        failures += counts["failed"] + counts["xfail"]
        print(f"{machine!s}: {dict(counts)}")
        for result in results:
            if result["status"] != "passed":
                print(f"  {result['status']}: {result['check_name']}: {result['exception']}")
    return int(failures > 0)


if __name__ == "__main__":
    sys.exit(main())
