"""What the commands of this folder share: the paper's problems, one run, medians, tables.

Glasmachers and Igel, "Maximum-gain working set selection for SVMs" (2006), Section 4. A run is one
fit from one seeded order of the data, which decides the first working set. Counts of iterations,
kernel rows and kernel values do not depend on the machine; seconds (CPU) do.
"""

import argparse
import os
import sys
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from sklearn.metrics.pairwise import rbf_kernel
from tqdm import tqdm

from softmargin._core import Outcome
from softmargin.problem.formulations import CSupportVectorClassification
from softmargin.problem.kernels import BUILT_IN, CORES
from softmargin.working_sets import WorkingSet

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from data import Array, load, standardised

TOLERANCE = 1e-3
CACHE_MEGABYTES = 40
Item = TypeVar("Item")


def spambase() -> tuple[Array, Array]:
    X, y = load("spambase")
    return standardised(X), np.where(y > 0, 1.0, -1.0)


def connect4() -> tuple[Array, Array]:
    """Without the drawn games, fields as +1, -1, 0, and a random half of 30,555."""
    X, y = load("connect4")
    X, y = np.array([0.0, -1.0, 1.0])[X.astype(int)][y != 0], y[y != 0]
    half = np.random.default_rng(0).permutation(len(y))[:30_555]
    return X[half], np.where(y[half] == 2, 1.0, -1.0)


def mnist() -> tuple[Array, Array]:
    X, y = load("mnist")
    return X, np.where(y >= 5, 1.0, -1.0)


@dataclass(frozen=True)
class Problem:
    """A row of the paper's Table 1."""

    name: str
    source: Callable[[], tuple[Array, Array]]
    sigma: float
    C: float

    @property
    def gamma(self) -> float:
        return 1 / (2 * self.sigma**2)

    def load(self, order: int, examples: int | None) -> tuple[Array, Array]:
        """The data in a seeded order; or some of them, the same in every order."""
        X, y = cache(self.source)()
        if examples is not None and examples < len(y):
            some = np.random.default_rng(0).permutation(len(y))[:examples]
            X, y = X[some], y[some]
        shuffled = np.random.default_rng(order).permutation(len(y))
        return np.ascontiguousarray(X[shuffled]), y[shuffled]


SPAMBASE = Problem("spambase", spambase, 10, 50)
CONNECT4 = Problem("connect4", connect4, 1.5, 4.5)
MNIST = Problem("mnist", mnist, 3500, 50)
PROBLEMS = {problem.name: problem for problem in (SPAMBASE, CONNECT4, MNIST)}


@dataclass(frozen=True)
class Run:
    iterations: float
    kernel_rows: float
    kernel_values: float
    """Evaluations of the kernel function, in millions."""
    seconds: float
    objective: float
    """f of the returned coefficients, with kernel values in float64."""
    rounded: float
    """The same with kernel values rounded to float32, as LIBSVM sums it."""
    support: float
    bounded: float
    rule_stop: float
    """Iterations when the rule's own stopping quantity first fired."""

    @classmethod
    def median(cls, runs: list["Run"]) -> "Run":
        return cls(*np.median([list(vars(run).values()) for run in runs], axis=0))


def make_solver(
    rows: Any, y: Array, C: float, rule: WorkingSet, shrinking: bool, megabytes: float
) -> Any:
    """The core's solver. Rows are float32, as LIBSVM's, so that a budget holds as many of them."""
    dual = CSupportVectorClassification(y, np.full(len(y), C)).dual()
    parts = [(part.start, part.lower, part.upper, part.offset) for part in dual.parts]
    ids = np.arange(len(y), dtype=np.int32)
    threads = int(os.environ.get("SOFTMARGIN_JOBS", "1"))
    options = (*rule.options().values(), TOLERANCE, shrinking, int(megabytes * 2**20), threads)
    return CORES["float32"].Solver(rows, ids, dual.p, parts, dual.separate, *options)


