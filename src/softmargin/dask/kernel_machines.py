"""The problems of a kernel classifier, and the folds of a calibration, as tasks on a Dask cluster.

The examples are sent once to each worker for the problems, and once for the folds.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
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
    classes, with ``multi_class="ovr"``) are tasks; of ``probability=True`` and of the intervals of
    regressions, the folds.  Everything else runs here: fits with a single problem, kernels that are
    Python functions, and problems of fits with a checkpoint or with ``warm_start=True``.

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
class SentProblems:
    """What a worker needs to state and solve any problem of a fit."""

    machine: Any
    kernel: Kernel
    X: Any
    order: NDArray[np.int32]
    counts: NDArray[np.int64]
    price: NDArray[np.float64]

    def __sizeof__(self) -> int:
        return int(sizeof(self.X) + self.order.nbytes + self.price.nbytes)


@dataclass(frozen=True)
class SentFolds:
    """What a worker needs for any fold."""

    data: Sequence[Any]

    def __sizeof__(self) -> int:
        return sum(int(sizeof(part)) for part in self.data)


class OnCluster:
    """Where the parts of a fit run (:mod:`softmargin.fitting.elsewhere`)."""

    def __init__(self, client: Client, wait_limit: float) -> None:
        self.client, self.wait_limit = client, wait_limit

    @contextmanager
    def _tasks(self, what: str) -> Iterator[SharedDataTasks]:
        tasks = SharedDataTasks(self.client, self.wait_limit, what)
        try:
            yield tasks
        finally:
            tasks.close()

    def solve(
        self,
        machine: Any,
        kernel: Kernel,
        X: Any,
        problems: Any,
        watch: Watch,
        here: Callable[[range], Answers],
    ) -> list[Answers]:
        quiet = type(machine)(**{**machine.get_params(deep=False), **QUIET})
        quiet.classes_, quiet.class_weight_ = machine.classes_, machine.class_weight_
        counts = np.diff(problems.class_starts)
        sent = SentProblems(quiet, kernel, X, problems.order, counts, problems.price)
        groups = planning.groups(problems.sizes, GROUPED_FOR, False)
        for group in groups:
            tell_zero_starts(problems.state(group), watch, group.start)
        found: dict[int, Answers] = {}
        with self._tasks("the problems of a fit") as tasks:
            for some in tasks.run(_solve, sent, groups, watch.expired):
                first, sizes = some.numbers.start, problems.sizes
                found[first] = some
                watch.done_together(first, some.certificates, sizes[first : some.numbers.stop])
        return [found.get(group.start) or here(group) for group in groups]

    def hold_out(
        self, work: Callable[..., Any], count: int, data: Sequence[Any], watch: Watch | None
    ) -> list[Any] | None:
        stopped = watch.expired if watch else lambda: None
        with self._tasks("the folds of a calibration") as tasks:
            folds = [[k] for k in range(count)]
            found = dict(tasks.run(_hold_out, SentFolds(data), folds, stopped, work))
        return [found[k] for k in range(count)] if len(found) == count else None


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
    at_once = get_worker().state.nthreads
    fit = machine._kernel_fit(sent.kernel, sent.X, problems, watch, None, 1, at_once)
    answers: Answers = fit.solve(numbers)
    watch.unwanted.leave()
    return answers


def _hold_out(sent: SentFolds, fold: list[int], work: Callable[..., Any]) -> tuple[int, Any]:
    watch = _TaskWatch()
    try:
        return fold[0], work(fold[0], watch, *sent.data)
    finally:
        watch.unwanted.leave()
