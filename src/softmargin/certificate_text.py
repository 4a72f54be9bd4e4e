"""A certificate for readers: as lines of text and as a table in a notebook.  The gap is first."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from softmargin.solution import Solution

NAME_WIDTH = 12


def facts(
    solution: Solution, tol: float | None = None, gap_tol: float | None = None
) -> dict[str, str]:
    """What a certificate says, by the name of the fact, with the tolerances where they are known.
    The ``tol`` of a linear machine is a limit on the gap."""
    of_violation, of_gap = _told("tol", tol), _told("gap_tol", gap_tol)
    if is_linear(solution):
        of_violation, of_gap = "", of_violation + of_gap
    certified = {} if solution.certified else {"certified": f"no. {solution.convexity.value}"}
    return {
        **certified,
        "gap": gap(solution) + of_gap,
        "primal": f"{solution.primal_objective:.10g}",
        "dual": f"{solution.dual_objective:.10g}",
        "KKT": f"violation {solution.kkt_violation:.3g}{of_violation}",
        "stopped": solution.stop_reason.cause,
        "work": work(solution),
    }


def _told(name: str, tolerance: float | None) -> str:
    return "" if tolerance is None else f" ({name} {tolerance:g})"


def is_linear(solution: Solution) -> bool:
    return solution.working_set == "one example"


def lines(named: dict[str, str]) -> list[str]:
    """Aligned, a line for each fact."""
    return [f"{name:<{NAME_WIDTH}}{fact}" for name, fact in named.items()]


def as_html(solution: Solution) -> str:
    rows = [
        f"<tr><th style='text-align:left'>{escape(name)}</th>"
        f"<td style='text-align:left'>{escape(fact)}</td></tr>"
        for name, fact in facts(solution).items()
    ]
    return f"<table>{''.join(rows)}</table>"


def gap(solution: Solution) -> str:
    if solution.duality_gap == float("inf"):
        return "unknown"
    return f"{solution.duality_gap:.3g}, {solution.relative_gap:.2g} of the objective"


def work(solution: Solution) -> str:
    several = f", {len(solution.problems)} problems" if len(solution.problems) > 1 else ""
    steps = f"iterations, {solution.kernel_rows} kernel rows"
    if is_linear(solution):
        steps = "passes"
    return f"{solution.iterations} {steps}, {solution.seconds:.3g} s{several}"
