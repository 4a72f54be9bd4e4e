"""Novelty detection.

A `OneClassSVM` learns where the training data are, without labels. New examples outside the
boundary are called novelties. About a fraction nu of the training data may lie outside.
"""

import sys

import matplotlib.pyplot as plt
import numpy as np

from softmargin import OneClassSVM

rng = np.random.default_rng(0)
X = np.vstack([rng.normal((-2, 0), 0.5, (150, 2)), rng.normal((2, 1), 0.7, (150, 2))])
new = rng.uniform(-5, 5, (60, 2))
machine = OneClassSVM(nu=0.05, gamma=0.5).fit(X)
inside = machine.predict(new) == 1
print(f"{np.mean(machine.predict(X) == -1):.1%} of the training data lie outside (nu is 5%)")
print(f"{np.sum(~inside)} of {len(new)} new examples are novelties")

columns, rows = np.meshgrid(np.linspace(-5, 5, 200), np.linspace(-5, 5, 200))
values = machine.decision_function(np.column_stack([columns.ravel(), rows.ravel()]))
figure, ax = plt.subplots(figsize=(5.6, 4), layout="constrained")
levels = ax.contourf(columns, rows, values.reshape(columns.shape), 12, cmap="Blues", alpha=0.6)
ax.contour(columns, rows, values.reshape(columns.shape), [0], colors="0.2")
ax.scatter(*X.T, s=5, color="0.3", label="training data")
ax.scatter(*new[inside].T, s=22, color="#2f855a", label="new, inside")
ax.scatter(*new[~inside].T, s=22, color="#dd7a1f", marker="x", label="new, outside")
ax.legend(loc="lower right")
figure.colorbar(levels, label="decision function")

figure.savefig(sys.argv[1] if len(sys.argv) > 1 else "novelty.png", dpi=100)
