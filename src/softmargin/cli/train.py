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
import json
import signal
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from softmargin.cli import INTERRUPTED, OK
from softmargin.cli.data_options import (
    DATA_FORMATS,
    MODEL_FORMATS,
    add_data_arguments,
    add_json_argument,
    note,
    read,
)
from softmargin.cli.machine_options import add_machine_arguments, make_machine, respell
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
    add("--seed", type=int, default=0, help="seed of the folds and of linear machines (default: 0)")
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
    from softmargin.io.streams import check_target

    model = args.model or default_model_name(args.data)
    if args.cross_validate is None:
        check_target(model)
    examples = training_examples(
        args, read(args, args.data, zero_based=args.kernel == "precomputed")
    )
    machine = make_machine(args, examples.y)
    if args.cross_validate is not None:
        return _cross_validate(args, machine, examples)
    with _notes(args.quiet), Progress(not args.quiet) as progress, _limits(args, progress) as state:
        machine.fit(examples.X, examples.y)
        if state["interrupted"] and not args.save_on_interrupt:
            raise KeyboardInterrupt(
                "no model is written (--save-on-interrupt writes the one so far)"
            )
    _write(args, machine, examples, model)
    _report(args, machine, model)
    return INTERRUPTED if state["interrupted"] else OK


def default_model_name(data: str) -> str:
    """The data's name + .model, in the current folder, as svm-train does."""
    return "model" if data == "-" else f"{Path(data).name}.model"


@contextmanager
def _limits(args: argparse.Namespace, progress: Progress) -> Iterator[dict[str, bool]]:
    """Watches the fit: shows its progress, and stops it at the time limit or at Ctrl-C."""
    import time

    from softmargin.solution import StopReason
    from softmargin.training import watched

    start, state = time.perf_counter(), {"interrupted": False}

    def interrupt(*_: Any) -> None:
        state["interrupted"] = True

    def watcher(status: Any, seconds: float) -> StopReason | None:
        progress.show(_standing(status, args), status.progress)
        if state["interrupted"]:
            return StopReason.INTERRUPTED
        over = args.time_limit is not None and time.perf_counter() - start > args.time_limit
        return StopReason.TIME_LIMIT if over else None

    before = signal.signal(signal.SIGINT, interrupt)
    try:
        with watched(watcher):
            yield state
    finally:
        signal.signal(signal.SIGINT, before)


def _standing(status: Any, args: argparse.Namespace) -> str:
    pair = f"pair {status.ended + 1} of {status.problems}, " if status.problems > 1 else ""
    steps = "passes" if args.linear else "iterations"
    measure = f"{status.measure.name} {status.violation:.3g}"
    return f"{pair}{status.iterations} {steps}, {measure}"


@contextmanager
def _notes(quiet: bool) -> Iterator[None]:
    """Warnings as notes on standard error."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        yield
    for warning in caught if not quiet else ():
        note(str(warning.message))


def _write(args: argparse.Namespace, machine: Any, examples: Any, model: str) -> None:
    from softmargin.io.models import format_for, write_any_model
    from softmargin.io.record import Record

    record = examples.with_serials(Record.of(machine))
    write_any_model(model, record, args.format or format_for(model, record))


def _report(args: argparse.Namespace, machine: Any, model: str) -> None:
    from softmargin.cli.certificate import as_dict, as_lines

    if args.json:
        print(json.dumps({"model": model, **as_dict(machine)}))
    elif not args.quiet:
        print(*as_lines(machine), f"model       {model}", sep="\n")


def _cross_validate(args: argparse.Namespace, machine: Any, examples: Any) -> int:
    from softmargin.cli.cross_validation import cross_validate, score_lines

    with _notes(args.quiet), Progress(not args.quiet) as progress:
        result = cross_validate(machine, examples, args.cross_validate, args.seed, progress.show)
    print(json.dumps(result) if args.json else "\n".join(score_lines(result)))
    return OK
