"""The works on which packages are compared: real data, a machine, its parameters."""

import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from data import load, load_sparse, standardised

TOLERANCE = 1e-3
Data = tuple[Any, Any]


@dataclass(frozen=True)
class Work:
    estimator: str
    parameters: dict[str, float]
    source: Callable[[], Data]
    floor: bool = False
    """Compare with the cost of the kernel rows of the support vectors, too."""
    predict: Callable[[], Any] | None = None
    """Rows to predict with the fitted machine, too."""
    fits: int = 1
    """The data are divided into this many parts of equal size, and each is fitted."""
    too_slow: tuple[str, ...] = ()
    """Packages that are left out, by the beginning of their names: minutes, or an hour."""

    def load(self) -> Data:
        """Examples (rows contiguous) and targets."""
        X, y = self.source()
        return X if sp.issparse(X) else np.ascontiguousarray(X), y


def some(X: Any, y: Any, n: int | None = None) -> Data:
    """The first n in a random order, which is the same for every n."""
    order = np.random.default_rng(0).permutation(len(y))[:n]
    return X[order], y[order]


def spambase() -> Data:
    X, y = load("spambase")
    return standardised(X), y


def connect4(n: int) -> Callable[[], Data]:
    """Without the drawn games, fields as +1, -1, 0."""

    def source() -> Data:
        X, y = load("connect4")
        return some(np.array([0.0, -1.0, 1.0])[X.astype(int)][y != 0], y[y != 0], n)

    return source


def mnist(n: int | None = None) -> Callable[[], Data]:
    def source() -> Data:
        X, y = load("mnist")
        return some(X, np.where(y >= 5, 1.0, -1.0), n)

    return source


def letter() -> Data:
    X, y = load("letter")
    return X / 7.5 - 1, y


def regression(name: str) -> Callable[[], Data]:
    def source() -> Data:
        X, y = load(name)
        return standardised(X), standardised(y)

    return source


DIGITS = {"C": 50, "gamma": 1 / (2 * 3500**2)}
EIGHT_FEATURES = {"C": 10, "gamma": 1 / 8, "epsilon": 0.1}
CONNECT4 = {"C": 4.5, "gamma": 1 / (2 * 1.5**2)}

WORKS = {
    "spambase": Work("SVC", {"C": 50, "gamma": 1 / (2 * 10**2)}, spambase),
    "connect-4": Work("SVC", CONNECT4, connect4(30_555), floor=True, too_slow=("libsvm",)),
    "a9a": Work(
        "SVC", {"C": 1, "gamma": 0.05}, lambda: load_sparse("a9a"), floor=True, too_slow=("libsvm",)
    ),
    "mnist-20000": Work(
        "SVC",
        DIGITS,
        mnist(20_000),
        floor=True,
        predict=lambda: load("mnist", part="test")[0],
        too_slow=("libsvm",),
    ),
    "mnist-60000": Work("SVC", DIGITS, mnist(), floor=True, too_slow=("libsvm", "scikit-learn")),
    "letter": Work("SVC", {"C": 16, "gamma": 4}, letter),
    "cadata": Work("SVR", EIGHT_FEATURES, regression("cadata")),
    "nu-svc": Work("NuSVC", {"nu": 0.1, "gamma": DIGITS["gamma"]}, mnist(10_000)),
    "one-class": Work("OneClassSVM", {"nu": 0.1, "gamma": DIGITS["gamma"]}, mnist(10_000)),
    "100-fits": Work("SVC", CONNECT4, connect4(20_000), fits=100),
}
SIZES = (2000, 4000, 8000, 16_000, 30_000, 60_000)
MORE = {
    "kin8nm": Work("SVR", EIGHT_FEATURES, regression("kin8nm")),
    **{
        f"{name}-C-100": Work("SVR", {**EIGHT_FEATURES, "C": 100}, regression(name))
        for name in ("cadata", "kin8nm")
    },
    **{f"mnist-{n}": Work("SVC", DIGITS, mnist(n)) for n in SIZES},
    **{f"connect-4-{n}": Work("SVC", CONNECT4, connect4(n)) for n in SIZES if n < 60_000},
}
