"""The lines that svm-train prints about each problem, for scripts that parse them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp

from softmargin.estimator.one_vs_one import pair_spans, pairs

if TYPE_CHECKING:
    from softmargin.io.models.record import Record


def svm_train_lines(record: Record) -> list[str]:
    """The lines for a kernel machine; the objective is the one that LIBSVM minimises."""
    solution = record.attributes["solution_"]
    problems = solution.problems or (solution,)
    coefficients = _by_problem(record)
    lines: list[str] = []
    for number, (one, coef) in enumerate(zip(problems, coefficients, strict=True)):
        bound = _bound(record, number, coef)
        bounded = int((np.abs(coef) >= bound * (1 - 1e-12)).sum())
        lines += [
            f"optimization finished, #iter = {one.iterations}",
            *([f"C = {bound:f}"] if record.kind == "NuSVC" else []),
            f"obj = {_objective(record, one, coef):f}, rho = {_rho(record, number):f}",
            f"nSV = {np.count_nonzero(coef)}, nBSV = {bounded}",
        ]
    if record.is_classifier:
        lines.append(f"Total nSV = {len(record.attributes['support_'])}")
    return lines


def _by_problem(record: Record) -> list[Any]:
    """The coefficients of the support vectors of each problem."""
    coef = record.attributes["dual_coef_"]
    coef = coef.toarray() if sp.issparse(coef) else np.asarray(coef)
    if len(coef) == 1:
        return [coef[0]]
    both = pair_spans(record.attributes["_n_support"])
    return [np.concatenate([coef[j - 1, first], coef[i, second]]) for i, j, first, second in both]


def _bound(record: Record, number: int, coef: Any) -> Any:
    """The upper bound of each coefficient; for nu-SVC the solution determines it."""
    if record.kind == "NuSVC":
        return float(np.abs(coef).max(initial=0.0)) or 1.0
    if record.kind == "OneClassSVM":
        return 1.0
    cost = float(record.params["C"])
    weights = record.attributes.get("class_weight_")
    if record.kind != "SVC" or weights is None:
        return cost
    counts, classes = record.attributes["_n_support"], len(weights)
    if classes == 2:
        return cost * np.repeat(weights, counts)
    i, j = pairs(classes)[number]
    return cost * np.repeat(weights[[i, j]], counts[[i, j]])


def _objective(record: Record, solution: Any, coef: Any) -> float:
    scale = float(np.abs(coef).max(initial=0.0)) ** 2 if record.kind == "NuSVC" else 1.0
    return -float(solution.dual_objective) * scale


def _rho(record: Record, number: int) -> float:
    """rho as in LIBSVM's model file, where a positive decision value means the first class."""
    intercept = float(record.attributes["intercept_"][number])
    two = record.is_classifier and len(record.attributes["classes_"]) == 2
    return intercept if two else -intercept
