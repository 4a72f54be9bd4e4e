"""What a fit returns about itself: how optimal the answer is, and why the solver stopped."""

from __future__ import annotations

import enum
from collections.abc import Iterable
from dataclasses import dataclass, field
from math import inf


class StopReason(enum.Enum):
    """Why a fit ended: the cause, and what to do about it."""

    CONVERGED = ("The solution is optimal to the tolerance.", "")
    MAX_ITER = (
        "Solver terminated early (max_iter={max_iter}).",
        "Consider pre-processing your data with StandardScaler or MinMaxScaler. Or raise max_iter.",
    )
    TIME_LIMIT = (
        "The fit was stopped by its time limit.",
        "Allow more time, raise tol, or go on from here with warm_start=True.",
    )
    INTERRUPTED = (
        "The fit was interrupted.",
        "Go on from here with warm_start=True.",
    )
    CALLBACK = (
        "The fit was stopped by a callback.",
        "Go on from here with warm_start=True.",
    )
    NO_PROGRESS = (
        "No step makes measurable progress any more, but the tolerance is not reached.",
        "Raise tol, lower C, or scale the data.",
    )
    STUCK = (
        "No pair that maximum-gain selection may choose can move, though others would.",
        "Use working_set='hybrid-maximum-gain', which cannot get stuck.",
    )
    UNBOUNDED = (
        "The problem has no finite solution: with C=inf no slack is allowed,"
        " and the data cannot be fitted without.",
        "Use a finite C.",
    )

    @property
    def final(self) -> bool:
        """Whether the solver itself ended the fit, and not a limit or a user."""
        return self in (StopReason.CONVERGED, StopReason.NO_PROGRESS, StopReason.STUCK)

    @property
    def cause(self) -> str:
        return self.value[0]

    @property
    def remedy(self) -> str:
        return self.value[1]


@dataclass(frozen=True)
class Solution:
    """The certificate of a fit.

    The objectives are those of the problem as stated in :mod:`softmargin.formulations`, or by
    `LinearSVC`: the primal is minimised, the dual is maximised, and the optimum lies between the
    two.  Where a fit solved several problems (one per pair of classes), objectives, counts and
    seconds are sums, ``kkt_violation`` is the largest, and ``problems`` holds one certificate per
    problem.  The tolerance of a fit is one of ``kkt_violation``; of a `LinearSVC`, whose
    ``iterations`` are passes over the data, of ``relative_gap``.
    """

    dual_objective: float
    primal_objective: float
    kkt_violation: float
    iterations: int
    kernel_rows: int
    kernel_evaluations: int
    cache_hits: int
    seconds: float
    stop_reason: StopReason
    working_set: str
    working_set_reason: str
    precision: str
    problems: tuple[Solution, ...] = field(default=(), repr=False)

    @property
    def duality_gap(self) -> float:
        """Primal minus dual objective: an upper bound on the distance to the optimum."""
        return self.primal_objective - self.dual_objective

    @property
    def relative_gap(self) -> float:
        """The duality gap, relative to the larger of the two objectives in absolute value; infinite
        where the primal is: with C=inf, as soon as a margin is missed by any amount."""
        scale = max(abs(self.primal_objective), abs(self.dual_objective))
        if not scale < inf:
            return inf
        return self.duality_gap / scale if scale > 0 else 0.0

    @property
    def converged(self) -> bool:
        return self.stop_reason is StopReason.CONVERGED

    @classmethod
    def combine(cls, problems: list[Solution]) -> Solution:
        """One certificate for a fit that solved several problems."""
        if len(problems) == 1:
            return problems[0]

        def common(names: Iterable[str]) -> str:
            return ", ".join(dict.fromkeys(names))

        unfinished = [s.stop_reason for s in problems if not s.converged]
        return cls(
            dual_objective=sum(s.dual_objective for s in problems),
            primal_objective=sum(s.primal_objective for s in problems),
            kkt_violation=max(s.kkt_violation for s in problems),
            iterations=sum(s.iterations for s in problems),
            kernel_rows=sum(s.kernel_rows for s in problems),
            kernel_evaluations=sum(s.kernel_evaluations for s in problems),
            cache_hits=sum(s.cache_hits for s in problems),
            seconds=sum(s.seconds for s in problems),
            stop_reason=unfinished[0] if unfinished else StopReason.CONVERGED,
            working_set=common(s.working_set for s in problems),
            working_set_reason=common(s.working_set_reason for s in problems),
            precision=common(s.precision for s in problems),
            problems=tuple(problems),
        )
