"""Test accuracies at C = 1 with an intercept: our three machines at a relative gap of 1e-3, and
scikit-learn's LinearSVC with multi_class="crammer_singer" at its defaults."""

from __future__ import annotations

import warnings

from common import arguments, print_table
from data import ALL
from sklearn import svm
from sklearn.exceptions import ConvergenceWarning

from softmargin import LinearSVC

warnings.simplefilter("ignore", ConvergenceWarning)
warnings.simplefilter("ignore", FutureWarning)
options = arguments(__doc__)


def row(name: str) -> list[object]:
    data = ALL[name]()
    machines = [
        LinearSVC(multi_class=m, loss="hinge", random_state=0)
        for m in ("weston_watkins", "crammer_singer", "ovr")
    ]
    scores = [m.fit(data.X, data.y).score(data.X_test, data.y_test) for m in machines]
    gaps = max(m.solution_.relative_gap for m in machines)
    peer = svm.LinearSVC(multi_class="crammer_singer", random_state=0)
    if name != "udhr_lang":  # 528 classes and 60,000 features take it too long
        scores.append(peer.fit(data.X, data.y).score(data.X_test, data.y_test))
    else:
        scores.append(float("nan"))
    return [name, data.classes, *(f"{100 * score:.2f}" for score in scores), f"{gaps:.1e}"]


header = [
    "data",
    "k",
    "weston_watkins %",
    "crammer_singer %",
    "ovr %",
    "LIBLINEAR CS %",
    "largest gap",
]
print_table(header, (row(name) for name in options.data))
