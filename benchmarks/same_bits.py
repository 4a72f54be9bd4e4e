"""Whether two commits fit the same machines, to the bit: for changes that must change nothing.

    python benchmarks/same_bits.py record before.pickle     # on one commit
    python benchmarks/same_bits.py compare before.pickle    # on the other

A fixed list of fits (six machines, kernels, dense and sparse data of both types, weights, rules,
precisions) on made-up data; fitted attributes, certificates and predictions are compared. Exits
with 1 where anything differs. Only times and what is private are left out.
"""

from __future__ import annotations

import itertools
import pickle
import sys
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import fields, is_dataclass
from enum import Enum
from typing import Any

import numpy as np
import scipy.sparse as sp

from softmargin import SVC, SVR, LinearSVC, NuSVC, NuSVR, OneClassSVM

Fit = tuple[str, Any, Any, Any, Any]
NOT_COMPARED = {"seconds", "history_"}


def data(n: int, d: int, classes: int) -> tuple[Any, Any, Any, Any]:
    rng = np.random.default_rng(n * d * classes)
    codes = rng.integers(classes, size=n)
    X = rng.normal(size=(n, d)) + 0.8 * rng.normal(size=(classes, d))[codes]
    X[rng.random(X.shape) < 0.3] = 0.0
    z = np.sin(X[:, 0]) + 0.1 * rng.normal(size=n)
    return X, codes, z, rng.integers(0, 4, size=n).astype(float)


def fits() -> Iterator[Fit]:
    """Name, machine, examples, target and weights of each fit."""
    forms = {
        "dense64": lambda X: X,
        "dense32": lambda X: X.astype(np.float32),
        "csr64": sp.csr_matrix,
        "csr32": lambda X: sp.csr_matrix(X.astype(np.float32)),
    }
    for (form, convert), n in itertools.product(forms.items(), (180, 1300)):
        X, codes, z, weight = data(n, 7, 3)
        X, two = convert(X), np.minimum(codes, 1)
        for kernel in ("linear", "rbf", "poly", "sigmoid"):
            limit = {"kernel": kernel, "max_iter": 20_000}
            yield f"SVC {kernel} {form} {n}", SVC(**limit), X, two, None
            yield f"SVC pairs {kernel} {form} {n}", SVC(**limit), X, codes, weight
            yield f"SVR {kernel} {form} {n}", SVR(**limit), X, z, None
        yield f"NuSVC {form} {n}", NuSVC(nu=0.2), X, codes, None
        yield f"NuSVR {form} {n}", NuSVR(nu=0.3), X, z, weight
        yield f"OneClassSVM {form} {n}", OneClassSVM(nu=0.2), X, None, weight
        for rule in ("most-violating-pair", "second-order", "maximum-gain", "hybrid-maximum-gain"):
            yield f"SVC {rule} {form} {n}", SVC(working_set=rule, tol=1e-4), X, two, None
            yield f"NuSVR {rule} {form} {n}", NuSVR(working_set=rule), X, z, None
        for machine in ("weston_watkins", "crammer_singer", "ovr"):
            linear = LinearSVC(multi_class=machine, loss="hinge", random_state=0)
            yield f"LinearSVC {machine} {form} {n}", linear, X, codes, weight
    X, codes, z, weight = data(1500, 5, 2)
    for precision in ("float32", "float64"):
        yield f"SVC {precision}", SVC(C=30, precision=precision, cache_size=2), X, codes, None
    yield "SVC threads", SVC(C=10, n_jobs=2), X, codes, weight
    yield "SVC no shrinking", SVC(shrinking=False), X, codes, None
    yield "SVC precomputed", SVC(kernel="precomputed"), X @ X.T, codes, None
    yield "SVC function", SVC(kernel=lambda A, B: (A @ B.T + 1) ** 2), X[:300], codes[:300], None
    X, codes, _, weight = data(900, 6, 12)
    yield "SVC 12 classes", SVC(break_ties=True, class_weight="balanced"), X, codes, weight
    for machine in ("weston_watkins", "crammer_singer"):
        linear = LinearSVC(multi_class=machine, loss="hinge", tol=1e-6, random_state=3, C=0.3)
        yield f"LinearSVC 12 classes {machine}", linear, X, codes, weight


def plain(value: Any) -> Any:
    """A value as what can be compared and pickled, with every bit."""
    if sp.issparse(value):
        value = value.tocsr()
        return tuple(plain(part) for part in (value.data, value.indices, value.indptr))
    if isinstance(value, np.ndarray):
        return value.dtype.str, value.shape, value.tobytes()
    if isinstance(value, Enum):
        return value.name
    if isinstance(value, dict):
        return {name: plain(v) for name, v in value.items() if name not in NOT_COMPARED}
    if is_dataclass(value):
        return {f.name: plain(getattr(value, f.name)) for f in fields(value)} | {"seconds": None}
    if isinstance(value, Sequence) and not isinstance(value, str):
        return tuple(plain(v) for v in value)
    return value


def outcome(machine: Any, X: Any, y: Any, weight: Any) -> dict[str, Any]:
    machine.fit(X, y, sample_weight=weight) if y is not None else machine.fit(X)
    found = {
        name: plain(getattr(machine, name))
        for name in [*sorted(vars(machine)), "coef_"]
        if name.endswith("_") and not name.startswith("_") and name != "solution_"
        if hasattr(machine, name)
    }
    found["solution_"] = plain(machine.solution_)
    found["predict"] = plain(np.asarray(machine.predict(X)))
    if hasattr(machine, "decision_function"):
        found["decision"] = plain(machine.decision_function(X))
    return found


def main(verb: str, path: str) -> int:
    warnings.simplefilter("ignore")
    found = {name: outcome(*fit) for name, *fit in fits()}
    if verb == "record":
        with open(path, "wb") as file:
            pickle.dump(found, file)
        print(f"{len(found)} fits recorded")
        return 0
    with open(path, "rb") as file:
        before = pickle.load(file)
    different = 0
    for name in sorted({*before, *found}):
        old, new = before.get(name, {}), found.get(name, {})
        changed = [key for key in sorted({*old, *new}) if old.get(key) != new.get(key)]
        different += bool(changed)
        if changed:
            print(f"{name}: {', '.join(changed)}")
    print(f"{len(found)} fits, {different} differ")
    return int(different > 0)


if __name__ == "__main__":
    if len(sys.argv) != 3 or sys.argv[1] not in ("record", "compare"):
        sys.exit(__doc__)
    sys.exit(main(*sys.argv[1:]))
