"""A path of C with warm starts.

With `warm_start=True` each fit starts from the solution of the last one. Along a path of growing
C that saves iterations, and the result is the same optimum. Where no variable is at its bound C
any more, the last solution is optimal for every larger C, and the fit ends at once.
"""

import sys

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.preprocessing import scale

from softmargin import SVC

X, y = load_breast_cancer(return_X_y=True)
X = scale(X)
prices = 2.0 ** np.arange(-3, 11)
warm = SVC(warm_start=True, working_set="second-order")
iterations = {"cold": [], "warm": []}
for C in prices:
    cold = SVC(C=C, working_set="second-order").fit(X, y)
    warm.set_params(C=C).fit(X, y)
    iterations["cold"].append(cold.solution_.iterations)
    iterations["warm"].append(warm.solution_.iterations)
for name, counts in iterations.items():
    print(f"{name}: {sum(counts)} iterations")

figure, ax = plt.subplots(figsize=(5.6, 3.4), layout="constrained")
ax.plot(prices, iterations["cold"], marker=".", color="#dd7a1f", label="from zero")
ax.plot(prices, iterations["warm"], marker=".", color="#2b6cb0", label="from the last C")
ax.set_xscale("log", base=2)
ax.set(xlabel="C", ylabel="iterations")
ax.legend(frameon=False)

figure.savefig(sys.argv[1] if len(sys.argv) > 1 else "warm_start_path.png", dpi=100)
