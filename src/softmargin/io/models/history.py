"""The history of a fit in a model file: one array per column, with fewer rows."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from softmargin.fitting.history import FIELDS, Past
from softmargin.io.file_error import FileError
from softmargin.io.models.container import Container

MOST_POINTS = 200
"""Enough for a plot; at most 15 kB of the file."""


def columns(history: Any, arrays: dict[str, NDArray[Any]]) -> list[str] | None:
    """Adds the columns to `arrays` and returns their names."""
    rows = None if history is None else history.array()
    if rows is None or len(rows) == 0:
        return None
    if len(rows) > MOST_POINTS:
        rows = rows[np.linspace(0, len(rows) - 1, MOST_POINTS).astype(int)]
    for name, _ in FIELDS:
        arrays[f"history.{name}"] = np.ascontiguousarray(rows[name])
    return [name for name, _ in FIELDS]


def read(names: Any, container: Container) -> Past | None:
    """The history in a file; None if the file has none, or one of another version."""
    if not isinstance(names, list) or not {name for name, _ in FIELDS} <= {*map(str, names)}:
        return None
    parts = [container.array(f"history.{name}") for name, _ in FIELDS]
    shapes = {part.shape for part in parts}
    if len(shapes) != 1 or parts[0].ndim != 1 or any(part.dtype.kind not in "fi" for part in parts):
        raise FileError(container.path, "columns of numbers of one length as history")
    rows = np.empty(len(parts[0]), dtype=FIELDS)
    for (name, _), part in zip(FIELDS, parts, strict=True):
        rows[name] = part
    return Past(rows)
