"""Pieces of HTML."""

from __future__ import annotations

import html
import math
from collections.abc import Iterable, Sequence
from typing import Any


def text(value: Any) -> str:
    """Text escaped for HTML, with control characters made visible."""
    shown = "".join(
        c if c.isprintable() else c.encode("unicode_escape").decode() for c in str(value)
    )
    return html.escape(shown)


def number(value: Any, digits: int = 4) -> str:
    """A number for reading: integers with commas, others with this many digits."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return text(value)
    if isinstance(value, int) or (
        math.isfinite(value) and value == int(value) and abs(value) < 1e15
    ):
        return f"{int(value):,}"
    return f"{value:,.{digits}g}" if math.isfinite(value) else str(value)


def facts(rows: Iterable[tuple[str, str]]) -> str:
    """A table of names and values; the values are HTML."""
    lines = [f"<tr><th scope=row>{text(name)}</th><td>{value}</td></tr>" for name, value in rows]
    return f"<table class=facts>{''.join(lines)}</table>"


def table(heads: Sequence[str], rows: Iterable[Sequence[str]], name: str = "numbers") -> str:
    """A table with a header row; cells are HTML, and the first cell of each row is its header."""
    top = "".join(f"<th scope=col>{text(head)}</th>" for head in heads)
    lines = [
        f"<tr><th scope=row>{first}</th>{''.join(f'<td>{cell}</td>' for cell in cells)}</tr>"
        for first, *cells in rows
    ]
    return (
        f"<div class=wide><table class={name}><thead><tr>{top}</tr></thead>"
        f"<tbody>{''.join(lines)}</tbody></table></div>"
    )


def section(title: str, *parts: str) -> str:
    return f"<section><h2>{text(title)}</h2>{''.join(parts)}</section>"


def note(words: str) -> str:
    return f"<p class=note>{text(words)}</p>"


def tiles(**values: str) -> str:
    """A row of large figures with their names; the values are HTML."""
    cells = [
        f"<div><b>{value}</b><span>{text(name.replace('_', ' '))}</span></div>"
        for name, value in values.items()
    ]
    return f"<div class=tiles>{''.join(cells)}</div>"
