"""Convert a model or a data file to another format; the names say which.

Models: .softmargin is softmargin's own format, anything else LIBSVM's text, or LIBLINEAR's for a
linear machine. Data: .csv, .npz and .parquet, anything else LIBSVM's text; a compressed file has a
second suffix, as in data.csv.gz.

examples:
  softmargin convert heart_scale.model heart_scale.softmargin
  softmargin convert train.csv train.svm.gz
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from softmargin.cli.data_options import (
    MODEL_FORMATS,
    add_data_arguments,
    add_json_argument,
    as_json,
    read,
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("input", help="a model or a data file")
    add("output", help="where to write it")
    add(
        "--format",
        choices=MODEL_FORMATS,
        help="format of a model, whatever its name",
    )
    add("--zero-based", action="store_true", help="indices of LIBSVM text count from 0")
    add_json_argument(parser)
    add_data_arguments(parser)


def run(args: argparse.Namespace) -> int:
    what = _convert_model(args) if _is_model(args.input) else _convert_data(args)
    if args.json:
        # What was written to standard output is alone there.
        out = sys.stderr if args.output == "-" else sys.stdout
        print(as_json({"output": args.output, **what}), file=out)
    elif args.output != "-":
        print(f"{args.output}: " + ", ".join(f"{k} {v}" for k, v in what.items()))
    return 0


def _is_model(path: str) -> bool:
    from softmargin.io.models import format_of
    from softmargin.io.streams import suffix_within

    if suffix_within(path) in (".csv", ".npz", ".parquet") or path == "-":
        return False
    try:
        format_of(path)
    except ValueError:
        return Path(path).suffix in (".model", ".softmargin")
    return True


def _convert_model(args: argparse.Namespace) -> dict[str, object]:
    from softmargin.io.models import format_for, read_any_model, write_any_model

    record = read_any_model(args.input, mmap=False)
    format = args.format or format_for(args.output, record)
    write_any_model(args.output, record, format)
    return {"format": format, "machine": record.kind}


def _convert_data(args: argparse.Namespace) -> dict[str, object]:
    from softmargin.io.data_file import write_data

    if args.format:
        raise ValueError(f"--format is for models; {args.input} is data.")
    data = read(args, args.input, zero_based=args.zero_based)
    write_data(args.output, data.X, data.y, feature_names=data.feature_names)
    return {"rows": data.X.shape[0], "features": data.X.shape[1]}
