"""The error for a broken file: what is wrong, and where."""

from __future__ import annotations

import os
from typing import Any


class FileError(ValueError):
    """A file that cannot be used: which one, where in it, what was found, what was expected.

    Attributes
    ----------
    path, line, column : where; line and column count from 1 and are None if they do not apply.
    found, expected : str or None
    """

    def __init__(
        self,
        path: Any,
        expected: str,
        *,
        found: str | bytes | None = None,
        line: int | None = None,
        column: int | None = None,
    ) -> None:
        self.path = name_of(path)
        self.line, self.column = line, column
        self.found = found.decode("utf-8", "replace") if isinstance(found, bytes) else found
        self.expected = expected
        super().__init__(str(self))

    def __str__(self) -> str:
        where = [self.path]
        if self.line is not None:
            where.append(f"line {self.line}")
        if self.column is not None:
            where.append(f"column {self.column}")
        return f"{', '.join(where)}: {self.message}"

    @property
    def message(self) -> str:
        """What was found and what was expected, without the location."""
        if self.found is None:
            return f"expected {self.expected}"
        return f"found {shown(self.found)}, expected {self.expected}"

    def __reduce__(self) -> Any:
        return _rebuild, (self.path, self.expected, self.found, self.line, self.column)


def _rebuild(
    path: str, expected: str, found: str | None, line: int | None, column: int | None
) -> FileError:
    return FileError(path, expected, found=found, line=line, column=column)


def name_of(path: Any) -> str:
    """The name of a file or a stream in messages."""
    if isinstance(path, (str, os.PathLike)):
        text = os.fspath(path)
        return text if isinstance(text, str) else os.fsdecode(text)
    name = getattr(path, "name", None)
    return name if isinstance(name, str) else f"<{type(path).__name__}>"


def shown(text: str) -> str:
    """A piece of a file as messages show it: quoted, printable and short."""
    if not text:
        return "nothing"
    short = text if len(text) <= 40 else text[:37] + "..."
    return repr(short)
