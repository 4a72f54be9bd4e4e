"""Cross-validation: every example is predicted by a machine that was not trained on it."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from softmargin.estimator.splits import dealt_folds
from softmargin.fitting.side_by_side import run_all
from softmargin.io.models.record import CLASSIFIERS, REGRESSORS, Record
from softmargin.watching import Abandoned, Status


def cross_validate(
    machine: Any, examples: Any, folds: int, seed: int, show: Callable[..., None]
) -> dict[str, Any]:
    predicted = cross_predict(machine, examples, folds, seed, show)
    return {"folds": folds, **scores(machine, examples.y, predicted)}


def cross_predict(
    machine: Any, examples: Any, folds: int, seed: int, show: Callable[..., None]
) -> Any:
    """The prediction for each example.  Folds run in threads: the core releases Python's lock."""
    count = len(examples.y)
    if folds < 2:
        raise ValueError(f"cross-validation needs 2 folds or more, not {folds}.")
    cut = splits(machine, examples.y, min(folds, count), seed)

    given_up = threading.Event()

    def one(split: tuple[Any, Any]) -> tuple[Any, Any]:
        training, held_out = split
        X, y = examples.X, examples.y
        seen, unseen = X[training], X[held_out]
        if getattr(machine, "kernel", None) == "precomputed":
            seen, unseen = seen[:, training], unseen[:, training]
        fold = type(machine)(**machine.get_params(deep=False))
        fold.set_params(callbacks=[partial(_abandon, given_up)]).fit(seen, y[training])
        return held_out, Record.of(fold).predict(unseen)[0]

    def show_fold(ended: int) -> None:
        show(f"fold {ended} of {len(cut)}", ended / len(cut))

    predicted = np.empty(count, dtype=float if _is_regressor(machine) else examples.y.dtype)
    workers = min(os.cpu_count() or 1, len(cut))
    for held_out, values in run_all([partial(one, s) for s in cut], workers, given_up, show_fold):
        predicted[held_out] = values
    return predicted


def _abandon(given_up: threading.Event, status: Status) -> None:
    if given_up.is_set():
        raise Abandoned


def splits(machine: Any, y: Any, folds: int, seed: int) -> list[tuple[Any, Any]]:
    """The training and the held-out rows of each fold."""
    labels = y if type(machine).__name__ in CLASSIFIERS else None
    return dealt_folds(labels, len(y), folds, seed)


def _is_regressor(machine: Any) -> bool:
    return type(machine).__name__ in REGRESSORS


def scores(machine: Any, y: Any, predicted: Any) -> dict[str, Any]:
    from softmargin.cli.scoring import accuracy, regression_scores

    return regression_scores(y, predicted) if _is_regressor(machine) else accuracy(y, predicted)


def score_lines(result: dict[str, Any]) -> list[str]:
    """The lines that svm-train -v ends with; scripts read them."""
    if "accuracy" in result:
        return [f"Cross Validation Accuracy = {100 * result['accuracy']:g}%"]
    return [
        f"Cross Validation Mean squared error = {result['mean_squared_error']:g}",
        f"Cross Validation Squared correlation coefficient = {result['squared_correlation']:g}",
    ]
