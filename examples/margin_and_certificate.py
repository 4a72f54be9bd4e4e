"""Margin and certificate.

What a machine learns, and how it knows that it is done. Left: the dashed lines are the margins,
and the ringed examples on or inside them are the support vectors. Right: the optimum lies
between the primal and the dual objective, and the gap between them closes.
"""

import sys
import warnings

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from sklearn.datasets import make_moons
from sklearn.exceptions import ConvergenceWarning

from softmargin import SVC
from softmargin.plotting import plot_decision

BLUE, ORANGE, INK = "#2b6cb0", "#dd7a1f", "#222222"


def draw_margin(axes: Axes, X: np.ndarray, y: np.ndarray) -> None:
    plot_decision(SVC(C=1, gamma=0.5).fit(X, y), X, y, axes)
    axes.set(xticks=[], yticks=[], xlabel="", ylabel="")


def draw_certificate(axes: Axes, X: np.ndarray, y: np.ndarray) -> None:
    steps = np.unique(np.geomspace(10, 2000, 60).astype(int))
    solutions = []
    for limit in steps:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            solutions.append(SVC(C=1, gamma=0.5, tol=1e-6, max_iter=limit).fit(X, y).solution_)
    iterations = [solution.iterations for solution in solutions]
    primal = [solution.primal_objective for solution in solutions]
    dual = [solution.dual_objective for solution in solutions]
    axes.fill_between(iterations, dual, primal, color=INK, alpha=0.08)
    axes.plot(iterations, primal, color=ORANGE, label="primal objective")
    axes.plot(iterations, dual, color=BLUE, label="dual objective")
    axes.set_title(f"the optimum lies between: gap {solutions[-1].duality_gap:.0e} at the end")
    axes.set(xscale="log", xlabel="iterations", ylim=(0, 2.2 * dual[-1]))
    axes.legend(frameon=False)
    axes.spines[["top", "right"]].set_visible(False)


def main() -> None:
    if len(sys.argv) != 2:
        raise SystemExit(f"usage: {sys.argv[0]} <picture.png>")
    X, y = make_moons(400, noise=0.22, random_state=0)
    plt.rcParams.update({"font.size": 9, "axes.titlesize": 9})
    figure, (left, right) = plt.subplots(1, 2, figsize=(8, 3.2), layout="constrained")
    draw_margin(left, X, y)
    draw_certificate(right, X, y)
    figure.savefig(sys.argv[1], dpi=130)


if __name__ == "__main__":
    main()
