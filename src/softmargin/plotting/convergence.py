"""How a fit got to its solution."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from softmargin.plotting import canvas

STARTS_AT_ZERO = ("SVC", "SVR", "LinearSVC", "LinearSVR")
"""Machines whose dual objective is zero before the first step."""


MANY_TIMES = 30
"""For several problems, the scale is logarithmic if the highest primal objective is more than this
multiple of the final dual objective."""


def plot_convergence(machine: Any, ax: Any = None, *, show: str = "objectives") -> Any:
    """Plot how a fit got to its solution, from ``machine.history_``.

    The optimum lies between the dual objective, which rises, and the lowest primal objective so
    far.  Where a fit solves several problems (pairs of classes), both are sums, in which a problem
    that has not begun stands at its start.

    Parameters
    ----------
    machine : fitted machine
    ax : matplotlib Axes, default=None
        Where to draw; None makes a new figure.
    show : {"objectives", "gap"}, default="objectives"
        The two objectives with the gap between them shaded, or the relative gap on a logarithmic
        scale.

    Returns
    -------
    ax : the Axes
    """
    check_is_fitted(machine)
    if show not in ("objectives", "gap"):
        raise ValueError(f"show={show!r} is not known: use 'objectives' or 'gap'.")
    seconds, dual, primal = course(machine)
    ax = canvas.axes(ax)
    if show == "gap":
        _draw_gap(ax, seconds, dual, primal)
    else:
        _draw_objectives(ax, seconds, dual, primal, bool(machine.solution_.problems))
    if show == "gap" and machine._measure.name == "relative gap":
        ax.axhline(machine.tol, color=canvas.ink(), linestyle=(0, (4, 3)), linewidth=0.8)
        ax.text(1, machine.tol, "tol", transform=ax.get_yaxis_transform(), va="bottom", ha="right")
    ax.set(xlabel="seconds", xlim=_span(seconds, primal))
    ax.set_title(title(machine), fontsize="medium")
    canvas.open_frame(ax)
    return ax


def course(machine: Any) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
    """Seconds, and the dual and primal objective of all problems together."""
    history = machine.history_
    columns = [history[name] for name in ("seconds", "dual", "primal")]
    cold = type(machine).__name__ in STARTS_AT_ZERO and not machine.warm_start
    if cold and history["iterations"][0] > 0:  # the start of a small fit is not recorded
        columns = [
            np.concatenate([[first], c]) for first, c in zip((0, 0, np.nan), columns, strict=True)
        ]
    seconds, dual, primal = columns
    return seconds, dual, primal


def _span(seconds: Any, primal: Any) -> tuple[float, float | None]:
    """From the start of the fit, or, where preparing it took most of the time, from the first
    primal objective."""
    first, last = seconds[np.isfinite(primal)][:1], float(seconds[-1])
    late = len(first) and 0.3 * last < first[0] < last
    return (float(first[0]) if late else 0.0), last or None


def _draw_objectives(ax: Any, seconds: Any, dual: Any, primal: Any, several: bool) -> None:
    known = np.isfinite(primal)
    ax.fill_between(
        seconds[known], dual[known], primal[known], color=canvas.ink(), alpha=0.09, linewidth=0
    )
    style = {"linewidth": 1.6, "solid_capstyle": "round"}
    ax.plot(seconds[known], primal[known], color=canvas.ORANGE, label="primal objective", **style)
    ax.plot(seconds, dual, color=canvas.BLUE, label="dual objective", **style)
    ax.set_ylabel("objective, added up" if several else "objective")
    top = max([dual[-1], *primal[known]])
    if several and 0 < MANY_TIMES * dual[-1] < top:
        # Problems are solved one after another: those that have not begun dominate the sum.
        ax.set(yscale="log", ylim=(dual[-1] ** 1.5 / (1.5 * top) ** 0.5, 1.5 * top))
    else:
        ax.set_ylim(*_window(dual, primal[known]))
    ax.legend(frameon=False, loc="best")


def _window(dual: Any, primal: Any) -> tuple[float | None, float | None]:
    """The range of the vertical axis: from the lowest dual objective to about the same distance
    above the last one, and beyond the last primal objective.  The first primal objectives can be
    larger by orders of magnitude."""
    low, last = float(dual.min()), float(dual[-1])
    span = last - low
    if not span > 0:
        return None, None
    highest, end = (float(primal.max()), float(primal[-1])) if len(primal) else (last, last)
    top = max(last + 1.2 * span, end + 0.5 * (end - low))
    return low - 0.04 * span, min(top, max(highest, last) + 0.08 * span)


def _draw_gap(ax: Any, seconds: Any, dual: Any, primal: Any) -> None:
    with np.errstate(invalid="ignore", divide="ignore"):
        gap = (primal - dual) / np.maximum(np.abs(primal), np.abs(dual))
    known = np.isfinite(gap) & (gap > 0)
    ax.plot(seconds[known], gap[known], color=canvas.BLUE, linewidth=1.6)
    ax.set(yscale="log", ylabel="relative duality gap")


def title(machine: Any) -> str:
    solution = machine.solution_
    how = solution.stop_reason.name.lower().replace("_", " ")
    steps = "passes" if machine._measure.name == "relative gap" else "iterations"
    several = f" on {len(solution.problems)} problems" if solution.problems else ""
    return (
        f"{type(machine).__name__}: {how}, relative gap {solution.relative_gap:.1e}\n"
        f"{solution.iterations:,} {steps}{several}, {solution.seconds:.3g} s"
    )
