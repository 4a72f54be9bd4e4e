"""Handwritten digits.

Ten classes, one problem per pair of classes, and a certificate for each of the 45. The picture
shows the confusion table, and the training examples with the largest coefficients: the ones that
are hardest to tell apart.
"""

import sys

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.metrics import ConfusionMatrixDisplay
from sklearn.model_selection import train_test_split

from softmargin import SVC

X, y = load_digits(return_X_y=True)
X_train, X_test, y_train, y_test = train_test_split(X / 16, y, test_size=0.5, random_state=0)
machine = SVC(C=10).fit(X_train, y_train)
solution = machine.solution_
worst = max(problem.relative_gap for problem in solution.problems)
print(f"accuracy {machine.score(X_test, y_test):.1%}, {len(machine.support_)} support vectors")
print(f"{len(solution.problems)} pairs of classes; the largest relative gap is {worst:.1e}")

figure = plt.figure(figsize=(9, 4), layout="constrained")
left, right = figure.subfigures(1, 2)
ax = left.subplots()
ConfusionMatrixDisplay.from_estimator(machine, X_test, y_test, ax=ax, cmap="Blues", colorbar=False)
hardest = machine.support_[np.argsort(-np.abs(machine.dual_coef_).sum(axis=0))[:20]]
for ax, example in zip(right.subplots(4, 5).ravel(), hardest, strict=True):
    ax.imshow(X_train[example].reshape(8, 8), cmap="gray_r")
    ax.set_title(y_train[example], fontsize=8)
    ax.axis("off")

figure.savefig(sys.argv[1] if len(sys.argv) > 1 else "handwritten_digits.png", dpi=100)
