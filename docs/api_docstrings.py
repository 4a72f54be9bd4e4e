"""An extension of griffe, which reads the docstrings for the API reference.

griffe takes the first of ``{"linear", "rbf"} or callable, default="rbf"`` for the default, and
ignores what follows the braces; and it does not know the roles of Sphinx (``:class:`SVC```).
"""

import re
from typing import Any

import griffe

CHOICES = re.compile(r"^(\s*\w+ : )\{([^}]*)\}((?: or [^,\n]+)?)", re.MULTILINE)
ROLE = re.compile(r":(?:mod|class|func|meth|attr):`~?([^`]+)`")


def _alternatives(match: re.Match[str]) -> str:
    """Commas would make a tuple of the choices."""
    choices = re.split(r",? or |, ", f"{match[2]}{match[3]}")
    return match[1] + " | ".join(choice.strip() for choice in choices)


class PlainDocstrings(griffe.Extension):
    def on_object(self, *, obj: Any, **_: Any) -> None:
        if obj.docstring:
            text = CHOICES.sub(_alternatives, obj.docstring.value)
            obj.docstring.value = ROLE.sub(r"`\1`", text)
