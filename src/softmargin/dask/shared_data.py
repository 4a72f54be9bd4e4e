"""Tasks that read the same data and nothing else, so that a task of a lost worker is run again.

The data are sent once to each worker, and again if all copies are lost.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from distributed import Future, KilledWorker, Reschedule, get_worker

from softmargin.dask.cluster import Cluster, ClusterError
from softmargin.dask.crew import MOST_LOSSES
from softmargin.fitting.memory import available_bytes
from softmargin.fitting.rounds import LostBlocks, Stopped


class SharedDataTasks:
    """The tasks of one search, or of one fit; `what` they are, for messages."""

    def __init__(self, client: Any, wait_limit: float, what: str) -> None:
        self.cluster = Cluster(client, wait_limit)
        workers = self.cluster.workers()
        self.slots = sum(worker["nthreads"] for worker in workers)
        self.threads = max(worker["nthreads"] for worker in workers)
        """Of a worker: so many tasks at once share its memory."""
        limits = [worker["memory_limit"] for worker in workers]
        self.available = min([limit for limit in limits if limit] or [available_bytes()])
        self.what = what
        self._sent: Future | None = None

    def run(
        self,
        function: Callable[..., Any],
        data: Any,
        groups: Sequence[Any],
        stopped: Callable[[], Any],
        *given: Any,
        waiting: Callable[[], None] = lambda: None,
    ) -> Iterator[Any]:
        """``function(data, group, *given)`` for all groups of numbers, as they end, until `stopped`
        returns something.  `data` is the same in all calls, and knows its size."""

        def submit(group: Any) -> Future:
            # In the order of the numbers: if time runs out, the first ones are complete.
            return self.cluster.submit(
                function, self._data(data), group, *given, priority=-min(group)
            )

        def look() -> Any:
            waiting()
            return stopped()

        pending = {submit(group): (group, 0) for group in groups}
        while pending:
            try:
                with self.cluster.stoppable(look):
                    ended = self.cluster.ended(list(pending), self.what)
            except Stopped:
                return
            for future in ended:
                group, losses = pending.pop(future)
                try:
                    found = self.cluster.result(future, self.what)
                except LostBlocks as error:
                    if isinstance(error.__cause__, KilledWorker) or losses == MOST_LOSSES:
                        raise self._too_many() from error
                    pending[submit(group)] = group, losses + 1
                else:
                    yield found

    def close(self) -> None:
        """Cancels whatever is left; a task that runs ends after its slice."""
        self._sent = None
        self.cluster.close()

    def _data(self, data: Any) -> Future:
        if self._sent is None or self._sent.status != "finished":
            (self._sent,) = self.cluster.send([data], data.__sizeof__(), everywhere=True)
        return self._sent

    def _too_many(self) -> ClusterError:
        return ClusterError(
            "Workers were lost again and again while they ran the same fits. Check whether they run"
            f" out of memory (the smallest has {self.available / 1e9:.3g} GB): cache_size, in"
            " megabytes, limits the kernel matrices of a worker."
        )


class Unwanted:
    """Whether the client has cancelled the task that is running in this thread."""

    def __init__(self) -> None:
        self.worker = get_worker()
        self.key = self.worker.get_current_task()
        self.seen = False

    def __call__(self) -> bool:
        task = self.worker.state.tasks.get(self.key)
        self.seen = self.seen or task is None or task.state == "cancelled"
        return self.seen

    def leave(self) -> None:
        """Ends a task that nobody wants; if somebody does after all, it is run again."""
        if self.seen:
            raise Reschedule
