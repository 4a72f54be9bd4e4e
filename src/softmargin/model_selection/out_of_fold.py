"""Decision values of examples by machines that were not trained on them.

The kernel is computed once for all folds, and each fold starts from the solution of all data, where
that is known.  (The folds of ``probability=True`` are solved with the fit itself, see
:mod:`softmargin.fitting.held_out`.)
"""

from __future__ import annotations

import copy
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from softmargin.estimator.one_vs_one import pairs
from softmargin.estimator.out_of_fold import fold_scores
from softmargin.fitting.memory import cache_bytes
from softmargin.fitting.planning import threads
from softmargin.fitting.side_by_side import run_all
from softmargin.fitting.warm_start import Kept
from softmargin.model_selection.folds import Data, Fold, Statement
from softmargin.model_selection.paths import decision_sums, solve
from softmargin.model_selection.predictions import pair_values
from softmargin.model_selection.whole_kernels import WholeKernels
from softmargin.problem.formulations import Dual
from softmargin.problem.kernels import take

Array = NDArray[np.float64]
Split = tuple[NDArray[np.intp], NDArray[np.intp]]


@dataclass(frozen=True)
class OutOfFold:
    values: Array
    """One for each example; with more than two classes, one for each example and pair of classes,
    as ``decision_function_shape="ovo"`` gives them, or each class, for machines that score these.
    NaN where an example was never held out, or a class was missing from the training part."""
    fold: NDArray[np.intp]
    """The split that held out each example; -1: none."""


def out_of_fold(
    machine: Any,
    X: Any,
    y: Any,
    splits: Sequence[Split],
    sample_weight: Any = None,
    kept: Mapping[Any, Kept] | None = None,
) -> OutOfFold:
    """Decision values of the examples X by copies of `machine`, each trained without them.

    Parameters
    ----------
    machine : SVC, NuSVC, SVR, NuSVR or OneClassSVM
        Its parameters are used; it is not changed, and need not be fitted.  ``cache_size`` limits
        the memory, and ``n_jobs`` threads solve the folds.
    X, y : examples and targets, as `machine` has validated them (``_validate_examples``)
    splits : list of (training rows, held-out rows), as a splitter of scikit-learn yields them
    sample_weight : weights of the examples, or None
    kept : the solution of all data, as ``FitResult.kept()`` returns it, or None
    """
    count = X.shape[0] if hasattr(X, "shape") else len(X)
    weight = None if sample_weight is None else np.asarray(sample_weight, dtype=np.float64)
    data = Data(X, y, weight)
    folds = [data.fold(k, train, test) for k, (train, test) in enumerate(splits)]
    at_once = max(min(threads(machine.n_jobs), len(folds)), 1)
    labels = np.unique(y) if hasattr(machine, "class_weight") else np.empty(0)
    scored = getattr(machine, "multi_class", "ovo") != "ovo" and len(labels) > 2
    columns = {pair: k for k, pair in enumerate(pairs(len(labels)))}
    values = np.full((count, len(labels) if scored else max(len(columns), 1)), np.nan)
    found = np.full(count, -1)
    needed = 8 * count**2 * (2 + at_once)
    share = not callable(machine.kernel) and needed <= cache_bytes(machine.cache_size, needed)
    kernels = WholeKernels(X, threads(machine.n_jobs)) if share else None
    if kernels is not None:
        for fold in folds:  # before the first is done, so that the next finds its matrix
            kernels.expect(fold.kernel(machine), "float64")

    def one(fold: Fold) -> tuple[Fold, Array, Any]:
        if kernels is None:
            return fold, *_ordinary(machine, fold, 1 if at_once > 1 else machine.n_jobs)
        return fold, *_shared(machine, fold, kernels, kept)

    tasks = [partial(one, fold) for fold in folds]
    for fold, own, classes in run_all(tasks, at_once, threading.Event()):
        found[fold.test] = fold.number
        code = np.searchsorted(labels, classes) if classes is not None else np.arange(2)
        if scored:
            values[np.ix_(fold.test, code)] = fold_scores(machine, own, len(labels))
            continue
        names = [(code[i], code[j]) for i, j in pairs(len(code))] if columns else [(0, 1)]
        for column, name in zip(own.reshape(len(own), -1).T, names, strict=True):
            values[fold.test, columns.get((int(name[0]), int(name[1])), 0)] = column
    return OutOfFold(values if len(columns) > 1 else values[:, 0], found)


def _shared(
    machine: Any,
    fold: Fold,
    kernels: WholeKernels,
    kept: Mapping[Any, Kept] | None,
) -> tuple[Array, Any]:
    statement, kernel = fold.state(machine), fold.kernel(machine)
    if kept:
        statement = _started(statement, fold, kept)
    try:
        answers, matrix = solve(kernels, kernel, [statement], [0.0], lambda done: False)
        (sums,) = decision_sums(answers, fold, matrix, fold.test)
    finally:
        kernels.release(kernel, "float64")
    if answers[0].models.faults:
        raise ValueError(next(iter(answers[0].models.faults.values())))
    return pair_values(answers[0], sums), getattr(statement.machine, "classes_", None)


def _started(statement: Statement, fold: Fold, kept: Mapping[Any, Kept]) -> Statement:
    """The statement with the solution of all data, repaired to be feasible, as its start."""
    parts = [part.start.copy() for part in statement.dual.parts]
    for k in range(len(statement.starts) - 1):
        own = slice(statement.starts[k], statement.starts[k + 1])
        known = kept.get(statement.problems.name(k))
        if known is None:
            continue
        single = statement.problems.state(range(k, k + 1)).formulation.dual()
        for part, start in zip(parts, known.start(statement.ids[own], single), strict=True):
            part[own] = start
    dual = statement.dual
    started = tuple(replace(p, start=s) for p, s in zip(dual.parts, parts, strict=True))
    return replace(statement, dual=Dual(dual.p, started, dual.separate))


def _ordinary(machine: Any, fold: Fold, n_jobs: int | None) -> tuple[Array, Any]:
    """By a fit of its own, with its own kernel."""
    own = copy.copy(machine)
    if getattr(own, "multi_class", "ovo") == "ovo" and hasattr(own, "decision_function_shape"):
        own.set_params(decision_function_shape="ovo", break_ties=False)
    own.set_params(verbose=False, checkpoint=None, callbacks=None, warm_start=False, n_jobs=n_jobs)
    X = fold.data.X
    seen, unseen = take(X, fold.train), take(X, fold.test)
    if own.kernel == "precomputed":
        seen, unseen = seen[:, fold.train], unseen[:, fold.train]
    own.fit(seen, np.asarray(fold.data.y)[fold.train], sample_weight=fold.weights())
    decide = getattr(own, "decision_function", None) or own.predict
    return decide(unseen), getattr(own, "classes_", None)
