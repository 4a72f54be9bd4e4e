"""Predict with a model, as svm-predict does.

With an output file, the predictions go there, one in a line, and the score to standard output;
without, the predictions go to standard output and the score to standard error. The score compares
with the labels or targets of the data file.

examples:
  softmargin predict heart_scale heart_scale.model predictions
  softmargin predict new.csv machine.softmargin | sort | uniq -c
  softmargin predict --decision-values test.svm machine.model values.txt
"""

from __future__ import annotations

import argparse
import json
import sys
from typing import Any

from softmargin.cli.data_options import DATA_FORMATS, add_data_arguments, add_json_argument, read


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("data", help=f"what to predict: {DATA_FORMATS}")
    add("model", help="a model of softmargin train, svm-train or LIBLINEAR's train")
    add("output", nargs="?", help="where to write the predictions (default: standard output)")
    add(
        "--decision-values",
        action="store_true",
        help="write the decision values behind each"
        " prediction, in the order of the pairs of classes",
    )
    add(
        "-b",
        "--probability",
        choices=("0", "1"),
        default="0",
        help="1 for probabilities, which"
        " only models of svm-train -b 1 could give: not supported (default: 0)",
    )
    add("-q", "--quiet", action="store_true", help="do not print the score")
    add_json_argument(parser)
    add_data_arguments(parser)


def run(args: argparse.Namespace) -> int:
    from softmargin.io.models import read_any_model

    if args.probability == "1":
        raise ValueError(
            "-b 1 is not supported: pairwise probabilities can contradict the predictions."
            " Calibrate with scikit-learn's CalibratedClassifierCV, or use --decision-values."
        )
    record = read_any_model(args.model)
    data = read(args, args.data, zero_based=record.precomputed)
    predicted, values = record.predict(_points(args, record, data.X))
    result = _score(record, data.y, predicted)
    if args.output is not None:
        _write(args, args.output, predicted, values)
    elif not args.json:
        _write(args, "-", predicted, values)
    _report(args, result, predicted)
    return 0


def _points(args: argparse.Namespace, record: Any, X: Any) -> Any:
    width = record.attributes["n_features_in_"]
    if record.precomputed:
        from softmargin.cli.examples import kernel_matrix

        X, _ = kernel_matrix(X, args.data)
        if X.shape[1] < width:
            raise ValueError(
                f"{args.data}: {X.shape[1]} kernel values in a row; the model needs {width}, one"
                " with each training example."
            )
    elif record.attributes["solution_"] is not None and not _fits(X, width):
        raise ValueError(
            f"{args.data} has {X.shape[1]} features, but {args.model} was trained on {width}."
        )
    return X


def _fits(X: Any, width: int) -> bool:
    """Sparse data may lack the last features: all their values are zero there."""
    return bool(X.shape[1] <= width if hasattr(X, "nnz") else X.shape[1] == width)


def _score(record: Any, y: Any, predicted: Any) -> dict[str, Any]:
    from softmargin.cli.scoring import accuracy, regression_scores

    if not record.is_regressor:
        return accuracy(y, predicted)
    if y.dtype.kind not in "fiub":
        raise ValueError(f"the targets are names such as {y[0]!r}, but the model predicts numbers.")
    return regression_scores(y, predicted)


def _write(args: argparse.Namespace, path: str, predicted: Any, values: Any) -> None:
    from softmargin.io.streams import writing

    labels = predicted.tolist()
    if args.decision_values:
        rows = values.reshape(len(labels), -1).tolist()
        lines = [" ".join([_text(a), *map(repr, row)]) for a, row in zip(labels, rows, strict=True)]
    else:
        lines = [_text(label) for label in labels]
    with writing(path) as stream:
        stream.write("".join(f"{line}\n" for line in lines).encode())


def _text(label: Any) -> str:
    return f"{label:.17g}" if isinstance(label, float) and label.is_integer() else str(label)


def _report(args: argparse.Namespace, result: dict[str, Any], predicted: Any) -> None:
    from softmargin.cli.scoring import prediction_lines

    if args.json:
        if args.output is None:
            result = {**result, "predictions": predicted.tolist()}
        print(json.dumps(result))
    elif not args.quiet:
        out = sys.stdout if args.output is not None else sys.stderr
        print(*prediction_lines(result), sep="\n", file=out)
