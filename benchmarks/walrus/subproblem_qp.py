"""Both sub-problems up to k = 2,001 against a general solver for quadratic programs (quadprog):
the largest difference of b, relative to the largest entry of v.  --quick ends at k = 301."""

from __future__ import annotations

import sys

import numpy as np
import quadprog
from common import arguments, print_table

from softmargin import crammer_singer, weston_watkins

options = arguments(__doc__, default=())
SIZES = {1: 200, 10: 200, 50: 100, 300: 10, 1000: 2, 2000: 1}  # k - 1, and random cases of each
MODULES = {"weston_watkins": weston_watkins, "crammer_singer": crammer_singer}


def quadratic_program(v, C, machine):
    size = len(v)
    upper = -np.eye(size) if machine == "weston_watkins" else -np.ones((size, 1))
    constraints = np.hstack([np.eye(size), upper])
    bounds = np.concatenate([np.zeros(size), -np.full(upper.shape[1], C)])
    return quadprog.solve_qp(np.eye(size) + 1, v, constraints, bounds)[0]


def differences(size, seed, machine):
    rng = np.random.default_rng([size, seed])
    C = float(np.exp(rng.normal()))
    v = C * rng.normal(0.5, 1.0, size)
    v[: size // 4] = v[0]  # ties
    v[size // 4 : size // 3] = rng.choice([0.0, C, 2 * C], len(v[size // 4 : size // 3]))
    found = [MODULES[machine].solve_subproblem(v, C, m) for m in ("newton", "sorted")]
    reference = quadratic_program(v, C, machine)
    return [float(np.abs(b - reference).max() / max(v.max(), C)) for b in found]


def row(machine, size, cases):
    return [
        machine,
        size + 1,
        cases,
        *np.max([differences(size, s, machine) for s in range(cases)], axis=0),
    ]


sizes = {size: cases for size, cases in SIZES.items() if size <= 300 or not options.quick}
rows = [row(machine, size, cases) for machine in MODULES for size, cases in sizes.items()]
print_table(["machine", "k", "cases", "newton - quadprog", "sorted - quadprog"], rows)
if max(max(found[3:]) for found in rows) > 1e-12:
    sys.exit("a sub-problem solver and the general solver disagree")
