"""Decision values of examples by machines that were not trained on them.

Calibrated probabilities are fitted to them.  The kernel is computed once for all folds, and each
fold starts from the solution of all data, where that is known.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from softmargin.estimator.one_vs_one import pairs
from softmargin.estimator.out_of_fold import fold_scores
from softmargin.fitting.elsewhere import ELSEWHERE
from softmargin.fitting.memory import cache_bytes
from softmargin.fitting.planning import threads
from softmargin.fitting.side_by_side import run_all
from softmargin.fitting.warm_start import Kept
from softmargin.model_selection.folds import Data, Fold, Statement
from softmargin.model_selection.paths import Stopped, decision_sums, solve
from softmargin.model_selection.predictions import pair_values
from softmargin.model_selection.whole_kernels import WholeKernels
from softmargin.problem.formulations import Dual
from softmargin.problem.kernels import take
from softmargin.solution import StopReason
from softmargin.watching import Watch

Array = NDArray[np.float64]
Split = tuple[NDArray[np.intp], NDArray[np.intp]]

EARLY = (StopReason.TIME_LIMIT, StopReason.INTERRUPTED)


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
    watch: Watch | None = None,
    share: bool = True,
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
    watch : the watch of the fit that asks for it, or None; it may stop, raising ``Stopped``
    share : whether to compute the kernel of all examples once, and to start from `kept`; without,
        each fold is a fit of its own, which is faster where the solver needs few steps
    """
    count = X.shape[0] if hasattr(X, "shape") else len(X)
    weight = None if sample_weight is None else np.asarray(sample_weight, dtype=np.float64)
    elsewhere = ELSEWHERE.get()
    if elsewhere and len(splits) > 1 and not callable(machine.kernel):
        given = machine, X, y, splits, weight, kept, share
        values_of_folds = elsewhere.hold_out(_alone, len(splits), given, watch)
        if values_of_folds is None:
            raise Stopped
        return _merged(values_of_folds, splits, count)
    data = Data(X, y, weight)
    folds = [data.fold(k, train, test) for k, (train, test) in enumerate(splits)]
    at_once = max(min(threads(machine.n_jobs), len(folds)), 1)
    labels = np.unique(y) if hasattr(machine, "class_weight") else np.empty(0)
    scored = getattr(machine, "multi_class", "ovo") != "ovo" and len(labels) > 2
    columns = {pair: k for k, pair in enumerate(pairs(len(labels)))}
    values = np.full((count, len(labels) if scored else max(len(columns), 1)), np.nan)
    found = np.full(count, -1)
    needed = 8 * count**2 * (2 + at_once)
    share = share and not callable(machine.kernel)
    share = share and needed <= cache_bytes(machine.cache_size, needed)
    kernels = WholeKernels(X, threads(machine.n_jobs)) if share else None
    if kernels is not None:
        for fold in folds:  # before the first is done, so that the next finds its matrix
            kernels.expect(fold.kernel(machine), "float64")

    def one(fold: Fold) -> tuple[Fold, Array, Any]:
        if kernels is None:
            return fold, *_ordinary(machine, fold, watch, 1 if at_once > 1 else machine.n_jobs)
        return fold, *_shared(machine, fold, kernels, kept, watch)

    abandoned = (watch or Watch(1, float(machine.tol))).abandoned
    for fold, own, classes in run_all([lambda f=f: one(f) for f in folds], at_once, abandoned):  # type: ignore[misc]
        found[fold.test] = fold.number
        code = np.searchsorted(labels, classes) if classes is not None else np.arange(2)
        if scored:
            values[np.ix_(fold.test, code)] = fold_scores(machine, own, len(labels))
            continue
        names = [(code[i], code[j]) for i, j in pairs(len(code))] if columns else [(0, 1)]
        for column, name in zip(own.reshape(len(own), -1).T, names, strict=True):
            values[fold.test, columns.get((int(name[0]), int(name[1])), 0)] = column
    return OutOfFold(values if len(columns) > 1 else values[:, 0], found)


def _alone(
    k: int, watch: Watch | None, machine: Any, X: Any, y: Any, splits: Sequence[Split], *given: Any
) -> Array:
    """The values of the rows that split k holds out, on one thread."""
    own = copy.copy(machine)
    own.n_jobs = 1
    weight, kept, share = given
    found = out_of_fold(own, X, y, [splits[k]], weight, kept, watch, share)
    return found.values[splits[k][1]]


def _merged(values: list[Array], splits: Sequence[Split], count: int) -> OutOfFold:
    whole, of = np.full((count, *values[0].shape[1:]), np.nan), np.full(count, -1)
    for k, (_, test) in enumerate(splits):
        whole[test], of[test] = values[k], k
    return OutOfFold(whole, of)


def _shared(
    machine: Any,
    fold: Fold,
    kernels: WholeKernels,
    kept: Mapping[Any, Kept] | None,
    watch: Watch | None,
) -> tuple[Array, Any]:
    statement, kernel = fold.state(machine), fold.kernel(machine)
    if kept:
        statement = _started(statement, fold, kept)

    def look(done: float) -> bool:
        return watch is not None and watch.expired() is not None

    try:
        answers, matrix = solve(kernels, kernel, [statement], [0.0], look)
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


def _ordinary(
    machine: Any, fold: Fold, watch: Watch | None, n_jobs: int | None
) -> tuple[Array, Any]:
    """By a fit of its own, with its own kernel."""
    own = copy.copy(machine)
    if getattr(own, "multi_class", "ovo") == "ovo" and hasattr(own, "decision_function_shape"):
        own.set_params(decision_function_shape="ovo", break_ties=False)
    own.set_params(verbose=False, checkpoint=None, callbacks=None, warm_start=False, n_jobs=n_jobs)
    if watch is not None:
        if watch.expired():
            raise Stopped
        if watch.time_limit is not None:
            own.set_params(time_limit=watch.time_limit - watch.seconds)
    X = fold.data.X
    seen, unseen = take(X, fold.train), take(X, fold.test)
    if own.kernel == "precomputed":
        seen, unseen = seen[:, fold.train], unseen[:, fold.train]
    own.fit(seen, np.asarray(fold.data.y)[fold.train], sample_weight=fold.weights())
    stopped = any(s.stop_reason in EARLY for s in own.solution_.problems or [own.solution_])
    if watch is not None and stopped:
        raise Stopped
    decide = getattr(own, "decision_function", None) or own.predict
    return decide(unseen), getattr(own, "classes_", None)
