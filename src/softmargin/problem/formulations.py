"""The five formulations, each stated once as data for the one dual problem.

The core minimises, over signed variables beta in one part or two that share the kernel rows::

    1/2 b'Kb + p'b + sum_s offset_s e'beta_s,   b = sum_s beta_s,   lower_s <= beta_s <= upper_s,

keeping the sum of all beta, or of each part when the parts are separate (the nu forms).  Each class
below gives p, the parts and the start for its formulation (``dual``), and turns the core's answer
into a decision function f(x) = sum_i coef_i K(x_i, x) + intercept and the two objectives that
certify it (``model``).  A weight w_i is equivalent to w_i repetitions of example i.

The classification formulations state one problem, or many in the same arrays: with ``starts``,
problem k has the examples from starts[k] to starts[k + 1].

LIBSVM paper, Section 2 (in the scaled form that it solves) and 3.5 (b and rho).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import wraps
from typing import Any, ClassVar, Protocol

import numpy as np
from numpy.typing import NDArray

from softmargin import _core

Array = NDArray[np.float64]
Starts = NDArray[np.int64] | Sequence[int]
ROUNDING = 1e-12


@dataclass(frozen=True)
class Part:
    """One group of variables of a dual problem: their start values and their bounds."""

    start: Array
    lower: Array
    upper: Array
    offset: float = 0.0


@dataclass(frozen=True)
class Dual:
    p: Array
    parts: Sequence[Part]
    separate: bool = False

    keeps_sums: ClassVar[bool] = True
    """Whether the sum of the coefficients is the same at every feasible point."""

    def solver(self, core: Any, beta: Sequence[Array], **options: Any) -> Any:
        """The solver of the core for this problem, at the point `beta`."""
        return core.Solver(p=self.p, parts=self.arrays(beta), separate=self.separate, **options)

    def arrays(
        self, beta: Sequence[Array] | None = None
    ) -> list[tuple[Array, Array, Array, float]]:
        """The parts as the core takes them, at the point `beta` or at the start."""
        beta = [part.start for part in self.parts] if beta is None else beta
        return [
            (own, part.lower, part.upper, part.offset)
            for own, part in zip(beta, self.parts, strict=True)
        ]

    def variables(self, solver: Any) -> Sequence[Array]:
        """The variables of the solver's point, by part."""
        return [solver.beta(s) for s in range(len(self.parts))]

    def gradient(self, solver: Any) -> Array:
        gradient: Array = solver.gradient()
        return gradient

    def coefficients(self, beta: Sequence[Array]) -> Sequence[Array]:
        """The coefficients of each kernel expansion: here a single one."""
        return [np.sum(beta, axis=0)]

    def reach(self, beta: Sequence[Array]) -> Array:
        """For each example, the square of how much its decision value can change the primal
        objective: for a support vector, the width between its bounds; for others, which are outside
        the margin, zero."""
        squares = np.zeros(len(self.p))
        for own, part in zip(beta, self.parts, strict=True):
            squares += np.where(own != 0, (part.upper - part.lower) ** 2, 0.0)
        return squares

    def in_gap(self, beta: Sequence[Array], gradient: Array, within: float) -> NDArray[np.bool_]:
        """The examples whose decision value affects the duality gap, if derivatives may be off by
        `within`.  The gap is the sum that `best_threshold` minimises.  A variable at its bound
        contributes nothing to this sum unless its derivative has the wrong sign."""
        values = [-(gradient + part.offset) for part in self.parts]
        every = range(len(self.parts))
        groups = [[s] for s in every] if self.separate else [list(every)]
        counts = np.zeros(len(self.p), dtype=bool)
        for group in groups:
            threshold = best_threshold(
                [values[s] for s in group], [beta[s] for s in group], [self.parts[s] for s in group]
            )
            for s in group:
                part = self.parts[s]
                counts |= (beta[s] < part.upper) & (values[s] > threshold - within)
                counts |= (beta[s] > part.lower) & (values[s] < threshold + within)
        return counts

    def feasible(self, beta: Sequence[Array]) -> list[Array]:
        """`beta`, which is within its bounds, changed to have the same sums as the start."""
        if self.separate:
            return [repaired(b, part) for b, part in zip(beta, self.parts, strict=True)]
        whole = Part(
            start=np.concatenate([part.start for part in self.parts]),
            lower=np.concatenate([part.lower for part in self.parts]),
            upper=np.concatenate([part.upper for part in self.parts]),
        )
        ends = np.cumsum([len(b) for b in beta])[:-1]
        return np.split(repaired(np.concatenate(beta), whole), ends)

    def distances(self, beta: Sequence[Array]) -> tuple[Array, Array]:
        """The coefficient of each example, and how much it can differ at any other feasible point;
        both have a column for each kernel expansion."""
        coef = np.sum(beta, axis=0)
        lower = np.sum([part.lower for part in self.parts], axis=0)
        upper = np.sum([part.upper for part in self.parts], axis=0)
        return coef[:, None], np.maximum(coef - lower, upper - coef)[:, None]


