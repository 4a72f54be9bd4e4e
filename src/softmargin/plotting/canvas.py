"""What the pictures share: matplotlib, where to draw, and colours."""

from __future__ import annotations

from typing import Any

ORANGE, BLUE = "#dd7a1f", "#2b6cb0"
PALETTE = (
    *(ORANGE, BLUE, "#2f9e63", "#b8478a", "#7a6ad8"),
    *("#c9a227", "#3fa9b5", "#8c5a3c", "#d1495b", "#7b8794"),
)
"""Colours of classes, which red-green colour-blind readers can tell apart too."""


def pyplot() -> Any:
    try:
        from matplotlib import pyplot
    except ImportError as error:
        raise ImportError(
            "softmargin.plotting needs matplotlib, which is not installed:"
            " pip install softmargin[plot]"
        ) from error
    return pyplot


def axes(ax: Any, width: float = 5.6, height: float = 3.8) -> Any:
    """The given Axes, or those of a new figure."""
    if ax is not None:
        return ax
    _, ax = pyplot().subplots(figsize=(width, height), layout="constrained")
    return ax


def ink() -> str:
    colour: str = pyplot().rcParams["text.color"]
    return colour


def colours(count: int) -> list[Any]:
    """One for each class."""
    if count <= len(PALETTE):
        return list(PALETTE[:count])
    wheel = pyplot().get_cmap("turbo")
    return [wheel((k + 0.5) / count) for k in range(count)]


def words(label: Any) -> str:
    """A label or name as plain text: no control characters, and a dollar sign starts no formula."""
    shown = str(label).replace("$", r"\$")
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in shown)


def open_frame(ax: Any) -> None:
    ax.spines[["top", "right"]].set_visible(False)
