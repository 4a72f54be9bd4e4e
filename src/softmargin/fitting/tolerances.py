"""When a kernel problem is solved: the KKT violation is at most `tol`, and the relative duality gap
at most `gap_tol`."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf
from typing import Any

import numpy as np
from numpy.typing import NDArray

from softmargin.solution import Certificates, Convexity, Solution, StopReason, relative_gap

Array = NDArray[np.float64]

CORE_SHARE = 0.99
"""The core aims at this fraction of gap_tol, because it sums the terms of the gap in another order
than Python."""


@dataclass(frozen=True)
class Tolerances:
    tol: float
    gap_tol: float | None

    def for_core(self, gap_counts: bool) -> dict[str, float]:
        """The tolerances as arguments of a solver.  Without `gap_counts` (the gap would say nothing
        about the optimum), the gap has no limit."""
        aim = CORE_SHARE * self.gap_tol if self.gap_tol is not None and gap_counts else inf
        return {"tolerance": self.tol, "gap_tolerance": aim}

    def enough(self, violation: Any, primal: Any, dual: Any) -> Array:
        """The violation at which both tolerances are met, for one problem or for each of many.  The
        gap falls about in proportion to the violation."""
        violation, gap = np.asarray(violation), relative_gap(primal, dual)
        known = np.isfinite(gap) & (gap > 0) & (violation > 0)
        for_gap = np.full_like(gap, inf)
        if self.gap_tol is not None:
            np.divide(violation * self.gap_tol, gap, out=for_gap, where=known)
        return np.minimum(self.tol, for_gap)

    def verdict(self, solution: Solution) -> StopReason:
        """Why a fit ended.  The certificate has the reason that the solver gave, but a stopped fit
        may have converged just before it was stopped.  The curvature allowance is not part of the
        gap here, because no solver can reduce it."""
        if not solution.kkt_violation <= self.tol:
            return solution.stop_reason
        if solution.convexity is Convexity.REFUTED:
            return StopReason.STATIONARY
        gap = relative_gap(solution.primal_objective, solution.dual_objective)
        small = self.gap_tol is None or gap <= self.gap_tol
        return StopReason.CONVERGED if small else solution.stop_reason

    def verdicts(self, found: Certificates) -> NDArray[Any]:
        """`verdict` for each of many."""
        column = found.columns
        stationary, reasons = column["kkt_violation"] <= self.tol, column["stop_reason"].copy()
        enough = np.full_like(stationary, True)
        if self.gap_tol is not None:
            gap = relative_gap(column["primal_objective"], column["dual_objective"])
            enough = gap <= self.gap_tol
        reasons[stationary & enough] = StopReason.CONVERGED
        reasons[stationary & (column["convexity"] == Convexity.REFUTED)] = StopReason.STATIONARY
        return reasons