@dataclass(frozen=True)
class Model:
    """A decision function and the objectives of the problem that it solves."""

    coef: Any
    """A number for each example; for machines for all classes at once, a row per class."""
    intercept: float
    primal_objective: float
    dual_objective: float
    fault: str | None = None
    """Why the model cannot be used if this is the optimum; None if it can."""


@dataclass(frozen=True)
class Models:
    """The models of many problems, in the same arrays."""

    coef: Array
    intercept: Array
    primal_objective: Array
    dual_objective: Array
    faults: dict[int, str] = field(default_factory=dict)
    """By problem number."""

    @classmethod
    def of(cls, formulation: Any, beta: Sequence[Array], gradient: Array) -> Models:
        """The models of all problems of a formulation, or of its only one."""
        if hasattr(formulation, "models"):
            models: Models = formulation.models(beta, gradient)
            return models
        model = formulation.model(beta, gradient)
        return cls(
            coef=model.coef,
            intercept=np.array([model.intercept]),
            primal_objective=np.array([model.primal_objective]),
            dual_objective=np.array([model.dual_objective]),
            faults={0: model.fault} if model.fault else {},
        )

    @classmethod
    def of_all(
        cls, formulations: Sequence[Any], beta: Sequence[Sequence[Array]], gradient: Sequence[Array]
    ) -> list[Models]:
        """The models of many formulations, each with its point.  Models of C-SVC are computed
        together, because for small problems most of the time would be the overhead of NumPy
        calls."""
        points = zip(formulations, beta, gradient, strict=True)
        if not all(isinstance(one, CSupportVectorClassification) for one in formulations):
            return [cls.of(*point) for point in points]
        coef = [own[0] for own in beta]
        together = CSupportVectorClassification.joined(formulations).models(
            [np.concatenate(coef)], np.concatenate(gradient)
        )
        columns = together.intercept, together.primal_objective, together.dual_objective
        counts = [Segments(one.starts, len(one.y)).sizes.size for one in formulations]
        each = (np.split(column, np.cumsum(counts)[:-1]) for column in columns)
        return [cls(*model) for model in zip(coef, *each, strict=True)]

    def multiples(self, beta: Sequence[Array], each: Segments) -> Array:
        """For each problem, the factor by which b is multiplied to give the coefficients: 1, except
        for nu-SVC."""
        b = np.sum(beta, axis=0)
        squares = each.sum(b * b)
        return np.where(squares > 0, each.sum(self.coef * b) / np.maximum(squares, 1e-300), 1.0)

    def only(self) -> Model:
        """The model of a single problem."""
        return Model(
            self.coef,
            float(self.intercept[0]),
            float(self.primal_objective[0]),
            float(self.dual_objective[0]),
            self.faults.get(0),
        )


def repaired(beta: Array, part: Part) -> Array:
    """`beta`, which is within the bounds of `part`, changed to have the sum of the part's start
    (``_core/feasible.hpp`` says how)."""
    changed: Array = _core.repaired(beta, part.lower, part.upper, float(part.start.sum()))
    return changed


