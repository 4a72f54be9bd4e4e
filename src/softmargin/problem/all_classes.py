"""The kernel machines for all classes at once, as data for the core: Weston-Watkins and
Crammer-Singer.

With scores s_c(x) = sum_i a_ic K(x_i, x), one for each class c::

    minimise  1/2 sum_c a_c'Ka_c + sum_i C_i loss_i

The loss of an example of class y is the sum over the other classes of max(0, 1 - s_y + s_c)
(Weston-Watkins) or the largest of them (Crammer-Singer).  The dual variables are beta_ic for
c != y, in [0, C_i], for Crammer-Singer with a sum of at most C_i; then a_ic = -beta_ic, and a_iy is
the sum of the example's beta.  There is no intercept.  ``_core/all_classes`` solves it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from softmargin.problem.formulations import Array, Dual, Model, Part, built_once

MACHINES = ("weston_watkins", "crammer_singer")


@dataclass(frozen=True)
class AllClassesDual(Dual):
    """A part for each class, with a variable for each example.  The variable of an example for its
    own class is zero."""

    codes: NDArray[np.int32] = None  # type: ignore[assignment]
    C: Array = None  # type: ignore[assignment]
    machine: str = ""

    keeps_sums = False

    def solver(self, core: Any, beta: list[Array], **options: Any) -> Any:
        given = {name: options.pop(name) for name in ("rule", "block_size", "newton")}
        for name in ("gain_rows", "eta", "keep_rows"):  # options of rules for pairs
            options.pop(name)
        return core.all_classes_solver(
            labels=self.codes,
            upper=self.C,
            start=np.ascontiguousarray(np.stack(beta, axis=1)),
            machine=self.machine,
            **given,
            **options,
        )

    def variables(self, solver: Any) -> list[Array]:
        return list(solver.variables())

    def gradient(self, solver: Any) -> Array:
        """The scores: a row per class."""
        scores: Array = solver.scores()
        return scores

    def coefficients(self, beta: list[Array]) -> list[Array]:
        """The coefficients a of each class."""
        a = -np.stack(beta)
        a[self.codes, np.arange(len(self.codes))] = np.sum(beta, axis=0)
        return list(a)

    def reach(self, beta: list[Array]) -> Array:
        used = np.count_nonzero(np.stack(beta), axis=0)
        return np.where(used > 0, used if self.machine == "weston_watkins" else 1, 0) * self.C**2

    def feasible(self, beta: list[Array]) -> list[Array]:
        """For variables within their bounds: those of Crammer-Singer whose sum is too large are
        scaled down."""
        if self.machine == "weston_watkins":
            return beta
        total = np.sum(beta, axis=0)
        scale = np.where(total > self.C, self.C / np.where(total > 0, total, 1.0), 1.0)
        return [values * scale for values in beta]

    def distances(self, beta: list[Array]) -> tuple[Array, Array]:
        """The coefficients of each example, and how much each can differ at any other feasible
        point; both have a column per class."""
        a = np.stack(self.coefficients(beta), axis=1)
        classes = len(self.parts)
        own_most = self.C * (classes - 1 if self.machine == "weston_watkins" else 1)
        lower, upper = np.repeat(-self.C[:, None], classes, axis=1), np.zeros_like(a)
        own = np.arange(len(a)), self.codes
        lower[own], upper[own] = 0.0, own_most
        return a, np.maximum(a - lower, upper - a)


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
        parts = tuple(
            Part(zero, zero, np.where(self.codes == c, 0.0, self.C)) for c in range(self.classes)
        )
        return AllClassesDual(zero, parts, codes=self.codes, C=self.C, machine=self.machine)

    def at_zero(self) -> Array:
        """The primal objective of zero scores, where the solver starts; the dual one is zero."""
        errors = self.classes - 1 if self.machine == "weston_watkins" else 1
        return np.array([errors * self.C.sum()])

    def model(self, beta: list[Array], gradient: Array) -> Model:
        """`gradient` has the scores of the examples; ``coef`` is a row per class, flattened."""
        a, scores = np.stack(self.dual().coefficients(beta)), gradient
        own = self.codes, np.arange(len(self.codes))
        errors = 1.0 - scores[own] + scores
        errors[own] = 0.0
        used = (np.stack(beta) * errors).sum(axis=0)
        errors = np.maximum(errors, 0.0)
        loss = errors.sum(axis=0) if self.machine == "weston_watkins" else errors.max(axis=0)
        # The gap is the sum of C loss - beta'errors over the examples, and no term is negative. The
        # difference of the objectives, sum(beta) - quadratic in the dual, would be less accurate.
        gap = float(np.maximum(self.C * loss - used, 0.0).sum())
        primal = 0.5 * float((a * scores).sum()) + float(self.C @ loss)
        return Model(
            coef=a.ravel(),
            intercept=0.0,
            primal_objective=primal,
            dual_objective=primal - gap,
        )
