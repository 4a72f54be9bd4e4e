"""Text for a terminal: control characters are escaped, and long lines break at words."""

from __future__ import annotations

import os
import re
import sys
import textwrap
from contextlib import suppress
from typing import Any

COLOURS = {"error": "31;1", "note": "33", "tip": "36", "heading": "1", "option": "36"}

_CONTROLS = re.compile(
    "[\x00-\x1f\x7f-\x9f"  # control characters, including line ends
    "\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069"  # line ends, and marks that reorder text
    "\udc80-\udc9f]"  # bytes of a file name that an 8-bit terminal would take for controls
)


def printable(text: str) -> str:
    r"""`text` on one line; characters that could control a terminal are escaped, as ``\x1b``."""
    return _CONTROLS.sub(_escaped, text)


def _escaped(match: re.Match[str]) -> str:
    code = ord(match[0])
    if code >= 0xDC80:
        return f"\\x{code - 0xDC00:02x}"
    return match[0].encode("unicode_escape").decode("ascii")


def label_text(label: Any) -> str:
    """A label on one line; numbers look as in LIBSVM's output."""
    if isinstance(label, float) and label.is_integer():
        return f"{label:.17g}"
    return printable(str(label))


def say(*lines: str, file: Any = None, hanging: int = 0) -> None:
    """Prints lines with control characters escaped.  On a terminal, long lines are wrapped at
    words, and continuation lines are indented by `hanging` columns."""
    stream = sys.stdout if file is None else file
    if stream is None:  # the shell has closed it
        return
    shown = (wrapped(printable(line), stream, hanging) for line in lines)
    print("\n".join(shown), file=stream)  # one piece: stdout and stderr may be the same terminal


def message(kind: str, text: str, command: str = "") -> None:
    """An error, a note or a tip on standard error."""
    if sys.stderr is None:
        return
    start = f"{command}: {kind}: " if command else f"{kind}: "
    line = wrapped(start + printable(text), sys.stderr, 2)
    coloured = line.replace(f"{kind}:", painted(f"{kind}:", kind, sys.stderr), 1)
    try:
        print(coloured, file=sys.stderr)
    except OSError:  # a closed pipe or a full disk: no reason to lose a model
        discard(sys.stderr)


def discard(stream: Any) -> None:
    """What is still to be written goes nowhere.  Python would otherwise try again when it closes
    the stream, and end with an exit code of its own."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def note(text: str) -> None:
    message("note", text)


def wrapped(line: str, stream: Any, hanging: int) -> str:
    if not is_terminal(stream):
        return line
    width = columns(stream)
    if len(line) < width:
        return line
    return textwrap.fill(
        line,
        width - 1,
        subsequent_indent=" " * hanging,
        break_long_words=False,
        break_on_hyphens=False,
        replace_whitespace=False,
        drop_whitespace=True,
    )


def painted(text: str, kind: str, stream: Any) -> str:
    return f"\x1b[{COLOURS[kind]}m{text}\x1b[0m" if has_colours(stream) else text


def has_colours(stream: Any) -> bool:
    """True on a terminal with colours, unless NO_COLOR (https://no-color.org) is set."""
    plain = os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb"
    old_windows = os.name == "nt" and "WT_SESSION" not in os.environ
    return is_terminal(stream) and not plain and not old_windows


def is_terminal(stream: Any) -> bool:
    try:
        return bool(stream is not None and stream.isatty())
    except ValueError:  # it is closed
        return False


def columns(stream: Any) -> int:
    """The width of the terminal behind this stream; other streams may go elsewhere."""
    with suppress(OSError, ValueError, AttributeError):
        return os.get_terminal_size(stream.fileno()).columns or 80
    return 80