def built_once(build: Callable[[Any], Dual]) -> Callable[[Any], Dual]:
    """Keeps the dual problem of a formulation, which never changes."""

    @wraps(build)
    def dual(self: Any) -> Dual:
        if "_dual" not in vars(self):
            vars(self)["_dual"] = build(self)
        kept: Dual = vars(self)["_dual"]
        return kept

    return dual


class Formulation(Protocol):
    def dual(self) -> Dual: ...

    def model(self, beta: Sequence[Array], gradient: Array) -> Model: ...


@dataclass(frozen=True)
class CSupportVectorClassification:
    """minimise 1/2 w'w + sum_i C_i xi_i  with  y_i (w'phi(x_i) + b) >= 1 - xi_i,  xi >= 0."""

    y: Array
    C: Array
    starts: Starts = ()

    @built_once
    def dual(self) -> Dual:
        lower, upper = np.where(self.y > 0, 0.0, -self.C), np.where(self.y > 0, self.C, 0.0)
        return Dual(p=-self.y, parts=(Part(np.zeros_like(self.y), lower, upper),))

    @classmethod
    def joined(cls, many: Sequence[CSupportVectorClassification]) -> CSupportVectorClassification:
        """The problems of all of them, one after another."""
        sizes = [Segments(one.starts, len(one.y)).sizes for one in many]
        starts = np.cumsum(np.concatenate([[0], *sizes]))
        return cls(np.concatenate([o.y for o in many]), np.concatenate([o.C for o in many]), starts)

    def at_zero(self) -> Array:
        """The primal objective of w = 0, b = 0, where the solver starts; the dual one is zero."""
        return Segments(self.starts, len(self.y)).sum(self.C)

    def models(self, beta: Sequence[Array], gradient: Array) -> Models:
        dual, each = self.dual(), Segments(self.starts, len(self.y))
        (coef,), f = beta, gradient - dual.p
        b = each.best_threshold(-gradient, coef, dual.parts[0])
        quadratic = 0.5 * each.sum(coef * f)
        slack = np.maximum(0.0, 1.0 - self.y * (f + each.spread(b)))
        return Models(
            coef=coef,
            intercept=b,
            primal_objective=quadratic + each.sum(cost(self.C, slack)),
            dual_objective=each.sum(self.y * coef) - quadratic,
        )

    def model(self, beta: Sequence[Array], gradient: Array) -> Model:
        return self.models(beta, gradient).only()


@dataclass(frozen=True)
class NuSupportVectorClassification:
    """minimise 1/2 w'w - nu W rho + sum_i w_i xi_i,  W = sum_i w_i,
    with  y_i (w'phi(x_i) + b) >= rho - xi_i,  xi >= 0,  rho >= 0.

    The decision function is divided by rho, so that the margins are at +1 and -1.  Class weights
    multiply the weights of their examples; where they make nu infeasible, the largest feasible nu
    replaces it (`nu_is_clipped`, for all problems or for each).
    """

    y: Array
    weight: Array
    nu: float
    nu_is_clipped: bool | NDArray[np.bool_] = False
    starts: Starts = ()

    def class_weights(self) -> tuple[Array, Array]:
        """The weights of the two classes of each problem, which limit the sums of their alpha."""
        each = Segments(self.starts, len(self.y))
        positive = each.sum(np.where(self.y > 0, self.weight, 0.0))
        return positive, each.sum(np.where(self.y < 0, self.weight, 0.0))

    def totals(self) -> Array:
        """The sum of the alpha of each class, by problem."""
        return nu_totals(self.nu, *self.class_weights(), clipped=self.nu_is_clipped)

    @built_once
    def dual(self) -> Dual:
        zero, total = np.zeros_like(self.y), self.totals()
        positive = np.where(self.y > 0, self.weight, 0.0)
        negative = np.where(self.y < 0, self.weight, 0.0)
        each = Segments(self.starts, len(self.y))
        return Dual(
            p=zero,
            parts=(
                Part(each.fill(positive, total), zero, positive),
                Part(-each.fill(negative, total), -negative, zero),
            ),
            separate=True,
        )

    def models(self, beta: Sequence[Array], gradient: Array) -> Models:
        dual, total, each = self.dual(), self.totals(), Segments(self.starts, len(self.y))
        upper, lower = (
            each.best_threshold(-gradient, part_beta, part)
            for part_beta, part in zip(beta, dual.parts, strict=True)
        )
        # -gradient is b - rho at the free variables of the positive class, b + rho at the others'.
        b, rho = 0.5 * (upper + lower), 0.5 * (lower - upper)
        # If all alpha of a class must be at their bounds, all its examples are margin errors.  Its
        # margin can then lie anywhere beyond them, at the same objective.  The decision boundary is
        # put where its margin was.
        full = [weight <= total * (1 + 1e-9) for weight in self.class_weights()]
        one_is_full = full[0] != full[1]
        b = np.where(one_is_full, np.where(full[0], b - rho, b + rho), b)
        rho = np.where(one_is_full, 2 * rho, rho)
        wide = rho > 0
        faults = {int(k): self._fault(float(rho[k])) for k in np.flatnonzero(~wide)}
        # Before the optimum, rho may still become positive; until then nothing is divided by it.
        rho, scale = np.where(wide, rho, 0.0), np.where(wide, rho, 1.0)
        coef = beta[0] + beta[1]
        quadratic = 0.5 * each.sum(coef * gradient)
        slack = np.maximum(0.0, each.spread(rho) - self.y * (gradient + each.spread(b)))
        primal = quadratic - 2 * total * rho + each.sum(self.weight * slack)
        return Models(coef / each.spread(scale), b / scale, primal, -quadratic, faults)

    def _fault(self, rho: float) -> str:
        return (
            f"nu={self.nu} gives a margin of rho={rho:.3g}: the two classes cannot be told"
            " apart at this nu. Increase nu, choose a kernel that separates them better, or,"
            " if rho is close to zero, lower tol."
        )

    def model(self, beta: Sequence[Array], gradient: Array) -> Model:
        return self.models(beta, gradient).only()


