"""Whether the best point lies on the edge of its grid, and in which direction to extend it."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np


def edges(best: Mapping[str, Any], candidates: Sequence[Mapping[str, Any]]) -> dict[str, str]:
    """For each numeric parameter whose best value is the smallest or the largest of at least three:
    "smaller" or "larger"."""
    found = {}
    for name, value in best.items():
        values = sorted({float(c[name]) for c in candidates if name in c and _is_number(c[name])})
        if not _is_number(value) or len(values) < 3:
            continue
        if float(value) in (values[0], values[-1]):
            found[name] = "smaller" if float(value) == values[0] else "larger"
    return found


def note(best: Mapping[str, Any], found: Mapping[str, str]) -> str:
    """One sentence, or nothing."""
    if not found:
        return ""
    where = " and ".join(f"{name}={best[name]:g} (try {way} values)" for name, way in found.items())
    return f"The best point is on the edge of the grid: {where}."


def _is_number(value: Any) -> bool:
    number = isinstance(value, (int, float, np.integer, np.floating))
    return number and not isinstance(value, bool) and math.isfinite(value)
