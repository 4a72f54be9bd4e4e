"""Predict with a model, as svm-predict does.

With an output file, the predictions go there, one in a line, and the score to standard output;
without, the predictions go to standard output and the score to standard error. The score compares
with the labels or targets of the data file.

examples:
  softmargin predict heart_scale heart_scale.model predictions
  softmargin predict new.csv machine.softmargin | sort | uniq -c
  softmargin predict --decision-values test.svm machine.model values.txt
  softmargin predict -b 1 test.svm libsvm.model probabilities.txt
"""

from __future__ import annotations

import argparse
import sys
from typing import Any

from softmargin.cli.data_options import (
    DATA_FORMATS,
    add_data_arguments,
    add_json_argument,
    as_json,
    note,
    read,
)


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
        help="1: write the probability of each class behind each prediction, which is the most"
        " probable one; for models of svm-train -b 1 (default: 0)",
    )
    add("-q", "--quiet", action="store_true", help="do not print the score")
    add_json_argument(parser)
    add_data_arguments(parser)


def run(args: argparse.Namespace) -> int:
    from softmargin.io.models import read_any_model

    record = read_any_model(args.model)
    data = read(args, args.data, zero_based=record.precomputed)
    points = _points(args, record, data.X)
    if args.probability == "1":
        predicted, columns, labels = _probabilities(args, record, points)
    else:
        predicted, columns = record.predict(points)
        columns, labels = (columns if args.decision_values else None), None
    result = _score(record, data.y, predicted)
    if args.output is not None:
        _write(args.output, predicted, columns, labels)
    elif not args.json:
        _write("-", predicted, columns, labels)
    _report(args, result, predicted, columns, labels)
    return 0


def _probabilities(args: argparse.Namespace, record: Any, points: Any) -> tuple[Any, Any, Any]:
    """Predictions, their probabilities, and the labels of these."""
    if args.decision_values:
        raise ValueError("-b 1 and --decision-values write different things: choose one.")
    if record.is_regressor and "probA_" in record.attributes:
        note(
            "a target is its prediction + z, where z has the density exp(-|z| / s) / (2 s) with"
            f" s = {record.attributes['probA_'][0]:g}."
        )
        return record.predict(points)[0], None, None
    if not record.has_probabilities:
        raise ValueError(
            f"{args.model} has no probabilities: only models of svm-train -b 1 have. Use"
            " --decision-values, or calibrate with scikit-learn's CalibratedClassifierCV."
        )
    labels = [1, -1] if record.kind == "OneClassSVM" else record.attributes["classes_"].tolist()
    return *record.predict_probabilities(points), labels


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


def _write(path: str, predicted: Any, columns: Any, labels: Any) -> None:
    """The predictions, each with its row of `columns` behind it; `labels` are said first."""
    from softmargin.io.streams import writing

    lines = [_text(label) for label in predicted.tolist()]
    if columns is not None:
        rows = columns.reshape(len(lines), -1).tolist()
        lines = [" ".join([line, *map(repr, row)]) for line, row in zip(lines, rows, strict=True)]
    if labels is not None:
        lines.insert(0, " ".join(["labels", *map(_text, labels)]))
    with writing(path) as stream:
        stream.write("".join(f"{line}\n" for line in lines).encode())


def _text(label: Any) -> str:
    return f"{label:.17g}" if isinstance(label, float) and label.is_integer() else str(label)


def _report(
    args: argparse.Namespace, result: dict[str, Any], predicted: Any, columns: Any, labels: Any
) -> None:
    from softmargin.cli.scoring import prediction_lines

    if args.json:
        if args.output is None:
            result = {**result, "predictions": predicted.tolist()}
            if labels is not None:
                result |= {"labels": labels, "probabilities": columns.tolist()}
            elif columns is not None:
                result["decision_values"] = columns.tolist()
        print(as_json(result), file=sys.stderr if args.output == "-" else sys.stdout)
    elif not args.quiet:
        out = sys.stderr if args.output in (None, "-") else sys.stdout
        print(*prediction_lines(result), sep="\n", file=out)
