"""A histogram of the margins of examples, which shows the support vectors."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import is_classifier, is_regressor
from sklearn.utils.validation import check_is_fitted

from softmargin.estimator import one_vs_one
from softmargin.plotting import canvas
from softmargin.plotting.rows import final, support_mask

Array = NDArray[np.float64]


def plot_support(machine: Any, X: Any, y: Any = None, ax: Any = None, *, bins: int = 40) -> Any:
    """Plot a histogram of the margins of examples, with the support vectors highlighted.

    For a classifier: how far each example is on the side of its own class (if there are more than
    two, the smallest value over the other classes).  Above 1 it is not a support vector; below 0
    it is misclassified.  For a regression: the error of each prediction, and the tube.  For a
    one-class machine: the decision value, which is negative outside.

    Parameters
    ----------
    machine : fitted machine, or a pipeline that ends with one
    X : array-like of shape (n_samples, n_features)
        Examples.  Support vectors are known if these are what the machine was trained on.
    y : array-like of shape (n_samples,)
        Their classes or targets; a one-class machine needs none.
    ax : matplotlib Axes, default=None
        Where to draw; None makes a new figure.
    bins : int, default=40

    Returns
    -------
    ax : the Axes
    """
    check_is_fitted(machine)
    values, lines, name = quantity(machine, X, y)
    ax = canvas.axes(ax, 5.6, 3.4)
    edges = _edges(values, lines, bins)
    shown = np.clip(values, edges[0], edges[-1])
    support = support_mask(machine, X)
    if support is None:
        ax.hist(shown, edges, color=canvas.BLUE, alpha=0.7)
        ax.set_title(f"{len(values):,} examples", fontsize="medium")
    else:
        ax.hist(
            [shown[support], shown[~support]],
            edges,
            stacked=True,
            color=[canvas.ORANGE, canvas.BLUE],
            alpha=0.8,
            label=[f"support vectors: {support.sum():,}", f"others: {(~support).sum():,}"],
        )
        ax.legend(edgecolor="none", framealpha=0.85, loc="best")
        ax.set_title(
            f"{support.sum():,} of {len(values):,} examples are support vectors"
            f" ({support.mean():.0%})",
            fontsize="medium",
        )
    for place, style in lines.items():
        ax.axvline(place, color=canvas.ink(), linestyle=style, linewidth=0.9)
    ax.set(xlabel=name, ylabel="examples")
    canvas.open_frame(ax)
    return ax


def quantity(machine: Any, X: Any, y: Any) -> tuple[Array, dict[float, str], str]:
    """The values of the histogram, the lines to draw, and a name for the axis."""
    if not is_classifier(machine) and not is_regressor(machine):
        return machine.decision_function(X), {0.0: "-"}, "decision value (below 0: outside)"
    if y is None:
        raise ValueError("y is missing: the margin of an example depends on its class or target.")
    if is_regressor(machine):
        epsilon = getattr(final(machine), "epsilon", None)
        lines = {0.0: "-"} if not epsilon else {-epsilon: "--", 0.0: "-", epsilon: "--"}
        return np.asarray(y) - machine.predict(X), lines, "target minus prediction"
    return margins(machine, X, np.asarray(y)), {0.0: "-", 1.0: "--"}, "margin (below 0: wrong)"


def margins(machine: Any, X: Any, y: NDArray[Any]) -> Array:
    """How far each example is on the side of its own class."""
    classes, last = machine.classes_, final(machine)
    codes = np.searchsorted(classes, y)
    codes[codes == len(classes)] = 0
    if not (classes[codes] == y).all():
        unknown = y[classes[codes] != y][0]
        raise ValueError(f"y has {unknown!r}, which is not a class of the machine.")
    if len(classes) == 2:
        values: Array = np.where(codes == 1, 1.0, -1.0) * machine.decision_function(X)
        return values
    rows = np.arange(len(codes))
    if getattr(last, "multi_class", "ovo") != "ovo":  # a score for each class
        scores = machine.decision_function(X)
        own = scores[rows, codes]
        scores[rows, codes] = -np.inf
        return np.asarray(own - scores.max(axis=1))
    seen = machine[:-1].transform(X) if hasattr(machine, "steps") and len(machine) > 1 else X
    pairs = last._values(seen)
    least = np.full(len(codes), np.inf)
    for column, (i, j) in enumerate(one_vs_one.pairs(len(classes))):
        for code, sign in ((i, 1.0), (j, -1.0)):
            mine = codes == code
            least[mine] = np.minimum(least[mine], sign * pairs[mine, column])
    return least


def _edges(values: Array, lines: dict[float, str], bins: int) -> Array:
    """Edges of bins that no line cuts.  The last bin holds the few values beyond 99.5 % of the
    examples."""
    low, high = np.quantile(values, [0.0025, 0.9975])
    low, high = min(low, *lines, 0.0), max(high, *lines, 0.0)
    marks = sorted(lines)
    step = (high - low) / bins or 1.0
    unit = marks[-1] - marks[0]
    if unit >= step:
        step = unit / round(unit / step)
    elif len(marks) > 1:  # a tube narrower than a bin: bins of its width would be needles
        marks = [marks[len(marks) // 2]]
    if marks[-1] != -marks[0] or len(marks) == 1:
        # Support vectors on the margin have values that rounding puts on either side of it.
        marks = [mark + 0.1 * step for mark in marks]
    first = marks[0] - np.ceil((marks[0] - low) / step) * step
    count = int(np.ceil((high - first) / step - 1e-9)) or 1
    return np.asarray(first + step * np.arange(count + 1))
