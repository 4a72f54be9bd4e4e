"""Test accuracies at each machine's best C of the paper's grid 2^-6 ... 2^3, chosen on a quarter of
the training examples (a relative gap of 1e-3, with an intercept).  The peer is scikit-learn's
LinearSVC with multi_class="crammer_singer" at the C chosen for our Crammer-Singer."""

from __future__ import annotations

import warnings
from typing import Any

from common import arguments, print_table
from data import ALL, SMALL
from sklearn import svm
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import train_test_split

from softmargin import LinearSVC

warnings.simplefilter("ignore", ConvergenceWarning)
warnings.simplefilter("ignore", FutureWarning)
options = arguments(__doc__, default=SMALL)
powers = (-6, -3, 0, 3) if options.quick else range(-6, 4)


def best_power(machine: Any, X: Any, y: Any) -> int:
    X, X_held, y, y_held = train_test_split(X, y, test_size=0.25, random_state=0, stratify=y)
    scores = {p: machine.set_params(C=2.0**p).fit(X, y).score(X_held, y_held) for p in powers}
    return max(scores, key=scores.__getitem__)


def row(name: str) -> list[object]:
    data = ALL[name]()
    cells: list[object] = [name, data.classes]
    for machine in (
        LinearSVC(multi_class="weston_watkins", random_state=0),
        LinearSVC(multi_class="crammer_singer", random_state=0),
    ):
        power = best_power(machine, data.X, data.y)
        score = machine.set_params(C=2.0**power).fit(data.X, data.y).score(data.X_test, data.y_test)
        cells += [f"2^{power}", f"{100 * score:.2f}"]
    peer = svm.LinearSVC(multi_class="crammer_singer", C=2.0**power, tol=1e-3, random_state=0)
    score = peer.fit(data.X, data.y).score(data.X_test, data.y_test)
    return [*cells, f"{100 * score:.2f}"]


header = ["data", "k", "weston_watkins: C", "test %", "crammer_singer: C", "test %", "LIBLINEAR %"]
print_table(header, (row(name) for name in options.data))
