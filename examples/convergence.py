"""A time limit, and the continuation.

On the left a time limit stops the fit half-way; its model can be used, and its certificate says
how far from the optimum it can be. On the right `warm_start=True` continues from there.
"""

import sys
import warnings

import matplotlib as mpl
import numpy as np

mpl.use("agg")
from matplotlib import pyplot

from softmargin import SVC
from softmargin.plotting import plot_convergence


def main() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(4000, 20))
    y = np.sin(2 * X[:, 0]) + 0.3 * rng.normal(size=len(X)) > 0
    machine = SVC(C=100, gamma=0.05, time_limit=0.5, warm_start=True)
    figure, axes = pyplot.subplots(1, 2, figsize=(10, 3.6), layout="constrained")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        plot_convergence(machine.fit(X, y), axes[0])
    plot_convergence(machine.set_params(time_limit=None).fit(X, y), axes[1])
    figure.savefig(sys.argv[1], dpi=100)


if __name__ == "__main__":
    main()
