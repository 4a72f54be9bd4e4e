"""The problem of a linear machine, as the core takes it."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from softmargin import _core
from softmargin.checkpoint import Take

Array = NDArray[np.float64]
Dual = tuple[NDArray[np.int64], NDArray[np.int32], Array]
"""The nonzero dual variables, by example as in CSR: starts, columns, values."""

SEPARATE = {
    "hinge": "ovr",
    "squared_hinge": "ovr_squared",
    "epsilon_insensitive": "svr",
    "squared_epsilon_insensitive": "svr_squared",
}
"""The core's machine for each loss, where the columns of W are separate problems."""
COUPLED = ("weston_watkins", "crammer_singer")
UNBOUNDED = ("ovr_squared", "svr_squared")
SIGNED = ("svr", "svr_squared")


def no_variables(count: int) -> Dual:
    return np.zeros(count + 1, np.int64), np.zeros(0, np.int32), np.zeros(0)


def read_variables(take: Take, rows: int, columns: int) -> list[Any]:
    """Reads the variables of this many examples and columns of W from a checkpoint."""
    starts = take(rows + 1)
    if starts[0] != 0 or not (np.diff(starts) >= 0).all() or (starts % 1 != 0).any():
        raise ValueError("numbers of variables that do not rise")
    column, beta = take(int(starts[-1])), take(int(starts[-1]))
    if not ((column >= 0) & (column < columns) & (column % 1 == 0)).all():
        raise ValueError("columns that the weights do not have")
    return [starts.astype(np.int64), column.astype(np.int32), beta]


@dataclass(frozen=True)
class Problem:
    """What the core needs to know: the examples, their columns of W, their C, and the machine."""

    X: Any
    column: NDArray[np.int32]
    upper: Array
    columns: int
    machine: str
    constant: float
    own_upper: Array | None = None
    """The C of each example in the column of its own class; None: the same as in the others."""
    target: Array | None = None
    """The targets of a regression."""
    epsilon: float = 0.0
    free_intercept: bool = False
    """Whether the weights of the constant feature are not regularised."""
    penalty: str = "l2"
    by_column: Any = None
    """X by columns, for the L1 penalty."""
    first: int = 0
    """The position of this problem's first column in the whole, if it was split."""

    idle: list[Any] = field(default_factory=list, init=False, repr=False, compare=False)
    """Objects of the core that :mod:`.blocks` keeps for their next use."""

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "idle": []}

    @property
    def stated(self) -> list[Any]:
        """The arrays and numbers that state the problem, besides X and the parameters."""
        optional = [array for array in (self.own_upper, self.target) if array is not None]
        return [self.column, self.upper, self.constant, *optional]

    @property
    def squared(self) -> bool:
        return self.machine in UNBOUNDED

    def rows(self) -> Any:
        reader = _core.linear.Rows
        if not sp.issparse(self.X):
            return reader.dense(self.X, self.constant)
        X = self.X
        return reader.csr(X.data, X.indices, X.indptr, X.shape[1], self.constant)

    def prices(self, example: Any, column: Any) -> Array:
        """The C of errors of the examples in the columns."""
        price: Array = self.upper[example]
        if self.own_upper is None:
            return price
        return np.where(column == self.column[example], self.own_upper[example], price)

    def split(self, count: int) -> list[Problem]:
        """Up to `count` problems with some of the columns each; the columns must be independent."""
        edges = np.linspace(0, self.columns, min(count, self.columns) + 1).astype(int)
        if len(edges) == 2:
            return [self]
        return [
            replace(
                self,
                column=np.where((self.column >= a) & (self.column < b), self.column - a, -1).astype(
                    np.int32
                ),
                columns=int(b - a),
                first=int(a),
            )
            for a, b in pairwise(edges)
        ]

    def select(self, dual: Dual) -> Dual:
        """The dual variables of this problem's columns, out of those of all columns."""
        starts, column, beta = dual
        mine = (column >= self.first) & (column < self.first + self.columns)
        before = np.concatenate([[0], np.cumsum(mine)])
        return before[starts], (column[mine] - self.first).astype(np.int32), beta[mine]

    coefficients = 0  # of a solved part, a checkpoint stores only the variables

    def read(self, take: Take) -> list[Any]:
        """Reads the variables from a checkpoint; ValueError if the core cannot start from them."""
        starts, column, beta = read_variables(take, len(self.upper), self.columns)
        self.check_variables((starts, column, beta))
        return [starts, column, beta]

    def check_variables(self, dual: Dual) -> None:
        """ValueError if the core cannot start from these variables."""
        starts, column, beta = dual
        example = np.repeat(np.arange(len(self.upper)), np.diff(starts))
        place = example * self.columns + column
        if len(np.unique(place)) < len(place):
            raise ValueError("variables that are listed twice")
        if self.machine in COUPLED and (column == self.column[example]).any():
            raise ValueError("variables of an example's own class")
        simplex = self.machine == "crammer_singer"
        used: Any = np.bincount(example, weights=beta)[example] if simplex else np.abs(beta)
        most = np.inf if self.squared else self.prices(example, column) * (1 + 1e-9)
        if not (used <= most).all() or (self.machine not in SIGNED and not (beta >= 0).all()):
            raise ValueError("variables out of their bounds")
