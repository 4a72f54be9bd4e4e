"""Solving the same fold for many parameters: along C, each from the solution of the one before."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from softmargin import _core
from softmargin.estimator import one_vs_one
from softmargin.fitting.kernel_solver import ENOUGH, NEVER_SHOWS, OUTCOMES
from softmargin.fitting.slices import FIRST_SLICE, LONGEST_SLICE, NO_LIMIT
from softmargin.fitting.tolerances import Tolerances
from softmargin.model_selection.folds import Fold, Statement
from softmargin.model_selection.whole_kernels import WholeKernels
from softmargin.problem.formulations import (
    Array,
    Dual,
    Models,
    Segments,
)
from softmargin.problem.kernels import DIFFERENCES, Kernel
from softmargin.solution import StopReason

IN_PLACE = 0.6
"""A single problem on this share of the rows, or more, is solved on the matrix of all rows: copying
its part of the matrix would take longer than what the other rows cost."""

NEWTON_BYTES = 2**29


@dataclass(frozen=True)
class Solved:
    """The solution of one machine on one fold."""

    statement: Statement
    kernel: Kernel
    models: Models
    beta: list[Array]
    whole: Array | None
    """K b for all rows of the whole, of a single problem solved in place; b before any scaling."""
    converged: bool
    iterations: NDArray[np.int64]
    violations: Array
    seconds: float

    @property
    def machine(self) -> Any:
        return self.statement.machine


class Stopped(Exception):  # noqa: N818 - it never reaches a user
    """The search was stopped while this path was being solved."""


def solve(
    kernels: WholeKernels,
    kernel: Kernel,
    statements: list[Statement],
    scales: list[float],
    look: Callable[[float], bool],
) -> tuple[list[Solved], Any]:
    """Solves the problems of all statements, in this order.  All are on the same examples.  Also
    returns the kernel matrix.  `look` gets the share that is done, and says whether to stop."""
    matrix = kernels.matrix(kernel, "float64")
    answers = _solve(matrix, kernel, statements, scales, look)
    if DIFFERENCES in kernel.arithmetics and _rounding_shows(kernels, kernel, answers):
        kernels.expect(kernel, DIFFERENCES)
        matrix = kernels.matrix(kernel, DIFFERENCES)
        answers = _solve(matrix, kernel, statements, scales, look)
        kernels.release(kernel, DIFFERENCES)
    return answers, matrix


def _solve(
    matrix: Any,
    kernel: Kernel,
    statements: list[Statement],
    scales: list[float],
    look: Callable[[float], bool],
) -> list[Solved]:
    first, count = statements[0], len(matrix)
    in_place = first.single and len(first.ids) >= IN_PLACE * count and matrix.dtype == np.float64
    duals = [s.among(count) if in_place else s.dual for s in statements]
    paths = _core.float64.solution_paths(
        matrix=matrix,
        ids=np.arange(count, dtype=np.int32) if in_place else first.ids,
        starts=np.array([0, count]) if in_place else first.starts,
        steps=[
            (dual.p, [(part.start, part.lower, part.upper, part.offset) for part in dual.parts])
            for dual in duals
        ],
        scales=scales,
        separate=first.dual.separate,
        newton=True,
        **_tolerances(kernel, first.machine),
        max_iterations=NO_LIMIT,
        newton_bytes=NEWTON_BYTES,
    )
    total, seconds, ended = paths.total(), FIRST_SLICE, 0
    while ended < total:
        ended = paths.run(seconds)
        seconds = min(2 * seconds, LONGEST_SLICE)
        if look(ended / total):
            raise Stopped
    return _answers(paths, kernel, statements, duals if in_place else None)


def _tolerances(kernel: Kernel, machine: Any) -> dict[str, float]:
    gap_tol = None if machine.gap_tol is None else float(machine.gap_tol)
    convex = kernel.positive_semidefinite is not False
    return Tolerances(float(machine.tol), gap_tol).for_core(gap_counts=convex)


def _answers(
    paths: Any, kernel: Kernel, statements: list[Statement], whole: list[Dual] | None
) -> list[Solved]:
    """`whole`: the duals that have a variable for each row."""
    beta = [paths.beta(s) for s in range(len(statements[0].dual.parts))]
    gradient, outcomes, seconds = paths.gradient(), paths.outcomes(), paths.seconds()
    iterations, violations = paths.iterations(), paths.violations()
    converged = outcomes == _code(StopReason.CONVERGED)
    values: list[Array | None] = [None] * len(statements)
    if whole is not None:
        values = [slope - dual.p for slope, dual in zip(gradient, whole, strict=True)]
        ids = statements[0].ids
        beta, gradient = [part[:, ids] for part in beta], gradient[:, ids]
    models = Models.of_all(
        [statement.formulation for statement in statements],
        [list(point) for point in zip(*beta, strict=True)],
        list(gradient),
    )
    return [
        Solved(
            statement=statement,
            kernel=kernel,
            models=models[step],
            beta=[part[step] for part in beta],
            whole=values[step],
            converged=bool(converged[step].all()),
            iterations=iterations[step],
            violations=violations[step],
            seconds=float(seconds[step].sum()),
        )
        for step, statement in enumerate(statements)
    ]


def _code(reason: StopReason) -> int:
    return next(int(outcome.value) for outcome, r in OUTCOMES.items() if r is reason)


def _rounding_shows(kernels: WholeKernels, kernel: Kernel, answers: list[Solved]) -> bool:
    """Whether differences of examples are needed: the rounding of products would be visible in a
    decision value of the machine with the largest coefficients, and that of differences less so."""
    largest = max(answers, key=lambda answer: float(np.abs(sum(answer.beta)).max(initial=0.0)))
    statement, coef = largest.statement, np.asarray(sum(largest.beta))
    most = max(ENOUGH["float64"] * float(largest.machine.tol), NEVER_SHOWS)
    for begin, end in zip(statement.starts[:-1], statement.starts[1:], strict=True):
        own = statement.ids[begin:end], coef[begin:end]
        rounding = kernels.rounding(kernel, "float64", *own)
        if rounding > most and kernels.rounding(kernel, DIFFERENCES, *own) <= 0.5 * rounding:
            return True
    return False


def decision_sums(answers: list[Solved], fold: Fold, matrix: Any, rows: Any) -> list[Array]:
    """For each answer, sums[t, g, o] of its coefficients times the kernel values of row t and the
    training examples: one group and output, or those of one-vs-one.  All are on `matrix`."""
    if answers[0].whole is not None:
        return [_sums_in_place(answer, rows) for answer in answers]
    problems = answers[0].statement.problems
    if not isinstance(problems, one_vs_one.Pairs) or len(problems.labels) == 2:
        columns = answers[0].statement.ids
        coef = np.stack([answer.models.coef for answer in answers])
        return list((_part(matrix, rows, columns) @ coef.T).T[:, :, None, None])
    values = _part(matrix, rows, fold.train[problems.order])
    return _sums_of_pairs(answers, problems, values)


def _part(matrix: Any, rows: Any, columns: Any) -> Any:
    """One after the other takes half the time of both at once."""
    return matrix.take(rows, axis=0).take(columns, axis=1)


def _sums_in_place(answer: Solved, rows: Any) -> Array:
    """K b is known for all rows; the coefficients are b, or (nu-SVC) a multiple of it."""
    assert answer.whole is not None
    each = Segments(answer.statement.starts, len(answer.beta[0]))
    multiple = answer.models.multiples(answer.beta, each)
    sums: Array = (multiple * answer.whole[rows])[:, None, None]
    return sums


def _sums_of_pairs(answers: list[Solved], pairs: one_vs_one.Pairs, values: Array) -> list[Array]:
    """`values`: one column for each training example, class by class."""
    everything = range(len(pairs.sizes))
    whole = np.stack([pairs.spread([(everything, answer.models.coef)]) for answer in answers])
    steps, outputs, _ = whole.shape
    groups = len(pairs.labels)
    sums = np.empty((steps, len(values), groups, outputs))
    for g in range(groups):
        own = slice(pairs.class_starts[g], pairs.class_starts[g + 1])
        product = values[:, own] @ whole[:, :, own].reshape(steps * outputs, -1).T
        sums[:, :, g] = product.reshape(len(values), steps, outputs).swapaxes(0, 1)
    return list(sums)