def fit(
    problem: Problem,
    order: int,
    working_set: WorkingSet,
    *,
    examples: int | None = None,
    shrinking: bool = True,
    cache_megabytes: float = CACHE_MEGABYTES,
) -> Run:
    X, y = problem.load(order, examples)
    ids = np.arange(len(y), dtype=np.int32)
    rows, _ = BUILT_IN["rbf"](problem.gamma, 0.0, 1).training(X)("float32", ids)
    begin = time.process_time()
    solver = make_solver(rows, y, problem.C, working_set, shrinking, cache_megabytes)
    status = solver.run(2**62, 1e9)
    seconds = time.process_time() - begin
    if status.outcome != Outcome.optimal:
        raise SystemExit(f"{problem.name}, order {order}, {working_set}: {status.outcome}")
    beta = solver.beta(0)
    exact, rounded = objectives(X, beta, problem.gamma)
    return Run(
        iterations=status.iterations,
        kernel_rows=status.kernel_rows,
        kernel_values=status.kernel_evaluations / 1e6,
        seconds=seconds,
        objective=exact,
        rounded=rounded,
        support=int((beta != 0).sum()),
        bounded=int((np.abs(beta) == problem.C).sum()),
        rule_stop=status.rule_stop,
    )


def objectives(X: Array, beta: Array, gamma: float) -> tuple[float, float]:
    """f with kernel values in float64, and with each of them rounded to float32."""
    coef, vectors, quadratic = beta[beta != 0], X[beta != 0], np.zeros(2)
    for start in range(0, len(coef), 1000):
        block = slice(start, start + 1000)
        K = rbf_kernel(vectors[block], vectors, gamma=gamma)
        for q, values in enumerate((K, K.astype(np.float32).astype(np.float64))):
            quadratic[q] += coef[block] @ (values @ coef)
    exact, rounded = np.abs(coef).sum() - 0.5 * quadratic
    return float(exact), float(rounded)


# --- the command line and the tables ------------------------------------------------------------


def arguments(description: str | None) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        description=description, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--quick", action="store_true", help="a small part, for a first look")
    return parser


def data_arguments(
    description: str | None, default: Iterable[str], orders: int = 10
) -> argparse.ArgumentParser:
    parser = arguments(description)
    parser.add_argument(
        "--data", nargs="+", choices=list(PROBLEMS), default=list(default), help="problems"
    )
    parser.add_argument("--orders", type=int, default=orders, help="of the data (default: 10)")
    parser.add_argument("--examples", type=int, help="use only this many examples of each problem")
    parser.add_argument(
        "--cache", type=float, default=CACHE_MEGABYTES, help="MB for kernel rows (default: 40)"
    )
    return parser


def parsed(parser: argparse.ArgumentParser) -> argparse.Namespace:
    """The arguments; --quick is two orders of 2,000 examples."""
    args = parser.parse_args()
    if args.orders < 1:
        parser.error(f"argument --orders: {args.orders} is too few; give 1 or more")
    if args.quick:
        args.orders, args.examples = min(args.orders, 2), min(args.examples or 2000, 2000)
    return args


def progress(items: Iterable[Item], unit: str) -> Iterable[Item]:
    bar: Iterable[Item] = tqdm(items, unit=unit, file=sys.stderr)
    return bar


def medians(
    args: argparse.Namespace, cases: Iterable[tuple[str, dict[str, Any]]]
) -> Iterable[tuple[str, str, Run]]:
    """(problem, case, median over the orders) for every problem and every case of arguments."""
    cases = list(cases)
    total = len(args.data) * len(cases) * args.orders
    with tqdm(total=total, unit="fit", file=sys.stderr) as bar:
        for name in args.data:
            for label, given in cases:
                runs = []
                for order in range(args.orders):
                    settings = {"examples": args.examples, "cache_megabytes": args.cache} | given
                    runs.append(fit(PROBLEMS[name], order, **settings))
                    bar.update()
                yield name, label, Run.median(runs)


def markdown(*cells: str) -> str:
    return f"| {' | '.join(cells)} |"


def heading(args: argparse.Namespace, *columns: str, cache: bool = True) -> None:
    size = f"{args.examples} examples" if args.examples else "all examples"
    budget = f", {args.cache:g} MB for kernel rows" if cache else ""
    print(f"Median of {args.orders} orders, {size}{budget}.\n")
    print(markdown(*columns), markdown(*["---"] * len(columns)), sep="\n", flush=True)


def work(run: Run) -> list[str]:
    """The cells that every table has."""
    return [
        f"{run.iterations:,.0f}",
        f"{run.kernel_rows:,.0f}",
        f"{run.kernel_values:,.1f}",
        f"{run.seconds:.2f}",
        f"{run.objective:,.3f}",
    ]


WORK = ["iterations", "kernel rows", "kernel values (million)", "CPU s", "f"]
