"""The optimum, from an independent solver of quadratic programs (quadprog).

quadprog needs a positive definite matrix, which Q is not for repeated rows, a linear kernel or any
regression.  So it solves  1/2 a'Qa + p'a + shift/2 |a - a_k|^2  again and again from its own last
answer a_k: the proximal point method, whose fixed points are the optima of the problem as stated.
"""

from __future__ import annotations

import numpy as np
import quadprog

from softmargin import SVC, SVR, NuSVC, NuSVR, OneClassSVM
from tests.oracles import naive

ESTIMATORS = ["SVC", "NuSVC", "OneClassSVM", "SVR", "NuSVR"]


def minimum(problem, equalities, totals):
    """The least value of 1/2 a'Qa + p'a with 0 <= a <= C and the given equalities."""
    Q, p, count = problem.Q, problem.p, len(problem.p)
    normals = np.vstack([equalities, np.eye(count), -np.eye(count)]).T
    offsets = np.concatenate([totals, np.zeros(count), -problem.C])
    # A smaller shift takes fewer rounds, but quadprog then violates the bounds by more: by 1e-9 if
    # the shift is 1e-6 of the largest entry, which is visible in the objective.
    shift = 1e-3 * np.abs(Q).max()
    alpha, least = np.zeros(count), np.inf
    for _ in range(1000):
        shifted = Q + shift * np.eye(count)
        alpha = quadprog.solve_qp(shifted, shift * alpha - p, normals, offsets, len(totals))[0]
        before, least = least, 0.5 * alpha @ Q @ alpha + p @ alpha
        if abs(before - least) <= 1e-12 * abs(least):
            return least
    raise AssertionError("the proximal point method did not settle")


def statement(name, K, y, z, weight):
    """(twin's problem, equalities, their totals, estimator, target)."""
    n = len(y)
    signs, ones = np.repeat([1.0, -1.0], n), np.ones(2 * n)
    W = weight.sum()
    if name == "SVC":
        return naive.c_svc(K, y, 2.0 * weight), [y], [0.0], SVC(C=2.0), y
    if name == "NuSVC":
        problem = naive.nu_svc(K, y, weight, 0.4)
        return problem, [y, np.ones(n)], [0.0, 0.4 * W], NuSVC(nu=0.4), y
    if name == "OneClassSVM":
        problem = naive.one_class(K, weight, 0.4)
        return problem, [np.ones(n)], [0.4 * W], OneClassSVM(nu=0.4), None
    if name == "SVR":
        problem = naive.epsilon_svr(K, z, 2.0 * weight, 0.1)
        return problem, [signs], [0.0], SVR(C=2.0, epsilon=0.1), z
    problem = naive.nu_svr(K, z, 2.0 * weight, 0.4)
    return problem, [signs, ones], [0.0, 0.4 * 2.0 * W], NuSVR(C=2.0, nu=0.4), z
