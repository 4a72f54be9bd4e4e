"""A machine in one HTML file: what it is, how optimal, and how well it does on given data.

The file is complete in itself: pictures are embedded, and it loads nothing and runs no script.
"""

from __future__ import annotations

from typing import Any

from softmargin.report.page import page
from softmargin.report.sections import SECTIONS
from softmargin.report.subject import Subject


def write_report(path: Any, machine: Any, X: Any = None, y: Any = None, **more: Any) -> None:
    """Writes the report of a fitted machine; if that fails, there is no new file.

    Parameters
    ----------
    path : str or path
    machine : fitted machine
    X, y : examples and their targets, default=None
        What to evaluate the machine on.  A one-class machine needs no y; without X there is no
        evaluation.
    **more : `model` and `data`, `search`
        What to call the machine and the data in the report; and the search that found the machine.
    """
    from softmargin.io.streams import writing

    subject = Subject.of(machine, X, y, **more)
    text = page(subject.title, [section(subject) for section in SECTIONS])
    with writing(path) as stream:
        stream.write(text.encode())
