"""Calibrated probabilities.

Decision values are not probabilities; scikit-learn's `CalibratedClassifierCV` turns them into
probabilities by cross-validation, and a reliability curve shows whether these can be believed.
"""

import sys

import matplotlib.pyplot as plt
from sklearn.calibration import CalibratedClassifierCV, CalibrationDisplay
from sklearn.datasets import make_moons

from softmargin import SVC

X, y = make_moons(1000, noise=0.4, random_state=0)
X_new, y_new = make_moons(4000, noise=0.4, random_state=1)
machine = CalibratedClassifierCV(SVC(C=1, gamma=1), ensemble=False).fit(X, y)
probabilities = machine.predict_proba(X_new)[:, 1]

figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3.6), layout="constrained")
points = left.scatter(*X_new.T, c=probabilities, cmap="PuOr", s=4)
left.set(xticks=[], yticks=[], title="probability of the second class")
figure.colorbar(points)
CalibrationDisplay.from_predictions(y_new, probabilities, n_bins=10, ax=right, name="SVC")

figure.savefig(sys.argv[1] if len(sys.argv) > 1 else "calibrated_probabilities.png", dpi=100)
