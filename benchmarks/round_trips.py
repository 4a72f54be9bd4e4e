"""Models of real data, to the libraries of LIBSVM and LIBLINEAR and back: do predictions agree?

    SOFTMARGIN_DATA=folder python benchmarks/round_trips.py

Every formulation x kernel x {dense, sparse}, and every linear machine: trained here, written,
predicted by libsvm-official or liblinear-official ("there"); trained by these, written by them,
predicted here ("back"). Prints the largest difference of decision values, relative to the largest
value, and how many predictions differ. For regression a prediction is a decision value.
"""

import sys
import tempfile
import warnings
from functools import partial
from itertools import product
from pathlib import Path

import numpy as np
import scipy.sparse as sp
from data import load, scaled

import softmargin
from softmargin.io.models.formats import read_any_model
from softmargin.io.models.record import Record

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from tests.oracles import libsvm_peer as peer

DATA = {
    "heart_scale": ("SVC", "NuSVC"),
    "vowel": ("SVC", "NuSVC"),
    "cpusmall": ("SVR", "NuSVR"),
    "anomaly/cardio": ("OneClassSVM",),
}
KERNELS = ("linear", "poly", "rbf", "sigmoid", "precomputed")
LINEAR = {"weston_watkins": 4, "crammer_singer": 4, "ovr": 3}
"""The linear machines, and the solver of LIBLINEAR that trains the same, or the nearest."""
ROWS, POINTS = 400, 300


def problem(name, kernel):
    X, y = load(name)
    rng = np.random.default_rng(0)
    order = rng.permutation(len(X))
    X, y = scaled(X)[order], y[order]
    if name == "cpusmall":
        y = (y - y.mean()) / y.std()
    seen, unseen = X[:ROWS], X[-POINTS:]
    if kernel == "precomputed":
        seen, unseen = seen @ seen.T, unseen @ seen.T
    return seen, y[:ROWS], unseen


def compare(values, labels, other_values, other_labels, regression):
    values, other_values = (np.asarray(v).reshape(len(labels), -1) for v in (values, other_values))
    error = np.abs(values - other_values).max() / np.abs(other_values).max()
    return error, 0 if regression else int((labels != other_labels).sum())


def in_libsvms_sense(record, values):
    """Above zero for the first of two classes."""
    two = record.is_classifier and len(record.attributes["classes_"]) == 2
    return -values if two else values


def round_trip(kind, kernel, layout, name, path):
    X, y, points = problem(name, kernel)
    gamma, nu = 1.0 / X.shape[1], 0.5 if kind == "NuSVC" else 0.1
    params = {"kernel": kernel, "gamma": gamma}
    if "Nu" in kind or kind == "OneClassSVM":
        params["nu"] = nu
    machine = getattr(softmargin, kind)(**params).fit(layout(X), y)
    machine.save(path, format="libsvm")
    record = Record.of(machine)
    labels, values = record.predict(layout(points))
    their_labels, their_values = peer.predict(path, points)
    regression = record.is_regressor
    there = compare(
        in_libsvms_sense(record, values), labels, their_values, their_labels, regression
    )
    peer.train(path, kind, kernel, X, y, f"-g {gamma!r} -n {nu}")
    their_labels, their_values = peer.predict(path, points)
    record = read_any_model(path)
    labels, values = record.predict(layout(points))
    back = compare(in_libsvms_sense(record, values), labels, their_values, their_labels, regression)
    return there, back


def linear_round_trip(machine, layout, name, path):
    from liblinear import liblinearutil as liblinear

    X, y, points = problem(name, "linear")

    def theirs():
        labels, _, values = liblinear.predict(
            [], peer.rows_of(points), liblinear.load_model(path), "-q"
        )
        return np.array(values), np.array(labels)

    fitted = softmargin.LinearSVC(multi_class=machine, loss="hinge", random_state=0).fit(
        layout(X), y
    )
    fitted.save(path, format="liblinear")
    there = compare(*linear_values(fitted, layout(points)), *theirs(), False)
    options = f"-q -s {LINEAR[machine]} -B 1"
    liblinear.save_model(path, liblinear.train(y.tolist(), peer.rows_of(X), options))
    back = compare(*linear_values(softmargin.load(path), layout(points)), *theirs(), False)
    return there, back


def linear_values(machine, points):
    """Decision values, above zero for the first of two classes as in LIBLINEAR, and labels."""
    values = machine.decision_function(points)
    return -values if values.ndim == 1 else values, machine.predict(points)


def trips(folder):
    """What is tried: data, machine, kernel, layout, and a function that makes the round trip."""
    path = f"{folder}/model"
    layouts = {"dense": np.asarray, "sparse": sp.csr_matrix}
    for name, kinds in DATA.items():
        for kind, kernel, (layout, make) in product(kinds, KERNELS, layouts.items()):
            if (kernel, layout) != ("precomputed", "sparse"):
                yield (
                    name,
                    kind,
                    kernel,
                    layout,
                    partial(round_trip, kind, kernel, make, name, path),
                )
    for machine, (layout, make) in product(LINEAR, layouts.items()):
        trip = partial(linear_round_trip, machine, make, "vowel", path)
        yield "vowel", "LinearSVC", machine, layout, trip


def main() -> None:
    warnings.simplefilter("ignore")
    row = "{:<16}{:<13}{:<16}{:<8}{:>10}{:>8}{:>10}{:>8}"
    names = ("data", "machine", "kernel", "layout", "there", "differ", "back", "differ")
    print(row.format(*names))
    worst, differing = 0.0, 0
    with tempfile.TemporaryDirectory() as folder:
        for *what, trip in trips(folder):
            there, back = trip()
            worst = max(worst, there[0], back[0])
            differing += there[1] + back[1]
            figures = (f"{there[0]:.1e}", there[1], f"{back[0]:.1e}", back[1])
            print(row.format(*what, *figures), flush=True)
    print(f"largest difference {worst:.1e}, {differing} predictions differ")


if __name__ == "__main__":
    main()
