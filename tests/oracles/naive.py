"""Slow twins of the solver, straight from the LIBSVM paper, in its order and notation.

    minimise 1/2 a'Qa + p'a   subject to   y'a = Delta (the nu forms: and e'a = Delta_2),
                                           0 <= a_t <= C_t,   y_t in {+1, -1}

The paper leaves three things open; here they are as in the core.  Among equal values, the last in
the current order is selected.  The variables of one training vector (alpha and alpha* of a
regression) become inactive together, because they share a kernel row.  A start that must not be
zero sets the first variables to their upper bounds until the sum is reached.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import combinations

import numpy as np


@dataclass
class Problem:
    """The data of the general form in Section 3.1 or, with `nu`, in Section 3.3."""

    Q: np.ndarray
    p: np.ndarray
    y: np.ndarray
    C: np.ndarray
    start: np.ndarray
    parts: list[np.ndarray]  # masks of variables that may form pairs: all or, in nu forms, a class
    vectors: int  # number of training vectors; variable t belongs to vector t % vectors
    nu: bool = False


# --- Section 2: the five formulations --------------------------------------------------------


def c_svc(K, y, C):
    n = len(y)
    return Problem(np.outer(y, y) * K, -np.ones(n), y, C, np.zeros(n), [np.ones(n, dtype=bool)], n)


def nu_svc(K, y, weight, nu):
    n = len(y)
    classes = [y == 1, y == -1]
    start = np.zeros(n)
    for members in classes:
        start[members] = filled(weight[members], nu * weight.sum() / 2)
    return Problem(np.outer(y, y) * K, np.zeros(n), y, weight, start, classes, n, nu=True)


def one_class(K, weight, nu):
    n = len(weight)
    start = filled(weight, nu * weight.sum())
    return Problem(K, np.zeros(n), np.ones(n), weight, start, [np.ones(n, dtype=bool)], n)


def epsilon_svr(K, z, C, epsilon):
    """The variables are (alpha, alpha*); the function is the sum of (-alpha + alpha*) K, plus b."""
    n = len(z)
    p = np.concatenate([epsilon + z, epsilon - z])
    return doubled(K, p, C, np.zeros(n), [np.ones(2 * n, dtype=bool)])


def nu_svr(K, z, C, nu):
    first = np.arange(2 * len(z)) < len(z)
    start = filled(C, nu * C.sum() / 2)
    return doubled(K, np.concatenate([z, -z]), C, start, [~first, first], nu=True)


def doubled(K, p, C, start, parts, nu=False):
    Q = np.block([[K, -K], [-K, K]])
    y = np.repeat([1.0, -1.0], len(C))
    return Problem(Q, p, y, np.tile(C, 2), np.tile(start, 2), parts, len(C), nu)


def filled(capacity, total):
    values = np.zeros(len(capacity))
    for t, C in enumerate(capacity):
        values[t] = min(C, max(total - sum(capacity[:t]), 0.0))
    return values


# --- Sections 3 and 4: decomposition, shrinking ----------------------------------------------


@dataclass
class Decomposition:
    """Algorithm 3.1 with working sets of two variables; `advance` is one round of its loop."""

    problem: Problem
    epsilon: float
    shrinking: bool
    alpha: np.ndarray = field(init=False)
    iterations: int = 0
    reconstructions: int = 0
    optimal: bool = False
    stuck: bool = False

    def __post_init__(self):
        problem = self.problem
        self.alpha = problem.start.copy()
        self.G = problem.Q @ self.alpha + problem.p
        self.slack = min(1e-12 * np.abs(self.G).max(), 0.1 * self.epsilon)
        self.order = np.arange(problem.vectors)  # the active training vectors come first
        self.active = problem.vectors
        self.period = self.countdown = min(problem.vectors, 1000)
        self.near_optimum = False
        self.G_bar = problem.Q @ np.where(self.alpha == problem.C, self.alpha, 0.0)

    def run(self):
        while not (self.optimal or self.stuck):
            self.advance()
        self.reconstruct()
        return self

    def next_step(self):
        steps = self.iterations
        while self.iterations == steps and not (self.optimal or self.stuck):
            self.advance()

    def advance(self):
        if self.shrinking and self.countdown <= 0:
            self.countdown = self.period
            self.shrink()
        i, j, violation = self.select()
        if violation <= self.epsilon and self.shrunk:
            self.reconstruct()
            self.countdown = 0
            i, j, violation = self.select()
        if violation <= self.epsilon:
            self.optimal = True
        elif self.first_time_near(violation) and self.shrunk:
            self.reconstruct()
            self.shrink()
        else:
            self.step(i, j)

    def first_time_near(self, violation):
        """The first time that g_i <= -g_j + 10 epsilon."""
        if not self.shrinking or self.near_optimum or violation > 10 * self.epsilon:
            return False
        self.near_optimum = True
        return True

    # -- 3.2 and 3.3: selection and stopping

    def may_rise(self, t):
        """Whether t is in the set of eq. 13: y_t alpha_t may increase."""
        y, alpha, C = self.problem.y[t], self.alpha[t], self.problem.C[t]
        return np.where(y == 1, alpha < C, alpha > 0)

    def may_fall(self, t):
        """Whether t is in the set of eq. 14: y_t alpha_t may decrease."""
        y, alpha, C = self.problem.y[t], self.alpha[t], self.problem.C[t]
        return np.where(y == 1, alpha > 0, alpha < C)

    def extremes(self, part):
        """(i, g_i, j, -g_j) of eq. 13 and 14 over the active variables of a part."""
        t = self.variables(self.order[: self.active])
        t = t[part[t]]
        if len(t) == 0:
            return -1, -np.inf, -1, np.inf
        value = -self.problem.y[t] * self.G[t]
        up = np.where(self.may_rise(t), value, -np.inf)
        low = np.where(self.may_fall(t), value, np.inf)
        return self.argmax(t, up), up.max(), self.argmax(t, -low), low.min()

    def argmax(self, t, value):
        """The last of those that are largest up to rounding errors."""
        return t[np.flatnonzero(value >= value.max() - self.slack)[-1]]

    def select(self):
        found = [self.extremes(part) for part in self.problem.parts]
        pairs = [(i, j, g_i - minus_g_j) for i, g_i, j, minus_g_j in found]
        return max(pairs, key=lambda pair: pair[2])

    # -- 3.4: the analytical solution

    def step(self, i, j):
        Q, y, C, G = self.problem.Q, self.problem.y, self.problem.C, self.G
        before = self.alpha[i], self.alpha[j]
        if y[i] != y[j]:
            after = opposite(*before, -G[i] - G[j], Q[i, i] + Q[j, j] + 2 * Q[i, j], C[i], C[j])
        else:
            after = same(*before, G[i] - G[j], Q[i, i] + Q[j, j] - 2 * Q[i, j], C[i], C[j])
        if after == before:
            self.no_step_left()
            return
        self.alpha[i], self.alpha[j] = after
        active = self.variables(self.order[: self.active])
        change = Q[:, i] * (after[0] - before[0]) + Q[:, j] * (after[1] - before[1])
        self.G[active] += change[active]
        for t, old in zip((i, j), before, strict=True):
            was, now = (a if a == C[t] else 0.0 for a in (old, self.alpha[t]))
            self.G_bar += Q[:, t] * (now - was)
        self.iterations += 1
        self.countdown -= 1

    def no_step_left(self):
        """Because of rounding, a step changes no active variable.  From now on all variables stay
        active."""
        self.stuck = not self.shrunk
        self.countdown = np.inf
        self.reconstruct()

    # -- 4: shrinking

    @property
    def shrunk(self):
        return self.active < len(self.order)

    def variables(self, vectors):
        """The variables of the given training vectors: alpha, then alpha*."""
        halves = range(0, len(self.alpha), self.problem.vectors)
        return np.concatenate([vectors + first for first in halves])

    def shrink(self):
        settled = np.zeros(len(self.alpha), dtype=bool)
        for part in self.problem.parts:
            _, g_i, _, minus_g_j = self.extremes(part)
            part = np.flatnonzero(part)
            value = -self.problem.y[part] * self.G[part]
            rise, fall = self.may_rise(part), self.may_fall(part)
            settled[part] = (rise & ~fall & (value <= minus_g_j)) | (fall & ~rise & (value >= g_i))
        vectors = self.order[: self.active]
        leave = settled.reshape(-1, self.problem.vectors).all(axis=0)[vectors]
        self.order = np.concatenate([vectors[~leave], vectors[leave], self.order[self.active :]])
        self.active -= leave.sum()

    def reconstruct(self):
        """Computes the gradient of the inactive variables from G-bar and the free variables, and
        makes all variables active."""
        if not self.shrunk:
            return
        problem = self.problem
        free = (self.alpha > 0) & (self.alpha < problem.C)
        inactive = self.variables(self.order[self.active :])
        G = problem.p + self.G_bar + problem.Q[:, free] @ self.alpha[free]
        self.G[inactive] = G[inactive]
        self.active = len(self.order)
        self.reconstructions += 1

    @property
    def objective(self):
        return 0.5 * self.alpha @ (self.G + self.problem.p)


def opposite(alpha_i, alpha_j, numerator, curvature, C_i, C_j):
    """The code of Section 3.4 for y_i != y_j: alpha_i - alpha_j does not change."""
    difference = alpha_i - alpha_j
    delta = divided(numerator, curvature)
    alpha_i, alpha_j = alpha_i + delta, alpha_j + delta
    if difference > 0 and alpha_j < 0:
        alpha_i, alpha_j = difference, 0.0
    elif difference <= 0 and alpha_i < 0:
        alpha_i, alpha_j = 0.0, -difference
    if difference > C_i - C_j and alpha_i > C_i:
        alpha_i, alpha_j = C_i, C_i - difference
    elif difference <= C_i - C_j and alpha_j > C_j:
        alpha_i, alpha_j = C_j + difference, C_j
    return alpha_i, alpha_j


def same(alpha_i, alpha_j, numerator, curvature, C_i, C_j):
    """The same for y_i = y_j: alpha_i + alpha_j does not change."""
    total = alpha_i + alpha_j
    delta = divided(numerator, curvature)
    alpha_i, alpha_j = alpha_i - delta, alpha_j + delta
    if total > C_i and alpha_i > C_i:
        alpha_i, alpha_j = C_i, total - C_i
    elif total <= C_i and alpha_j < 0:
        alpha_i, alpha_j = total, 0.0
    if total > C_j and alpha_j > C_j:
        alpha_i, alpha_j = total - C_j, C_j
    elif total <= C_j and alpha_i < 0:
        alpha_i, alpha_j = 0.0, total
    return alpha_i, alpha_j


def divided(numerator, curvature):
    """Infinite if the curvature is not positive; the caller clips it to the feasible region."""
    return numerator / curvature if curvature > 0 else np.copysign(np.inf, numerator)


# --- 3.5: the decision function, b and rho ----------------------------------------------------


def level(value, alpha, C, y):
    """The threshold with the smallest duality gap for `value` = -y_t G_t: the gap is piecewise
    linear with corners at the values.  Of several, that nearest to the mean over the free variables
    or, if there are none, to the middle of the interval of optimal thresholds."""
    free = (alpha > 0) & (alpha < C)
    may_rise = np.where(y == 1, alpha < C, alpha > 0)
    may_fall = np.where(y == 1, alpha > 0, alpha < C)
    ends = [value[may_rise].max(initial=-np.inf), value[may_fall].min(initial=np.inf)]
    usual = value[free].mean() if free.any() else np.mean([e for e in ends if np.isfinite(e)])
    rise, fall = np.where(y == 1, C - alpha, alpha), np.where(y == 1, alpha, C - alpha)

    def gap(b):
        return rise @ np.maximum(0, value - b) + fall @ np.maximum(0, b - value)

    gaps = np.array([gap(b) for b in value])
    if gap(usual) <= gaps.min() * (1 + 1e-12):
        return usual
    best = value[gaps <= gaps.min() * (1 + 1e-12)]
    return np.clip(usual, best.min(), best.max())


def thresholds(solved):
    """(b, rho); only the nu forms have rho."""
    problem, alpha = solved.problem, solved.alpha
    value = -problem.y * solved.G
    if not problem.nu:
        return level(value, alpha, problem.C, problem.y), None
    positive, negative = problem.y == 1, problem.y == -1
    r_1 = -level(value[positive], alpha[positive], problem.C[positive], problem.y[positive])
    r_2 = level(value[negative], alpha[negative], problem.C[negative], problem.y[negative])
    return -(r_1 - r_2) / 2, (r_1 + r_2) / 2


def classifier(solved):
    """(coefficients, intercept) of C-SVC or nu-SVC, scaled so that the margins are at +1 and -1."""
    b, rho = thresholds(solved)
    scale = 1.0 if rho is None else rho
    return solved.problem.y * solved.alpha / scale, b / scale


def one_class_function(solved):
    b, _ = thresholds(solved)  # -rho
    return solved.alpha, b


def regressor(solved):
    b, _ = thresholds(solved)
    alpha, alpha_star = np.split(solved.alpha, 2)
    return alpha_star - alpha, -b


# --- 5: one-against-one ----------------------------------------------------------------------


def one_against_one(K, labels, solve):
    """{(i, j): (members, coefficients, intercept)}; `solve(K, y)` trains a pair; +1 is class i."""
    models = {}
    for i, j in combinations(np.unique(labels), 2):
        members = np.concatenate([np.flatnonzero(labels == i), np.flatnonzero(labels == j)])
        y = np.where(labels[members] == i, 1.0, -1.0)
        models[i, j] = (members, *solve(K[np.ix_(members, members)], y))
    return models


def vote(models, K_new):
    """The class with the most votes for each row of K(new, training); ties go to the first."""
    classes = sorted({label for pair in models for label in pair})
    predicted = []
    for row in K_new:
        votes = dict.fromkeys(classes, 0)
        for (i, j), (members, coef, intercept) in models.items():
            votes[i if row[members] @ coef + intercept > 0 else j] += 1
        predicted.append(max(classes, key=votes.__getitem__))
    return np.array(predicted)
