"""Four kernels on the same data.

The kernel decides what a boundary can look like: a line, a cubic, something that bends anywhere.
A kernel that is too simple or too flexible needs more support vectors than one that fits.
"""

import sys

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_moons

from softmargin import SVC

X, y = make_moons(200, noise=0.2, random_state=0)
columns, rows = np.meshgrid(np.linspace(-1.8, 2.8, 150), np.linspace(-1.3, 1.8, 150))
grid = np.column_stack([columns.ravel(), rows.ravel()])

machines = {
    "linear": SVC(kernel="linear"),
    "poly, degree 3": SVC(kernel="poly", coef0=1),
    "rbf, gamma 1": SVC(kernel="rbf", gamma=1),
    "rbf, gamma 30": SVC(kernel="rbf", gamma=30),
}
figure, axes = plt.subplots(1, 4, figsize=(12, 3), layout="constrained")
for ax, (name, machine) in zip(axes, machines.items(), strict=True):
    machine.fit(X, y)
    values = machine.decision_function(grid).reshape(columns.shape)
    ax.contourf(columns, rows, values, [-99, 0, 99], colors=["#dd7a1f", "#2b6cb0"], alpha=0.15)
    ax.contour(columns, rows, values, [-1, 0, 1], colors="0.2", linestyles=["--", "-", "--"])
    ax.scatter(*X.T, c=np.where(y, "#2b6cb0", "#dd7a1f"), s=8)
    ax.set(title=f"{name}\n{len(machine.support_)} support vectors", xticks=[], yticks=[])

figure.savefig(sys.argv[1] if len(sys.argv) > 1 else "kernels.png", dpi=100)
