"""The kernel machines for all classes at once, as data for the core: Weston-Watkins and
Crammer-Singer.

With scores s_c(x) = sum_i a_ic K(x_i, x), one for each class c::

    minimise  1/2 sum_c a_c'Ka_c + sum_i C_i loss_i

The loss of an example of class y is the sum over the other classes of max(0, 1 - s_y + s_c)
(Weston-Watkins) or the largest of them (Crammer-Singer).  The dual variables are beta_ic for
c != y, in [0, C_i], for Crammer-Singer with a sum of at most C_i; then a_ic = -beta_ic, and a_iy is
the sum of the example's beta.  There is no intercept.  ``_core/all_classes`` solves it.

A table with a number for each example and class may take more memory than the kernel rows.  So
variables, scores and coefficients are read row by row, and a row exists only while it is used.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial, reduce
from typing import Any

import numpy as np
from numpy.typing import NDArray

from softmargin.problem.formulations import Array, Dual, Model, Part, built_once

MACHINES = ("weston_watkins", "crammer_singer")


@dataclass(frozen=True)
class Rows(Sequence[Any]):
    """A row for each class, computed each time it is asked for."""

    classes: int
    row: Callable[[int], Any]

    def __len__(self) -> int:
        return self.classes

    def __getitem__(self, c: Any) -> Any:
        return self.row(range(self.classes)[c])


@dataclass(frozen=True)
class AllClassesDual(Dual):
    """A part for each class, with a variable for each example.  The variable of an example for its
    own class is zero."""

    codes: NDArray[np.int32] = None  # type: ignore[assignment]
    C: Array = None  # type: ignore[assignment]
    machine: str = ""

    keeps_sums = False

    def solver(self, core: Any, beta: Sequence[Array], **options: Any) -> Any:
        given = {name: options.pop(name) for name in ("rule", "block_size", "newton")}
        for name in ("gain_rows", "eta", "keep_rows"):  # options of rules for pairs
            options.pop(name)
        return core.all_classes_solver(
            labels=self.codes,
            upper=self.C,
            start=list(beta),
            machine=self.machine,
            **given,
            **options,
        )

    def variables(self, solver: Any) -> Sequence[Array]:
        return Rows(len(self.parts), solver.variables)

    def gradient(self, solver: Any) -> Any:
        """The scores: a row per class."""
        return Rows(len(self.parts), solver.scores)

    def coefficients(self, beta: Sequence[Array]) -> Sequence[Array]:
        """The coefficients a of each class."""
        return Rows(len(beta), partial(self._coefficients_of, beta, reduce(np.add, beta)))

    def _coefficients_of(self, beta: Sequence[Array], total: Array, c: int) -> Array:
        return np.where(self.codes == c, total, -beta[c])

    def reach(self, beta: Sequence[Array]) -> Array:
        used = np.asarray(sum(own != 0 for own in beta))
        return np.where(used > 0, used if self.machine == "weston_watkins" else 1, 0) * self.C**2

    def feasible(self, beta: Sequence[Array]) -> list[Array]:
        """For variables within their bounds: those of Crammer-Singer whose sum is too large are
        scaled down."""
        if self.machine == "weston_watkins":
            return list(beta)
        total = reduce(np.add, beta)
        scale = np.where(total > self.C, self.C / np.where(total > 0, total, 1.0), 1.0)
        return [values * scale for values in beta]

    def distances(self, beta: Sequence[Array]) -> tuple[Array, Array]:
        """The coefficients of each example, and how much each can differ at any other feasible
        point; both have a column per class."""
        a = np.stack(self.coefficients(beta), axis=1)
        own = np.arange(len(a)), self.codes
        own_most = self.C * (len(self.parts) - 1 if self.machine == "weston_watkins" else 1)
        reach = np.maximum(a + self.C[:, None], -a)
        reach[own] = np.maximum(a[own], own_most - a[own])
        return a, reach


@dataclass(frozen=True)
class AllClasses:
    """One problem for all classes."""

    codes: NDArray[np.int32]
    """The class of each example, from 0 to `classes` - 1."""
    C: Array
    classes: int
    machine: str
    """One of MACHINES."""

    @built_once
    def dual(self) -> Dual:
        zero = np.zeros_like(self.C)
        parts = Rows(self.classes, partial(self._part, zero))
        return AllClassesDual(zero, parts, codes=self.codes, C=self.C, machine=self.machine)

    def _part(self, zero: Array, c: int) -> Part:
        return Part(zero, zero, np.where(self.codes == c, 0.0, self.C))

    def at_zero(self) -> Array:
        """The primal objective of zero scores, where the solver starts; the dual one is zero."""
        errors = self.classes - 1 if self.machine == "weston_watkins" else 1
        return np.array([errors * self.C.sum()])

    def model(self, beta: Sequence[Array], gradient: Sequence[Array]) -> Model:
        """`gradient` has the scores of the examples; it and ``coef`` have a row per class."""
        coef = self.dual().coefficients(beta)
        own = np.zeros_like(self.C)
        for c in range(self.classes):
            np.copyto(own, gradient[c], where=self.codes == c)
        used, loss, quadratic = np.zeros_like(own), np.zeros_like(own), 0.0
        for c in range(self.classes):
            scores = gradient[c]
            errors = np.where(self.codes == c, 0.0, 1.0 - own + scores)
            used += beta[c] * errors
            errors = np.maximum(errors, 0.0)
            loss = loss + errors if self.machine == "weston_watkins" else np.maximum(loss, errors)
            quadratic += float((coef[c] * scores).sum())
        # The gap is the sum of C loss - beta'errors over the examples, and no term is negative. The
        # difference of the objectives would be less accurate. The primal may be far larger than the
        # dual, so it is computed as their sum: a difference would be a less accurate dual.
        gap = float(np.maximum(self.C * loss - used, 0.0).sum())
        dual = sum(float(beta[c].sum()) for c in range(self.classes)) - 0.5 * quadratic
        return Model(coef=coef, intercept=0.0, primal_objective=dual + gap, dual_objective=dual)
