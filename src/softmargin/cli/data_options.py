"""What the sub-commands that read data have in common."""

from __future__ import annotations

import argparse
import sys
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


def read(args: argparse.Namespace, path: str, **options: Any) -> Data:
    """The data of a file; what is worth a note goes to standard error."""
    from softmargin.io.data_file import read_data

    data = read_data(path, target=args.target, **options)
    for message in data.notes:
        note(message)
    if data.X.shape[0] == 0:
        raise ValueError(f"{path}: there are no rows.")
    return data


def note(message: str) -> None:
    print(f"note: {message}", file=sys.stderr)
