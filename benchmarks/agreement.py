"""Do softmargin and scikit-learn reach the same optimum on real data?

    SOFTMARGIN_DATA=<folder> python benchmarks/agreement.py

Both solve the same problems to the same tolerance, with the same budget for kernel rows. The dual
objective is recomputed from the fitted coefficients of each, by one function, with kernel
values in float64. Prints a table in Markdown, and fails where the two objectives differ by more
than 1e-6 of their size, where softmargin's certificate differs from the recomputed objective, or
where spambase misses the value in the literature.
"""

import argparse
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import sklearn.svm
from data import Array, load, scaled, standardised
from sklearn.metrics.pairwise import rbf_kernel

import softmargin

ALLOWED_DIFFERENCE = 1e-6
SPAMBASE_OPTIMUM = 27_019.14  # Glasmachers and Igel (2006), Table 2
CACHE_MEGABYTES = 1000


@dataclass(frozen=True)
class Problem:
    data: str
    formulation: str
    estimator: str
    parameters: dict[str, float]
    X: Array
    y: Array
    linear_term: Callable[[Array, Any], float]
    """What the dual adds to -1/2 c'Kc, from the coefficients c and the fitted machine."""


def problems() -> Iterator[Problem]:
    X, y = load("spambase")
    parameters = {"C": 50, "gamma": 1 / (2 * 10**2)}
    yield Problem("spambase", "C-SVC", "SVC", parameters, standardised(X), y, sum_of_alpha)
    X, y = load("heart_scale")
    yield Problem("heart_scale", "C-SVC", "SVC", {"C": 1, "gamma": 1 / 13}, X, y, sum_of_alpha)
    X, y = load("svmguide1")
    yield Problem("svmguide1", "C-SVC", "SVC", {"C": 2, "gamma": 2}, scaled(X), y, sum_of_alpha)
    parameters = {"nu": 0.1, "gamma": 2}
    yield Problem("svmguide1", "nu-SVC", "NuSVC", parameters, scaled(X), y, nothing)
    X, y = load("anomaly/satellite")
    parameters = {"nu": 0.1, "gamma": 1 / 36}
    yield Problem("satellite", "one-class", "OneClassSVM", parameters, standardised(X), y, nothing)
    X, y = load("cadata")
    X, y = standardised(X), standardised(y)
    parameters = {"C": 1, "epsilon": 0.1, "gamma": 1 / 8}
    yield Problem("cadata", "epsilon-SVR", "SVR", parameters, X, y, fit_to(y, epsilon=0.1))
    X, y = load("abalone")
    X, y = scaled(X), standardised(y)
    parameters = {"C": 1, "nu": 0.5, "gamma": 1 / 8}
    yield Problem("abalone", "nu-SVR", "NuSVR", parameters, X, y, fit_to(y, epsilon=0.0))


def sum_of_alpha(coef: Array, machine: Any) -> float:
    return float(np.abs(coef).sum())


def nothing(coef: Array, machine: Any) -> float:
    return 0.0


def fit_to(targets: Array, epsilon: float) -> Callable[[Array, Any], float]:
    return lambda coef, machine: float(
        targets[machine.support_] @ coef - epsilon * np.abs(coef).sum()
    )


def dual_objective(problem: Problem, machine: Any) -> float:
    coef = machine.dual_coef_[0]
    if problem.estimator == "NuSVC":  # fitted coefficients are alpha / rho; alpha adds up to nu n
        coef = coef * problem.parameters["nu"] * len(problem.y) / np.abs(coef).sum()
    vectors, quadratic = machine.support_vectors_, 0.0
    for start in range(0, len(coef), 1000):
        block = slice(start, start + 1000)
        K = rbf_kernel(vectors[block], vectors, gamma=problem.parameters["gamma"])
        quadratic += coef[block] @ (K @ coef)
    return problem.linear_term(coef, machine) - 0.5 * quadratic


def fitted(package: Any, problem: Problem, tol: float) -> tuple[Any, float]:
    machine = getattr(package, problem.estimator)(
        **problem.parameters, tol=tol, cache_size=CACHE_MEGABYTES
    )
    start = time.process_time()
    machine.fit(problem.X, problem.y)
    return machine, time.process_time() - start


def compare(problem: Problem, tol: float, repeats: int) -> tuple[str, list[str]]:
    """A row of the table, and what is wrong with it."""
    ratios = []
    for _ in range(repeats):
        ours, our_seconds = fitted(softmargin, problem, tol)
        theirs, their_seconds = fitted(sklearn.svm, problem, tol)
        ratios.append(our_seconds / their_seconds)
    our_objective, their_objective = dual_objective(problem, ours), dual_objective(problem, theirs)
    difference = abs(our_objective - their_objective) / abs(their_objective)
    parameters = ", ".join(f"{name} {value:.4g}" for name, value in problem.parameters.items())
    n, d = problem.X.shape
    cells = [
        problem.data,
        f"{n} x {d}",
        f"{problem.formulation}, {parameters}",
        f"{our_objective:.9g}",
        f"{their_objective:.9g}",
        f"{difference:.1e}",
        f"{ours.solution_.relative_gap:.1e}",
        f"{int(np.sum(ours.n_iter_))}",
        f"{int(np.sum(theirs.n_iter_))}",
        f"{np.median(ratios):.1f}",
    ]
    certified = ours.solution_.dual_objective
    faults = []
    if difference > ALLOWED_DIFFERENCE:
        faults.append(f"{problem.data}: the objectives differ by {difference:.1e}")
    if abs(certified - our_objective) > 1e-9 * abs(our_objective):
        faults.append(f"{problem.data}: certificate {certified!r}, recomputed {our_objective!r}")
    if problem.data == "spambase" and round(our_objective, 2) != SPAMBASE_OPTIMUM:
        faults.append(f"spambase: {our_objective!r} is not {SPAMBASE_OPTIMUM}")
    return markdown(cells), faults


def markdown(cells: list[str]) -> str:
    return f"| {' | '.join(cells)} |"


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--tol", type=float, default=1e-5, help="of both (default: %(default)g)")
    parser.add_argument("--repeats", type=int, default=5, help="fits of each (default: 5)")
    args = parser.parse_args()
    if args.repeats < 1:
        parser.error(f"argument --repeats: {args.repeats} is too few; give 1 or more")
    print(
        f"Dual objective (to be maximised), rbf kernel, tol {args.tol:g}, {CACHE_MEGABYTES} MB for"
        f" kernel rows, scikit-learn {sklearn.__version__}. Gap: relative, certified by softmargin."
        f" CPU time: softmargin's over scikit-learn's, median of {args.repeats}.\n"
    )
    header = ["data", "n x d", "formulation", "softmargin", "scikit-learn", "difference", "gap"]
    header += ["iterations", "scikit-learn's", "CPU time"]
    print(markdown(header), markdown(["---"] * len(header)), sep="\n", flush=True)
    faults = []
    for problem in problems():
        row, wrong = compare(problem, args.tol, args.repeats)
        print(row, flush=True)
        faults += wrong
    if faults:
        raise SystemExit("\n".join(faults))


if __name__ == "__main__":
    main()
