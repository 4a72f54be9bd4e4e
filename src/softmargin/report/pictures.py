"""Pictures embedded in the page: SVG in the colour of the page's text, light or dark."""

from __future__ import annotations

import io
import re
import warnings
from collections.abc import Callable
from typing import Any

from softmargin.plotting.canvas import BLUE, ORANGE
from softmargin.report.html import text

INK = "#010203"
"""A placeholder for the colour of the page's text, which no picture uses otherwise."""
STYLE: dict[Any, Any] = {
    **dict.fromkeys(("text.color", "axes.edgecolor", "axes.labelcolor"), INK),
    **dict.fromkeys(("xtick.color", "ytick.color"), INK),
    **dict.fromkeys(("figure.facecolor", "axes.facecolor", "legend.facecolor"), "none"),
    **{"svg.fonttype": "none", "font.size": 10.0, "axes.linewidth": 0.7},
}
COLOURS = {INK: "var(--ink)", BLUE: "rgb(var(--blue))", ORANGE: "var(--orange)"}
"""Colours that are lighter on dark paper; the page says what they are."""
NO_MATPLOTLIB = "Pictures need matplotlib: pip install softmargin[plot]"


def available() -> bool:
    from importlib.util import find_spec

    return find_spec("matplotlib") is not None


def picture(
    draw: Callable[[Any], Any], caption: str, *, width: float = 7.0, height: float = 3.4
) -> str:
    """A figure with what `draw` draws into the Axes it is given."""
    if not available():
        return f"<p class=note>{NO_MATPLOTLIB}</p>"
    import matplotlib as mpl
    from matplotlib.backends.backend_svg import FigureCanvasSVG
    from matplotlib.figure import Figure

    stream = io.StringIO()
    # The salt makes the names within one picture differ from those of the others on the page.
    with mpl.rc_context({**STYLE, "svg.hashsalt": caption}), warnings.catch_warnings():
        # The browser draws the text, with its own fonts.
        warnings.filterwarnings("ignore", "Glyph .* missing from font")
        figure = Figure(figsize=(width, height), layout="constrained")
        FigureCanvasSVG(figure)
        draw(figure.add_subplot())
        figure.savefig(stream, format="svg", metadata={"Date": None})
    drawn = _within_html(stream.getvalue(), caption)
    return f"<figure>{drawn}<figcaption>{text(caption)}</figcaption></figure>"


def _within_html(svg: str, caption: str) -> str:
    """An SVG file without the parts that only a separate file needs."""
    svg = svg[svg.index("<svg") :]
    for colour, name in COLOURS.items():
        svg = svg.replace(colour, name)
    svg = re.sub(r"<metadata>.*?</metadata>", "", svg, flags=re.DOTALL)
    svg = re.sub(r' xmlns(:xlink)?="[^"]*"', "", svg)
    svg = re.sub(r'font: [^;"]*?([\d.]+px)[^;"]*', r"font-size: \1", svg)
    return svg.replace("<svg", f'<svg role="img" aria-label="{text(caption)}"', 1)
