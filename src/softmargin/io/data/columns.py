"""Which columns of a table are features and which is the target, by their names."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any

from softmargin.io.file_error import FileError

TARGET_NAMES = ("label", "target", "y", "class")
SHOWN = 40
"""The largest number of column names listed in a message; a table may have thousands."""


@dataclass(frozen=True)
class Wanted:
    """Which columns of a table to read.

    Parameters
    ----------
    target : str or None
        The target column: its name or, if no column has that name, its position (1 is the first,
        -1 the last).
    usual_target : str or None
        The target column of the training data, which may be missing here.
    features : tuple of str or None
        The features, in this order; by default every column except the target, in file order.
    ignore : tuple of str
        Columns that are neither feature nor target.
    target_is_needed : bool
        Whether a table without a target is an error.
    """

    target: str | None = None
    usual_target: str | None = None
    features: tuple[str, ...] | None = None
    ignore: tuple[str, ...] = ()
    target_is_needed: bool = True


@dataclass(frozen=True)
class Choice:
    """The positions of the chosen columns, and notes for the user."""

    names: tuple[str, ...]
    features: tuple[int, ...]
    target: int | None
    notes: tuple[str, ...] = ()

    @property
    def feature_names(self) -> tuple[str, ...]:
        return tuple(self.names[k] for k in self.features)

    @property
    def target_name(self) -> str | None:
        return None if self.target is None else self.names[self.target]


def choose_columns(path: Any, names: list[str], wanted: Wanted) -> Choice:
    """Applies `wanted` to the column names; FileError if a requested column does not exist."""
    for name in wanted.ignore:
        if name not in names:
            raise _missing(path, names, f"a column {name!r} to ignore", name)
    target = _target_column(path, names, wanted)
    if wanted.features is not None:
        return _named_features(path, names, wanted, target)
    features = [k for k, name in enumerate(names) if k != target and name not in wanted.ignore]
    _refuse_twice(path, names, [names[k] for k in features])
    return Choice(tuple(names), tuple(features), target)


def _refuse_twice(path: Any, names: list[str], features: Sequence[str]) -> None:
    counts = Counter(names)
    for name in features:
        if counts[name] > 1:
            raise FileError(
                path,
                f"one column {name!r}, not {counts[name]}: columns are told apart by their names"
                f" (rename them, or leave them out with --ignore {shell_word(name)})",
                line=1,
            )


def _named_features(path: Any, names: list[str], wanted: Wanted, target: int | None) -> Choice:
    features = wanted.features or ()
    missing = [name for name in features if name not in names]
    if missing:
        raise FileError(
            path,
            f"the columns of the training data; missing: {listed(missing)};"
            f" the columns are {listed(names)}",
            line=1,
        )
    _refuse_twice(path, names, features)
    known = {*features, *wanted.ignore}
    ignored = [name for k, name in enumerate(names) if k != target and name not in known]
    note = f"ignored: {listed(ignored)}: not in the training data" if ignored else ""
    return Choice(tuple(names), tuple(map(names.index, features)), target, (note,) if note else ())


def _target_column(path: Any, names: list[str], wanted: Wanted) -> int | None:
    if wanted.target is not None:
        return _asked_for(path, names, wanted)
    if wanted.usual_target in names and wanted.usual_target not in (None, *wanted.ignore):
        return names.index(wanted.usual_target)
    features = wanted.features or ()
    likely = [
        k
        for k, name in enumerate(names)
        if name.strip().lower() in TARGET_NAMES and name not in (*features, *wanted.ignore)
    ]
    if len(likely) == 1:
        return likely[0]
    if not wanted.target_is_needed and not likely:
        return None
    last = names[-1]
    raise FileError(
        path,
        f"one column called label, target, y or class, or --target {shell_word(last)} (--target -1"
        f" is the last column; in Python target=...); the columns are {listed(names)}",
        line=1,
    )


def _asked_for(path: Any, names: list[str], wanted: Wanted) -> int:
    target = str(wanted.target)
    if target in names:
        return names.index(target)
    if re.fullmatch(r"-?[1-9]\d{0,6}", target):
        position = int(target) - 1 if int(target) > 0 else len(names) + int(target)
        if 0 <= position < len(names):
            return position
    without = "" if wanted.target_is_needed else "; without --target there is no score"
    raise _missing(path, names, f"a column {target!r}{without}", target)


def _missing(path: Any, names: list[str], expected: str, name: str) -> FileError:
    likely = get_close_matches(name, names, 1, 0.6)
    meant = f" (did you mean {likely[0]!r}?)" if likely else ""
    ordered = [*likely, *(name for name in names if name not in likely)]
    return FileError(path, f"{expected}{meant}; the columns are {listed(ordered)}", line=1)


def listed(names: Any) -> str:
    some = [name if name.strip() else repr(name) for name in list(names)[:SHOWN]]
    more = f", ... ({len(names)} in all)" if len(names) > SHOWN else ""
    return ", ".join(some) + more


def shell_word(name: str) -> str:
    from shlex import quote

    return quote(name)
