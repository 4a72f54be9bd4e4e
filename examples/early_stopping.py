"""Stopping a fit with a callback.

A callback sees the state of the fit about twenty times a second and may stop it. Here it stops
when the dual objective has risen by less than one per cent in ten calls. The model is complete,
and its certificate says what was given up.
"""

import sys
import warnings

import matplotlib.pyplot as plt
import numpy as np
from sklearn.exceptions import ConvergenceWarning

from softmargin import SVC
from softmargin.plotting import plot_convergence

rng = np.random.default_rng(0)
X = rng.normal(size=(3000, 20))
y = np.sin(2 * X[:, 0]) + 0.3 * rng.normal(size=len(X)) > 0

objectives = []


def slow(status):
    objectives.append(status.objective)
    return len(objectives) > 10 and objectives[-1] < 1.01 * objectives[-11]


machine = SVC(C=100, gamma=0.05, callbacks=[slow], working_set="second-order")
with warnings.catch_warnings():
    warnings.simplefilter("ignore", ConvergenceWarning)  # it says that the fit was stopped
    machine.fit(X, y)
print(machine.solution_.stop_reason.cause)
print(f"certified relative gap: {machine.solution_.relative_gap:.1%}")

figure, axes = plt.subplots(figsize=(6, 3.4), layout="constrained")
plot_convergence(machine, axes)

figure.savefig(sys.argv[1] if len(sys.argv) > 1 else "early_stopping.png", dpi=100)
