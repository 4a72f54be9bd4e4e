"""Hints for CSV files that cannot be read, or that are probably not read as intended."""

from __future__ import annotations

from typing import Any

import numpy as np

COUNTERS = ("", "id", "index", "row", "no", "nr", "number", "unnamed: 0")
ENOUGH_ROWS = 10


def header_problem(names: list[str]) -> str | None:
    """What is wrong with the first line if it does not hold column names."""
    if len(names) == 1:
        for separator, name, command in ((";", "semicolons", "';'"), ("\t", "tabs", r"'\t'")):
            if separator in names[0]:
                return (
                    f"commas between the fields; these look like {name}"
                    f" (tr {command} ',' replaces them where no number has a decimal comma)"
                )
    if sum(map(is_number, names)) > len(names) / 2:
        example = ",".join([*(f"x{k + 1}" for k in range(min(len(names) - 1, 3))), "..."])
        return (
            "a header with the names of the columns, such as"
            f" {example if len(names) > 4 else example.replace('...', 'label')}; the first line"
            " looks like data"
        )
    return None


def text_column(name: str, has_target: bool) -> str:
    """What the user can do about a feature column that holds text."""
    from softmargin.io.data.columns import shell_word

    word = shell_word(name)
    if has_target:
        return f" (--ignore {word} leaves the column out)"
    return f" (--target {word} if it is the target, --ignore {word} leaves the column out)"


def counting_columns(names: tuple[str, ...], X: Any) -> list[str]:
    """The names of columns that only number the rows."""
    if X.shape[0] < ENOUGH_ROWS:
        return []
    counts = np.arange(X.shape[0])
    return [
        name
        for k, name in enumerate(names)
        if name.strip().lower() in COUNTERS and np.array_equal(X[:, k] - X[0, k], counts)
    ]


def is_number(text: str) -> bool:
    """Whether Python reads the text as a number."""
    try:
        float(text)
    except ValueError:
        return False
    return True
