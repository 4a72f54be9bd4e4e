"""Convert a model or a data file to another format; the names say which.

Models: .softmargin is softmargin's own format, anything else LIBSVM's text, or LIBLINEAR's for a
linear machine. Data: .csv, .npz and .parquet, anything else LIBSVM's text; a compressed file has a
second suffix, as in data.csv.gz.

--to blocks writes data to a folder of blocks. Linear machines train on such a folder, and predict
its rows, without holding all of it in memory.

examples:
  softmargin convert heart_scale.model heart_scale.softmargin
  softmargin convert train.csv train.svm.gz
  softmargin convert --to blocks --float32 large.svm.gz large.blocks
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

from softmargin.cli.data_options import (
    MODEL_FORMATS,
    add_data_arguments,
    add_json_argument,
    as_json,
    read,
    refuse_to_overwrite,
)
from softmargin.cli.terminal import note, say


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("input", help="a model or a data file")
    add("output", help="where to write it")
    add(
        "--format",
        choices=MODEL_FORMATS,
        help="format of a model, whatever its name",
    )
    add("--to", choices=("blocks",), help="write data to a folder of blocks (output)")
    add(
        "--block-size",
        type=float,
        metavar="MB",
        help="size of a block in memory; training holds two blocks in memory (default: 100)",
    )
    add(
        "--float32",
        action="store_true",
        help="store the values of blocks in float32, half the size",
    )
    add("--zero-based", action="store_true", help="indices of LIBSVM text count from 0")
    add_json_argument(parser)
    add_data_arguments(parser)


def run(args: argparse.Namespace) -> int:
    refuse_to_overwrite([args.input], [args.output])
    what = _converted(args)
    if args.json:
        # Standard output must hold nothing but the converted file.
        out = sys.stderr if args.output == "-" else sys.stdout
        say(as_json({"output": args.output, **what}), file=out)
    elif args.output != "-":
        say(f"{args.output}: " + ", ".join(f"{k} {v}" for k, v in what.items()), hanging=2)
    return 0


def _converted(args: argparse.Namespace) -> dict[str, object]:
    if _is_model(args.input):
        if args.to:
            raise ValueError(f"--to blocks is for data; {args.input} is a model.")
        return _convert_model(args)
    if args.to:
        return _convert_to_blocks(args)
    for option, given in {"--block-size": args.block_size, "--float32": args.float32}.items():
        if given:
            raise ValueError(f"{option} is for --to blocks.")
    return _convert_data(args)


def _convert_to_blocks(args: argparse.Namespace) -> dict[str, object]:
    from softmargin.cli.data_options import opened
    from softmargin.io.data.to_blocks import BLOCK_SIZE, convert_to_blocks

    if args.format:
        raise ValueError(f"--format is for models; {args.input} is data.")
    if args.block_size is not None and not args.block_size > 0:
        raise ValueError(f"--block-size {args.block_size:g} must be positive.")
    path, kind = opened(args.input)
    folder = convert_to_blocks(
        path,
        args.output,
        size=BLOCK_SIZE if args.block_size is None else int(max(args.block_size * 1e6, 1)),
        dtype="float32" if args.float32 else "float64",
        target=args.target,
        ignore=args.ignore,
        zero_based=args.zero_based,
        kind=kind,
        on_note=note,
    )
    return {"blocks": len(folder), "rows": folder.shape[0], "features": folder.shape[1]}


def _is_model(path: str) -> bool:
    from softmargin.io.models.formats import format_of
    from softmargin.io.streams import suffix_within

    if suffix_within(path) in (".csv", ".npz", ".parquet") or path == "-":
        return False
    try:
        format_of(path)
    except ValueError:
        return Path(path).suffix in (".model", ".softmargin")
    return True


def _convert_model(args: argparse.Namespace) -> dict[str, object]:
    from softmargin.io.models.formats import format_for_name, read_any_model, write_any_model

    record = read_any_model(args.input, mmap=False)
    format = args.format or format_for_name(args.output, record)
    if record.scale is not None and format != "native":
        _write_range(args, record)
    write_any_model(args.output, record, format)
    return {"format": format, "machine": record.kind}


def _write_range(args: argparse.Namespace, record: Any) -> None:
    """Writes the scaling to a range file next to the model: only softmargin's own format lets the
    machine scale its features itself."""
    from softmargin.io.data.ranges import write_range

    if args.output == "-":
        raise ValueError(
            "the machine scales its features itself: name a file, so that their ranges can be"
            " written next to it."
        )
    name = f"{args.output}.range"
    refuse_to_overwrite([args.input], [name])
    write_range(name, record.scale)
    del record.attributes["_scaling"]
    note(f"the machine needs scaled data: softmargin scale -r {name} DATA > DATA.scale")


def _convert_data(args: argparse.Namespace) -> dict[str, object]:
    from softmargin.io.data.formats import write_data

    if args.format:
        raise ValueError(f"--format is for models; {args.input} is data.")
    data = read(args, args.input, zero_based=args.zero_based, target_is_needed=False)
    write_data(args.output, data.X, data.y, feature_names=data.feature_names)
    return {"rows": data.X.shape[0], "features": data.X.shape[1]}
