"""Train a machine on a data file and write its model, as svm-train does.

The model is written in LIBSVM's text format, which svm-predict reads too (a linear machine: in
LIBLINEAR's), or in softmargin's own format. softmargin's own format also keeps the certificate, and
the names of the columns, by which predict matches them. It is used if the name of the model ends in
.softmargin. Unless the name ends in .model, it is also used for .csv and .parquet files, and for
classes that are words.

If all options are svm-train's short ones (-c 10 -g 0.5), the report ends with svm-train's lines.

examples:
  softmargin train heart_scale                    # writes heart_scale.model
  softmargin train -c 10 -g 0.5 -v 5 heart_scale  # cross-validation, 5 folds
  softmargin train -s epsilon-svr -t linear --target price houses.csv
  softmargin train --linear weston-watkins news.svm.gz news.model
  softmargin train --time-limit 60 --save-on-interrupt large.svm.gz
  softmargin train --linear one-vs-rest large.blocks  # of convert --to blocks
"""

from __future__ import annotations

import argparse
import re
import sys
from pathlib import Path
from typing import Any

from softmargin.cli import INTERRUPTED, OK
from softmargin.cli.data_options import (
    DATA_FORMATS,
    MODEL_FORMATS,
    add_data_arguments,
    add_json_argument,
    as_json,
    blocks_of,
    is_blocks,
    read,
    refuse_to_overwrite,
)
from softmargin.cli.machine_options import add_machine_arguments, make_machine, respell, seed
from softmargin.cli.progress import Progress
from softmargin.cli.terminal import note, say

__all__ = ["add_arguments", "respell", "run"]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("data", help=f"the training data: {DATA_FORMATS}; with --linear also a folder of blocks")
    add(
        "model",
        nargs="?",
        help="where to write the model (default: in the current folder, the data's name + .model,"
        " or + .softmargin if that is the format)",
    )
    add_machine_arguments(parser)
    add(
        "-v",
        "--cross-validate",
        type=int,
        metavar="FOLDS",
        help="cross-validate instead of writing a model",
    )
    add(
        "--seed", type=seed, default=0, help="seed of the folds and of linear machines (default: 0)"
    )
    add(
        "--time-limit",
        type=float,
        metavar="SECONDS",
        help="stop after this time and keep the model reached so far",
    )
    add("--save-on-interrupt", action="store_true", help="on Ctrl-C, write the current model")
    add(
        "--format",
        choices=MODEL_FORMATS,
        help="format of the model, whatever its name",
    )
    add("-q", "--quiet", action="store_true", help="print nothing but errors")
    add_json_argument(parser)
    add_data_arguments(parser)


def run(args: argparse.Namespace) -> int:
    from softmargin.cli.examples import training_examples
    from softmargin.cli.wording import spoken
    from softmargin.io.models.formats import write_any_model
    from softmargin.io.models.record import Record
    from softmargin.io.streams import check_target

    if args.cross_validate is not None:
        _refuse_options_of_a_model(args)
    elif args.model:
        refuse_to_overwrite([args.data], [args.model])
        check_target(args.model)
    data = _read(args)
    examples = training_examples(args, data)
    machine = make_machine(args, examples.y)
    if args.cross_validate is not None:
        return _cross_validate(args, machine, examples)
    names = {} if args.kernel == "precomputed" else names_of(data)
    model, format = _place(args, machine, examples, names)
    if args.probability == "1" and format == "liblinear":
        raise ValueError(
            f"LIBLINEAR's format has no place for the probabilities of -b 1: {model}. Use"
            " softmargin's format (--format native, or a name that ends in .softmargin)."
        )
    if args.probability == "1" and format == "libsvm" and hasattr(machine, "class_weight"):
        machine.probability = "platt"  # what svm-predict -b 1 computes from the file
    with spoken(args.quiet), Progress(type(machine).__name__, not args.quiet) as progress:
        _fit(args, machine, examples, progress)
    record = examples.with_serials(Record.of(machine))
    record.attributes |= names
    write_any_model(model, record, format)
    _report(args, record, model)
    if not args.quiet and args.kernel != "precomputed" and not is_blocks(args.data):
        _hints(data, model, format)
    return INTERRUPTED if _interrupted(record.attributes["solution_"]) else OK


def _read(args: argparse.Namespace) -> Any:
    """The data of a file, or the blocks of a folder with the targets of all."""
    if not is_blocks(args.data):
        return read(args, args.data, zero_based=args.kernel == "precomputed")
    if not args.linear or args.cross_validate is not None:
        what = "-v" if args.linear else "A machine with a kernel"
        raise ValueError(
            f"{what} needs the data in memory, and {args.data} is a folder of blocks. Use --linear,"
            " without -v."
        )
    return blocks_of(args)


