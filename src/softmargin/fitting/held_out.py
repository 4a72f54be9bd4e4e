"""Decision values of held-out examples: every problem of a fit is solved again without them.

The solver that has solved a problem then solves its folds: each starts at the solution of all
examples, and finds the kernel rows of that solution in the cache.  Examples that a fold does not
train on have bounds of zero.  Their variables stay at zero, and their gradient, which the solver
keeps up to date like all others, gives their decision values.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from softmargin import _core
from softmargin.fitting.problems import Problems, Stated
from softmargin.fitting.slices import NO_LIMIT, in_slices
from softmargin.problem.formulations import Array, Models, Segments
from softmargin.solution import StopReason
from softmargin.watching import Abandoned, Watch


@dataclass(frozen=True)
class Fold:
    problems: Problems
    """The problems of the fit, but the examples that the fold is not trained on have a price of
    zero."""
    tested: NDArray[np.bool_]
    """Whether each row of X is held out."""


@dataclass(frozen=True)
class Folds:
    """What to solve after each problem of a fit."""

    folds: list[Fold]
    tol: float
    max_iter: int
    """Limit on the iterations of each fold of a problem."""

    @property
    def iterations(self) -> int:
        return self.max_iter if self.max_iter >= 0 else NO_LIMIT

    def state(self, numbers: range) -> list[Stated]:
        """These problems, for each fold."""
        return [fold.problems.state(numbers) for fold in self.folds]

    def values(self, stated: list[Stated], points: list[tuple[list[Array], Array]]) -> Array:
        """The decision value of each variable's example by the last fold that holds it out; NaN
        where none does, or where a class is missing.  `points`: the variables of each fold, by
        part, and their gradient."""
        beta, gradient = zip(*points, strict=True)
        models = Models.of_all([one.formulation for one in stated], beta, gradient)
        values = np.full(len(stated[0].ids), np.nan)
        for fold, own, model, point in zip(self.folds, stated, models, points, strict=True):
            tested = fold.tested[own.ids]
            values[tested] = _values(own, model, *point)[tested]
        return values


def _values(stated: Stated, models: Models, beta: list[Array], gradient: Array) -> Array:
    dual, each = stated.formulation.dual(), Segments(stated.starts, len(stated.ids))
    # Where one class is missing, no variable can move.
    rising = each.sum(np.max([part.upper for part in dual.parts], axis=0)) > 0
    falling = each.sum(np.min([part.lower for part in dual.parts], axis=0)) < 0
    for k, fault in models.faults.items():
        if rising[k] and falling[k]:
            raise ValueError(f"A fold of probability cannot be trained: {fault}")
    multiple = np.where(rising & falling, models.multiples(beta, each), np.nan)
    values: Array = each.spread(multiple) * (gradient - dual.p) + each.spread(models.intercept)
    return values


def solve_folds(
    solver: Any, stated: list[Stated], folds: Folds, watch: Watch, problem: int
) -> Array | None:
    """The values of one problem, by the solver that has solved it; None if the fit is stopped."""
    points = []
    for fold in stated:
        if watch.expired():
            return None
        dual = fold.formulation.dual()
        solver.restart(dual.arrays(), folds.tol)
        if _run(solver, folds.iterations, watch, problem):
            return None
        solver.finish()
        points.append((dual.variables(solver), dual.gradient(solver)))
    return folds.values(stated, points)


def _run(solver: Any, limit: int, watch: Watch, problem: int) -> StopReason | None:
    def running(status: Any) -> bool:
        return bool(status.outcome == _core.Outcome.running and status.iterations < limit)

    def run(status: Any, seconds: float) -> Any:
        return solver.run(limit - status.iterations, seconds)

    def look(_: Any) -> StopReason | None:
        if watch.abandoned.is_set():
            raise Abandoned
        return watch.expired()

    with watch.hurried(problem, solver.stop):
        _, stop = in_slices(solver.run(0, 0.0), run, running, look, watch)
    return stop
