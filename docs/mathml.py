"""A hook of mkdocs: formulas ($...$ and $$...$$) become MathML, so that no script draws them."""

import html
import re
from typing import Any

from latex2mathml.converter import convert

FORMULA = re.compile(
    r'<(span|div) class="arithmatex">\\([(\[])(.*?)\\[)\]]</\1>',
    re.DOTALL,
)


def on_page_content(content: str, **_: Any) -> str:
    return FORMULA.sub(_mathml, content)


def _mathml(match: re.Match[str]) -> str:
    tag, opening, formula = match.groups()
    display = "block" if opening == "[" else "inline"
    return f'<{tag} class="formula">{convert(html.unescape(formula), display=display)}</{tag}>'
