"""Write a report of a model as one HTML file: machine, certificate, convergence, and its score.

The file is self-contained: send it, or open it in a browser. With a data file, the report also
says how well the machine does on these data: confusion of classes, or residuals. Its pictures need
matplotlib.

examples:
  softmargin report machine.softmargin
  softmargin report machine.softmargin test.csv --target species -o report.html
"""

from __future__ import annotations

import argparse
import warnings
from typing import Any

from softmargin.cli.data_options import DATA_FORMATS, add_data_arguments, refuse_to_overwrite
from softmargin.cli.terminal import say


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("model", help="a model of softmargin, LIBSVM or LIBLINEAR")
    add("data", nargs="?", help=f"data to evaluate it on: {DATA_FORMATS}")
    add("-o", "--output", help="the file to write (default: the model's name and .html)")
    add("-q", "--quiet", action="store_true", help="do not print the name of the file")
    add_data_arguments(parser)


def run(args: argparse.Namespace) -> int:
    from pathlib import Path

    from softmargin import estimator

    estimator.PLAIN = False  # the report uses scikit-learn's scores of scikit-learn's estimators
    from softmargin.io.models.checks import checked_estimator
    from softmargin.io.models.formats import read_any_model
    from softmargin.report import write_report

    record = read_any_model(args.model)
    machine = checked_estimator(record, args.model)
    output = args.output or f"{args.model}.html"
    refuse_to_overwrite([args.model, args.data], [output])
    X, y = _data(args, record) if args.data else (None, None)
    names = {"model": Path(args.model).name, "data": Path(args.data).name if args.data else ""}
    with warnings.catch_warnings():  # the columns have been matched by name already
        warnings.filterwarnings("ignore", "X does not have valid feature names")
        write_report(output, machine, X, y, **names)
    if not args.quiet and output != "-":
        say(output)
    return 0


def _data(args: argparse.Namespace, record: Any) -> tuple[Any, Any]:
    from softmargin.cli.examples import kernel_matrix
    from softmargin.cli.predict import read_for
    from softmargin.io.data.formats import as_labels

    data = read_for(args, record, args.data)
    width = record.attributes["n_features_in_"]
    X = data.X
    if record.precomputed:
        X, _ = kernel_matrix(X, args.data)
    elif X.shape[1] > width or (X.shape[1] < width and not hasattr(X, "nnz")):
        raise ValueError(
            f"{args.data} has {X.shape[1]} features, but {args.model} was trained on {width}."
        )
    if data.y is None:
        return X, None
    return X, data.y if record.is_regressor else as_labels(data.y)
