"""Scale the features of a data file to a range, as svm-scale does.

Test data must be scaled with the range of the training data: save it with -s, restore it with -r.
Features that are constant, or that the restored ranges do not list, are left out. Data without
labels are scaled too. Columns of tables are matched by name.

examples:
  softmargin scale -s ranges train > train.scale
  softmargin scale -r ranges test > test.scale
  softmargin scale -l 0 -u 1 -o train.scale train.csv
"""

from __future__ import annotations

import argparse
import math
from dataclasses import replace
from typing import Any

from softmargin.cli.data_options import (
    DATA_FORMATS,
    add_data_arguments,
    read,
    refuse_to_overwrite,
)
from softmargin.cli.terminal import note


def finite(word: str) -> float:
    try:
        value = float(word)
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise argparse.ArgumentTypeError(f"{word!r} is not a finite number")
    return value


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("data", help=f"the data: {DATA_FORMATS}")
    add("-l", "--lower", type=finite, help="lower end of the range (default: -1)")
    add("-u", "--upper", type=finite, help="upper end of the range (default: 1)")
    add(
        "-y",
        "--scale-target",
        nargs=2,
        type=finite,
        metavar=("LOWER", "UPPER"),
        help="scale the targets too, to this range (default: leave them)",
    )
    either = parser.add_mutually_exclusive_group()
    either.add_argument("-s", "--save", metavar="FILE", help="write the ranges to this file")
    either.add_argument("-r", "--restore", metavar="FILE", help="use the ranges of this file")
    add(
        "-o",
        "--output",
        default="-",
        help="where to write the scaled data; the suffix decides the format (default: LIBSVM text"
        " to standard output)",
    )
    add_data_arguments(parser)


def run(args: argparse.Namespace) -> int:
    from softmargin.io.data.formats import write_data
    from softmargin.io.data.ranges import read_range, write_range

    refuse_to_overwrite([args.data, args.restore], [args.save, args.output])
    known = read_range(args.restore) if args.restore else None
    names = known.names if known else ()
    needed = args.scale_target is not None
    data = read(args, args.data, target_is_needed=needed, features=names or None)
    scale = _restored(args, data, known) if known else _fitted(args, data)
    if args.save:
        write_range(args.save, replace(scale, names=data.feature_names))
    y = scale.target.apply(data.y) if scale.target and data.y is not None else data.y
    scaled = scale.apply(data.X)
    write_data(args.output, scaled, y, feature_names=data.feature_names)
    if scaled.nnz > 2 * getattr(data.X, "nnz", scaled.nnz):
        note(
            f"{data.X.nnz} entries became {scaled.nnz}: zeros are scaled too. Use -l 0 if the"
            " features are not negative and mostly zero."
        )
    return 0


def _fitted(args: argparse.Namespace, data: Any) -> Any:
    from softmargin.io.data.ranges import Range, TargetRange

    lower = -1.0 if args.lower is None else args.lower
    upper = 1.0 if args.upper is None else args.upper
    if not lower < upper:
        raise ValueError(f"--lower {lower:g} must be less than --upper {upper:g}.")
    scale = Range.of(data.X, lower, upper)
    if args.scale_target is None:
        return scale
    lower, upper = args.scale_target
    y = data.y
    if y.dtype.kind not in "fiub" or y.min() == y.max() or not lower < upper:
        raise ValueError(
            f"{args.data}: targets can be scaled if they are numbers that are not all the same, to"
            f" a range whose lower end is below the upper; this is {lower:g} to {upper:g}."
        )
    return replace(scale, target=TargetRange(lower, upper, float(y.min()), float(y.max())))


def _restored(args: argparse.Namespace, data: Any, scale: Any) -> Any:
    if data.feature_names and not scale.names:
        note(
            f"columns are matched by position: {args.restore} does not have the names of the"
            " columns that it was made of."
        )
    target = (scale.target.lower, scale.target.upper) if scale.target else None
    given = {
        "--lower": (args.lower, scale.lower),
        "--upper": (args.upper, scale.upper),
        "--scale-target": (args.scale_target and tuple(args.scale_target), target),
    }
    ignored = [name for name, (ours, its) in given.items() if ours not in (None, its)]
    if ignored:
        note(f"ignored: {', '.join(ignored)}; {args.restore} says how to scale")
    unknown = scale.unknown(data.X)
    if unknown:
        some = ", ".join(map(str, unknown[:8])) + (", ..." if len(unknown) > 8 else "")
        note(f"left out: features that {args.restore} does not know or that were constant: {some}")
    return scale
