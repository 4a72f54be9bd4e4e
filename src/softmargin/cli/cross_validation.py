"""Cross-validation: every example is predicted by a machine that has not seen it."""

from __future__ import annotations

import contextvars
import os
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

import numpy as np
from sklearn.base import clone, is_classifier, is_regressor
from sklearn.model_selection import KFold, StratifiedKFold

from softmargin.watching import Abandoned, watched


def cross_validate(
    machine: Any, examples: Any, folds: int, seed: int, show: Callable[..., None]
) -> dict[str, Any]:
    predicted = cross_predict(machine, examples, folds, seed, show)
    return {"folds": folds, **scores(machine, examples.y, predicted)}


def cross_predict(
    machine: Any, examples: Any, folds: int, seed: int, show: Callable[..., None]
) -> Any:
    """The prediction for each example, by threads: the core computes without Python's lock."""
    count = len(examples.y)
    if folds < 2:
        raise ValueError(f"cross-validation needs 2 folds or more, not {folds}.")
    splits = _splits(machine, examples.y, min(folds, count), seed)

    def one(split: tuple[Any, Any]) -> tuple[Any, Any]:
        training, held_out = split
        X, y = examples.X, examples.y
        seen, unseen = X[training], X[held_out]
        if getattr(machine, "kernel", None) == "precomputed":
            seen, unseen = seen[:, training], unseen[:, training]
        return held_out, clone(machine).fit(seen, y[training]).predict(unseen)

    predicted = np.empty(count, dtype=float if is_regressor(machine) else examples.y.dtype)
    given_up = threading.Event()
    workers = min(os.cpu_count() or 1, len(splits))
    with watched(partial(_abandon, given_up)), ThreadPoolExecutor(workers) as pool:
        contexts = [contextvars.copy_context() for _ in splits]
        jobs = [pool.submit(c.run, one, s) for c, s in zip(contexts, splits, strict=True)]
        try:
            for done, job in enumerate(jobs):
                held_out, values = job.result()
                predicted[held_out] = values
                show(f"fold {done + 1} of {len(splits)}", (done + 1) / len(splits))
        except BaseException:  # Ctrl-C, or a fold that fails: the others are for nobody
            given_up.set()
            pool.shutdown(wait=False, cancel_futures=True)
            raise
    return predicted


def _abandon(given_up: threading.Event, *_: Any) -> None:
    if given_up.is_set():
        raise Abandoned


def _splits(machine: Any, y: Any, folds: int, seed: int) -> list[tuple[Any, Any]]:
    if is_classifier(machine) and np.unique(y, return_counts=True)[1].max() >= folds:
        splitter: Any = StratifiedKFold(folds, shuffle=True, random_state=seed)
    else:
        splitter = KFold(folds, shuffle=True, random_state=seed)
    return list(splitter.split(np.zeros(len(y)), y))


def scores(machine: Any, y: Any, predicted: Any) -> dict[str, Any]:
    from softmargin.cli.scoring import accuracy, regression_scores

    return regression_scores(y, predicted) if is_regressor(machine) else accuracy(y, predicted)


def score_lines(result: dict[str, Any]) -> list[str]:
    """The lines that svm-train -v ends with; scripts read them."""
    if "accuracy" in result:
        return [f"Cross Validation Accuracy = {100 * result['accuracy']:g}%"]
    return [
        f"Cross Validation Mean squared error = {result['mean_squared_error']:g}",
        f"Cross Validation Squared correlation coefficient = {result['squared_correlation']:g}",
    ]
