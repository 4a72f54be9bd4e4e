"""Time of one sub-problem against the number of classes, general QP solvers beside it (Tables 8
and 9 of the paper's appendix ask the same), in CPU microseconds.  v is normal with mean 0.5, C = 1;
"warm" starts from the solution of a problem that differs by 1 %."""

from __future__ import annotations

import time

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
from common import arguments, print_table
from scipy.optimize import Bounds, minimize

from softmargin import _core
from softmargin.weston_watkins import solve_subproblem

try:
    import quadprog
except ImportError:
    quadprog = None

options = arguments(__doc__, default=())
sizes = (10, 100, 1000) if options.quick else (2, 10, 26, 100, 300, 1000, 10_000, 100_000)
C = 1.0


def core_time(v: np.ndarray, method: str, starts: np.ndarray) -> float:
    """Least of five runs, in microseconds per sub-problem."""
    runs = [_core.testing.time_subproblem(v, C, method, starts) for _ in range(5)]
    return 1e6 * min(runs) / len(v)


def time_of(function, v: np.ndarray) -> float:
    start = time.process_time()
    function(v)
    return 1e6 * (time.process_time() - start)


def by_quadprog(v: np.ndarray) -> np.ndarray:
    k = len(v)
    constraints = np.hstack([np.eye(k), -np.eye(k)])
    bounds = np.concatenate([np.zeros(k), -np.full(k, C)])
    return quadprog.solve_qp(np.eye(k) + 1, v, constraints, bounds)[0]


def by_l_bfgs_b(v: np.ndarray) -> np.ndarray:
    def value(b):
        total = b.sum()
        return 0.5 * (b @ b + total**2) - v @ b, b + total - v

    options = {"ftol": 1e-15, "gtol": 1e-12, "maxiter": 10_000}
    start = np.zeros(len(v))
    return minimize(value, start, jac=True, bounds=Bounds(0, C), options=options).x


def row(k: int) -> list[object]:
    rng = np.random.default_rng(k)
    count = max(3, min(20_000, 2_000_000 // k))
    v = rng.normal(0.5, 1.0, (count, k - 1)) if k > 2 else rng.normal(0.5, 1.0, (count, 1))
    near = np.array([solve_subproblem(1.01 * x, C).sum() for x in v])
    cold = core_time(v, "newton", np.zeros(count))
    warm = core_time(v, "newton", near)
    by_sorting = core_time(v, "sorted", near)
    greedy = core_time(v[:50], "greedy", near[:50]) if k <= 1000 else float("nan")
    general = time_of(by_quadprog, v[0]) if quadprog and k <= 1000 else float("nan")
    descent = time_of(by_l_bfgs_b, v[0]) if k <= 10_000 else float("nan")
    return [
        k,
        warm,
        cold,
        by_sorting,
        by_sorting / warm,
        by_sorting / cold,
        greedy,
        general,
        descent,
    ]


rows = [row(k) for k in sizes]
header = ["k", "newton warm (us)", "newton cold", "sorted", "sorted / warm", "sorted / cold"]
print_table([*header, "greedy", "quadprog", "L-BFGS-B"], rows)
table = np.array(rows, dtype=float)
columns = {1: "newton, warm", 2: "newton, cold", 3: "sorted (paper)", 6: "greedy", 7: "quadprog"}
for column, label in {**columns, 8: "L-BFGS-B"}.items():
    plt.loglog(table[:, 0], table[:, column], marker="o", label=label)
plt.xlabel("classes k")
plt.ylabel("CPU microseconds per sub-problem")
plt.legend()
plt.grid(alpha=0.3)
plt.savefig(options.out / "subproblem_time.png", dpi=120, bbox_inches="tight")
