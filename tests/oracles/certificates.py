"""Objectives and KKT violation, recomputed from a fitted machine's attributes and kernel values.

Each function states the primal and the dual of its formulation as in the LIBSVM paper (Section 2,
scaled form), with weights as repetitions, and shares no code with the package.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


@dataclass
class Certificate:
    primal: float
    dual: float  # of a regression, may exceed the solver's, where alpha and alpha* may both be > 0
    bounds_hold: bool
    sums: float  # violation of the equality constraints, relative to the sum of all bounds
    violation: float | None = None  # None if it cannot be computed from the attributes
    rounding: float = 0.0  # possible rounding error of the objectives
    value_rounding: float = 0.0  # possible rounding error of the decision values


def coefficients(machine, count):
    coef = np.zeros(count)
    coef[machine.support_] = np.asarray(machine.dual_coef_)[0]
    return coef


def violation(value, may_rise, may_fall):
    if not (may_rise.any() and may_fall.any()):
        return 0.0
    return max(value[may_rise].max() - value[may_fall].min(), 0.0)


def of_svc(machine, K, y, C):
    """y is in {+1, -1}; +1 is the second class."""
    coef = coefficients(machine, len(y))
    f = K @ coef
    margin = y * (f + machine.intercept_[0])
    alpha, signed_limit = y * coef, y * C
    return Certificate(
        primal=0.5 * coef @ f + C @ np.maximum(0, 1 - margin),
        dual=alpha.sum() - 0.5 * coef @ f,
        bounds_hold=bool(((alpha >= 0) & (alpha <= C)).all()),
        sums=abs(coef.sum()) / C.sum(),
        violation=violation(
            y - f, coef < np.maximum(signed_limit, 0), coef > np.minimum(signed_limit, 0)
        ),
        **rounding(K, coef, C),
    )


def of_nu_svc(machine, K, y, weight, nu):
    scaled = coefficients(machine, len(y))
    total = nu * weight.sum() / 2
    rho = total / (y * scaled)[y > 0].sum()
    coef, b = scaled * rho, machine.intercept_[0] * rho
    f = K @ coef
    slack = np.maximum(0, rho - y * (f + b))
    alpha = y * coef
    near = 1 + 1e-10  # because alpha = scaled * rho is rounded
    return Certificate(
        primal=0.5 * coef @ f - 2 * total * rho + weight @ slack,
        dual=-0.5 * coef @ f,
        bounds_hold=bool(((alpha >= 0) & (alpha <= weight * near)).all()),
        sums=abs((y * coef)[y < 0].sum() - total) / weight.sum(),
        **rounding(K, coef, weight),
    )


def of_one_class(machine, K, weight, nu):
    alpha, rho = coefficients(machine, len(weight)), machine.offset_[0]
    f = K @ alpha
    total = nu * weight.sum()
    return Certificate(
        primal=0.5 * alpha @ f - total * rho + weight @ np.maximum(0, rho - f),
        dual=-0.5 * alpha @ f,
        bounds_hold=bool(((alpha >= 0) & (alpha <= weight)).all()),
        sums=abs(alpha.sum() - total) / weight.sum(),
        violation=violation(-f, alpha < weight, alpha > 0),
        **rounding(K, alpha, weight),
    )


def of_svr(machine, K, z, C, epsilon):
    coef = coefficients(machine, len(z))
    f = K @ coef
    error = np.abs(z - f - machine.intercept_[0])
    return Certificate(
        primal=0.5 * coef @ f + C @ np.maximum(0, error - epsilon),
        dual=z @ coef - epsilon * np.abs(coef).sum() - 0.5 * coef @ f,
        bounds_hold=bool((np.abs(coef) <= C).all()),
        sums=abs(coef.sum()) / C.sum(),
        **rounding(K, coef, C),
    )


def of_nu_svr(machine, K, z, C, nu):
    coef = coefficients(machine, len(z))
    f = K @ coef
    error = np.abs(z - f - machine.intercept_[0])
    price = nu * C.sum()
    widths = np.concatenate([[0.0], error])  # the primal is piecewise linear in epsilon
    losses = [price * width + C @ np.maximum(0, error - width) for width in widths]
    return Certificate(
        primal=0.5 * coef @ f + min(losses),
        dual=z @ coef - 0.5 * coef @ f,
        bounds_hold=bool((np.abs(coef) <= C).all()),
        sums=abs(coef.sum()) / C.sum(),
        **rounding(K, coef, C),
    )


def rounding(K, coef, C):
    """1e-11 times the largest sums that occur: of |coef_i K_ij|, and of C_j times such sums."""
    sums = np.abs(K) @ np.abs(coef) + 1
    return {
        "rounding": 1e-11 * float((np.abs(coef) + C) @ sums),
        "value_rounding": 1e-11 * sums.max(),
    }
