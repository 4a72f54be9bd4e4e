"""Slow twins of the working-set rules, straight from the maximum-gain paper and in its notation: f
is maximised, its gradient is -(Qa + p), and a step on the pair B = {b1, b2} has the direction w_B.
"""

from __future__ import annotations

from itertools import combinations, product

import numpy as np


def gradient(problem, alpha):
    return -(problem.Q @ alpha + problem.p)


def objective(problem, alpha):
    return -(0.5 * alpha @ problem.Q @ alpha + problem.p @ alpha)


def allowed(problem, b1, b2):
    """Whether b1 and b2 may form a pair: two variables, in the nu forms of the same class."""
    return b1 != b2 and any(part[b1] and part[b2] for part in problem.parts)


# --- 2.1 and 2.2: the step on a pair and its gain ----------------------------------------------


def direction(problem, b1, b2):
    w = np.zeros(len(problem.p))
    w[b1], w[b2] = 1.0, -problem.y[b1] * problem.y[b2]
    return w


def curvature(problem, b1, b2):
    Q, y = problem.Q, problem.y
    return Q[b1, b1] + Q[b2, b2] - 2 * y[b1] * y[b2] * Q[b1, b2]


def steps(problem, alpha, G, b1, b2):
    """(mu_max, mu*): the optimal step along w_B without and with the box constraints."""
    slope = G[b1] - problem.y[b1] * problem.y[b2] * G[b2]
    bend = curvature(problem, b1, b2)
    mu_max = slope / bend if bend > 0 else np.copysign(np.inf, slope) if slope else 0.0
    w = direction(problem, b1, b2)[[b1, b2]]
    room_below, room_above = alpha[[b1, b2]], problem.C[[b1, b2]] - alpha[[b1, b2]]
    highest = np.where(w > 0, room_above, room_below).min()
    lowest = -np.where(w > 0, room_below, room_above).min()
    return mu_max, min(max(mu_max, lowest), highest)


def gain(problem, alpha, G, b1, b2):
    """Equation 3; without positive curvature, the gain computed directly."""
    mu_max, mu = steps(problem, alpha, G, b1, b2)
    bend = curvature(problem, b1, b2)
    if bend > 0:
        return 0.5 * bend * (mu * (2 * mu_max - mu))
    return mu * (G[b1] - problem.y[b1] * problem.y[b2] * G[b2]) - 0.5 * bend * mu**2


# --- 1.3: most violating pair and second order --------------------------------------------------


def may_rise(problem, alpha):
    """The set I."""
    return np.where(problem.y == 1, alpha < problem.C, alpha > 0)


def may_fall(problem, alpha):
    """The set J."""
    return np.where(problem.y == 1, alpha > 0, alpha < problem.C)


def violations(problem, alpha, G):
    """The KKT violation of each pair (b1 in I, b2 in J)."""
    value = problem.y * G
    rise, fall = may_rise(problem, alpha), may_fall(problem, alpha)
    return {
        (b1, b2): value[b1] - value[b2]
        for b1, b2 in product(np.flatnonzero(rise), np.flatnonzero(fall))
        if allowed(problem, b1, b2)
    }


def second_order(problem, alpha, G, b1):
    """The gain of b1 with each partner if there were no box constraints."""
    return {
        (b1, b2): violation**2 / (2 * curvature(problem, b1, b2))
        for (first, b2), violation in violations(problem, alpha, G).items()
        if first == b1 and violation > 0
    }


# --- 2.3 to 2.5: maximum gain -------------------------------------------------------------------


def gains(problem, alpha, G, rows):
    """The gain of each pair with one variable in `rows`, those whose kernel rows are available."""
    return {
        (b1, b2): gain(problem, alpha, G, b1, b2)
        for b1, b2 in product(rows, range(len(alpha)))
        if allowed(problem, b1, b2)
    }


def in_corner(problem, alpha, previous, eta):
    margin = eta * np.where(np.isfinite(problem.C), problem.C, 0.0)
    near = (alpha <= margin) | (alpha >= problem.C - margin)
    return all(near[b] for b in previous)


# --- Lemma 8 ------------------------------------------------------------------------------------


def lemma_8(first):
    """Counts (cases, counter-examples).  A case is a choice of labels, gradients and values of the
    variables 2 to 4, with variable 1 at `first` times C and B_1 = {1, 2}; it is a counter-example
    if only the pair {3, 4} can gain."""
    G = np.array(list(product(range(-4, 5), repeat=4)))
    cases = counter_examples = 0
    for y in product([-1, 1], repeat=4):
        for rest in product([0.0, 0.5, 1.0], repeat=3):
            gaining = {
                B: can_gain(np.array([first, *rest]), y, G, *B) for B in combinations(range(4), 2)
            }
            unrelated = gaining.pop((2, 3))
            counter_examples += int((unrelated & ~np.any(list(gaining.values()), axis=0)).sum())
            cases += len(G)
    return cases, counter_examples


def can_gain(alpha, y, G, b1, b2):
    """Lemma 2, for alpha in units of C and many gradients: whether a feasible step increases f."""
    sign = -y[b1] * y[b2]
    slope = G[:, b1] + sign * G[:, b2]
    forth = alpha[b1] < 1 and (alpha[b2] < 1 if sign > 0 else alpha[b2] > 0)
    back = alpha[b1] > 0 and (alpha[b2] > 0 if sign > 0 else alpha[b2] < 1)
    return ((slope > 0) & forth) | ((slope < 0) & back)
