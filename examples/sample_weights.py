"""Weights are repetitions.

A weight of 5 has the same effect as writing the example five times. The pictures give the orange
examples more and more weight, and the boundary moves away from them.
"""

import sys

import matplotlib.pyplot as plt
import numpy as np

from softmargin import SVC

rng = np.random.default_rng(3)
X = rng.normal(size=(60, 2))
y = np.where(X[:, 0] + 0.8 * rng.normal(size=60) > 0, 1, -1)
heavy = y == -1

weighted = SVC().fit(X, y, sample_weight=np.where(heavy, 5, 1)).decision_function(X)
X_repeated, y_repeated = (np.repeat(array, np.where(heavy, 5, 1), axis=0) for array in (X, y))
repeated = SVC(gamma=1 / (2 * X_repeated.var())).fit(X_repeated, y_repeated).decision_function(X)
print(f"weights and repetitions differ by {np.abs(weighted - repeated).max():.0e}")

columns, rows = np.meshgrid(np.linspace(-3, 3, 150), np.linspace(-3, 3, 150))
grid = np.column_stack([columns.ravel(), rows.ravel()])
figure, axes = plt.subplots(1, 3, figsize=(10, 3.4), layout="constrained")
for ax, factor in zip(axes, (1, 5, 25), strict=True):
    weight = np.where(heavy, factor, 1)
    values = SVC(gamma=0.5).fit(X, y, sample_weight=weight).decision_function(grid)
    values = values.reshape(columns.shape)
    ax.contourf(columns, rows, values, [-99, 0, 99], colors=["#dd7a1f", "#2b6cb0"], alpha=0.15)
    ax.contour(columns, rows, values, [0], colors="0.2")
    ax.scatter(*X.T, c=np.where(y > 0, "#2b6cb0", "#dd7a1f"), s=12 * np.sqrt(weight))
    ax.set(title=f"weight {factor}", xticks=[], yticks=[])

figure.savefig(sys.argv[1] if len(sys.argv) > 1 else "sample_weights.png", dpi=100)
