"""The fits of a search as tasks on a Dask cluster.

A task is one kernel on some folds, with all C, or some fits that cannot share their work.  It reads
the examples and nothing else, so a task of a lost worker is run again.  The examples are sent once
to each worker, and again if all copies are lost.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import sklearn
from dask.sizeof import sizeof
from distributed import Future, KilledWorker, Reschedule, get_worker
from sklearn.base import clone

from softmargin.dask.cluster import Cluster, ClusterError, find_client
from softmargin.dask.crew import MOST_LOSSES
from softmargin.fitting.memory import available_bytes
from softmargin.fitting.rounds import LostBlocks, Stopped
from softmargin.model_selection import engine
from softmargin.model_selection.sharing import Sharing
from softmargin.model_selection.sklearn_seam import Result
from softmargin.problem.convexity import one_blas_thread

TASKS_EACH = 2
"""For each thread of the workers, if there are enough folds."""


@dataclass(frozen=True)
class Sent:
    """The fits of a search with their examples, as a worker has them."""

    sharing: Sharing

    def __sizeof__(self) -> int:
        first = self.sharing.first
        return int(sizeof(first.X) + sizeof(first.y))


class SearchTasks:
    """The tasks of one search."""

    def __init__(self, client: Any, wait_limit: float) -> None:
        if not wait_limit > 0:
            raise ValueError(f"wait_limit={wait_limit!r} must be a positive number of seconds.")
        self.cluster = Cluster(find_client(client), float(wait_limit))
        workers = self.cluster.workers()
        self.slots = sum(worker["nthreads"] for worker in workers)
        self.threads = max(worker["nthreads"] for worker in workers)
        """Of a worker: so many tasks at once share its memory."""
        limits = [worker["memory_limit"] for worker in workers]
        self.available = min([limit for limit in limits if limit] or [available_bytes()])
        self._sent: Future | None = None

    def answers(
        self,
        sharing: Sharing,
        numbers: Sequence[int],
        stopped: Callable[[], bool],
        waiting: Callable[[], None],
    ) -> Iterator[list[engine.Answer]]:
        """Those of `engine.run`, for the fits that can share their work."""
        units = sharing.units(numbers)
        parts = max(1, -(-TASKS_EACH * self.slots // max(len(units), 1)))
        groups = [
            [k for split in splits for k in unit[split]]
            for unit in units
            for splits in np.array_split(list(unit), min(parts, len(unit)))
        ]
        return self._run(_solve, sharing, groups, stopped, waiting)

    def results(
        self,
        sharing: Sharing,
        numbers: Sequence[int],
        stopped: Callable[[], bool],
        waiting: Callable[[], None],
    ) -> Iterator[list[tuple[int, Result]]]:
        """Of fits in scikit-learn's own way, by their numbers."""
        return self._run(_fit, sharing, [[k] for k in numbers], stopped, waiting)

    def close(self) -> None:
        """Cancels whatever is left; a task that runs ends after its slice."""
        self._sent = None
        self.cluster.close()

    def _run(
        self,
        function: Callable[..., Any],
        sharing: Sharing,
        groups: list[list[int]],
        stopped: Callable[[], bool],
        waiting: Callable[[], None],
    ) -> Iterator[Any]:
        config = sklearn.get_config()

        def submit(group: list[int]) -> Future:
            given = self._data(sharing), group, config
            # In the order of the table: if time runs out, the first candidates are complete.
            return self.cluster.submit(function, *given, priority=-min(group))

        def look() -> bool:
            waiting()
            return stopped()

        pending = {submit(group): (group, 0) for group in groups}
        while pending:
            try:
                with self.cluster.stoppable(look):
                    ended = self.cluster.ended(list(pending), "the fits of a search")
            except Stopped:
                return
            for future in ended:
                group, losses = pending.pop(future)
                try:
                    found = self.cluster.result(future, "the results of a search")
                except LostBlocks as error:
                    if isinstance(error.__cause__, KilledWorker) or losses == MOST_LOSSES:
                        raise self._too_many() from error
                    pending[submit(group)] = group, losses + 1
                else:
                    yield found

    def _data(self, sharing: Sharing) -> Future:
        if self._sent is None or self._sent.status != "finished":
            sent = Sent(sharing)
            (self._sent,) = self.cluster.send([sent], sent.__sizeof__(), everywhere=True)
        return self._sent

    def _too_many(self) -> ClusterError:
        return ClusterError(
            "Workers were lost again and again while they ran the same fits. Check whether they run"
            f" out of memory (the smallest has {self.available / 1e9:.3g} GB): cache_size, in"
            " megabytes, limits the kernel matrices of a worker."
        )


def _solve(sent: Sent, group: list[int], config: dict[str, Any]) -> list[engine.Answer]:
    unwanted = _Unwanted()
    with sklearn.config_context(**config), one_blas_thread():
        tasks, wishes = sent.sharing.tasks(group), sent.sharing.wishes
        answers = [a for some in engine.run(tasks, 1, wishes, unwanted) for a in some]
    if unwanted.seen:
        raise Reschedule  # for the case that somebody wants it after all
    return answers


def _fit(sent: Sent, group: list[int], config: dict[str, Any]) -> list[tuple[int, Result]]:
    sharing = sent.sharing
    with sklearn.config_context(**config):
        return [(k, sharing.fits[k].run(clone(sharing.estimator))) for k in group]


class _Unwanted:
    """Whether the client has cancelled the task that is running in this thread."""

    def __init__(self) -> None:
        self.worker = get_worker()
        self.key = self.worker.get_current_task()
        self.seen = False

    def __call__(self) -> bool:
        task = self.worker.state.tasks.get(self.key)
        self.seen = self.seen or task is None or task.state == "cancelled"
        return self.seen
