"""What nu means.

In `NuSVC`, nu is an upper bound on the fraction of margin errors and a lower bound on the
fraction of support vectors. Both fractions are close to nu when there are many examples.
"""

import sys

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_moons

from softmargin import NuSVC

X, y = make_moons(600, noise=0.3, random_state=0)
nus = np.linspace(0.3, 0.9, 13)
errors, supports = [], []
for nu in nus:
    machine = NuSVC(nu=nu, gamma=1, tol=1e-5).fit(X, y)
    margins = np.where(y == 1, 1, -1) * machine.decision_function(X)
    errors.append(np.mean(margins < 1 - 1e-3))
    supports.append(len(machine.support_) / len(X))
    assert errors[-1] <= nu <= supports[-1]

figure, ax = plt.subplots(figsize=(5.6, 3.5), layout="constrained")
ax.plot(nus, supports, color="#2b6cb0", marker=".", label="support vectors")
ax.plot(nus, nus, color="0.5", linestyle="--", label="nu")
ax.plot(nus, errors, color="#dd7a1f", marker=".", label="margin errors")
ax.set(xlabel="nu", ylabel="fraction of the examples")
ax.legend(frameon=False)

figure.savefig(sys.argv[1] if len(sys.argv) > 1 else "nu_bounds.png", dpi=100)
