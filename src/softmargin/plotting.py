"""Pictures of fits and machines.  They need matplotlib: ``pip install softmargin[plot]``."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted


def _pyplot() -> Any:
    try:
        from matplotlib import pyplot
    except ImportError as error:
        raise ImportError(
            "softmargin.plotting needs matplotlib, which is not installed:"
            " pip install softmargin[plot]"
        ) from error
    return pyplot


def plot_convergence(machine: Any, axes: Any = None) -> Any:
    """Plot how a fit got to its solution, from ``machine.history_``.

    Above, by how much the optimality conditions were violated (of a linear machine, its relative
    gap), and the tolerance; below, the dual objective.  A fit of several problems (pairs of
    classes) has a line for each.

    Parameters
    ----------
    machine : fitted machine
    axes : two matplotlib Axes, default=None
        Where to plot; None makes a new figure.

    Returns
    -------
    axes : the two Axes
    """
    check_is_fitted(machine)
    if axes is None:
        _, axes = _pyplot().subplots(2, 1, sharex=True, layout="constrained", figsize=(6.4, 4.8))
    history = machine.history_
    above, below = axes
    problems = np.unique(history["problem"])
    alpha = 1.0 if len(problems) < 10 else 0.4
    for problem in problems:
        points = history[history["problem"] == problem]
        style = {"marker": ".", "alpha": alpha, "linewidth": 1}
        above.plot(points["seconds"], np.maximum(points["violation"], 1e-300), **style)
        below.plot(points["seconds"], points["objective"], **style)
    above.axhline(machine.tol, color="0.5", linestyle="--", linewidth=1)
    above.text(0.01, machine.tol, "tol", transform=above.get_yaxis_transform(), va="bottom")
    above.set(yscale="log", ylabel=_measure(machine), title=_title(machine))
    below.set(xlabel="seconds", ylabel="dual objective", xlim=(0, None))
    return axes


def _measure(machine: Any) -> str:
    name: str = machine._measure.name
    return f"KKT {name}" if name == "violation" else name


def _title(machine: Any) -> str:
    solution = machine.solution_
    how = solution.stop_reason.name.lower().replace("_", " ")
    return (
        f"{type(machine).__name__}: {how} after {solution.iterations} iterations,\n"
        f"relative gap {solution.relative_gap:.1e}"
    )
