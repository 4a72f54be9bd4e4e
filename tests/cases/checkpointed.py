"""Fits that are stopped and resumed from a checkpoint."""

import numpy as np

from softmargin import SVC, SVR, LinearSVC, NuSVC, NuSVR, OneClassSVM

MACHINES = {
    "SVC": SVC(C=10.0, gamma=0.2),
    "NuSVC": NuSVC(nu=0.4, gamma=0.2),
    "SVR": SVR(C=10.0, gamma=0.2),
    "NuSVR": NuSVR(C=10.0, nu=0.4, gamma=0.2),
    "OneClassSVM": OneClassSVM(nu=0.4, gamma=0.2),
    "LinearSVC": LinearSVC(
        multi_class="weston_watkins", C=10.0, tol=1e-7, max_iter=10**6, random_state=0
    ),
    "LinearSVC in float32": LinearSVC(
        multi_class="weston_watkins", C=10.0, tol=1e-7, max_iter=10**6, precision="float32"
    ),
    "LinearSVC in parts": LinearSVC(loss="hinge", C=10.0, tol=1e-7, max_iter=10**6, n_jobs=2),
}


def make_data(count=300):
    rng = np.random.default_rng(5)
    X = rng.normal(size=(count, 5))
    return X, np.sin(2 * X[:, 0]) + 0.3 * rng.normal(size=count)


def target(name, z):
    if "SVC" in name:
        return np.digitize(z, [-0.3, 0.3])
    return None if name == "OneClassSVM" else z
