"""A map of a search: the score over C and gamma, the winner, ties, and where the time went."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from softmargin.plotting.canvas import ORANGE, axes, ink, pyplot

NEAR = 1e-9
"""Scores that differ by less are a tie."""


def plot_search(
    search: Any, x: str | None = None, y: str | None = None, *, time: bool = False, ax: Any = None
) -> Any:
    """Contours of the score of a search over two of its parameters.

    Of candidates that differ in other parameters, the best one is shown.  The winner is marked, and
    ties with it; a winner on the edge of the grid has an arrow that says in which direction to
    extend it.

    Parameters
    ----------
    search : a fitted GridSearchCV or RandomizedSearchCV
    x, y : names of parameters, default: C and gamma, or the first two with several numbers
    time : whether to show the seconds of each candidate (fits of all folds) in place of its score
    ax : matplotlib Axes, default=None
        Where to draw; None makes a new figure.

    Returns
    -------
    ax : the Axes
    """
    results = search.cv_results_
    x, y = _names(results["params"], x, y)
    metric = search.refit if isinstance(search.refit, str) else "score"
    kept = [k for k, p in enumerate(results["params"]) if x in p and y in p]
    scores = np.asarray(results[f"mean_test_{metric}"], dtype=float)[kept]
    first = [float(results["params"][k][x]) for k in kept]
    second = [float(results["params"][k][y]) for k in kept]
    ax = axes(ax, 5.6, 4.2)
    if time:
        seconds = np.asarray(results["mean_fit_time"], dtype=float)[kept] * search.n_splits_
        draw_map(ax, first, second, np.log10(np.maximum(seconds, 1e-6)), "log10 of seconds", False)
    else:
        draw_map(ax, first, second, scores, str(metric))
    ax.set_xlabel(x)
    ax.set_ylabel(y)
    return ax


def draw_map(
    ax: Any,
    x: Sequence[float],
    y: Sequence[float],
    scores: Any,
    label: str,
    winner: bool = True,
) -> None:
    """Contours of `scores` at the points (x, y), on logarithmic axes."""
    a, b, table = _table(np.asarray(x), np.asarray(y), np.asarray(scores, dtype=float))
    if min(table.shape) > 1:
        levels = _levels(table, winner)
        # One colour for each level: most levels are close to the best score.
        norm = pyplot().matplotlib.colors.BoundaryNorm(levels, 256, extend="min")
        shown = ax.contourf(
            a, b, np.ma.masked_invalid(table), levels=levels, extend="min", norm=norm
        )
        ax.figure.colorbar(shown, ax=ax, label=label)
    ax.set_xscale("log", base=2)
    ax.set_yscale("log", base=2)
    ax.set_xlabel("C")
    ax.set_ylabel("gamma")
    places = np.argwhere(np.isfinite(table))
    ax.plot(a[places[:, 1]], b[places[:, 0]], ".", ms=2, color=ink(), alpha=0.4)
    if winner and len(places):
        _mark(ax, a, b, table)


def _mark(ax: Any, a: Any, b: Any, table: Any) -> None:
    best = np.nanmax(table)
    ties = np.argwhere(table >= best - NEAR * max(abs(best), 1.0))
    if len(ties) > 1:
        ax.plot(a[ties[:, 1]], b[ties[:, 0]], "o", ms=6, mfc="none", mec=ORANGE, label="tie")
    row, column = ties[np.lexsort((-ties[:, 0], ties[:, 1]))[0]]
    ax.plot(a[column], b[row], "*", ms=13, color=ORANGE, mec="white", label=f"best: {best:.4g}")
    for axis, (k, values) in enumerate(((column, a), (row, b))):
        if len(values) < 3 or 0 < k < len(values) - 1:
            continue
        way = -1.0 if k == 0 else 1.0
        offset = (26 * way, 0) if axis == 0 else (0, 26 * way)
        ax.annotate(
            "",
            xy=(a[column], b[row]),
            xytext=offset,
            textcoords="offset points",
            arrowprops={"arrowstyle": "<-", "color": ORANGE, "lw": 2},
            annotation_clip=False,
        )
    ax.legend(loc="lower left", fontsize="small", framealpha=0.8)


def _levels(table: Any, of_scores: bool) -> Any:
    """The levels of the contours; for scores, they are closer together near the best score, where
    the choice is made."""
    values = table[np.isfinite(table)]
    low, high = float(values.min()), float(values.max())
    if high - low < 1e-12:
        return np.linspace(low - 0.5, high + 0.5, 3)
    if not of_scores:
        return np.linspace(low, high, 12)
    steps = np.array([0, 0.25, 0.5, 0.7, 0.8, 0.87, 0.92, 0.95, 0.97, 0.98, 0.99, 0.995, 1.0])
    return low + (high - low) * steps


def _table(x: Any, y: Any, scores: Any) -> tuple[Any, Any, Any]:
    """The best score at each place, NaN where there is none; one row for each y."""
    a, columns = np.unique(x, return_inverse=True)
    b, rows = np.unique(y, return_inverse=True)
    table = np.full((len(b), len(a)), np.nan)
    for row, column, score in zip(rows, columns, scores, strict=True):
        if not table[row, column] >= score:
            table[row, column] = score
    return a, b, table


def _names(candidates: Sequence[dict[str, Any]], x: str | None, y: str | None) -> tuple[str, str]:
    values: dict[str, set[float]] = {}
    for candidate in candidates:
        for name, value in candidate.items():
            if isinstance(value, (int, float, np.number)) and not isinstance(value, bool):
                values.setdefault(name, set()).add(float(value))
    varied = [name for name, found in values.items() if len(found) > 1 and min(found) > 0]
    usual = [n for last in ("C", "gamma") for n in varied if n.split("__")[-1] == last]
    names = [n for n in (x, y) if n] + [n for n in [*usual, *varied] if n not in (x, y)]
    names = list(dict.fromkeys(names))
    if len(names) < 2:
        raise ValueError(
            "plot_search needs two parameters with several positive numbers each;"
            f" this search varies {', '.join(varied) or 'none'}."
        )
    first = x or next(n for n in names if n != y)
    return first, y or next(n for n in names if n != first)
