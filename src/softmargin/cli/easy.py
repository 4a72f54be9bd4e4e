"""Scale, choose C and gamma by cross-validation, train and test, in one go, as easy.py does.

This is the procedure that LIBSVM's guide recommends: a C-SVC with the rbf kernel on features scaled
to [-1, 1], C and gamma from a coarse grid of powers of two by 5-fold cross-validation.
Writes NAME.softmargin, a model that scales its input itself, so that predict takes unscaled data.
Test data are scored, and their predictions go to NAME.predict. All files are written to the current
folder. NAME is the name of the data file; for standard input it is data, or test.

With --format libsvm the files are those of easy.py, for svm-predict: NAME.model, NAME.range (for
scaling data before prediction), NAME.scale (the scaled data), and for test data NAME.scale and
NAME.predict.

examples:
  softmargin easy svmguide1 svmguide1.t
  softmargin easy --format libsvm svmguide1 svmguide1.t
  softmargin easy --log2c -1,9,2 --log2g -5,3,2 train.csv
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path
from typing import Any

from softmargin.cli.data_options import (
    DATA_FORMATS,
    add_data_arguments,
    add_json_argument,
    as_json,
    read,
    refuse_to_overwrite,
)
from softmargin.cli.grid_search import (
    GridSearch,
    add_grid_arguments,
    best,
    edge_note,
    make_machine,
    respell,
)
from softmargin.cli.machine_options import seed
from softmargin.cli.progress import Progress
from softmargin.cli.terminal import label_text, note, say
from softmargin.cli.train import names_of

__all__ = ["add_arguments", "respell", "run"]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("data", help=f"the training data: {DATA_FORMATS}")
    add("test", nargs="?", help="test data")
    add_grid_arguments(parser)
    add("--seed", type=seed, default=0, help="seed of the folds (default: 0)")
    add(
        "--format",
        choices=("native", "libsvm"),
        default="native",
        help="format of the model (default: native, softmargin's own)",
    )
    add("-q", "--quiet", action="store_true", help="print nothing but errors")
    add_json_argument(parser)
    add_data_arguments(parser)


def run(args: argparse.Namespace) -> int:
    from softmargin.cli.examples import Examples, ask_whether_classes
    from softmargin.io.data.formats import as_labels
    from softmargin.io.data.ranges import Range

    say_unless_quiet = _say(args)
    names = [_name(args.data, "data"), *([_name(args.test, "test")] if args.test else [])]
    refuse_to_overwrite([args.data, args.test], _outputs(args, *names))
    data = read(args, args.data)
    ask_whether_classes(args, data.y, "easy is for classes: use train.")
    features = data.feature_names or None
    options: dict[str, Any] = {"features": features, "usual_target": data.target_name}
    test = None  # read before the search, so that a broken file is reported at once
    if args.test:
        test = read(args, args.test, target_is_needed=False, **options)
    scale = Range.of(data.X)
    examples = Examples(scale.apply(data.X), as_labels(data.y))
    best = _search(args, examples)
    say_unless_quiet(
        f"best        C={best['C']:g}, gamma={best['gamma']:g}:"
        f" cross-validation accuracy {100 * best['accuracy']:g}%"
    )
    record = _train(args, examples, best)
    record.attributes |= {**names_of(data), "_scaling": scale.plain()}
    result: dict[str, Any] = {**best, "model": _save(args, record, scale, data, names[0])}
    say_unless_quiet(f"model       {result['model']}, {len(record.attributes['support_'])} vectors")
    if test is not None:
        result["test"] = _test(args, record, scale, test, names[1], say_unless_quiet)
    if args.json:
        say(as_json(result))
    return 0


def _outputs(args: argparse.Namespace, name: str, test: str | None = None) -> list[str]:
    libsvm = args.format == "libsvm"
    suffixes = ("range", "scale", "model") if libsvm else ("softmargin",)
    of_test = ("scale", "predict") if libsvm else ("predict",)
    return [
        *(f"{name}.{suffix}" for suffix in suffixes),
        *(f"{test}.{suffix}" for suffix in of_test if test),
    ]


def _name(path: str, of_standard_input: str) -> str:
    return of_standard_input if path == "-" else Path(path).name


def _say(args: argparse.Namespace) -> Callable[..., None]:
    if args.quiet or args.json:
        return lambda *lines: None
    return lambda *lines: say(*lines, hanging=12)


def _search(args: argparse.Namespace, examples: Any) -> dict[str, Any]:
    """The grid point with the best accuracy; among equals, the one with the smallest C."""
    places = [(c, g) for c in sorted(args.log2c) for g in args.log2g]
    with Progress("search", not args.quiet) as progress:
        search = GridSearch(
            make_machine(args.tolerance),
            examples,
            places,
            args.folds,
            args.seed,
            args.threads,
            show=progress.show,
        )
        try:
            search.run()
        except KeyboardInterrupt:
            if not search.points:
                raise
            done = f"{len(search.points)} of {len(places)} points"
            note(f"interrupted after {done}: the best point so far is used")
    leader = best(search.points)
    assert leader is not None
    if not args.quiet and (text := edge_note(leader, places)):
        note(text)
    return {"C": leader.C, "gamma": leader.gamma, "accuracy": leader.score}


def _train(args: argparse.Namespace, examples: Any, best: dict[str, Any]) -> Any:
    from softmargin import SVC
    from softmargin.io.models.record import Record

    machine = SVC(C=best["C"], gamma=best["gamma"], tol=args.tolerance)
    return Record.of(machine.fit(examples.X, examples.y))


def _save(args: argparse.Namespace, record: Any, scale: Any, data: Any, name: str) -> str:
    """Writes the model and returns its name.  With LIBSVM's format, which cannot hold the scaling,
    also writes the range and the scaled data, as easy.py does."""
    from softmargin.io.data.libsvm_text import write_libsvm
    from softmargin.io.data.ranges import write_range
    from softmargin.io.models.formats import write_any_model
    from softmargin.io.models.record import Record

    if args.format == "native":
        write_any_model(f"{name}.softmargin", record, "native")
        return f"{name}.softmargin"
    attributes = {k: v for k, v in record.attributes.items() if k != "_scaling"}
    write_any_model(f"{name}.model", Record(record.kind, record.params, attributes), "libsvm")
    write_range(f"{name}.range", scale)
    write_libsvm(f"{name}.scale", scale.apply(data.X), data.y)
    note(f"{name}.model needs scaled data: softmargin scale -r {name}.range DATA > DATA.scale")
    return f"{name}.model"


def _test(
    args: argparse.Namespace,
    record: Any,
    scale: Any,
    data: Any,
    name: str,
    say: Callable[..., None],
) -> dict[str, Any]:
    from softmargin.cli.scoring import accuracy, prediction_lines
    from softmargin.io.data.libsvm_text import write_libsvm
    from softmargin.io.streams import writing

    if args.format == "libsvm":
        write_libsvm(f"{name}.scale", scale.apply(data.X), data.y)
    predicted, _ = record.predict(data.X)
    with writing(f"{name}.predict") as stream:
        stream.write("".join(f"{label_text(label)}\n" for label in predicted.tolist()).encode())
    result = {"total": len(predicted)} if data.y is None else accuracy(data.y, predicted)
    say(*prediction_lines(result), f"predictions {name}.predict")
    return result
