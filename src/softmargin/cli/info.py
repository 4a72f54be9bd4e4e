"""Say what is in a model file: the machine, its support vectors, and its certificate.

examples:
  softmargin info machine.softmargin
  softmargin info --json heart_scale.model
"""

from __future__ import annotations

import argparse

from softmargin.cli.data_options import add_json_argument, as_json
from softmargin.cli.terminal import say


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("model", help="a model of softmargin, LIBSVM or LIBLINEAR")
    add_json_argument(parser)


def run(args: argparse.Namespace) -> int:
    from softmargin.cli.certificate import as_dict, as_lines
    from softmargin.io.models.formats import format_of, read_any_model

    record, format = read_any_model(args.model), format_of(args.model)
    if args.json:
        say(as_json({"model": args.model, "format": format, **as_dict(record)}))
    else:
        say(f"format      {format}", *as_lines(record), hanging=12)
    return 0
