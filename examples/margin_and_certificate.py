"""The picture of the README: what a machine learns, and how it knows that it is done.

pip install '.[plot]' && python examples/margin_and_certificate.py docs/margin_and_certificate.png
"""

import sys
import warnings

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from sklearn.datasets import make_moons
from sklearn.exceptions import ConvergenceWarning

from softmargin import SVC

BLUE, ORANGE, INK = "#2b6cb0", "#dd7a1f", "#222222"


def draw_margin(axes: Axes, X: np.ndarray, y: np.ndarray) -> None:
    machine = SVC(C=1, gamma=0.5).fit(X, y)
    border = 0.2
    (left, bottom), (right, top) = X.min(axis=0) - border, X.max(axis=0) + border
    columns, rows = np.meshgrid(np.linspace(left, right, 300), np.linspace(bottom, top, 300))
    values = machine.decision_function(np.column_stack([columns.ravel(), rows.ravel()]))
    values = values.reshape(columns.shape)
    axes.contourf(columns, rows, values, [-99, 0, 99], colors=[ORANGE, BLUE], alpha=0.12)
    axes.contour(
        columns, rows, values, [-1, 0, 1], colors=INK, linestyles=["--", "-", "--"], linewidths=1
    )
    supports = np.isin(np.arange(len(X)), machine.support_)
    for label, colour in ((0, ORANGE), (1, BLUE)):
        axes.scatter(*X[(y == label) & ~supports].T, s=9, color=colour, alpha=0.5)
        axes.scatter(*X[(y == label) & supports].T, s=26, color=colour, edgecolor=INK, lw=0.8)
    axes.set_title(f"{len(X)} examples, {supports.sum()} support vectors (ringed)")
    axes.set(xticks=[], yticks=[])


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
