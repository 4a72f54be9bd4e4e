"""Scores of predictions: the ones that LIBSVM's tools print, and a table for many classes."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

import numpy as np

from softmargin.cli.terminal import printable

FEW_CLASSES, MOST_SHOWN, LONGEST_NAME = 6, 20, 12
"""Most classes with a confusion matrix, most classes listed, longest class name in characters."""


def accuracy(y: Any, predicted: Any) -> dict[str, Any]:
    """The accuracy; with more than two classes, also precision and recall of each class, unless
    no label is one that was predicted."""
    labels, code, predicted_code = _codes(y, predicted)
    correct = int((code == predicted_code).sum())
    result = {"accuracy": correct / len(code), "correct": correct, "total": len(code)}
    if len(labels) <= 2 or not np.isin(code, predicted_code).any():
        return result
    return {**result, **_by_class(labels, code, predicted_code)}


def _codes(y: Any, predicted: Any) -> tuple[list[Any], Any, Any]:
    """All labels in order, and the positions of `y` and `predicted` among them.  1 and 1.0 are the
    same label, "1" is another."""
    numbers: dict[Any, int] = {}
    codes = [
        np.array([numbers.setdefault(label, len(numbers)) for label in np.asarray(z).tolist()])
        for z in (y, predicted)
    ]
    labels = sorted(numbers, key=lambda label: (isinstance(label, str), label))
    place = np.empty(len(labels), dtype=np.intp)
    place[[numbers[label] for label in labels]] = np.arange(len(labels))
    return labels, place[codes[0]], place[codes[1]]


def _by_class(labels: list[Any], code: Any, predicted: Any) -> dict[str, Any]:
    count = len(labels)
    actual, found = np.bincount(code, minlength=count), np.bincount(predicted, minlength=count)
    right = np.bincount(code[code == predicted], minlength=count)
    classes = [
        {
            "class": label,
            "rows": int(actual[k]),
            "precision": right[k] / found[k] if found[k] else math.nan,
            "recall": right[k] / actual[k] if actual[k] else math.nan,
        }
        for k, label in enumerate(labels)
    ]
    if count > FEW_CLASSES:
        return {"classes": classes}
    table = np.bincount(code * count + predicted, minlength=count**2).reshape(count, count)
    return {"classes": classes, "confusion": table.tolist()}


def regression_scores(y: Any, predicted: Any) -> dict[str, Any]:
    y, predicted = np.asarray(y, dtype=float), np.asarray(predicted, dtype=float)
    with np.errstate(invalid="ignore", divide="ignore"):
        a, b = y - y.mean(), predicted - predicted.mean()
        squared_correlation = (a @ b) ** 2 / ((a @ a) * (b @ b))
    return {
        "mean_squared_error": float(np.mean((predicted - y) ** 2)),
        "squared_correlation": float(squared_correlation),
        "total": len(y),
    }


def prediction_lines(result: dict[str, Any], columns: int = 80) -> list[str]:
    """The lines that svm-predict prints; with more than two classes, followed by a table of up to
    `columns` columns."""
    if "accuracy" in result:
        percent = f"{100 * result['accuracy']:g}%"
        counts = f"({result['correct']}/{result['total']})"
        return [f"Accuracy = {percent} {counts} (classification)", *_class_lines(result, columns)]
    if "mean_squared_error" not in result:
        return []
    return [
        f"Mean squared error = {result['mean_squared_error']:g} (regression)",
        f"Squared correlation coefficient = {result['squared_correlation']:g} (regression)",
    ]


def _class_lines(result: dict[str, Any], columns: int) -> list[str]:
    classes = result.get("classes", [])
    if not classes:
        return []
    worst = sorted(classes, key=lambda one: (not one["recall"] < 2, one["recall"]))
    shown = classes if len(classes) <= MOST_SHOWN else worst[:MOST_SHOWN]
    names = [_name(one["class"]) for one in shown]
    width = max(5, *map(len, names))
    lines = [f"{'class':<{width}}  precision  recall   rows"]
    for name, one in zip(names, shown, strict=True):
        lines.append(
            f"{name:<{width}}  {_share(one['precision']):>9}  {_share(one['recall']):>6}"
            f"  {one['rows']:>5}"
        )
    if len(shown) < len(classes):
        lines.append(f"... of {len(classes)} classes those with the least recall; --json has all")
    return [*lines, *_confusion_lines(names, width, result.get("confusion"), columns)]


def _confusion_lines(names: list[str], width: int, table: Any, columns: int) -> list[str]:
    """The confusion matrix.  If the class names are too wide for the terminal, they are cut off at
    the top of the columns; if even the counts are too wide, the matrix is left out."""
    if table is None:
        return []
    count = len(str(max(map(max, table))))
    cell = min(max(count, *map(len, names)), (columns - 1 - width) // len(names) - 2)
    if cell < max(count, 3):
        return []
    heads = [name if len(name) <= cell else name[: cell - 1] + "~" for name in names]
    lines = [f"{'':<{width}}  predicted", f"{'class':<{width}}" + _cells(heads, cell)]
    return lines + [
        f"{name:<{width}}" + _cells(map(str, row), cell)
        for name, row in zip(names, table, strict=True)
    ]


def _cells(texts: Iterable[str], width: int) -> str:
    return "".join(f"  {text:>{width}}" for text in texts)


def _name(label: Any) -> str:
    name = f"{label:g}" if isinstance(label, float) else printable(str(label))
    return name if len(name) <= LONGEST_NAME else name[: LONGEST_NAME - 1] + "~"


def _share(value: float) -> str:
    return "-" if math.isnan(value) else f"{100 * value:.1f}%"