def default_model_name(data: str, format: str) -> str:
    """The data's name + .model, in the current folder, as svm-train does."""
    suffix = ".softmargin" if format == "native" else ".model"
    return (
        f"model{suffix if format == 'native' else ''}"
        if data == "-"
        else (f"{Path(data).name}{suffix}")
    )


def names_of(data: Any) -> dict[str, Any]:
    """The column names of a table, as attributes of the machine that is trained on it."""
    import numpy as np

    if not data.feature_names:
        return {}
    names = np.array(data.feature_names, dtype=object)
    return {"feature_names_in_": names, "_target_name": data.target_name}


def _refuse_options_of_a_model(args: argparse.Namespace) -> None:
    given = {
        "--time-limit": args.time_limit is not None,
        "--save-on-interrupt": args.save_on_interrupt,
        "--format": args.format is not None,
        "-b 1": args.probability == "1",
    }
    for option in (option for option, is_given in given.items() if is_given):
        raise ValueError(f"{option} is for a training that writes a model; -v writes none.")


def _place(
    args: argparse.Namespace, machine: Any, examples: Any, names: dict[str, Any]
) -> tuple[str, str]:
    """The name of the model file and its format.  Raises an error before training, not after, if
    the format cannot hold the model or the file cannot be written."""
    import numpy as np

    from softmargin.io.models.formats import check_format, format_for
    from softmargin.io.models.record import Record
    from softmargin.io.streams import check_target

    # Fractions are not classes; the classifier rejects them later with a better message.
    labels = examples.y[:0] if examples.y.dtype.kind == "f" else examples.y
    attributes = {"classes_": np.unique(labels), **names}
    record = Record(type(machine).__name__, machine.get_params(deep=False), attributes)
    format = args.format or format_for(args.model or "", record)
    model = args.model or default_model_name(args.data, format)
    refuse_to_overwrite([args.data], [model])
    check_target(model)
    check_format(model, record, format)
    return model, format


def _fit(args: argparse.Namespace, machine: Any, examples: Any, progress: Progress) -> None:
    """Trains, shows progress, and stops at the time limit or at Ctrl-C."""
    from softmargin.fitting.progress import Summary

    keep, text_of = args.save_on_interrupt, Summary()

    def show(status: Any) -> None:
        progress.show(text_of(status), status.progress)

    machine.set_params(time_limit=args.time_limit, on_interrupt="keep" if keep else "raise")
    machine.set_params(callbacks=[show])
    try:
        machine.fit(*examples.given)
    except KeyboardInterrupt:
        hint = "" if keep else " (--save-on-interrupt writes the one so far)"
        raise KeyboardInterrupt(f"no model is written{hint}") from None
    finally:
        machine.set_params(callbacks=None)  # not a parameter of the model


def _interrupted(solution: Any) -> bool:
    from softmargin.solution import StopReason

    return any(s.stop_reason is StopReason.INTERRUPTED for s in solution.problems or [solution])


def _report(args: argparse.Namespace, record: Any, model: str) -> None:
    from softmargin.cli.certificate import as_dict, as_lines
    from softmargin.cli.libsvm_lines import svm_train_lines

    out = sys.stderr if model == "-" else sys.stdout  # with "-" the model goes to stdout
    if args.json:
        say(as_json({"model": model, **as_dict(record)}), file=out)
    elif not args.quiet:
        say(*as_lines(record), f"model       {model}", file=out, hanging=12)
        if _in_letters(args.words) and not args.linear:
            say(*svm_train_lines(record), file=out)


def _in_letters(words: list[str]) -> bool:
    """Whether there are options and all are short ones, as with svm-train."""
    letters = [word for word in words if re.fullmatch("-[a-z].*", word)]
    return bool(letters) and not any(word.startswith("--") for word in words)


def _hints(data: Any, model: str, format: str) -> None:
    from softmargin.cli.examples import unscaled

    uneven = unscaled(data)
    if uneven:
        note(f"{uneven} Scale them first (softmargin scale), or use softmargin easy.")
    if data.feature_names and format != "native":
        note(
            f"{model} cannot hold the names of the columns: predict will match them by their"
            " position. Name the model .softmargin to keep them."
        )


def _cross_validate(args: argparse.Namespace, machine: Any, examples: Any) -> int:
    from softmargin.cli.cross_validation import cross_validate, score_lines
    from softmargin.cli.wording import spoken

    with spoken(args.quiet), Progress("folds", not args.quiet) as progress:
        result = cross_validate(machine, examples, args.cross_validate, args.seed, progress.show)
    say(*([as_json(result)] if args.json else score_lines(result)))
    return OK
