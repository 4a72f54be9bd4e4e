"""A reliability diagram: whether events of probability p happen in a share p of the cases."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from softmargin.plotting.canvas import BLUE, axes, ink, open_frame, words

BINS = 10
BARS = 20

Array = NDArray[np.float64]


def plot_calibration(machine: Any, X: Any, y: Any, ax: Any = None, *, bins: int = BINS) -> Any:
    """Predicted probabilities compared with what happened, and how often each was predicted.

    With two classes the probability is that of the second class; with more, that of the predicted
    class, and what happens is that the prediction is right.  Each point stands for the same number
    of examples; the vertical lines are two standard errors.  On the dashed line the probabilities
    are right.  The bars below count the examples by their probability.

    Parameters
    ----------
    machine : a fitted classifier with ``predict_proba``, or a pipeline that ends in one
    X, y : examples and their classes; best, data that the machine was not trained on
    ax : matplotlib Axes, default=None
        Where to draw; None makes a new figure.
    bins : int, default=10
        The number of points.

    Returns
    -------
    ax : the Axes
    """
    if not hasattr(machine, "predict_proba"):
        raise ValueError(
            f"plot_calibration needs predict_proba, which this {type(machine).__name__} does not"
            " have. Fit it with probability=True."
        )
    if bins < 1:
        raise ValueError(f"bins must be 1 or more; got {bins}.")
    predicted, happened, label = _events(machine, X, np.asarray(y))
    ax = axes(ax)
    draw_reliability(ax, predicted, happened, bins)
    two = len(machine.classes_) == 2
    ax.set_xlabel(label)
    ax.set_ylabel("observed share" if two else "share that is right")
    return ax


def draw_reliability(ax: Any, predicted: Array, happened: Any, bins: int = BINS) -> None:
    """The diagram of probabilities and of whether each event happened."""
    probability, observed, counts = reliability(predicted, happened, bins)
    below = ax.twinx()
    edges = np.linspace(0, 1, BARS + 1)
    number, _ = np.histogram(predicted, edges)
    below.bar(edges[:-1], number, 1 / BARS, align="edge", color=ink(), alpha=0.15, linewidth=0)
    below.set_ylim(0, 4 * max(number.max(), 1))  # the lowest quarter of the picture
    below.set_yticks([0, number.max()])
    below.set_ylabel("examples", loc="bottom")
    below.spines[["top", "right"]].set_visible(False)
    ax.plot([0, 1], [0, 1], color=ink(), linewidth=0.8, linestyle="--")
    error = 2 * np.sqrt(probability * (1 - probability) / counts)
    ax.errorbar(
        probability,
        observed,
        error,
        color=BLUE,
        marker="o",
        markersize=5,
        linewidth=1.4,
        elinewidth=0.9,
    )
    gap = calibration_error(probability, observed, counts)
    ax.text(0.03, 0.95, f"calibration error {gap:.2%}", transform=ax.transAxes, va="top")
    ax.set(xlim=(0, 1), ylim=(-0.02, 1.02))
    ax.set_zorder(below.get_zorder() + 1)
    ax.patch.set_visible(False)
    open_frame(ax)


def reliability(predicted: Array, happened: Any, bins: int = BINS) -> tuple[Array, Array, Array]:
    """Mean probability, observed frequency and number of examples, in bins of equal size."""
    order = np.argsort(predicted, kind="stable")
    parts = [part for part in np.array_split(order, bins) if len(part)]
    return (
        np.array([predicted[part].mean() for part in parts]),
        np.array([np.asarray(happened)[part].mean() for part in parts]),
        np.array([float(len(part)) for part in parts]),
    )


def calibration_error(probability: Array, observed: Array, counts: Array) -> float:
    """The expected calibration error: the mean distance from the dashed line."""
    return float((counts * np.abs(probability - observed)).sum() / counts.sum())


def _events(machine: Any, X: Any, y: NDArray[Any]) -> tuple[Array, NDArray[np.bool_], str]:
    """The predicted probability of an event for each example, whether the event happened, and a
    name for the event."""
    p, classes = np.asarray(machine.predict_proba(X)), machine.classes_
    if y.shape != (len(p),):
        raise ValueError(f"y must have a class for each of the {len(p)} rows of X; got {y.shape}.")
    if len(classes) == 2:
        return p[:, 1], y == classes[1], f"probability of {words(classes[1])}"
    right = classes[p.argmax(axis=1)] == y
    return p.max(axis=1), right, "probability of the predicted class"
