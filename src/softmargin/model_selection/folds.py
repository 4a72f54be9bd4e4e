"""The problems of a machine on one fold: its training examples, by their rows in the whole."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache, cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from softmargin.classification import Classifier
from softmargin.fitting.problems import Problems
from softmargin.problem.formulations import Dual, Part
from softmargin.problem.kernels import Kernel, take

Array = NDArray[np.float64]
Indices = NDArray[np.int32]

KERNEL_PARAMETERS = ("kernel", "gamma", "coef0", "degree")
MOST_KEPT = 4_000_000
"""The most variables of statements that a fold keeps for the next kernel."""


@dataclass(frozen=True)
class Statement:
    """The problems of one machine on one fold.  No kernel occurs in it."""

    machine: Any
    """A copy of the machine that knows its classes; not fitted."""
    problems: Problems
    formulation: Any
    ids: Indices
    """Rows of the whole."""
    local: Indices
    """The same, as positions among the training examples."""
    starts: NDArray[np.int64]
    dual: Dual

    @cached_property
    def single(self) -> bool:
        """Whether it is one problem, with each row at most once."""
        return len(self.starts) == 2 and len(np.unique(self.ids)) == len(self.ids)

    def among(self, count: int) -> Dual:
        """The dual of a single problem with a variable for each row of the whole.  Those of other
        rows stay at zero."""

        def spread(values: Array) -> Array:
            whole = np.zeros(count)
            whole[self.ids] = values
            return whole

        parts = tuple(
            Part(spread(part.start), spread(part.lower), spread(part.upper), part.offset)
            for part in self.dual.parts
        )
        return Dual(spread(self.dual.p), parts, self.dual.separate)


@dataclass(frozen=True)
class Data:
    """All examples.  If there are more than two classes, they are in the order of their classes:
    the examples of a pair are then close together in the kernel matrix."""

    X: Any
    y: Any
    weight: Any
    order: NDArray[np.intp] | None = None
    """The caller's numbers of the rows."""

    @classmethod
    def of(cls, machine: Any, X: Any, y: Any, weight: Any) -> Data:
        ordered = isinstance(machine, Classifier) and machine.kernel != "precomputed"
        if not ordered or np.ndim(y) != 1:
            return cls(X, y, weight)
        classes, codes = np.unique(y, return_inverse=True)
        if len(classes) <= 2:
            return cls(X, y, weight)
        order = np.argsort(codes, kind="stable")
        return cls(take(X, order), y[order], None if weight is None else weight[order], order)

    def fold(self, number: int, train: Any, test: Any) -> Fold:
        """For rows by the caller's numbers."""
        train, test = np.asarray(train), np.asarray(test)
        if self.order is None:
            return Fold(number, train, test, self)
        place = np.empty(len(self.order), dtype=np.intp)
        place[self.order] = np.arange(len(self.order))
        return Fold(number, place[train], place[test], self)


@dataclass
class Fold:
    """Training and held-out rows.  What depends on the training part alone is computed from it."""

    number: int
    train: NDArray[np.intp]
    test: NDArray[np.intp]
    data: Data
    _statements: dict[str, Statement] = field(default_factory=dict)
    _kept: int = 0

    def state(self, machine: Any) -> Statement:
        """The problems of this machine.  Machines that differ in their kernel alone share them."""
        name = _without(machine, KERNEL_PARAMETERS)
        if name not in self._statements:
            own = copy.copy(machine)
            problems, _ = own._state(np.asarray(self.data.y)[self.train], self.weights())
            stated = problems.state(range(len(problems.sizes)))
            statement = Statement(
                machine=own,
                problems=problems,
                formulation=stated.formulation,
                ids=self.train[stated.ids].astype(np.int32),
                local=stated.ids,
                starts=stated.starts,
                dual=stated.formulation.dual(),
            )
            self._kept += len(stated.ids)
            if self._kept > MOST_KEPT:
                return statement
            self._statements[name] = statement
        return self._statements[name]

    def kernel(self, machine: Any) -> Kernel:
        """gamma="scale" depends on the training part."""
        if machine.gamma != "scale" or machine.kernel in ("linear", "precomputed"):
            kernel: Kernel = machine._make_kernel(self.data.X, np.ones(1))
            return kernel
        weight = self.weights()
        weight = np.ones(len(self.train)) if weight is None else weight
        of_train: Kernel = machine._make_kernel(take(self.data.X, self.train), weight)
        return of_train

    def weights(self) -> Any:
        """Of the training examples, if there are any."""
        return None if self.data.weight is None else self.data.weight[self.train]

    def rows(self, train_too: bool) -> NDArray[np.intp]:
        """The held-out rows, and perhaps after them the training rows."""
        return np.concatenate([self.test, self.train]) if train_too else self.test

    def numbers(self, rows: NDArray[np.intp]) -> NDArray[np.intp]:
        """The caller's numbers of these rows."""
        return rows if self.data.order is None else self.data.order[rows]


@cache
def parameter_names(kind: type) -> frozenset[str]:
    """scikit-learn inspects the signature at every call, which takes longer than many cells."""
    return frozenset(kind._get_param_names())  # type: ignore[attr-defined]


def _without(machine: Any, varied: tuple[str, ...]) -> str:
    """The parameters of the machine but these."""
    names = sorted(parameter_names(machine.__class__) - set(varied))
    return repr([(name, getattr(machine, name)) for name in names])


def path_order(machines: Sequence[Any]) -> tuple[list[int], list[float]]:
    """An order in which each machine is close to the one before, and by which factor its bounds are
    larger; 0 where they are unrelated.  C rises, and epsilon goes back and forth."""

    varied = (*KERNEL_PARAMETERS, "C", "epsilon")
    kinds = [_without(machine, varied) for machine in machines]
    C = [float(getattr(machine, "C", 1.0)) for machine in machines]
    rank = {value: k for k, value in enumerate(sorted(set(C)))}

    def place(k: int) -> tuple[str, float, float]:
        epsilon = float(getattr(machines[k], "epsilon", 0.0))
        return kinds[k], C[k], epsilon if rank[C[k]] % 2 else -epsilon

    order = sorted(range(len(machines)), key=place)
    scales = [0.0] * len(order)
    for step in range(1, len(order)):
        last, now = order[step - 1], order[step]
        if kinds[last] == kinds[now]:
            scales[step] = C[now] / C[last] if C[last] < np.inf else 1.0
    return order, scales
