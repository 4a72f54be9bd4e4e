"""Choose rows of a LIBSVM text file at random, as subset.py does; lines stay as they are.

By default each class keeps its share of the rows.

examples:
  softmargin subset train.svm 1000 > small.svm
  softmargin subset --method random --rest test.svm all.svm 5000 train.svm
"""

from __future__ import annotations

import argparse
from typing import Any

METHODS = ("stratified", "random")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    from softmargin.cli.machine_options import numbered, seed

    add = parser.add_argument
    add("data", help="the data: LIBSVM text, which may be .gz, .bz2, .xz or .zst")
    add("size", type=int, help="number of rows to choose")
    add("output", nargs="?", default="-", help="where to write them (default: standard output)")
    add("rest_output", nargs="?", metavar="rest", help="where to write the other rows")
    add("--rest", metavar="FILE", help="the same as the last argument, as an option")
    add(
        "-s",
        "--method",
        type=numbered(METHODS),
        default="stratified",
        metavar="NAME",
        help="stratified (0) or random (1) (default: stratified)",
    )
    add("--seed", type=seed, default=0, help="seed of the choice (default: 0)")


def run(args: argparse.Namespace) -> int:
    import numpy as np

    from softmargin.cli.data_options import refuse_to_overwrite
    from softmargin.io.data.libsvm_text import read_libsvm
    from softmargin.io.streams import Named, check_target, reading, writing

    rest = args.rest or args.rest_output
    refuse_to_overwrite([args.data], [args.output, rest])
    with reading(args.data) as stream:
        text = stream.read()
    _, labels = read_libsvm(Named(text, args.data))
    if not len(labels):
        raise ValueError(f"{args.data}: there are no rows.")
    if not 0 < args.size <= len(labels):
        raise ValueError(f"size {args.size} must be from 1 to {len(labels)}, the rows of the file.")
    rng = np.random.default_rng(args.seed)
    chosen = np.zeros(len(labels), dtype=bool)
    if args.method == "random":
        chosen[rng.choice(len(labels), args.size, replace=False)] = True
    else:
        chosen[_stratified(labels, args.size, rng)] = True
    lines = _rows_of(text)
    outputs = [(args.output, chosen)]
    if rest:
        outputs.append((rest, ~chosen))
    for path, _ in outputs:
        check_target(path)
    for path, mask in outputs:
        with writing(path) as stream:
            stream.writelines(lines[k] + b"\n" for k in np.flatnonzero(mask))
    return 0


def _rows_of(text: bytes) -> list[bytes]:
    """The lines that hold a row, that is, not only blanks or a comment."""
    lines = (line.rstrip(b"\r") for line in text.split(b"\n"))
    return [line for line in lines if line.partition(b"#")[0].strip(b" \t")]


def _stratified(labels: Any, size: int, rng: Any) -> list[int]:
    """Random rows in the proportions of the classes, rounded so that the counts add up to `size`
    (largest remainder)."""
    import numpy as np

    classes, codes = np.unique(labels, return_inverse=True)
    ideal = np.bincount(codes) * (size / len(labels))
    take = np.floor(ideal).astype(int)
    for k in np.argsort(take - ideal, kind="stable")[: size - take.sum()]:
        take[k] += 1
    chosen: list[int] = []
    for k in range(len(classes)):
        members = np.flatnonzero(codes == k)
        chosen += rng.choice(members, take[k], replace=False).tolist()
    return chosen
