"""What the sub-commands that read data have in common."""

from __future__ import annotations

import argparse
import json
import math
import sys
from contextlib import suppress
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from softmargin.io.data_file import Data

MODEL_FORMATS = ("native", "libsvm", "liblinear")
DATA_FORMATS = (
    "LIBSVM text, .csv with a header, .npz or .parquet; text and CSV may be .gz, .bz2, .xz or"
    " .zst; - is standard input"
)


def add_data_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--target",
        metavar="COLUMN",
        help="column of a .csv or .parquet file with the targets (default: the one called label,"
        " target, y or class)",
    )


def add_json_argument(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--json", action="store_true", help="print the results as JSON")


def read(args: argparse.Namespace, path: Any, **options: Any) -> Data:
    """The data of a file; what is worth a note goes to standard error."""
    from softmargin.io.data_file import read_data
    from softmargin.io.file_error import name_of

    data = read_data(path, target=args.target, **options)
    for message in data.notes:
        note(message)
    if data.X.shape[0] == 0:
        raise ValueError(f"{name_of(path)}: there are no rows.")
    return data


def note(message: str) -> None:
    with suppress(OSError):  # whoever read standard error may have left: no reason to lose a model
        print(f"note: {message}", file=sys.stderr)


def as_json(value: Any) -> str:
    """As JSON, which has no infinity and no NaN: they are null."""
    return json.dumps(_finite(value), allow_nan=False)


def _finite(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _finite(one) for key, one in value.items()}
    if isinstance(value, list):
        return [_finite(one) for one in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
