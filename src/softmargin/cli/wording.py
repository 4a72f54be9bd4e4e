"""What machines say, in the words of the command line: its options, not Python's parameters."""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterator
from contextlib import contextmanager

from softmargin.cli.data_options import note
from softmargin.solution import StopReason

OPTIONS = {
    "C": "--cost",
    "cache_size": "--cache-size",
    "class_weight": "--class-weight",
    "max_iter": "--max-iter",
    "n_jobs": "--threads",
    "random_state": "--seed",
    "time_limit": "--time-limit",
    "tol": "--tolerance",
    "working_set": "--working-set",
}
"""Parameters whose option has another name."""

REMEDIES = {
    StopReason.MAX_ITER: "Scale the data first (softmargin scale), or raise --max-iter.",
    StopReason.TIME_LIMIT: "Allow more time (--time-limit) or raise --tolerance.",
    StopReason.INTERRUPTED: "A training cannot go on from a model: it has to begin anew.",
}
"""Where Python has a remedy that the command line has not."""

_REFUSED = re.compile(r"The '(\w+)' parameter of \w+ must")
_NAMED = re.compile(rf"\b({'|'.join(name for name in OPTIONS if len(name) > 1)})\b(=?)")


def in_options(text: str) -> str:
    for reason, remedy in REMEDIES.items():
        text = text.replace(reason.remedy, remedy)
    text = _REFUSED.sub(lambda m: f"{OPTIONS.get(m[1], f'--{m[1]}')} must", text)
    return _NAMED.sub(lambda m: OPTIONS[m[1]] + " " * len(m[2]), text)


@contextmanager
def spoken(quiet: bool) -> Iterator[None]:
    """Errors of a machine in these words, and its warnings as notes on standard error."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            yield
        except ValueError as error:
            raise ValueError(in_options(str(error))) from error
    for warning in caught if not quiet else ():
        note(in_options(str(warning.message)))
