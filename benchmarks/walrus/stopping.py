"""Early against late stopping (the paper's Table 7): the best C by three-fold cross-validation,
and its accuracies, when the gap has fallen to 0.01 or to 0.001 of the first, and at a relative
gap of 1e-3 and 1e-5."""

from __future__ import annotations

import warnings

import numpy as np
from common import arguments, passes, print_table, solver, until
from data import ALL, DataSet
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import StratifiedKFold

warnings.simplefilter("ignore", ConvergenceWarning)
options = arguments(__doc__, default=("dna", "satimage", "letter", "plant_margin", "banking77"))
powers = (-6, -3, 0, 3) if options.quick else range(-6, 4)


def score(weights: np.ndarray, data: DataSet) -> float:
    predicted = np.unique(data.y)[np.asarray(data.X_test @ weights).argmax(axis=1)]
    return float((predicted == data.y_test).mean())


def by_decay(data: DataSet, C: float, decay: float) -> float:
    length = len(until(passes(data, C=C), decay, 500))
    run = solver(data, C=C, tol=1e-300, shrinking=False, extrapolation=False)
    run.run(length, 1e9)
    return score(run.take_weights(), data)


def by_relative_gap(data: DataSet, C: float, tol: float) -> float:
    run = solver(data, C=C, tol=tol)
    run.run(500, 1e9)
    return score(run.take_weights(), data)


RULES = {
    "0.01 of the first": lambda data, C: by_decay(data, C, 0.01),
    "0.001 of the first": lambda data, C: by_decay(data, C, 0.001),
    "relative 1e-3": lambda data, C: by_relative_gap(data, C, 1e-3),
    "relative 1e-5": lambda data, C: by_relative_gap(data, C, 1e-5),
}


def rows(name: str) -> list[list[object]]:
    data = ALL[name]()
    folds = list(StratifiedKFold(3, shuffle=True, random_state=0).split(data.X, data.y))
    parts = [DataSet(name, data.X[a], data.y[a], data.X[b], data.y[b]) for a, b in folds]
    found = []
    for rule, fit in RULES.items():
        means = [np.mean([fit(part, 2.0**p) for part in parts]) for p in powers]
        best = powers[int(np.argmax(means))]
        test = fit(data, 2.0**best)
        found.append([name, rule, f"2^{best}", f"{100 * max(means):.2f}", f"{100 * test:.2f}"])
    return found


header = ["data", "stop at a gap of", "best C", "cross-validation %", "test %"]
print_table(header, (row for name in options.data for row in rows(name)))
