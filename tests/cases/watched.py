"""Fits that take long enough to be watched by callbacks and stopped by limits."""

import numpy as np

from softmargin import SVC, SVR, LinearSVC, NuSVC, NuSVR, OneClassSVM

MACHINES = {
    "SVC": SVC(C=100.0, gamma=0.1),
    "NuSVC": NuSVC(nu=0.2, gamma=0.1),
    "SVR": SVR(C=100.0, gamma=0.1),
    "NuSVR": NuSVR(C=10.0, nu=0.5, gamma=0.1),
    "OneClassSVM": OneClassSVM(nu=0.5, gamma=0.1, tol=1e-10),
    "LinearSVC": LinearSVC(
        multi_class="weston_watkins", C=10.0, tol=1e-6, max_iter=10**6, random_state=0
    ),
}


def slow_rule(machine):
    """For kernel machines, the working-set rule with the shortest steps."""
    return {} if isinstance(machine, LinearSVC) else {"working_set": "second-order"}


def make_data(count=800, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(count, 8))
    return X, np.sin(2 * X[:, 0]) + 0.3 * rng.normal(size=count)


def target(name, z):
    classes = {"SVC": z > 0, "NuSVC": z > 0, "LinearSVC": np.digitize(z, [-0.3, 0.3])}
    return {**classes, "OneClassSVM": None}.get(name, z)
