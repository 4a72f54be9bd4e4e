"""How well a machine does on given data."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from softmargin.report.confusions import confusion_table, confusions
from softmargin.report.html import note, number, section, tiles
from softmargin.report.pictures import picture
from softmargin.report.subject import Subject

MANY_POINTS = 3000


def judgement(subject: Subject) -> str:
    if subject.X is None:
        return ""
    title = f"On {subject.data}" if subject.data else "On the data given"
    rows = f"<p class=under>{number(len(subject.predicted))} rows</p>"  # type: ignore[arg-type]
    if subject.y is None and subject.record.kind != "OneClassSVM":
        words = "There are no labels or targets to compare the predictions with."
        return section(title, rows, note(words), _decision(subject))
    if subject.record.is_regressor:
        return section(title, rows, _residuals(subject))
    if subject.record.is_classifier:
        return section(title, rows, confusions(subject), _margins(subject), _decision(subject))
    return section(title, rows, _novelty(subject), _decision(subject))


def _margins(subject: Subject) -> str:
    known = np.isin(subject.y, subject.machine.classes_)  # type: ignore[arg-type]
    if not known.all() or subject.record.precomputed:
        return ""
    words = "Margins: below 0 an example is wrong, below 1 it is within the margin."
    return "<h3>Margins</h3>" + _histogram(subject, subject.y, words, height=2.8)


def _histogram(subject: Subject, y: Any, words: str, **size: float) -> str:
    """Margins, residuals or decision values, as `plot_support` draws them."""
    from softmargin.plotting.support import plot_support

    def draw(ax: Any) -> None:
        plot_support(subject.machine, subject.X, y, ax)
        ax.set_title("")

    return picture(draw, words, **size)


def _residuals(subject: Subject) -> str:
    y, predicted = subject.y, subject.predicted
    assert y is not None
    assert predicted is not None
    if y.dtype.kind not in "fiub":
        return note(f"The targets are names such as {y[0]!r}, but the machine predicts numbers.")
    missed = y - predicted
    spread = float(((y - y.mean()) ** 2).sum())
    shown = tiles(
        R2=number(1 - float((missed**2).sum()) / spread if spread else float("nan"), 4),
        root_mean_squared_error=number(float(np.sqrt((missed**2).mean())), 4),
        mean_absolute_error=number(float(np.abs(missed).mean()), 4),
        largest_error=number(float(np.abs(missed).max()), 4),
    )
    words = "Residuals; the dashed lines are the tube, if it is known."
    histogram = _histogram(subject, y, words, width=4.6)
    return shown + f"<div class=columns>{_against(y, predicted)}{histogram}</div>"


def _against(y: NDArray[Any], predicted: NDArray[Any]) -> str:
    def draw(ax: Any) -> None:
        from softmargin.plotting import canvas

        low, high = min(y.min(), predicted.min()), max(y.max(), predicted.max())
        ax.plot([low, high], [low, high], color=canvas.ink(), linewidth=0.8, linestyle="--")
        ax.scatter(
            predicted,
            y,
            s=10 if len(y) < MANY_POINTS else 3,
            color=canvas.BLUE,
            alpha=0.5,
            linewidths=0,
            rasterized=len(y) > MANY_POINTS,
        )
        ax.set(xlabel="prediction", ylabel="target")
        canvas.open_frame(ax)

    return picture(draw, "Targets over predictions; on the dashed line they agree.", width=4.6)


def _novelty(subject: Subject) -> str:
    predicted = subject.predicted
    assert predicted is not None
    inside = float((predicted == 1).mean())
    shown = tiles(inside=f"{inside:.2%}", outside=f"{int((predicted != 1).sum()):,} rows")
    known = subject.y is not None and set(np.unique(subject.y).tolist()) <= {-1, 1}
    if known:
        from sklearn.metrics import confusion_matrix

        labels = np.array([-1, 1])
        shown += confusion_table(confusion_matrix(subject.y, predicted, labels=labels), labels)
    return shown + _histogram(subject, None, "Decision values; below 0 is outside.", height=2.8)


def _decision(subject: Subject) -> str:
    """The picture of the regions, if there are two features."""
    shape = getattr(subject.X, "shape", (0, 0))
    linear_or_built_in = isinstance(subject.record.params.get("kernel", "linear"), str)
    if len(shape) != 2 or shape[1] != 2 or subject.record.precomputed or not linear_or_built_in:
        return ""
    from softmargin.plotting.decision import plot_decision

    def draw(ax: Any) -> None:
        plot_decision(subject.machine, subject.X, subject.y, ax)
        for drawn in ax.collections:
            drawn.set_rasterized(shape[0] > MANY_POINTS)

    return "<h3>Decision</h3>" + picture(draw, "Regions, boundary and examples.", height=4.6)
