"""The parser of the command: help that fits the terminal, errors in three lines."""

from __future__ import annotations

import argparse
import re
import sys
import textwrap
from collections.abc import Iterable
from difflib import get_close_matches
from typing import Any, NoReturn

from softmargin.cli.terminal import columns, has_colours, is_terminal, message, painted, say

USAGE = 2
DID_YOU_MEAN = "; did you mean "
"""Separates the tip from the error in the messages of converters."""
NUMBERS = {"int": "whole number", "float": "number"}
_INVALID_CHOICE = re.compile(r"invalid choice: '(.*)' \(choose from (.*)\)")
_INVALID_NUMBER = re.compile(r"invalid (int|float) value: ('.*')")
_HEADING = re.compile(r"^(?!usage)(\S[^\n:]*):$|^(usage|exit codes):", re.M)
_OPTION = re.compile(r"(?<![\w-])--?[a-zA-Z][\w-]*")


class Parser(argparse.ArgumentParser):
    """Its errors have up to three lines: what is wrong, a tip, and where to read more."""

    def __init__(self, **options: Any) -> None:
        if sys.version_info >= (3, 14):
            options.setdefault("color", False)  # our own colours work in all Python versions
        super().__init__(formatter_class=Help, allow_abbrev=False, **options)

    def error(self, text: str) -> NoReturn:
        choice = _INVALID_CHOICE.search(text)
        tip = closest(choice[1], re.findall(r"[\w-]+", choice[2])) if choice else ""
        text, _, meant = text.partition(DID_YOU_MEAN)
        text = _INVALID_NUMBER.sub(lambda m: f"{m[2]} is not a {NUMBERS[m[1]]}", text)
        self.fail(text, tip or meant.removesuffix("?"))

    def fail(self, text: str, tip: str = "") -> NoReturn:
        message("error", text, self.prog)
        if tip:
            message("tip", f"did you mean {tip}?")
        say(f"{self.prog} --help says how it is used", file=sys.stderr)
        raise SystemExit(USAGE)

    def print_help(self, file: Any = None) -> None:
        stream = sys.stdout if file is None else file
        text = self.format_help()
        print(_coloured(text, stream) if has_colours(stream) else text, end="", file=stream)


def closest(word: str, names: Iterable[str]) -> str:
    """The name that was probably meant, or ""."""
    matches = get_close_matches(word, list(names), 1, 0.65)
    return matches[0] if matches else ""


def _coloured(text: str, stream: Any) -> str:
    usage, gap, rest = text.partition("\n\n")
    rest = _OPTION.sub(lambda m: painted(m[0], "option", stream), rest)
    return _HEADING.sub(lambda m: painted(m[0], "heading", stream), usage + gap + rest)


class Help(argparse.HelpFormatter):
    """Wraps the paragraphs of a docstring to the terminal's width but keeps indented lines."""

    def __init__(self, prog: str, **options: Any) -> None:
        width = columns(sys.stdout) - 2 if is_terminal(sys.stdout) else None
        super().__init__(prog, max_help_position=26, width=width, **options)

    def _fill_text(self, text: str, width: int, indent: str) -> str:
        return "\n\n".join(
            part if "\n  " in part else "\n".join(self._split_lines(part, width))
            for part in text.strip().split("\n\n")
        )

    def _split_lines(self, text: str, width: int) -> list[str]:
        """Does not break at hyphens: svm-train is one word."""
        return textwrap.wrap(" ".join(text.split()), width, break_on_hyphens=False)
