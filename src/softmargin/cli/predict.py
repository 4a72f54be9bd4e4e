"""Predict with a model, as svm-predict does.

With an output file, the predictions go to this file, one per line, and the score to standard
output. Without one, the predictions go to standard output and the score to standard error. The
score compares the predictions with the labels or targets of the data file, if it has them.

If the model has the names of its columns, the columns of .csv and .parquet files are matched by
name: their order does not matter, a missing column is an error, and others are ignored with a note.

examples:
  softmargin predict heart_scale heart_scale.model predictions
  softmargin predict new.csv machine.softmargin | sort | uniq -c
  softmargin predict --decision-values test.svm machine.model values.txt
  softmargin predict -b 1 test.svm libsvm.model probabilities.txt
"""

from __future__ import annotations

import argparse
import sys
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from softmargin.cli.data_options import (
    DATA_FORMATS,
    add_data_arguments,
    add_json_argument,
    as_json,
    blocks_of,
    is_blocks,
    read,
    refuse_to_overwrite,
)
from softmargin.cli.terminal import columns as width_of
from softmargin.cli.terminal import label_text, note, say

if TYPE_CHECKING:
    from softmargin.io.data.formats import Data


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("data", help=f"what to predict: {DATA_FORMATS}; or a folder of blocks")
    add("model", help="a model of softmargin train, svm-train or LIBLINEAR's train")
    add("output", nargs="?", help="where to write the predictions (default: standard output)")
    add(
        "--decision-values",
        action="store_true",
        help="write the decision values after each prediction, in the order of the pairs of"
        " classes",
    )
    add(
        "-b",
        "--probability",
        choices=("0", "1"),
        default="0",
        help="1: write the probability of each class after each prediction, which is the most"
        " probable class; for models that were trained with -b 1 (default: 0)",
    )
    add("-q", "--quiet", action="store_true", help="do not print the score")
    add_json_argument(parser)
    add_data_arguments(parser)


def run(args: argparse.Namespace) -> int:
    refuse_to_overwrite([args.data, args.model], [args.output])
    record = _model(args)
    if is_blocks(args.data):
        y, predicted, columns, labels = _predict_blocks(args, record)
    else:
        data = read_for(args, record, args.data)
        points = _points(args, record, data.X)
        if not args.quiet:
            _doubts(args, record, data)
        y, (predicted, columns, labels) = data.y, _predictions(args, record, points)
    result = _score(record, y, predicted)
    if args.output is not None:
        _write(args.output, predicted, columns, labels)
    elif not args.json:
        _write("-", predicted, columns, labels)
    _report(args, result, predicted, columns, labels)
    return 0


def _predictions(args: argparse.Namespace, record: Any, points: Any) -> tuple[Any, Any, Any]:
    """Predictions, the columns that are written after each of them, and the labels of these
    columns."""
    if args.probability == "1":
        return _probabilities(args, record, points)
    predicted, columns = record.predict(points)
    return predicted, (columns if args.decision_values else None), None


def _predict_blocks(args: argparse.Namespace, record: Any) -> tuple[Any, Any, Any, Any]:
    """The targets of all blocks of a folder, and their predictions, one block at a time."""
    import numpy as np

    data = blocks_of(args)
    if record.precomputed:
        raise ValueError(
            f"{args.model} needs kernel values, and {args.data} is a folder of blocks."
        )
    names = list(record.feature_names or ())
    if names and data.feature_names and names != list(data.feature_names):
        raise ValueError(
            f"The columns of {args.data} are not those that {args.model} was trained on, or not in"
            " the same order. Convert the table again with the same columns."
        )
    if not args.quiet and data.y.dtype.kind in "fiubU" and not record.is_regressor:
        _doubt_labels(args, record, data.y)
    found = []
    for k in range(len(data.X)):
        X = data.X.read(k)[0]
        if X.shape[0]:
            found.append(_predictions(args, record, _points(args, record, X)))
    predicted, columns, (labels, *_) = zip(*found, strict=True)
    together = None if columns[0] is None else np.concatenate(columns)
    return data.y, np.concatenate(predicted), together, labels


def read_for(args: argparse.Namespace, record: Any, path: str) -> Data:
    """Data for a machine; features are matched by name if the machine and the file have names."""
    return read(
        args,
        path,
        zero_based=record.precomputed,
        features=record.feature_names or None,
        usual_target=record.attributes.get("_target_name"),
        target_is_needed=False,
    )


