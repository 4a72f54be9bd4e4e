"""Decision regions over two features, or the predictions of a regression over one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import is_classifier, is_regressor
from sklearn.utils.validation import check_is_fitted

from softmargin.plotting import canvas
from softmargin.plotting.rows import dense, feature_names, final, like, support_mask

Array = NDArray[Any]
BORDER = 0.06
"""The margin on each side, as a fraction of the range of the data."""
SHADE = 0.17
"""The opacity of regions and tubes."""


@dataclass(frozen=True)
class View:
    """A plane, or a line, through the space of the examples."""

    machine: Any
    X: Any
    points: Array
    features: tuple[int, ...]
    others: Array
    resolution: int

    @property
    def seen(self) -> Array:
        return self.points[:, list(self.features)]

    def axis(self, k: int) -> Array:
        values = self.seen[:, k]
        low, high = float(values.min()), float(values.max())
        border = BORDER * (high - low) or 1.0
        return np.linspace(low - border, high + border, self.resolution)

    def grid(self) -> Any:
        """The points of the plane, in the form that the machine takes."""
        axes = np.meshgrid(*(self.axis(k) for k in range(len(self.features))))
        grid = np.tile(self.others, (axes[0].size, 1))
        for feature, values in zip(self.features, axes, strict=True):
            grid[:, feature] = values.ravel()
        return like(self.X, grid)

    def over_grid(self, values: Array) -> Array:
        return values.reshape((self.resolution,) * len(self.features))


def plot_decision(
    machine: Any,
    X: Any,
    y: Any = None,
    ax: Any = None,
    *,
    features: Sequence[int | str] | None = None,
    others: Any = None,
    resolution: int = 200,
) -> Any:
    """Plot what a machine decides: regions, boundary, margins and support vectors.

    For a classifier: the regions of the classes and, with two classes, the margins (dashed).  For a
    one-class machine: the region of the data.  For a regression: its predictions as colours, or as
    a curve with its tube over one feature.  Support vectors are ringed if X is the training data.

    Parameters
    ----------
    machine : fitted machine, or a pipeline that ends with one
    X : array-like of shape (n_samples, n_features)
        The examples to draw.
    y : array-like of shape (n_samples,), default=None
        Their classes or targets, which colour them.
    ax : matplotlib Axes, default=None
        Where to draw; None makes a new figure.
    features : one or two positions or names, default=None
        The features to draw over; needed if there are more than two.
    others : array-like of shape (n_features,), default=None
        The values of the other features; None takes the medians of X.
    resolution : int, default=200
        The number of points along each axis.

    Returns
    -------
    ax : the Axes
    """
    check_is_fitted(machine)
    view = _view(machine, X, features, others, resolution)
    ax = canvas.axes(ax, 5.2, 4.2)
    target = None if y is None else np.asarray(y)
    if len(view.features) == 1:
        _draw_curve(ax, view, target)
    elif is_regressor(machine):
        _draw_surface(ax, view, target)
    elif is_classifier(machine):
        _draw_classes(ax, view, target)
    else:
        _draw_region(ax, view)
    _name_axes(ax, view)
    return ax


def _view(machine: Any, X: Any, features: Any, others: Any, resolution: int) -> View:
    if final(machine).__dict__.get("kernel") == "precomputed":
        raise ValueError("With kernel='precomputed' there are no features to draw.")
    points, names = dense(X).astype(np.float64), feature_names(X, machine)
    count = points.shape[1]
    if features is None:
        features = range(count)
    chosen = tuple(names.index(f) if isinstance(f, str) else int(f) for f in features)
    if not 1 <= len(chosen) <= 2:
        raise ValueError(
            f"X has {count} features, but the picture shows two: choose them, for example"
            f" features=({names[0]!r}, {names[1]!r}) or features=(0, 1). The others are held at"
            " their medians, or at others=..."
        )
    if len(chosen) == 1 and not is_regressor(machine):
        raise ValueError("Only regressions can be drawn over one feature. Choose two features.")
    fixed = np.median(points, axis=0) if others is None else np.asarray(others, dtype=np.float64)
    return View(machine, X, points, chosen, fixed, resolution)


def _draw_classes(ax: Any, view: View, y: Array | None) -> None:
    classes = view.machine.classes_
    shades, grid = canvas.colours(len(classes)), view.grid()
    axes = view.axis(0), view.axis(1)
    if len(classes) == 2:
        values = view.over_grid(view.machine.decision_function(grid))
        ax.contourf(*axes, values, [-np.inf, 0, np.inf], colors=shades, alpha=SHADE)
        style = {"colors": canvas.ink(), "linewidths": (0.9, 1.3, 0.9)}
        ax.contour(*axes, values, [-1, 0, 1], linestyles=["--", "-", "--"], **style)
    else:
        codes = view.over_grid(np.searchsorted(classes, view.machine.predict(grid)))
        edges = np.arange(len(classes) + 1) - 0.5
        ax.contourf(*axes, codes, edges, colors=shades, alpha=SHADE)
        for code in range(len(classes)):
            inside = (codes == code).astype(float)
            if 0 < inside.mean() < 1:
                ax.contour(*axes, inside, [0.5], colors=canvas.ink(), linewidths=0.9)
    _draw_examples(ax, view, y, dict(zip(classes.tolist(), shades, strict=True)))


def _draw_region(ax: Any, view: View) -> None:
    values = view.over_grid(view.machine.decision_function(view.grid()))
    axes = view.axis(0), view.axis(1)
    ax.contourf(*axes, values, [0, np.inf], colors=[canvas.BLUE], alpha=SHADE)
    ax.contour(*axes, values, [0], colors=canvas.ink(), linewidths=1.3)
    inside = view.machine.predict(view.X)
    _draw_examples(ax, view, inside, {1: canvas.BLUE, -1: canvas.ORANGE}, ("inside", "outside"))


def _draw_examples(
    ax: Any, view: View, y: Array | None, shades: dict[Any, Any], names: Sequence[str] = ()
) -> None:
    """The examples in the colours of their classes; support vectors larger, and ringed."""
    support = support_mask(view.machine, view.X)
    ringed = np.zeros(len(view.points), bool) if support is None else support
    small = 9 if len(view.points) < 2000 else 3
    for number, (label, shade) in enumerate(shades.items()):
        mine = np.ones(len(view.points), bool) if y is None else y == label
        shade = canvas.ink() if y is None else shade
        ax.scatter(*view.seen[mine & ~ringed].T, s=small, color=shade, alpha=0.55, linewidths=0)
        ax.scatter(
            *view.seen[mine & ringed].T,
            s=2.6 * small,
            color=shade,
            edgecolors=canvas.ink(),
            linewidths=0.8,
            label=names[number] if names else canvas.words(label),
        )
        if y is None:
            break
    if y is not None and len(shades) <= 10:
        _legend_of_classes(ax, shades, names)
    if support is not None:
        ax.set_title(
            f"{len(ringed):,} examples, {ringed.sum():,} support vectors (ringed)",
            fontsize="medium",
        )


def _legend_of_classes(ax: Any, shades: dict[Any, Any], names: Sequence[str]) -> None:
    from matplotlib.lines import Line2D

    style: dict[str, Any] = {"linestyle": "", "marker": "o", "markersize": 5}
    dots = [Line2D([], [], color=shade, **style) for shade in shades.values()]
    ax.legend(
        dots,
        list(names) or [canvas.words(label) for label in shades],
        loc="best",
        framealpha=0.8,
        fontsize="small",
        handletextpad=0.1,
        borderpad=0.3,
    )


def _draw_surface(ax: Any, view: View, y: Array | None) -> None:
    values = view.over_grid(view.machine.predict(view.grid()))
    everything = values if y is None else np.concatenate([values.ravel(), y])
    limits = {"vmin": float(everything.min()), "vmax": float(everything.max())}
    axes = view.axis(0), view.axis(1)
    drawn = ax.contourf(*axes, values, 20, cmap="viridis", **limits)
    support = support_mask(view.machine, view.X)
    ringed = np.zeros(len(view.points), bool) if support is None else support
    edges = np.where(ringed, "black", "white").tolist()
    style = {"c": y, "cmap": "viridis", **limits} if y is not None else {"color": canvas.ink()}
    ax.scatter(*view.seen.T, s=18, edgecolors=edges, linewidths=0.7, **style)
    ax.figure.colorbar(drawn, ax=ax, label="prediction")


def _draw_curve(ax: Any, view: View, y: Array | None) -> None:
    x, prediction = view.axis(0), view.machine.predict(view.grid())
    epsilon = getattr(final(view.machine), "epsilon", None)
    if epsilon:
        ax.fill_between(
            x,
            prediction - epsilon,
            prediction + epsilon,
            color=canvas.BLUE,
            alpha=SHADE,
            linewidth=0,
            label=f"tube of epsilon {epsilon:g}",
        )
    ax.plot(x, prediction, color=canvas.BLUE, linewidth=1.6, label="prediction")
    if y is None:
        return
    support = support_mask(view.machine, view.X)
    ringed = np.zeros(len(y), bool) if support is None else support
    seen = view.seen[:, 0]
    ax.scatter(seen[~ringed], y[~ringed], s=9, color=canvas.ORANGE, alpha=0.55, linewidths=0)
    ax.scatter(
        seen[ringed],
        y[ringed],
        s=24,
        color=canvas.ORANGE,
        edgecolors=canvas.ink(),
        linewidths=0.8,
        label="support vectors" if ringed.any() else None,
    )
    ax.legend(frameon=False, fontsize="small")
    if support is not None:
        ax.set_title(
            f"{len(y):,} examples, {ringed.sum():,} support vectors (ringed)", fontsize="medium"
        )


def _name_axes(ax: Any, view: View) -> None:
    names = feature_names(view.X, view.machine)
    ax.set_xlabel(canvas.words(names[view.features[0]]))
    ax.set_xlim(view.axis(0)[[0, -1]])
    if len(view.features) == 2:
        ax.set_ylabel(canvas.words(names[view.features[1]]))
        ax.set_ylim(view.axis(1)[[0, -1]])
    else:
        ax.set_ylabel("target")
        canvas.open_frame(ax)
