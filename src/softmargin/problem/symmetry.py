"""The check that kernel matrices are symmetric."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

ROUNDING = 1e-5
"""The asymmetry that rounding (even in float32) may cause, relative to the largest value."""

TILE = 512


def check_symmetric(K: NDArray[Any], what: str) -> None:
    """Rejects a matrix whose asymmetry is more than rounding, and names the worst entry."""
    worst, at, largest = 0.0, (0, 0), 0.0
    for i in range(0, len(K), TILE):
        for j in range(0, i + 1, TILE):
            tile, mirrored = K[i : i + TILE, j : j + TILE], K[j : j + TILE, i : i + TILE].T
            with np.errstate(over="ignore"):
                difference = np.abs(tile - mirrored)
            largest = max(largest, float(np.abs(tile).max()), float(np.abs(mirrored).max()))
            if difference.max() > worst:
                row, column = np.unravel_index(int(difference.argmax()), difference.shape)
                worst, at = float(difference.max()), (i + int(row), j + int(column))
    if worst > ROUNDING * largest:
        i, j = at
        raise ValueError(
            f"{what} must be symmetric, K[i, j] == K[j, i]. The entries that differ most are"
            f" K[{i}, {j}] = {float(K[i, j])!r} and K[{j}, {i}] = {float(K[j, i])!r}. If only"
            " rounding makes them differ, use (K + K.T) / 2."
        )
