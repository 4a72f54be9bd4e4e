"""The header of LIBSVM's and LIBLINEAR's model files: ``key value value ...`` per line."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any, NoReturn, TypeVar

from softmargin.io.file_error import FileError

T = TypeVar("T")


@dataclass
class Header:
    """The line number of each key and the words that follow it."""

    path: Any
    lines: dict[str, tuple[int, list[tuple[int, str]]]] = field(default_factory=dict)
    length: int = 0
    """Number of lines, including the one that ended the header."""

    @classmethod
    def read(cls, stream: Any, path: Any, keys: Iterable[str], end: str) -> Header:
        """Reads up to the line that consists of `end`."""
        header = cls(path)
        known = set(keys)
        for raw in stream:
            header.length += 1
            text = raw.decode("latin-1").rstrip("\r\n")
            words = [(match.start() + 1, match.group()) for match in re.finditer(r"\S+", text)]
            if not words:
                header._fail("a line of the header", "", header.length, 1)
            (column, key), values = words[0], words[1:]
            if key == end:
                return header
            if key not in known:
                header._fail(f"{', '.join(sorted(known))} or {end}", key, header.length, column)
            if key in header.lines:
                header._fail(f"{key} only once", key, header.length, column)
            header.lines[key] = (header.length, values)
        raise FileError(path, f"the line {end}", found="", line=header.length + 1)

    def _fail(self, expected: str, found: str, line: int, column: int | None) -> NoReturn:
        raise FileError(self.path, expected, found=found, line=line, column=column)

    def __contains__(self, key: str) -> bool:
        return key in self.lines

    def values(
        self, key: str, convert: Callable[[str], T], what: str, count: int | None = None
    ) -> list[T]:
        """The words after a key, converted; `what` describes a valid word in error messages."""
        if key not in self.lines:
            raise FileError(self.path, f"a line {key} in the header (before line {self.length})")
        line, words = self.lines[key]
        if count is not None and len(words) != count:
            self._fail(f"{count} x {what} after {key}", f"{len(words)} values", line, None)
        converted = []
        for column, word in words:
            try:
                converted.append(convert(word))
            except ValueError:
                self._fail(f"{what} after {key}", word, line, column)
        return converted

    def value(self, key: str, convert: Callable[[str], T], what: str) -> T:
        return self.values(key, convert, what, 1)[0]

    def require(self, key: str, true: bool, expected: str) -> None:
        """Raises FileError about the values of a key unless `true`."""
        if not true:
            line, words = self.lines[key]
            self._fail(expected, " ".join(word for _, word in words[:8]), line, words[0][0])


def finite(word: str) -> float:
    if not re.fullmatch(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", word):
        raise ValueError
    value = float(word)
    if not math.isfinite(value):
        raise ValueError
    return value


def whole(word: str) -> int:
    """An integer that fits in 64 bits."""
    if not re.fullmatch(r"[+-]?\d{1,19}", word) or not -(2**63) <= int(word) < 2**63:
        raise ValueError
    return int(word)


def count(word: str) -> int:
    """A count of any size: nothing is allocated for it before the counted items are read."""
    if not re.fullmatch(r"\d{1,19}", word):
        raise ValueError
    return int(word)


def one_of(names: Iterable[str]) -> Callable[[str], str]:
    accepted = set(names)

    def convert(word: str) -> str:
        if word not in accepted:
            raise ValueError
        return word

    return convert
