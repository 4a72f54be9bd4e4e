"""Say what is wrong with a data file, line by line, and what is in it.

Exits with 0 if the file can be used, with 1 if it cannot.

examples:
  softmargin check train.svm
  softmargin check --limit 1000 broken.svm.gz
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import Any

from softmargin.cli import BAD_INPUT, OK
from softmargin.cli.data_options import (
    DATA_FORMATS,
    add_data_arguments,
    add_json_argument,
    as_json,
    opened,
    read,
)
from softmargin.cli.terminal import label_text, say


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("data", help=f"the data: {DATA_FORMATS}")
    add("--limit", type=int, default=20, metavar="N", help="stop after N problems (default: 20)")
    add("--zero-based", action="store_true", help="indices count from 0 (precomputed kernels)")
    add_json_argument(parser)
    add_data_arguments(parser)


def run(args: argparse.Namespace) -> int:
    source = _source(args.data)
    problems = _problems(args, source)
    facts = None
    if not problems:
        options = {"zero_based": args.zero_based, "target_is_needed": False}
        facts = _facts(read(args, source(), **options))
    if args.json:
        say(as_json({"problems": [vars(p) for p in problems], "data": facts}))
    elif facts is not None:
        say(*(f"{name:<12}{text}" for name, text in facts.items()), hanging=12)
    else:
        say(*map(str, problems), hanging=2)
        if len(problems) >= args.limit:
            say(f"stopped after {args.limit} problems (--limit)")
    return BAD_INPUT if problems else OK


def _source(path: str) -> Callable[[], Any]:
    """A function that returns the file, ready to be read from its start, each time it is called.
    Standard input is kept in memory, because it can be read only once."""
    from softmargin.io.streams import Named, reading

    if path != "-":
        return lambda: path
    with reading(path) as stream:
        text = stream.read()
    return lambda: Named(text, path)


def _problems(args: argparse.Namespace, source: Callable[[], Any]) -> list[Any]:
    from softmargin.io.data.columns import Wanted
    from softmargin.io.data.csv_parquet import csv_problems
    from softmargin.io.data.libsvm_text import problems
    from softmargin.io.file_error import FileError
    from softmargin.io.streams import suffix_within

    if args.limit < 1:
        raise ValueError(f"--limit {args.limit} must be 1 or more.")
    path, kind = opened(source())
    kind = suffix_within(path) if kind is None else kind
    if kind == ".csv":
        wanted = Wanted(args.target, ignore=tuple(args.ignore), target_is_needed=False)
        return list(csv_problems(path, wanted, args.limit))
    if kind not in (".npz", ".parquet"):
        zero_based, limit = args.zero_based, args.limit
        return list(problems(path, zero_based=zero_based, limit=limit, labels_are_needed=False))
    try:
        read(args, args.data, target_is_needed=False)
    except FileError as error:
        return [error]
    return []


def _facts(data: Any) -> dict[str, Any]:
    import numpy as np

    X, y = data.X, data.y
    entries = X.nnz if hasattr(X, "nnz") else int(np.count_nonzero(X))
    share = entries / max(X.shape[0] * X.shape[1], 1)
    values = X.data if hasattr(X, "nnz") else X
    facts: dict[str, Any] = {
        "rows": X.shape[0],
        "features": X.shape[1],
        "entries": f"{entries} ({share:.2%} of all)",
    }
    if entries:
        facts["values"] = f"{values.min():g} to {values.max():g}"
    if data.target_name is not None:
        facts["target"] = data.target_name
    if y is None:
        facts["labels"] = "none: these rows can be predicted, not trained on"
        return facts | _hint(data)
    labels, counts = np.unique(y, return_counts=True)
    if len(labels) <= 20:
        pairs = zip(labels.tolist(), counts.tolist(), strict=True)
        facts["labels"] = ", ".join(f"{label_text(label)} ({count})" for label, count in pairs)
    else:
        facts["labels"] = f"{len(labels)} different"
        if y.dtype.kind in "fiu":
            facts["labels"] += f", {y.min():g} to {y.max():g}"
    return facts | _hint(data)


def _hint(data: Any) -> dict[str, str]:
    from softmargin.cli.examples import unscaled

    uneven = unscaled(data)
    return {"hint": f"{uneven} Scale them (softmargin scale)."} if uneven else {}
