"""Draws the pictures of docs/plots.md, and a report.

python docs/plot_pictures.py docs/plots
"""

import sys
from pathlib import Path

import matplotlib as mpl
import numpy as np

mpl.use("agg")
from matplotlib import pyplot
from sklearn.datasets import load_digits, load_iris, make_classification, make_moons
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from softmargin import SVC, SVR, GridSearchCV, OneClassSVM
from softmargin.plotting import (
    plot_calibration,
    plot_convergence,
    plot_decision,
    plot_search,
    plot_support,
)


def decisions() -> None:
    _, axes = pyplot.subplots(2, 2, figsize=(10, 7.6), layout="constrained")
    X, y = make_moons(400, noise=0.22, random_state=0)
    plot_decision(SVC(gamma=0.5).fit(X, y), X, y, axes[0, 0])
    iris = load_iris()
    X, y = iris.data[:, 2:], iris.target_names[iris.target]
    plot_decision(make_pipeline(StandardScaler(), SVC()).fit(X, y), X, y, axes[0, 1])
    axes[0, 1].set(xlabel="petal length (cm)", ylabel="petal width (cm)")
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 2)) @ [[1, 0.6], [0, 0.8]]
    plot_decision(OneClassSVM(nu=0.1, gamma=0.2).fit(X), X, ax=axes[1, 0])
    x = np.sort(rng.uniform(0, 10, 150))[:, None]
    z = np.sin(x[:, 0]) + 0.2 * rng.normal(size=150)
    plot_decision(SVR(C=10, epsilon=0.2, gamma=0.5).fit(x, z), x, z, axes[1, 1])


def support() -> None:
    _, axes = pyplot.subplots(1, 2, figsize=(10, 3.4), layout="constrained")
    X, y = make_moons(400, noise=0.22, random_state=0)
    plot_support(SVC(gamma=0.5).fit(X, y), X, y, axes[0])
    plot_support(SVC(gamma=50).fit(X, y), X, y, axes[1])
    axes[0].set_xlabel("margin with gamma=0.5 (below 0: wrong)")
    axes[1].set_xlabel("margin with gamma=50 (below 0: wrong)")


def convergence() -> None:
    _, axes = pyplot.subplots(1, 2, figsize=(10, 3.6), layout="constrained")
    rng = np.random.default_rng(0)
    X = rng.normal(size=(3000, 20))
    y = np.sin(2 * X[:, 0]) + 0.3 * rng.normal(size=len(X)) > 0
    plot_convergence(SVC(C=100, gamma=0.05).fit(X, y), axes[0])
    plot_convergence(SVC(C=10).fit(*load_digits(return_X_y=True)), axes[1])


def search() -> None:
    _, axes = pyplot.subplots(1, 2, figsize=(10, 3.8), layout="constrained")
    X, y = make_moons(400, noise=0.3, random_state=0)
    points = {"C": 2.0 ** np.arange(-5, 14), "gamma": 2.0 ** np.arange(-9, 6)}
    found = GridSearchCV(SVC(), points).fit(X, y)
    plot_search(found, ax=axes[0])
    plot_search(found, time=True, ax=axes[1])


def calibration() -> None:
    _, axes = pyplot.subplots(1, 2, figsize=(10, 3.8), layout="constrained")
    for ax, classes in zip(axes, (2, 5), strict=True):
        X, y = make_classification(
            4000, 10, n_informative=8, n_classes=classes, flip_y=0.2, random_state=0
        )
        machine = SVC(probability=True).fit(X[:1500], y[:1500])
        plot_calibration(machine, X[1500:], y[1500:], ax)


def main() -> None:
    if len(sys.argv) != 2:
        raise SystemExit(f"usage: {sys.argv[0]} <folder>")
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    for draw in (decisions, support, convergence, search, calibration):
        draw()
        pyplot.savefig(folder / f"{draw.__name__}.png", dpi=90)
        pyplot.close()
    X, y = load_digits(return_X_y=True)
    SVC(C=10).fit(X[::2], y[::2]).report(folder / "report.html", X[1::2], y[1::2])


if __name__ == "__main__":
    main()
