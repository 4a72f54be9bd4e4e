"""The problems of a kernel classifier, each with its folds, as tasks on a Dask cluster.

The examples are sent once to each worker.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from dask.sizeof import sizeof
from distributed import Client, get_worker
from numpy.typing import NDArray

from softmargin.dask.cluster import find_client
from softmargin.dask.shared_data import SharedDataTasks, Unwanted
from softmargin.estimator.out_of_fold import QUIET
from softmargin.fitting import planning
from softmargin.fitting.elsewhere import ELSEWHERE
from softmargin.fitting.held_out import Fold, Folds
from softmargin.fitting.kernel_fit import Answers
from softmargin.fitting.small_problems import tell_zero_starts
from softmargin.problem.kernels import Kernel
from softmargin.solution import StopReason
from softmargin.watching import Watch

GROUPED_FOR = 16
"""Threads for which small problems are grouped, however many the cluster has: problems that are
solved together share their precision, so the bits of a fit depend on the groups."""


@contextmanager
def on_cluster(client: Client | None = None, *, wait_limit: float = 600.0) -> Iterator[None]:
    """Within it, fits of kernel machines run on a Dask cluster, as far as they can be divided.

    Of `SVC` and `NuSVC` with more than two classes, the problems of pairs of classes (or of
    classes, with ``multi_class="ovr"``) are tasks, which also solve the folds of these problems for
    ``probability=True``.  Everything else runs here: fits with a single problem, kernels that are
    Python functions, fits with a checkpoint or with ``warm_start=True``, and the folds of fits with
    a time limit or with ``on_interrupt="keep"``.

    Parameters
    ----------
    client : dask.distributed.Client or None, default=None
        None: the current one.
    wait_limit : float, default=600
        If no task of a fit ends for this many seconds, it raises
        :class:`softmargin.dask.ClusterError`, which says what it was waiting for.

    Examples
    --------
    >>> from dask.distributed import Client
    >>> from sklearn.datasets import load_digits
    >>> from softmargin import SVC
    >>> from softmargin.dask import on_cluster
    >>> X, y = load_digits(return_X_y=True)
    >>> with Client() as client, on_cluster(client):  # doctest: +SKIP
    ...     machine = SVC(probability=True).fit(X, y)
    """
    found = ELSEWHERE.set(OnCluster(find_client(client), wait_limit))
    try:
        yield
    finally:
        ELSEWHERE.reset(found)


@dataclass(frozen=True)
class SentFolds:
    """What a worker also needs if the problems have folds; a row of each array for each fold."""

    prices: NDArray[np.float64]
    tested: NDArray[np.bool_]
    tol: float
    max_iter: int

    @classmethod
    def of(cls, folds: Folds) -> SentFolds:
        problems: list[Any] = [fold.problems for fold in folds.folds]
        tested = np.stack([fold.tested for fold in folds.folds])
        return cls(np.stack([own.price for own in problems]), tested, folds.tol, folds.max_iter)

    def restore(self, problems: Any) -> Folds:
        """The folds of these problems."""
        rows = zip(self.prices, self.tested, strict=True)
        folds = [Fold(replace(problems, price=price), tested) for price, tested in rows]
        return Folds(folds, self.tol, self.max_iter)


@dataclass(frozen=True)
class SentProblems:
    """What a worker needs to state and solve any problem of a fit."""

    machine: Any
    kernel: Kernel
    X: Any
    order: NDArray[np.int32]
    counts: NDArray[np.int64]
    price: NDArray[np.float64]
    folds: SentFolds | None

    def __sizeof__(self) -> int:
        folds = self.folds.prices.nbytes + self.folds.tested.nbytes if self.folds else 0
        return int(sizeof(self.X) + self.order.nbytes + self.price.nbytes + folds)


class OnCluster:
    """Where the parts of a fit run (:mod:`softmargin.fitting.elsewhere`)."""

    def __init__(self, client: Client, wait_limit: float) -> None:
        self.client, self.wait_limit = client, wait_limit

    def solve(
        self,
        machine: Any,
        kernel: Kernel,
        X: Any,
        problems: Any,
        folds: Folds | None,
        watch: Watch,
        here: Callable[[range], Answers],
    ) -> list[Answers]:
        quiet = type(machine)(**{**machine.get_params(deep=False), **QUIET})
        quiet.classes_, quiet.class_weight_ = machine.classes_, machine.class_weight_
        counts = np.diff(problems.class_starts)
        of_folds = SentFolds.of(folds) if folds else None
        sent = SentProblems(quiet, kernel, X, problems.order, counts, problems.price, of_folds)
        groups = planning.groups(problems.sizes, GROUPED_FOR, False)
        for group in groups:
            tell_zero_starts(problems.state(group), watch, group.start)
        found: dict[int, Answers] = {}
        tasks = SharedDataTasks(self.client, self.wait_limit, "the problems of a fit")
        with closing(tasks):
            for some in tasks.run(_solve, sent, groups, watch.expired):
                first, sizes = some.numbers.start, problems.sizes
                found[first] = some
                watch.done_together(first, some.certificates, sizes[first : some.numbers.stop])
        return [found.get(group.start) or here(group) for group in groups]


class _TaskWatch(Watch):
    """Stops a task that nobody wants any more."""

    def __init__(self) -> None:
        super().__init__(1, 1.0)
        self.unwanted = Unwanted()

    def expired(self) -> StopReason | None:
        return StopReason.INTERRUPTED if self.unwanted() else None


def _solve(sent: SentProblems, numbers: range) -> Answers:
    machine, watch = sent.machine, _TaskWatch()
    problems = machine._problems(sent.order, sent.counts, sent.price)
    folds = sent.folds.restore(problems) if sent.folds else None
    resources = 1, get_worker().state.nthreads
    fit = machine._kernel_fit(sent.kernel, sent.X, problems, watch, resources, folds=folds)
    answers: Answers = fit.solve(numbers)
    watch.unwanted.leave()
    return answers
