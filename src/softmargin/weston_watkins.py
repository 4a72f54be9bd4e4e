"""The sub-problem of the Weston-Watkins machine, for study.

``LinearSVC`` visits one example after another and optimises all its dual variables at once.
With k classes this is a problem in k - 1 variables,

    minimise  1/2 b'(I + 11')b - v'b   subject to  0 <= b <= C,

equation (4) of Wang and Scott, "An Exact Solver for the Weston-Watkins SVM Subproblem", 2021.
"""

from __future__ import annotations

from typing import Any

from numpy.typing import NDArray

from softmargin.problem.subproblem_input import solve

__all__ = ["solve_subproblem"]


def solve_subproblem(
    v: Any, C: float, method: str = "newton", *, start: float = 0.0
) -> NDArray[Any]:
    """The unique minimiser b of the sub-problem.

    Parameters
    ----------
    v : array-like of shape (k - 1,)
        The linear term; finite.
    C : float
        Upper bound on the variables; positive.
    method : {"newton", "sorted"}, default="newton"
        "sorted" is the paper's Algorithm 2, in O(k log k).  "newton" finds the sum of b, g, as the
        root of ``sum clip(v - g, 0, C) - g`` by a guarded Newton method: exact, usually two or
        three passes over v, never more than ``3 * (54 + log2 k)``.
    start : float, default=0.0
        With "newton", where the search for g begins.  Any value gives the same answer; a value
        near the sum of b saves passes.

    Returns
    -------
    b : ndarray of shape (k - 1,)

    Examples
    --------
    >>> from softmargin.weston_watkins import solve_subproblem
    >>> solve_subproblem([3.0, 1.0, -2.0], C=1.0)
    array([1., 0., 0.])
    """
    return solve(v, C, "weston_watkins", method, start)
