"""The kernel machines for all classes at once: a slow twin, straight from Algorithm 1 of Wang and
Scott, 2021, with K_ij for x_i'x_j; and the dual as one quadratic program for quadprog."""

from __future__ import annotations

import numpy as np
import quadprog

from tests.oracles import naive_linear

SUBPROBLEMS = {
    "weston_watkins": naive_linear.solve_subproblem,
    "crammer_singer": naive_linear.solve_simplex_subproblem,
}


def descent(K, codes, C, classes, machine, passes):
    """Passes over the examples, each with its exact sub-problem; returns a, examples x classes."""
    a = np.zeros((len(K), classes))
    for _ in range(passes):
        for i, y in enumerate(codes):
            q, scores = K[i, i], K[i] @ a
            if q == 0:
                continue
            others = [c for c in range(classes) if c != y]
            beta = -a[i, others]
            v = (1 - scores[y] + scores[others]) / q + beta + beta.sum()
            beta = np.array([float(b) for b in SUBPROBLEMS[machine](v, C[i])])
            a[i, others], a[i, y] = -beta, beta.sum()
    return a


def primal(K, codes, C, a, machine):
    scores, rows = K @ a, np.arange(len(K))
    errors = np.maximum(1 - scores[rows, codes][:, None] + scores, 0)
    errors[rows, codes] = 0
    loss = errors.sum(axis=1) if machine == "weston_watkins" else errors.max(axis=1)
    return 0.5 * (a * scores).sum() + C @ loss


def quadratic_program(K, codes, C, classes, machine):
    """The optimum and a, by quadprog.  It needs a positive definite matrix: as in
    test_against_quadprog, the proximal point method solves the problem as stated."""
    places = [(i, c) for i, y in enumerate(codes) for c in range(classes) if c != y]
    example = np.array([i for i, _ in places])
    U = np.zeros((len(places), classes))  # the direction of each variable among the classes
    for row, (i, c) in enumerate(places):
        U[row, codes[i]], U[row, c] = 1.0, -1.0
    Q = K[np.ix_(example, example)] * (U @ U.T)
    count = len(places)
    if machine == "weston_watkins":
        limits, most = -np.eye(count), -C[example]
    else:
        limits = -(example[None, :] == np.arange(len(K))[:, None]).astype(float)
        most = -C
    normals = np.vstack([np.eye(count), limits]).T
    offsets = np.concatenate([np.zeros(count), most])
    shift, beta, least = 1e-6 * max(np.abs(Q).max(), 1e-3), np.zeros(count), np.inf
    for _ in range(40):
        shifted = Q + shift * np.eye(count)
        beta = quadprog.solve_qp(shifted, shift * beta + 1.0, normals, offsets, 0)[0]
        before, least = least, 0.5 * beta @ Q @ beta - beta.sum()
        if abs(before - least) <= 1e-13 * abs(least):
            break
    a = np.zeros((len(K), classes))
    np.add.at(a, example, beta[:, None] * U)
    return -least, a
