"""Input checks of the two public sub-problem solvers."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from softmargin import _core

METHODS = ("newton", "sorted")


def solve(v: Any, C: float, machine: str, method: str, start: float) -> NDArray[np.float64]:
    vector = np.ascontiguousarray(v, dtype=np.float64)
    if vector.ndim != 1:
        raise ValueError(f"v must have one dimension, got an array of shape {vector.shape}.")
    if not np.isfinite(vector).all():
        raise ValueError("v contains NaN or infinity; all its values must be finite.")
    if not 0 < C < np.inf:
        raise ValueError(f"C={C!r} must be positive and finite.")
    largest = float(vector.max(initial=0.0))
    if not np.isfinite(largest * (len(vector) + 1)):
        raise ValueError(
            f"v has entries of up to {largest:.3g}, and a sum of {len(vector)} such values"
            " overflows. Divide v and C by the same number, which then divides the solution too."
        )
    if not np.isfinite(start):
        raise ValueError(f"start={start!r} must be finite; 0.0 is always a good choice.")
    if method not in METHODS:
        raise ValueError(f"method={method!r} is unknown; choose one of {', '.join(METHODS)}.")
    b, _ = _core.linear.solve_subproblem(vector, float(C), machine, method, float(start))
    solution: NDArray[np.float64] = b
    return solution
