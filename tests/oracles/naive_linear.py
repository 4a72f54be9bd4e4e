"""Slow twins of the linear machines' algorithms, in plain Python, straight from the paper:
Wang and Scott, "An Exact Solver for the Weston-Watkins SVM Subproblem", 2021."""

from __future__ import annotations

from fractions import Fraction


def solve_subproblem(v, C):
    """Algorithm 2 in exact rational arithmetic; returns b as a list of fractions."""
    v, C = [Fraction(x) for x in v], Fraction(C)
    ranked = sorted(v, reverse=True)
    if not v or ranked[0] <= 0:
        return [Fraction(0)] * len(v)
    n_u = n_m = 0
    S = Fraction(0)
    for direction in get_up_dn_seq(v, C):
        n_u, n_m, S = update_vars(direction, n_u, n_m, S, ranked)
        gamma = (C * n_u + S) / (n_m + 1)
        if kkt_cond(n_u, n_m, gamma, ranked, C):
            return [max(Fraction(0), min(C, x - gamma)) for x in v]
    raise AssertionError("Theorem 3.4 says that this line is never reached")


def get_up_dn_seq(v, C):
    """Subroutine 3; at equal values "up" comes before "dn"."""
    values = [(x, "dn") for x in v if x > 0] + [(x - C, "up") for x in v if x > C]
    values.sort(key=lambda pair: (-pair[0], pair[1] == "dn"))
    return [direction for _, direction in values]


def update_vars(direction, n_u, n_m, S, ranked):
    """Subroutine 4."""
    if direction == "up":
        return n_u + 1, n_m - 1, S - ranked[n_u]
    return n_u, n_m + 1, S + ranked[n_u + n_m]


def kkt_cond(n_u, n_m, gamma, ranked, C):
    """Subroutine 5."""
    below = n_u + n_m
    return (
        (n_u == 0 or C + gamma <= ranked[n_u - 1])
        and (n_m == 0 or (ranked[n_u] <= C + gamma and gamma <= ranked[below - 1]))
        and (below == len(ranked) or ranked[below] <= gamma)
    )


def solve_simplex_subproblem(v, C):
    """The Crammer-Singer sub-problem: b = max(v - g, 0) with sum b = min(g, C).  Entries are added
    in decreasing order until the next one is not above g."""
    v, C = [Fraction(x) for x in v], Fraction(C)
    g = S = Fraction(0)
    for n, x in enumerate(sorted(v, reverse=True), start=1):
        if x <= g:
            break
        S += x
        g = max(S / (n + 1), (S - C) / n)
    return [max(Fraction(0), x - g) for x in v]


class SplitMix64:
    """Steele, Lea and Flood, "Fast splittable pseudorandom number generators", 2014."""

    def __init__(self, seed):
        self.state = seed

    def next(self):
        mask = 2**64 - 1
        self.state = (self.state + 0x9E3779B97F4A7C15) & mask
        z = self.state
        z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & mask
        z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & mask
        return z ^ (z >> 31)

    def shuffle(self, items):
        """Fisher-Yates shuffle, starting from the end."""
        for i in range(len(items), 1, -1):
            j = (self.next() >> 32) * i >> 32
            items[i - 1], items[j] = items[j], items[i - 1]


def block_coordinate_descent(X, y, k, C, passes, seed, subproblem=solve_subproblem):
    """Algorithm 1; returns w as k lists of d weights, and beta as n lists of k - 1 values.  Each of
    these has the paper's order: swap the first class and the example's own, then drop the first.
    C has one value per example; rows of zeros are skipped."""
    n, d = len(X), len(X[0])
    beta = [[0.0] * (k - 1) for _ in range(n)]
    w = [[0.0] * d for _ in range(k)]
    order = [i for i in range(n) if any(X[i])]
    random = SplitMix64(seed)
    for _ in range(passes):
        random.shuffle(order)
        for i in order:
            visit(X[i], y[i], beta[i], w, C[i], subproblem)
    return w, beta


def visit(x, label, beta, w, C, subproblem):
    """Lines 5 to 8 of Algorithm 1."""
    classes = list(range(len(w)))
    classes[0], classes[label] = classes[label], classes[0]  # sigma
    score = [sum(wf * xf for wf, xf in zip(w[c], x, strict=True)) for c in classes]
    norm = sum(xf * xf for xf in x)
    total = sum(beta)
    v = [(1 - (score[0] - s)) / norm + b + total for s, b in zip(score[1:], beta, strict=True)]
    new = [float(b) for b in subproblem(v, C)]
    for j, change in enumerate(b - a for a, b in zip(beta, new, strict=True)):
        for f, xf in enumerate(x):
            w[classes[0]][f] += change * xf
            w[classes[j + 1]][f] -= change * xf
    beta[:] = new


def primal_objective(w, X, y, C, loss):
    """1/2 |w|^2 + sum_i C_i loss_i; `loss` maps the errors 1 - s_y + s_c of the other classes."""
    value = sum(wf * wf for row in w for wf in row) / 2
    for x, label, c in zip(X, y, C, strict=True):
        score = [sum(wf * xf for wf, xf in zip(row, x, strict=True)) for row in w]
        errors = [1 - score[label] + s for j, s in enumerate(score) if j != label]
        value += c * loss(errors)
    return value


def weston_watkins_loss(errors):
    return sum(max(0.0, e) for e in errors)


def crammer_singer_loss(errors):
    return max(0.0, *errors)
