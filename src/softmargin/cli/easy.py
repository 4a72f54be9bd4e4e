"""Scale, choose C and gamma by cross-validation, train and test, in one go, as easy.py does.

This is the procedure that LIBSVM's guide recommends: a C-SVC with the rbf kernel on features scaled
to [-1, 1], C and gamma from a coarse grid of powers of two by 5-fold cross-validation.
Writes NAME.range, NAME.scale and NAME.model (of the training data), and for test data
NAME.scale and NAME.predict, all in the current folder; where labels are names, no NAME.scale.
The NAME of standard input is data, or test.

examples:
  softmargin easy svmguide1 svmguide1.t
  softmargin easy --log2c -1,9,2 --log2g -5,3,2 train.csv
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from softmargin.cli.data_options import (
    DATA_FORMATS,
    add_data_arguments,
    add_json_argument,
    as_json,
    read,
)
from softmargin.cli.machine_options import seed
from softmargin.cli.progress import Progress


def grid(word: str) -> list[float]:
    """BEGIN,END,STEP as the powers between, both ends included."""
    try:
        begin, end, step = (float(part) for part in word.split(","))
    except ValueError:
        raise argparse.ArgumentTypeError(f"{word!r} is not of the form BEGIN,END,STEP") from None
    count = (end - begin) / step if step else -1
    if not 0 <= count < 1000:
        raise argparse.ArgumentTypeError(f"{word!r}: STEP does not lead from BEGIN to END")
    if max(abs(begin), abs(end)) > 1000:
        raise argparse.ArgumentTypeError(f"{word!r}: powers of two from -1000 to 1000 are possible")
    return [begin + k * step for k in range(int(count + 1e-9) + 1)]


def respell(argv: Sequence[str]) -> list[str]:
    """``--log2c -5,15,2`` as one word: argparse takes the second for an option."""
    spelled: list[str] = []
    for word in argv:
        if spelled and spelled[-1] in ("--log2c", "--log2g"):
            spelled[-1] += f"={word}"
        else:
            spelled.append(word)
    return spelled


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("data", help=f"the training data: {DATA_FORMATS}")
    add("test", nargs="?", help="test data")
    add(
        "--log2c",
        type=grid,
        default="-5,15,2",
        metavar="BEGIN,END,STEP",
        help="log2 of the values of C (default: -5,15,2)",
    )
    add(
        "--log2g",
        type=grid,
        default="3,-15,-2",
        metavar="BEGIN,END,STEP",
        help="log2 of the values of gamma (default: 3,-15,-2)",
    )
    add("-v", "--folds", type=int, default=5, help="folds of cross-validation (default: 5)")
    add(
        "-e",
        "--tolerance",
        type=float,
        default=1e-3,
        help="how much the optimality conditions may be violated (default: 0.001)",
    )
    add("--seed", type=seed, default=0, help="seed of the folds (default: 0)")
    add("-q", "--quiet", action="store_true", help="print nothing but errors")
    add_json_argument(parser)
    add_data_arguments(parser)


def run(args: argparse.Namespace) -> int:
    from softmargin.cli.examples import Examples, as_labels
    from softmargin.io.libsvm_range import Range, write_range

    say = _say(args)
    data, name = read(args, args.data), _name(args.data, "data")
    test = read(args, args.test) if args.test else None  # a broken file is told at once
    scale = Range.of(data.X)
    write_range(f"{name}.range", scale)
    X, written = _scaled(scale, data, f"{name}.scale")
    examples = Examples(X, as_labels(data.y))
    say(f"scaled      {f'{name}.scale, ' if written else ''}ranges in {name}.range")
    best = _search(args, examples)
    say(
        f"best        C={best['C']:g}, gamma={best['gamma']:g}:"
        f" cross-validation accuracy {100 * best['accuracy']:g}%"
    )
    machine = _train(args, examples, best)
    _save(machine, f"{name}.model")
    say(f"model       {name}.model, {len(machine.support_)} support vectors")
    result: dict[str, Any] = {**best, "model": f"{name}.model"}
    if test is not None:
        result["test"] = _test(machine, scale, test, _name(args.test, "test"), say)
    if args.json:
        print(as_json(result))
    return 0


def _name(path: str, of_standard_input: str) -> str:
    return of_standard_input if path == "-" else Path(path).name


def _say(args: argparse.Namespace) -> Callable[[str], None]:
    return (
        (lambda text: None) if args.quiet or args.json else (lambda text: print(text, flush=True))
    )


def _scaled(scale: Any, data: Any, path: str) -> tuple[Any, bool]:
    """The scaled features, and whether they are in a file: LIBSVM's text has no names as labels."""
    from softmargin.io.libsvm_data import write_libsvm

    X = scale.apply(data.X)
    numbers = data.y.dtype.kind in "fiub"
    if numbers:
        write_libsvm(path, X, data.y)
    return X, numbers


def _search(args: argparse.Namespace, examples: Any) -> dict[str, Any]:
    """The point of the grid with the best accuracy; of equal ones, the smallest C."""
    from softmargin import SVC
    from softmargin.cli.cross_validation import cross_predict

    points = [(c, g) for c in sorted(args.log2c) for g in args.log2g]
    best: dict[str, Any] = {"accuracy": -1.0}
    with Progress(not args.quiet) as progress:
        for done, (c, g) in enumerate(points):
            machine = SVC(C=2.0**c, gamma=2.0**g, tol=args.tolerance)
            predicted = cross_predict(machine, examples, args.folds, args.seed, lambda *_: None)
            accuracy = float((predicted == examples.y).mean())
            if accuracy > best["accuracy"]:
                best = {"C": 2.0**c, "gamma": 2.0**g, "accuracy": accuracy}
            text = f"{done + 1} of {len(points)}, best {100 * best['accuracy']:.4g}%"
            progress.show(text, (done + 1) / len(points))
    return best


def _train(args: argparse.Namespace, examples: Any, best: dict[str, Any]) -> Any:
    from softmargin import SVC

    machine = SVC(C=best["C"], gamma=best["gamma"], tol=args.tolerance)
    return machine.fit(examples.X, examples.y)


def _save(machine: Any, path: str) -> None:
    from softmargin.io.models import write_any_model
    from softmargin.io.record import Record

    names = machine.classes_.dtype.kind not in "iu"
    write_any_model(path, Record.of(machine), "native" if names else "libsvm")


def _test(
    machine: Any, scale: Any, data: Any, name: str, say: Callable[[str], None]
) -> dict[str, Any]:
    from softmargin.cli.scoring import accuracy, prediction_lines
    from softmargin.io.record import Record
    from softmargin.io.streams import writing

    X, _ = _scaled(scale, data, f"{name}.scale")
    predicted, _ = Record.of(machine).predict(X)
    with writing(f"{name}.predict") as stream:
        stream.write("".join(f"{label}\n" for label in predicted.tolist()).encode())
    result = accuracy(data.y, predicted)
    say(*prediction_lines(result))
    say(f"predictions {name}.predict")
    return result