def nu_totals(
    nu: float, first: Array, second: Array, clipped: bool | NDArray[np.bool_] = False
) -> Array:
    """The sum of the alpha of each class of nu-SVC, for classes of weight `first` and `second`; if
    `clipped`, at most the weight of the lighter class."""
    asked = 0.5 * nu * (first + second)
    return np.where(clipped, np.minimum(asked, np.minimum(first, second)), asked)


@dataclass(frozen=True)
class OneClass:
    """minimise 1/2 w'w - nu W rho + sum_i w_i xi_i,  W = sum_i w_i,
    with  w'phi(x_i) >= rho - xi_i,  xi >= 0."""

    weight: Array
    nu: float

    @built_once
    def dual(self) -> Dual:
        zero = np.zeros_like(self.weight)
        start = fill(self.weight, self.nu * float(self.weight.sum()))
        return Dual(p=zero, parts=(Part(start, zero, self.weight),))

    def model(self, beta: Sequence[Array], gradient: Array) -> Model:
        (coef,) = beta
        rho = -best_threshold([-gradient], beta, self.dual().parts)
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

    @built_once
    def dual(self) -> Dual:
        zero = np.zeros_like(self.z)
        return Dual(
            p=-self.z,
            parts=(
                Part(zero, zero, self.C, offset=self.epsilon),
                Part(zero, -self.C, zero, offset=-self.epsilon),
            ),
        )

    def at_zero(self) -> Array:
        """The primal objective of w = 0, b = 0, where the solver starts; the dual one is zero."""
        return np.array([penalty(self.C, np.maximum(0.0, np.abs(self.z) - self.epsilon))])

    def model(self, beta: Sequence[Array], gradient: Array) -> Model:
        dual = self.dual()
        coef, f = beta[0] + beta[1], gradient + self.z
        b = best_threshold([-(gradient + part.offset) for part in dual.parts], beta, dual.parts)
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
        """The sum of alpha, which is also the sum of alpha*."""
        return 0.5 * self.nu * float(self.C.sum())

    @built_once
    def dual(self) -> Dual:
        zero = np.zeros_like(self.z)
        start = fill(self.C, self.total)
        return Dual(
            p=-self.z,
            parts=(Part(start, zero, self.C), Part(-start, -self.C, zero)),
            separate=True,
        )

    def model(self, beta: Sequence[Array], gradient: Array) -> Model:
        dual = self.dual()
        above, below = (
            best_threshold([-gradient], [part_beta], [part])
            for part_beta, part in zip(beta, dual.parts, strict=True)
        )
        # -gradient is b + epsilon at the free alpha and b - epsilon at the free alpha*.
        b, epsilon = 0.5 * (above + below), 0.5 * (above - below)
        if epsilon < 0:
            b, epsilon = best_threshold([-gradient, -gradient], beta, dual.parts), 0.0
        coef, f = beta[0] + beta[1], gradient + self.z
        quadratic, error = 0.5 * dot(coef, f), np.abs(self.z - f - b)
        slack = np.maximum(0.0, error - epsilon)
        primal = quadratic + 2 * self.total * epsilon + penalty(self.C, slack)
        return Model(coef, b, primal, dot(self.z, coef) - quadratic)


