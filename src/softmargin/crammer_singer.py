"""The sub-problem of the Crammer-Singer machine, for study.

It has the same variables as the Weston-Watkins sub-problem, but different constraints:

    minimise  1/2 b'(I + 11')b - v'b   subject to  b >= 0,  1'b <= C.
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

    Parameters are those of :func:`softmargin.weston_watkins.solve_subproblem`, with C the upper
    bound on the sum of b.  "sorted" adds the entries of v from the largest down.

    Examples
    --------
    >>> from softmargin.crammer_singer import solve_subproblem
    >>> solve_subproblem([3.0, 2.5, -2.0], C=1.0)
    array([0.75, 0.25, 0.  ])
    """
    return solve(v, C, "crammer_singer", method, start)
