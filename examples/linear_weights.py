"""What a linear machine looks for.

`LinearSVC` learns one weight vector per class, all at once (Weston-Watkins). For images the
weights are images too: purple pixels speak for the class, orange ones against it.
"""

import sys

import matplotlib.pyplot as plt
from sklearn.datasets import load_digits

from softmargin import LinearSVC

X, y = load_digits(return_X_y=True)
machine = LinearSVC(multi_class="weston_watkins", C=0.05, random_state=0).fit(X / 16, y)
solution = machine.solution_
print(f"relative gap {solution.relative_gap:.1e} after {solution.iterations} passes")

largest = abs(machine.coef_).max()
figure, axes = plt.subplots(2, 5, figsize=(8, 3.6), layout="constrained")
for ax, digit, weights in zip(axes.ravel(), machine.classes_, machine.coef_, strict=True):
    ax.imshow(weights.reshape(8, 8), cmap="PuOr", vmin=-largest, vmax=largest)
    ax.set(title=digit, xticks=[], yticks=[])

figure.savefig(sys.argv[1] if len(sys.argv) > 1 else "linear_weights.png", dpi=100)