class Segments:
    """Many problems in the same arrays, one after another, and sums over each of them."""

    def __init__(self, starts: Starts, size: int) -> None:
        self.starts = np.asarray(starts if len(starts) else [0, size], dtype=np.int64)
        self.sizes = np.diff(self.starts)

    def sum(self, values: NDArray[Any]) -> Array:
        total: Array = np.add.reduceat(values, self.starts[:-1])
        return total

    def spread(self, of_problem: NDArray[Any]) -> NDArray[Any]:
        """For every example, the value of its problem."""
        return np.repeat(of_problem, self.sizes)

    def best_threshold(self, values: Array, beta: Array, part: Part) -> Array:
        """The b with the smallest duality gap, which for values v = -derivative is

            sum_i (upper_i - beta_i) max(0, v_i - b) + (beta_i - lower_i) max(0, b - v_i).

        If there are several, the nearest to the mean of v over the free variables or, if there are
        none, to the middle of the interval that the bounded variables allow.  At the optimum all
        of these are the same."""
        found: Array = _core.best_thresholds(values, beta, part.lower, part.upper, self.starts)
        return found

    def fill(self, capacity: Array, total: Array) -> Array:
        """Variables that sum to the problem's `total`, filled one after another."""
        problem = np.repeat(np.arange(len(self.sizes)), self.sizes)
        place = np.arange(len(capacity)) - self.spread(self.starts[:-1])
        before = np.zeros((len(self.sizes), int(self.sizes.max()) + 1))
        before[problem, place + 1] = capacity  # a row per problem keeps rounding separate
        before = np.cumsum(before, axis=1)[problem, place]
        filled: Array = np.clip(self.spread(total) - before, 0.0, capacity)
        return filled


def best_threshold(values: list[Array], beta: Sequence[Array], parts: Sequence[Part]) -> float:
    """The best threshold of a single problem, for the sum over these parts."""
    joint = Part(
        np.empty(0),
        np.concatenate([part.lower for part in parts]),
        np.concatenate([part.upper for part in parts]),
    )
    each = Segments((), sum(len(part_values) for part_values in values))
    return float(each.best_threshold(np.concatenate(values), np.concatenate(beta), joint)[0])


def on_the_boundary_zero(values: Array, intercept: float, vectors: int) -> Array:
    """Decision values of a one-class machine.  A point on the boundary counts as inside, so a value
    within rounding error of zero becomes zero.  (Free support vectors lie on the boundary only to
    within the solver's tolerance.)"""
    return np.where(np.abs(values) <= boundary_rounding(intercept, vectors), 0.0, values)


def boundary_rounding(intercept: float, vectors: int) -> float:
    return float(2 * vectors * np.finfo(np.float64).eps * abs(intercept))


def fill(capacity: Array, total: float) -> Array:
    """Variables that sum to `total`, filled one after another."""
    return Segments((), len(capacity)).fill(capacity, np.array([total]))


def dot(a: Array, b: Array) -> float:
    return float(a @ b)


def cost(C: Array, slack: Array) -> Array:
    """C_i slack_i; zero slack costs nothing, even at C = inf."""
    return np.multiply(C, slack, out=np.zeros_like(slack), where=slack > 0)


def penalty(C: Array, slack: Array) -> float:
    return float(cost(C, slack).sum())
