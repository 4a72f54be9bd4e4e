"""How well a machine does on given data."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from softmargin.report.html import note, number, section, table, text
from softmargin.report.pictures import picture
from softmargin.report.subject import Subject

MOST_CLASSES = 25
"""With more classes, the most frequent confusions are listed instead of a table."""
BESIDE = 10
"""A confusion table of at most this many classes leaves room for another one next to it."""
MANY_POINTS = 3000
NOTHING = "&ndash;"


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
        return section(title, rows, _classes(subject), _decision(subject))
    return section(title, rows, _novelty(subject), _decision(subject))


def tiles(**values: str) -> str:
    cells = [
        f"<div><b>{value}</b><span>{text(name.replace('_', ' '))}</span></div>"
        for name, value in values.items()
    ]
    return f"<div class=tiles>{''.join(cells)}</div>"


# --- classes ------------------------------------------------------------------------------------


def _classes(subject: Subject) -> str:
    from sklearn.metrics import confusion_matrix

    y, predicted = subject.y, subject.predicted
    assert y is not None
    assert predicted is not None
    if not set(y.tolist()) & set(subject.machine.classes_.tolist()):
        found = ", ".join(map(str, np.unique(y)[:5].tolist()))
        return note(f"The labels of the data ({found}, ...) are none of the machine's classes.")
    labels = np.array(sorted({*y.tolist(), *predicted.tolist()}, key=_order))
    counts = confusion_matrix(y, predicted, labels=labels)
    right = int(np.trace(counts))
    seen = counts.sum(axis=1) > 0
    recall = counts.diagonal()[seen] / counts.sum(axis=1)[seen]
    shown = tiles(
        accuracy=f"{right / len(y):.2%}",
        balanced_accuracy=f"{recall.mean():.2%}",
        wrong=f"{len(y) - right:,} of {len(y):,}",
    )
    confused = _confusion_table(counts, labels) if len(labels) <= MOST_CLASSES else ""
    if not confused:
        confused = _frequent_confusions(counts, labels)
    by_class = _by_class(counts, labels)
    if len(labels) <= BESIDE:
        by_class = f"<div class=columns><div>{confused}</div><div>{by_class}</div></div>"
    else:
        by_class = confused + by_class
    return shown + by_class + _margins(subject)


def _order(label: Any) -> Any:
    return (isinstance(label, str), label)


def _confusion_table(counts: NDArray[Any], labels: NDArray[Any]) -> str:
    shares = counts / np.maximum(counts.sum(axis=1, keepdims=True), 1)
    rows = []
    for label, line, share in zip(labels, counts, shares, strict=True):
        cells = [_cell(int(n), float(s)) for n, s in zip(line, share, strict=True)]
        rows.append(f"<tr><th scope=row>{text(label)}</th>{''.join(cells)}</tr>")
    heads = "".join(f"<th scope=col>{text(label)}</th>" for label in labels)
    return (
        "<h3>Confusion (rows: true, columns: predicted)</h3>"
        f"<div class=wide><table class=confusion><thead><tr><th></th>{heads}</tr></thead>"
        f"<tbody>{''.join(rows)}</tbody></table></div>"
    )


def _cell(count: int, share: float) -> str:
    if count == 0:
        return "<td class=zero>0</td>"
    return f'<td style="background: rgba(var(--blue), {0.08 + 0.6 * share:.2f})">{count:,}</td>'


def _frequent_confusions(counts: NDArray[Any], labels: NDArray[Any], most: int = 15) -> str:
    wrong = counts.copy()
    np.fill_diagonal(wrong, 0)
    order = np.argsort(-wrong, axis=None, kind="stable")[:most]
    rows = [
        (text(labels[i]), text(labels[j]), number(int(wrong[i, j])))
        for i, j in (np.unravel_index(k, wrong.shape) for k in order)
        if wrong[i, j]
    ]
    return "<h3>The most frequent confusions</h3>" + table(("true", "predicted", "rows"), rows)


def _by_class(counts: NDArray[Any], labels: NDArray[Any], most: int = 50) -> str:
    rows = []
    order: Any = range(len(labels))
    if len(labels) > most:
        order = np.argsort(-counts.sum(axis=1), kind="stable")[:most]
    for k in order:
        right, true, said = counts[k, k], counts[k].sum(), counts[:, k].sum()
        precision = right / said if said else np.nan
        recall = right / true if true else np.nan
        both = precision + recall
        f1 = 2 * precision * recall / both if both > 0 else np.nan
        rows.append((text(labels[k]), number(int(true)), *map(_percent, (precision, recall, f1))))
    return "<h3>By class</h3>" + table(("class", "rows", "precision", "recall", "F1"), rows)


def _percent(share: float) -> str:
    return NOTHING if np.isnan(share) else f"{share:.1%}"


def _margins(subject: Subject) -> str:
    from softmargin.plotting.support import plot_support

    known = np.isin(subject.y, subject.machine.classes_)  # type: ignore[arg-type]
    if not known.all() or subject.record.precomputed:
        return ""

    def draw(ax: Any) -> None:
        plot_support(subject.machine, subject.X, subject.y, ax)
        ax.set_title("")

    words = "Margins: below 0 an example is wrong, below 1 it is within the margin."
    return "<h3>Margins</h3>" + picture(draw, words, height=2.8)


# --- regression and novelty ---------------------------------------------------------------------


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
    return shown + f"<div class=columns>{_against(y, predicted)}{_missed(subject)}</div>"


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


def _missed(subject: Subject) -> str:
    from softmargin.plotting.support import plot_support

    def draw(ax: Any) -> None:
        plot_support(subject.machine, subject.X, subject.y, ax)
        ax.set_title("")

    return picture(draw, "Residuals; the dashed lines are the tube, if it is known.", width=4.6)


def _novelty(subject: Subject) -> str:
    from softmargin.plotting.support import plot_support

    predicted = subject.predicted
    assert predicted is not None
    inside = float((predicted == 1).mean())
    shown = tiles(inside=f"{inside:.2%}", outside=f"{int((predicted != 1).sum()):,} rows")
    known = subject.y is not None and set(np.unique(subject.y).tolist()) <= {-1, 1}
    if known:
        from sklearn.metrics import confusion_matrix

        labels = np.array([-1, 1])
        shown += _confusion_table(confusion_matrix(subject.y, predicted, labels=labels), labels)

    def draw(ax: Any) -> None:
        plot_support(subject.machine, subject.X, None, ax)
        ax.set_title("")

    return shown + picture(draw, "Decision values; below 0 is outside.", height=2.8)


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


# --- calibration --------------------------------------------------------------------------------


def calibration(subject: Subject) -> str:
    """Predicted probabilities compared with observed frequencies."""
    if subject.X is None or subject.y is None or not subject.record.is_classifier:
        return ""
    probabilities = _probabilities(subject)
    if probabilities is None:
        return ""
    from softmargin.plotting.calibration import calibration_error, draw_reliability, reliability

    classes = subject.machine.classes_
    highest = probabilities.max(axis=1)
    right = classes[probabilities.argmax(axis=1)] == subject.y

    def draw(ax: Any) -> None:
        draw_reliability(ax, highest, right)
        ax.set(xlabel="probability of the predicted class", ylabel="share that is right")

    error = calibration_error(*reliability(highest, right))
    shown = tiles(
        expected_calibration_error=f"{error:.2%}", log_loss=_log_loss(subject, probabilities)
    )
    words = "Calibration: on the dashed line, 80 % sure is right 80 % of the time."
    return section("Calibration", shown, picture(draw, words, height=3.2))


def _probabilities(subject: Subject) -> NDArray[Any] | None:
    if hasattr(subject.machine, "predict_proba"):
        return np.asarray(subject.machine.predict_proba(subject.X))
    if subject.record.has_probabilities:
        return subject.record.predict_probabilities(subject.X)[1]
    return None


def _log_loss(subject: Subject, probabilities: NDArray[Any]) -> str:
    classes, y = subject.machine.classes_, subject.y
    codes = np.searchsorted(classes, y)  # type: ignore[arg-type]
    codes[codes == len(classes)] = 0
    known = classes[codes] == y
    own = probabilities[np.arange(len(codes)), codes][known]
    return number(float(-np.log(np.maximum(own, 1e-15)).mean()), 4) if known.any() else NOTHING
