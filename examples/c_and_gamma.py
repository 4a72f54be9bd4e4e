"""What C and gamma do.

A larger C pays more for every error on the training data; a larger gamma lets the boundary bend
more. Small values of both underfit, large values of both overfit. The number in each corner is
the accuracy on new data.
"""

import sys

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_moons

from softmargin import SVC

X, y = make_moons(150, noise=0.3, random_state=1)
X_new, y_new = make_moons(2000, noise=0.3, random_state=2)
columns, rows = np.meshgrid(np.linspace(-2.2, 3.2, 120), np.linspace(-1.7, 2.2, 120))
grid = np.column_stack([columns.ravel(), rows.ravel()])

figure, axes = plt.subplots(3, 4, figsize=(9, 6), layout="constrained")
for row, C in zip(axes, (0.1, 1, 100), strict=True):
    for ax, gamma in zip(row, (0.05, 0.5, 5, 50), strict=True):
        machine = SVC(C=C, gamma=gamma).fit(X, y)
        values = machine.decision_function(grid).reshape(columns.shape)
        ax.contourf(columns, rows, values, [-99, 0, 99], colors=["#dd7a1f", "#2b6cb0"], alpha=0.2)
        ax.scatter(*X.T, c=np.where(y, "#2b6cb0", "#dd7a1f"), s=4)
        ax.text(0.03, 0.03, f"{machine.score(X_new, y_new):.1%}", transform=ax.transAxes)
        ax.set_title(f"C = {C}, gamma = {gamma}", fontsize=9)
        ax.set(xticks=[], yticks=[])

figure.savefig(sys.argv[1] if len(sys.argv) > 1 else "c_and_gamma.png", dpi=100)
