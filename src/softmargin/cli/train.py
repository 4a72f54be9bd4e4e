"""Train a machine on a data file and write its model, as svm-train does.

The model is written in LIBSVM's text format, which svm-predict reads too, or, if its name ends in
.softmargin, in softmargin's own, with the certificate of how optimal it is. A linear machine is
written in LIBLINEAR's format.

examples:
  softmargin train heart_scale                     # C-SVC, rbf kernel; writes heart_scale.model
  softmargin train -c 10 -g 0.5 -v 5 heart_scale   # cross-validation with 5 folds
  softmargin train --formulation epsilon-svr --kernel linear prices.csv prices.softmargin
  softmargin train --linear weston-watkins news.svm.gz news.model
  softmargin train --time-limit 60 --save-on-interrupt large.svm.gz
"""

from __future__ import annotations

import argparse
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
    read,
)
from softmargin.cli.machine_options import add_machine_arguments, make_machine, respell, seed
from softmargin.cli.progress import Progress

__all__ = ["add_arguments", "respell", "run"]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("data", help=f"the training data: {DATA_FORMATS}")
    add("model", nargs="?", help="where to write the model (default: the data's name + .model)")
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
    add("--time-limit", type=float, metavar="SECONDS", help="stop then, with what is reached")
    add("--save-on-interrupt", action="store_true", help="at Ctrl-C, write the model so far")
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
    from softmargin.io.streams import check_target

    model = args.model or default_model_name(args.data)
    if args.cross_validate is None:
        check_target(model)
    else:
        _refuse_options_of_a_model(args)
    examples = training_examples(
        args, read(args, args.data, zero_based=args.kernel == "precomputed")
    )
    machine = make_machine(args, examples.y)
    if args.cross_validate is not None:
        return _cross_validate(args, machine, examples)
    _check_format(args, machine, examples, model)
    with spoken(args.quiet), Progress(not args.quiet) as progress:
        _fit(args, machine, examples, progress)
    _write(args, machine, examples, model)
    _report(args, machine, model)
    return INTERRUPTED if _interrupted(machine.solution_) else OK


def default_model_name(data: str) -> str:
    """The data's name + .model, in the current folder, as svm-train does."""
    return "model" if data == "-" else f"{Path(data).name}.model"


def _refuse_options_of_a_model(args: argparse.Namespace) -> None:
    given = {
        "--time-limit": args.time_limit is not None,
        "--save-on-interrupt": args.save_on_interrupt,
        "--format": args.format is not None,
    }
    for option in (option for option, is_given in given.items() if is_given):
        raise ValueError(f"{option} is for a training that writes a model; -v writes none.")


def _check_format(args: argparse.Namespace, machine: Any, examples: Any, model: str) -> None:
    """Refuses a format that cannot hold the model before it is trained, not after."""
    import numpy as np

    from softmargin.io.models import check_format, format_for
    from softmargin.io.record import Record

    # Fractions are no classes: a classifier refuses them itself, and says so better.
    labels = examples.y[:0] if examples.y.dtype.kind == "f" else examples.y
    classes = {"classes_": np.unique(labels)}
    record = Record(type(machine).__name__, machine.get_params(deep=False), classes)
    check_format(model, record, args.format or format_for(model, record))


def _fit(args: argparse.Namespace, machine: Any, examples: Any, progress: Progress) -> None:
    """Trains; shows the progress, and stops at the time limit or at Ctrl-C."""
    from softmargin.watching import watched

    keep = args.save_on_interrupt
    machine.set_params(time_limit=args.time_limit, on_interrupt="keep" if keep else "raise")
    try:
        with watched(lambda status, _: progress.show(_standing(status, args), status.progress)):
            machine.fit(examples.X, examples.y)
    except KeyboardInterrupt:
        hint = "" if keep else " (--save-on-interrupt writes the one so far)"
        raise KeyboardInterrupt(f"no model is written{hint}") from None


def _interrupted(solution: Any) -> bool:
    from softmargin.solution import StopReason

    return any(s.stop_reason is StopReason.INTERRUPTED for s in solution.problems or [solution])


def _standing(status: Any, args: argparse.Namespace) -> str:
    pair = f"pair {status.ended + 1} of {status.problems}, " if status.problems > 1 else ""
    steps = "passes" if args.linear else "iterations"
    measure = f"{status.measure.name} {status.violation:.3g}"
    return f"{pair}{status.iterations} {steps}, {measure}"


def _write(args: argparse.Namespace, machine: Any, examples: Any, model: str) -> None:
    from softmargin.io.models import format_for, write_any_model
    from softmargin.io.record import Record

    record = examples.with_serials(Record.of(machine))
    write_any_model(model, record, args.format or format_for(model, record))


def _report(args: argparse.Namespace, machine: Any, model: str) -> None:
    from softmargin.cli.certificate import as_dict, as_lines

    out = sys.stderr if model == "-" else sys.stdout  # there the model is
    if args.json:
        print(as_json({"model": model, **as_dict(machine)}), file=out)
    elif not args.quiet:
        print(*as_lines(machine), f"model       {model}", sep="\n", file=out)


def _cross_validate(args: argparse.Namespace, machine: Any, examples: Any) -> int:
    from softmargin.cli.cross_validation import cross_validate, score_lines
    from softmargin.cli.wording import spoken

    with spoken(args.quiet), Progress(not args.quiet) as progress:
        result = cross_validate(machine, examples, args.cross_validate, args.seed, progress.show)
    print(as_json(result) if args.json else "\n".join(score_lines(result)))
    return OK
