"""Which classes a machine confuses on given data."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from softmargin.report.html import note, number, table, text, tiles
from softmargin.report.subject import Subject

MOST_CLASSES = 25
"""With more classes, the most frequent confusions are listed instead of a table."""
BESIDE = 10
"""A confusion table of at most this many classes leaves room for another one next to it."""
NOTHING = "&ndash;"


def confusions(subject: Subject) -> str:
    """Accuracy, the confusion of classes, and how well each class does."""
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
    confused = confusion_table(counts, labels) if len(labels) <= MOST_CLASSES else ""
    if not confused:
        confused = _frequent_confusions(counts, labels)
    by_class = _by_class(counts, labels)
    if len(labels) <= BESIDE:
        by_class = f"<div class=columns><div>{confused}</div><div>{by_class}</div></div>"
    else:
        by_class = confused + by_class
    return shown + by_class


def _order(label: Any) -> Any:
    return (isinstance(label, str), label)


def confusion_table(counts: NDArray[Any], labels: NDArray[Any]) -> str:
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
        right, true, predicted = counts[k, k], counts[k].sum(), counts[:, k].sum()
        precision = right / predicted if predicted else np.nan
        recall = right / true if true else np.nan
        both = precision + recall
        f1 = 2 * precision * recall / both if both > 0 else np.nan
        rows.append((text(labels[k]), number(int(true)), *map(_percent, (precision, recall, f1))))
    return "<h3>By class</h3>" + table(("class", "rows", "precision", "recall", "F1"), rows)


def _percent(share: float) -> str:
    return NOTHING if np.isnan(share) else f"{share:.1%}"
