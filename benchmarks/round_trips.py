"""Models of real data, to LIBSVM's own library and back: do all predictions agree?

    SOFTMARGIN_DATA=folder python benchmarks/round_trips.py

Every formulation x kernel x {dense, sparse}: trained here, written, predicted by libsvm-official
("there"); trained by libsvm-official, written by it, predicted here ("back"). Says the largest
difference of decision values relative to the largest value, and how many predictions differ. For
regression a prediction is a decision value.
"""

import sys
import tempfile
import warnings
from pathlib import Path

import numpy as np
import scipy.sparse as sp
from data import load, scaled

import softmargin
from softmargin.io.models import read_any_model
from softmargin.io.record import Record

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from tests import libsvm_peer as peer

DATA = {
    "heart_scale": ("SVC", "NuSVC"),
    "vowel": ("SVC", "NuSVC"),
    "cpusmall": ("SVR", "NuSVR"),
    "anomaly/cardio": ("OneClassSVM",),
}
KERNELS = ("linear", "poly", "rbf", "sigmoid", "precomputed")
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


def main() -> None:
    warnings.simplefilter("ignore")
    print(
        f"{'data':<16}{'machine':<13}{'kernel':<13}{'layout':<8}{'there':>10}{'differ':>8}"
        f"{'back':>10}{'differ':>8}"
    )
    worst, differing = 0.0, 0
    with tempfile.TemporaryDirectory() as folder:
        for name, kinds in DATA.items():
            for kind in kinds:
                for kernel in KERNELS:
                    for layout, make in (("dense", np.asarray), ("sparse", sp.csr_matrix)):
                        if kernel == "precomputed" and layout == "sparse":
                            continue
                        try:
                            there, back = round_trip(kind, kernel, make, name, f"{folder}/model")
                        except ValueError as error:
                            print(f"{name:<16}{kind:<13}{kernel:<13}{layout:<8}{error}")
                            continue
                        worst = max(worst, there[0], back[0])
                        differing += there[1] + back[1]
                        print(
                            f"{name:<16}{kind:<13}{kernel:<13}{layout:<8}{there[0]:>10.1e}"
                            f"{there[1]:>8}{back[0]:>10.1e}{back[1]:>8}",
                            flush=True,
                        )
    print(f"largest difference {worst:.1e}, {differing} predictions differ")


if __name__ == "__main__":
    main()
