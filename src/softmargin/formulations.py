"""The five formulations, each stated once as data for the one dual problem.

The core minimises, over signed variables beta in one part or two that share the kernel rows::

    1/2 b'Kb + p'b + sum_s offset_s e'beta_s,   b = sum_s beta_s,   lower_s <= beta_s <= upper_s,

keeping the sum of all beta, or of each part when the parts are separate (the nu forms).  A class
below says what p, the parts and the start are for its formulation (``dual``), and turns the core's
answer back into a decision function f(x) = sum_i coef_i K(x_i, x) + intercept and the two
objectives that certify it (``model``).  Every weight w_i means w_i repetitions of example i.

LIBSVM paper, Section 2 (in the scaled form that it solves) and 3.5 (b and rho).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Part:
    """Some of the variables of a dual problem: where they start and between which bounds."""

    start: Array
    lower: Array
    upper: Array
    offset: float = 0.0


@dataclass(frozen=True)
class Dual:
    p: Array
    parts: tuple[Part, ...]
    separate: bool = False


@dataclass(frozen=True)
class Model:
    """A decision function and the objectives of the problem that it solves."""

    coef: Array
    intercept: float
    primal_objective: float
    dual_objective: float
    fault: str | None = None
    """Why the optimum, if this is it, is of no use."""


class Formulation(Protocol):
    def dual(self) -> Dual: ...

    def model(self, beta: list[Array], gradient: Array) -> Model: ...


@dataclass(frozen=True)
class CSupportVectorClassification:
    """minimise 1/2 w'w + sum_i C_i xi_i  with  y_i (w'phi(x_i) + b) >= 1 - xi_i,  xi >= 0."""

    y: Array
    C: Array

    def dual(self) -> Dual:
        lower, upper = np.where(self.y > 0, 0.0, -self.C), np.where(self.y > 0, self.C, 0.0)
        return Dual(p=-self.y, parts=(Part(np.zeros_like(self.y), lower, upper),))

    def model(self, beta: list[Array], gradient: Array) -> Model:
        dual = self.dual()
        (coef,), f = beta, gradient - dual.p
        b = threshold(-gradient, coef, dual.parts[0])
        quadratic = 0.5 * dot(coef, f)
        slack = np.maximum(0.0, 1.0 - self.y * (f + b))
        return Model(
            coef=coef,
            intercept=b,
            primal_objective=quadratic + penalty(self.C, slack),
            dual_objective=dot(self.y, coef) - quadratic,
        )


@dataclass(frozen=True)
class NuSupportVectorClassification:
    """minimise 1/2 w'w - nu W rho + sum_i w_i xi_i,  W = sum_i w_i,
    with  y_i (w'phi(x_i) + b) >= rho - xi_i,  xi >= 0,  rho >= 0.

    The decision function is divided by rho, so that the margins are at +1 and -1.  Weights of
    classes count as weights of their examples; where they make nu infeasible, the largest feasible
    nu takes its place (`nu_is_clipped`).
    """

    y: Array
    weight: Array
    nu: float
    nu_is_clipped: bool = False

    @property
    def smaller(self) -> float:
        """The weight of the lighter class: the most that its alpha can add up to."""
        return float(min(self.weight[self.y > 0].sum(), self.weight[self.y < 0].sum()))

    @property
    def total(self) -> float:
        """What the alpha of each class add up to."""
        asked = 0.5 * self.nu * float(self.weight.sum())
        return min(asked, self.smaller) if self.nu_is_clipped else asked

    def infeasibility(self) -> str | None:
        if self.total <= self.smaller * (1 + 1e-12):
            return None
        largest = 2 * self.smaller / self.weight.sum()
        return f"at most {largest:.6g} is feasible for these two classes"

    def dual(self) -> Dual:
        zero = np.zeros_like(self.y)
        positive = np.where(self.y > 0, self.weight, 0.0)
        negative = np.where(self.y < 0, self.weight, 0.0)
        return Dual(
            p=zero,
            parts=(
                Part(fill(positive, self.total), zero, positive),
                Part(-fill(negative, self.total), -negative, zero),
            ),
            separate=True,
        )

    def model(self, beta: list[Array], gradient: Array) -> Model:
        dual = self.dual()
        upper, lower = (
            threshold(-gradient, part_beta, part)
            for part_beta, part in zip(beta, dual.parts, strict=True)
        )
        # -gradient is b - rho at the free variables of the positive class, b + rho at the others'.
        b, rho = 0.5 * (upper + lower), 0.5 * (lower - upper)
        # A class whose alpha must all be at their bounds consists of margin errors; its margin may
        # be anywhere beyond, at the same objective. The boundary is put where its margin was.
        full = [self.weight[self.y * sign > 0].sum() <= self.total * (1 + 1e-9) for sign in (1, -1)]
        if full[0] != full[1]:
            b, rho = (b - rho if full[0] else b + rho), 2 * rho
        fault, scale = None, rho
        if not rho > 0:
            fault = (
                f"nu={self.nu} gives a margin of rho={rho:.3g}: the two classes cannot be told"
                " apart at this nu. Increase nu, choose a kernel that separates them better, or,"
                " if rho is close to zero, lower tol."
            )
            # Short of the optimum it may still become positive; until then there is no margin to
            # scale to.
            rho, scale = 0.0, 1.0
        coef = beta[0] + beta[1]
        quadratic = 0.5 * dot(coef, gradient)
        slack = np.maximum(0.0, rho - self.y * (gradient + b))
        primal = quadratic - 2 * self.total * rho + dot(self.weight, slack)
        return Model(coef / scale, b / scale, primal, -quadratic, fault)


@dataclass(frozen=True)
class OneClass:
    """minimise 1/2 w'w - nu W rho + sum_i w_i xi_i,  W = sum_i w_i,
    with  w'phi(x_i) >= rho - xi_i,  xi >= 0."""

    weight: Array
    nu: float

    def dual(self) -> Dual:
        zero = np.zeros_like(self.weight)
        start = fill(self.weight, self.nu * float(self.weight.sum()))
        return Dual(p=zero, parts=(Part(start, zero, self.weight),))

    def model(self, beta: list[Array], gradient: Array) -> Model:
        (coef,) = beta
        rho = -threshold(-gradient, coef, self.dual().parts[0])
        quadratic = 0.5 * dot(coef, gradient)
        slack = np.maximum(0.0, rho - gradient)
        primal = quadratic - self.nu * self.weight.sum() * rho + dot(self.weight, slack)
        return Model(coef, -rho, primal, -quadratic)


@dataclass(frozen=True)
class EpsilonSupportVectorRegression:
    """minimise 1/2 w'w + sum_i C_i (xi_i + xi*_i)
    with  -epsilon - xi*_i <= z_i - w'phi(x_i) - b <= epsilon + xi_i,  xi, xi* >= 0."""

    z: Array
    C: Array
    epsilon: float

    def dual(self) -> Dual:
        zero = np.zeros_like(self.z)
        return Dual(
            p=-self.z,
            parts=(
                Part(zero, zero, self.C, offset=self.epsilon),
                Part(zero, -self.C, zero, offset=-self.epsilon),
            ),
        )

    def model(self, beta: list[Array], gradient: Array) -> Model:
        dual = self.dual()
        coef, f = beta[0] + beta[1], gradient + self.z
        b = threshold(
            np.concatenate([-(gradient + part.offset) for part in dual.parts]),
            np.concatenate(beta),
            Part(
                np.empty(0),
                np.concatenate([part.lower for part in dual.parts]),
                np.concatenate([part.upper for part in dual.parts]),
            ),
        )
        quadratic = 0.5 * dot(coef, f)
        slack = np.maximum(0.0, np.abs(self.z - f - b) - self.epsilon)
        return Model(
            coef=coef,
            intercept=b,
            primal_objective=quadratic + penalty(self.C, slack),
            dual_objective=dot(self.z, coef)
            - self.epsilon * (beta[0].sum() - beta[1].sum())
            - quadratic,
        )


@dataclass(frozen=True)
class NuSupportVectorRegression:
    """minimise 1/2 w'w + nu C W epsilon + sum_i C_i (xi_i + xi*_i),  C_i = C w_i,  W = sum_i w_i,
    with the constraints of epsilon-SVR and epsilon >= 0."""

    z: Array
    C: Array
    nu: float

    @property
    def total(self) -> float:
        """What alpha, and what alpha*, add up to."""
        return 0.5 * self.nu * float(self.C.sum())

    def dual(self) -> Dual:
        zero = np.zeros_like(self.z)
        start = fill(self.C, self.total)
        return Dual(
            p=-self.z,
            parts=(Part(start, zero, self.C), Part(-start, -self.C, zero)),
            separate=True,
        )

    def model(self, beta: list[Array], gradient: Array) -> Model:
        dual = self.dual()
        above, below = (
            threshold(-gradient, part_beta, part)
            for part_beta, part in zip(beta, dual.parts, strict=True)
        )
        # -gradient is b + epsilon at the free alpha and b - epsilon at the free alpha*.
        b = 0.5 * (above + below)
        coef, f = beta[0] + beta[1], gradient + self.z
        quadratic, error = 0.5 * dot(coef, f), np.abs(self.z - f - b)
        epsilon = best_width(error, self.C, 2 * self.total)
        slack = np.maximum(0.0, error - epsilon)
        primal = quadratic + 2 * self.total * epsilon + penalty(self.C, slack)
        return Model(coef, b, primal, dot(self.z, coef) - quadratic)


def threshold(values: Array, beta: Array, part: Part) -> float:
    """What -derivative is at the optimum: its mean over the free variables, or, where there are
    none, the middle of what the variables at their bounds allow."""
    can_rise, can_fall = beta < part.upper, beta > part.lower
    free = can_rise & can_fall
    if free.any():
        return float(values[free].mean())
    bounds = [
        *([values[can_rise].max()] if can_rise.any() else []),
        *([values[can_fall].min()] if can_fall.any() else []),
    ]
    return float(np.mean(bounds))


def on_the_boundary_zero(values: Array, intercept: float, vectors: int) -> Array:
    """Decision values of a one-class machine.  The free ones of its support vectors lie on the
    boundary, and so inside: their values are rounding alone, whose sign must not decide."""
    rounding = 2 * vectors * np.finfo(np.float64).eps * abs(intercept)
    return np.where(np.abs(values) <= rounding, 0.0, values)


def best_width(error: Array, C: Array, price: float) -> float:
    """The smallest epsilon that minimises price * epsilon + sum_i C_i max(0, error_i - epsilon): at
    the optimum of the whole problem its own, and before, what certifies the smallest gap."""
    order = np.argsort(-error)
    wider = int(np.searchsorted(np.cumsum(C[order]), price, side="right"))
    return float(error[order[wider]]) if wider < len(error) else 0.0


def fill(capacity: Array, total: float) -> Array:
    """Variables that add up to `total`, filled one after the other."""
    before = np.concatenate([[0.0], np.cumsum(capacity)[:-1]])
    return np.clip(total - before, 0.0, capacity)


def dot(a: Array, b: Array) -> float:
    return float(a @ b)


def penalty(C: Array, slack: Array) -> float:
    """sum_i C_i slack_i, where no slack costs nothing even at C = inf."""
    paid = slack > 0
    return dot(C[paid], slack[paid])
