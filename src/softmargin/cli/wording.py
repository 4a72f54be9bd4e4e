"""Messages of machines for the command line: options instead of Python's parameters."""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterator
from contextlib import contextmanager

from softmargin.cli.terminal import note
from softmargin.solution import StopReason

OPTIONS = {
    "C": "--cost",
    "cache_size": "--cache-size",
    "class_weight": "--class-weight",
    "gap_tol": "--gap-tol",
    "max_iter": "--max-iter",
    "multi_class": "--multi-class",
    "n_jobs": "--threads",
    "random_state": "--seed",
    "time_limit": "--time-limit",
    "tol": "--tolerance",
    "working_set": "--working-set",
}
"""Parameters whose option has a different name."""

REMEDIES = {
    StopReason.MAX_ITER: "Scale the data first (softmargin scale), or raise --max-iter.",
    StopReason.TIME_LIMIT: "Allow more time (--time-limit) or raise --tolerance.",
    StopReason.INTERRUPTED: "Training cannot continue from a model: it has to start again.",
}
"""Remedies that replace those of the Python interface, which the command line does not have."""

_REFUSED = re.compile(r"The '(\w+)' parameter of \w+ must")
_NAMED = re.compile(rf"\b({'|'.join(name for name in OPTIONS if len(name) > 1)})\b(=?)")


def in_options(text: str) -> str:
    for reason, remedy in REMEDIES.items():
        text = text.replace(reason.remedy, remedy)
    text = _REFUSED.sub(lambda m: f"{OPTIONS.get(m[1], f'--{m[1]}')} must", text)
    return _NAMED.sub(lambda m: OPTIONS[m[1]] + " " * len(m[2]), text)


@contextmanager
def spoken(quiet: bool) -> Iterator[None]:
    """Rewords a machine's errors for the command line, and prints its warnings as notes."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            yield
        except ValueError as error:
            raise ValueError(in_options(str(error))) from error
    for warning in caught if not quiet else ():
        note(in_options(str(warning.message)))
