"""Machines and their data, whose files in tests/data/earlier an earlier version has written.

``python -m tests.cases.earlier FOLDER`` writes such files with the installed version.
"""

from __future__ import annotations

import sys
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from softmargin import SVC, SVR, LinearSVC, NuSVC, NuSVR, OneClassSVM

I = np.arange(36)  # noqa: E741
X = np.stack([np.sin(1.7 * I) + I % 3, np.cos(2.3 * I) - I % 2, np.sin(0.9 * I * I)], axis=1)
X = X.round(3)  # so that another sine gives the same data
Y, WEIGHT = I % 3, 0.5 + (I % 4) / 2
NAMES = np.array(["blue", "green", "red"])[Y]
Z = (X[:, 0] + 0.3 * np.sin(5 * X[:, 1])).round(3)

Fit = tuple[Any, Any, Any, Any]


def saved() -> dict[str, Fit]:
    """Machine, examples, target and weights of each model file of softmargin's own format."""
    weston_watkins = LinearSVC(
        "l2", "hinge", multi_class="weston_watkins", tol=1e-3, random_state=0
    )
    poly = SVC(kernel="poly", degree=2, coef0=1.0, class_weight={0: 2.0})
    crammer_singer = LinearSVC(
        *("l2", "hinge"), multi_class="crammer_singer", tol=1e-3, random_state=0, warm_start=True
    )
    return {
        "svc": (SVC(C=2.0), X, NAMES, WEIGHT),
        "svc_two_sparse": (poly, sp.csr_matrix(X), (Y > 0).astype(int), None),
        "svc_precomputed": (SVC(kernel="precomputed"), X @ X.T, Y, None),
        "svc_warm": (SVC(C=3.0, warm_start=True), X, Y, None),
        "nusvc": (NuSVC(nu=0.3), X, Y, None),
        "svr": (SVR(C=5.0, epsilon=0.05), X, Z, WEIGHT),
        "nusvr": (NuSVR(nu=0.4, kernel="linear"), X, Z, None),
        "one_class": (OneClassSVM(nu=0.2), X, None, None),
        "linear": (weston_watkins, X, NAMES, WEIGHT),
        "linear_warm": (crammer_singer, X, Y, None),
    }


def stopped() -> dict[str, Fit]:
    """Fits that are stopped by max_iter and leave a checkpoint."""
    weston_watkins = LinearSVC(
        multi_class="weston_watkins", C=100.0, tol=1e-10, random_state=0, max_iter=3
    )
    return {
        "svc": (SVC(C=100.0, gamma=0.5, max_iter=25), X, Y, WEIGHT),
        "nusvc": (NuSVC(nu=0.3, max_iter=5), X, Y, WEIGHT),
        "svr": (SVR(C=100.0, epsilon=0.01, gamma=1, max_iter=30), X, Z, WEIGHT),
        "one_class": (OneClassSVM(nu=0.4, max_iter=2), X, None, None),
        "linear": (weston_watkins, X, Y, WEIGHT),
    }


def write(folder: Path) -> None:
    warnings.simplefilter("ignore")
    expected = {}
    for name, (machine, examples, target, weight) in saved().items():
        machine.fit(examples, target, sample_weight=weight).save(folder / f"{name}.softmargin")
        expected[f"{name}.predict"] = machine.predict(examples)
        if hasattr(machine, "decision_function"):
            expected[f"{name}.values"] = machine.decision_function(examples)
    linear = LinearSVC(multi_class="weston_watkins", tol=1e-3, random_state=0)
    for format, machine in {"libsvm": SVC(C=2.0), "liblinear": linear}.items():
        machine.fit(X, Y).save(folder / f"{format}.model", format=format)
        expected[f"{format}.predict"] = machine.predict(X)
    np.savez_compressed(folder / "expected.npz", **expected)
    for name, (machine, examples, target, weight) in stopped().items():
        machine.set_params(checkpoint=folder / f"{name}.checkpoint")
        machine.fit(examples, target, sample_weight=weight)


if __name__ == "__main__":
    write(Path(sys.argv[1]))