def _model(args: argparse.Namespace) -> Any:
    from softmargin.io.file_error import FileError
    from softmargin.io.models.formats import format_of, read_any_model

    try:
        return read_any_model(args.model)
    except FileError as error:
        if error.line == 1 and args.data != "-":
            with suppress(FileError, OSError):
                format_of(args.data)
                raise ValueError(
                    f"{args.model} is not a model, but {args.data} is one: the data come first."
                ) from error
        raise


def _doubts(args: argparse.Namespace, record: Any, data: Data) -> None:
    """Prints a note if the data probably differ from what the machine was trained on."""
    if record.precomputed:
        return
    if data.feature_names and not record.feature_names:
        note(
            f"columns are matched by position: {args.model} does not have the names of the columns"
            " that it was trained on."
        )
    width = record.attributes["n_features_in_"]
    if data.X.shape[1] > width:
        note(
            f"{args.data} has {data.X.shape[1]} features, but those of {args.model} end at {width}."
        )
    vectors = record.attributes.get("support_vectors_")
    if (
        record.scale is None
        and vectors is not None
        and _largest(vectors) <= 1 < _largest(data.X) / 2
    ):
        note(
            f"{args.model} was probably trained on data scaled to [-1, 1]; values of {args.data}"
            f" are as large as {_largest(data.X):.4g}. Scale them with the ranges of the training"
            " data (softmargin scale -r)."
        )
    if data.y is not None and not record.is_regressor:
        _doubt_labels(args, record, data.y)


def _largest(X: Any) -> float:
    values = X.data if hasattr(X, "nnz") else X
    return float(max(values.max(initial=0.0), -values.min(initial=0.0)))


def _doubt_labels(args: argparse.Namespace, record: Any, y: Any) -> None:
    import numpy as np

    from softmargin.cli.certificate import listing

    known = [1, -1] if record.kind == "OneClassSVM" else record.attributes["classes_"].tolist()
    labels, counts = np.unique(y, return_counts=True)
    foreign = [k for k, label in enumerate(labels.tolist()) if label not in known]
    if not foreign:
        return
    rows = int(counts[foreign].sum())
    names = listing([label_text(labels[k]) for k in foreign], separator=", ")
    classes = listing([label_text(label) for label in known], separator=", ")
    note(
        f"no label of {args.data} is a class of {args.model}, so the accuracy means nothing: labels"
        f" {names}; classes {classes}."
        if rows == len(y)
        else f"{rows} of {len(y)} rows have labels that are not classes of {args.model} and count"
        f" as wrong: {names}; classes {classes}."
    )


def _probabilities(args: argparse.Namespace, record: Any, points: Any) -> tuple[Any, Any, Any]:
    """Predictions, their probabilities, and the labels of the probability columns."""
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
            f"{args.model} has no probabilities: only models of train -b 1 have them. Train it"
            " again with -b 1, or use --decision-values."
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
    """Sparse data may have fewer columns: the missing features are zero in every row."""
    return bool(X.shape[1] <= width if hasattr(X, "nnz") else X.shape[1] == width)


def _score(record: Any, y: Any, predicted: Any) -> dict[str, Any]:
    from softmargin.cli.scoring import accuracy, regression_scores

    if y is None:
        return {"total": len(predicted)}
    if not record.is_regressor:
        return accuracy(y, predicted)
    if y.dtype.kind not in "fiub":
        raise ValueError(f"the targets are names such as {y[0]!r}, but the model predicts numbers.")
    return regression_scores(y, predicted)


def _write(path: str, predicted: Any, columns: Any, labels: Any) -> None:
    """Writes a line of `labels`, if any, then each prediction followed by its row of `columns`."""
    from softmargin.io.streams import writing

    lines = [label_text(label) for label in predicted.tolist()]
    if columns is not None:
        rows = columns.reshape(len(lines), -1).tolist()
        lines = [" ".join([line, *map(repr, row)]) for line, row in zip(lines, rows, strict=True)]
    if labels is not None:
        lines.insert(0, " ".join(["labels", *map(label_text, labels)]))
    with writing(path) as stream:
        stream.write("".join(f"{line}\n" for line in lines).encode())


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
        say(as_json(result), file=sys.stderr if args.output == "-" else sys.stdout)
    elif not args.quiet:
        out = sys.stderr if args.output in (None, "-") else sys.stdout
        lines = prediction_lines(result, width_of(out))
        if lines:
            say(*lines, file=out)
