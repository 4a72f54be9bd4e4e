"""Options and functions shared by the sub-commands that read data."""

from __future__ import annotations

import argparse
import json
import math
import os
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from softmargin.cli.terminal import note

if TYPE_CHECKING:
    from softmargin.io.data.formats import Data

MODEL_FORMATS = ("native", "libsvm", "liblinear")
DATA_FORMATS = (
    "LIBSVM text, .csv with a header, .npz or .parquet; text and CSV may be .gz, .bz2, .xz or"
    " .zst; - is standard input"
)


def add_data_arguments(parser: argparse.ArgumentParser) -> None:
    table = parser.add_argument_group("tables (.csv, .parquet)")
    table.add_argument(
        "--target",
        metavar="COLUMN",
        help="the column with the targets, by its name or its position (1 is the first, -1 the"
        " last) (default: the one called label, target, y or class)",
    )
    table.add_argument(
        "--ignore",
        metavar="COLUMN",
        action="append",
        default=[],
        help="a column that is not a feature; may be given several times",
    )


def add_json_argument(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--json", action="store_true", help="print the results as JSON")


def read(args: argparse.Namespace, path: Any, **options: Any) -> Data:
    """The data of a file; notes about it go to standard error."""
    from softmargin.io.data.formats import read_data
    from softmargin.io.file_error import name_of

    path, kind = opened(path)
    data = read_data(path, target=args.target, ignore=args.ignore, kind=kind, **options)
    for text in data.notes:
        note(text)
    if data.X.shape[0] == 0:
        raise ValueError(f"{name_of(path)}: there are no rows.")
    return data


def is_blocks(path: Any) -> bool:
    """Whether it is a folder; a folder with anything but blocks is refused by its reader."""
    return isinstance(path, str) and os.path.isdir(path)


def blocks_of(args: argparse.Namespace) -> Data:
    """The blocks of a folder, with the targets of all."""
    from softmargin.io.data.block_folder import BlockFolder
    from softmargin.io.data.formats import Data

    if args.target is not None or args.ignore:
        raise ValueError(
            f"--target and --ignore choose columns of a table; {args.data} has blocks already."
        )
    folder = BlockFolder(args.data)
    names = folder.feature_names
    return Data(folder, folder.targets(), names, target_name=folder.target_name)


def opened(path: Any) -> tuple[Any, str | None]:
    """A file to read, and the suffix of its format.  Standard input, which has no name, is a table
    if its first line has commas and no colon, else LIBSVM text."""
    from softmargin.io.streams import Named, reading

    if hasattr(path, "getvalue"):  # standard input that is kept, because it is read twice
        return path, _kind_of_stream(path.getvalue()[:4096])
    if path != "-":
        return path, None
    buffer: Any = getattr(sys.stdin, "buffer", None)
    if hasattr(buffer, "peek") and not _kind_of_stream(buffer.peek(4096)):
        return path, ""
    with reading(path) as stream:
        content = stream.read()
    return Named(content, path), _kind_of_stream(content[:4096])


def _kind_of_stream(start: bytes) -> str:
    line = start.partition(b"\n")[0]
    return ".csv" if b"," in line and b":" not in line else ""


def refuse_to_overwrite(inputs: Sequence[str | None], outputs: Sequence[str | None]) -> None:
    """Raises ValueError if an output is the same file as an input or as another output, perhaps
    under a different name: the earlier content would be lost."""
    before = [path for path in inputs if path is not None]
    for output in (path for path in outputs if path is not None):
        for other in before:
            if _same_file(other, output):
                what = "an input" if other in inputs else "another output"
                same = "it" if other == output else f"it is the same file as {other}, which"
                raise ValueError(
                    f"{output} would be overwritten: {same} is {what}. Name another file."
                )
        before.append(output)


def _same_file(a: str, b: str) -> bool:
    """Files that do not exist yet are compared by name.  A device is never the same file: it may
    be both read and written."""
    if os.path.isfile(a) and os.path.isfile(b):
        return os.path.samefile(a, b)
    if os.path.exists(a) or os.path.exists(b) or "-" in (a, b):
        return False
    return os.path.realpath(a) == os.path.realpath(b)


def as_json(value: Any) -> str:
    """`value` as JSON; infinity and NaN, which JSON does not have, become null."""
    return json.dumps(_finite(value), allow_nan=False)


def _finite(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _finite(one) for key, one in value.items()}
    if isinstance(value, list):
        return [_finite(one) for one in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
