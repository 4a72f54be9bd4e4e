"""Tasks on a Dask cluster, with waits that end.

Only tasks and futures are used: Dask decides where a task runs, and runs it again if its worker is
lost.  What cannot be run again, because the data sent with it are gone, raises `LostBlocks`.
"""

from __future__ import annotations

import time
import uuid
import weakref
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import CancelledError
from contextlib import contextmanager, suppress
from typing import Any, TypeVar

import distributed
from distributed import Client, Future, KilledWorker
from distributed.comm import CommClosedError

from softmargin.fitting.rounds import LostBlocks, Stopped

T = TypeVar("T")
POLL = 0.2
"""Seconds between two looks at the limits of a fit, while it waits."""
LOST = (CancelledError, KilledWorker, CommClosedError, ConnectionError)
NOT_SENT = (*LOST, OSError, TimeoutError, distributed.TimeoutError, KeyError)
"""KeyError: a worker was lost after it had received data, before the scheduler had noted so."""


class ClusterError(RuntimeError):
    """The cluster has failed to do its part of a fit."""


def find_client(client: Client | None) -> Client:
    if client is None:
        try:
            client = distributed.get_client()
        except ValueError:
            raise ValueError(
                "There is no Dask client. Start one (client = dask.distributed.Client()), or pass"
                " yours as client."
            ) from None
    if not isinstance(client, Client) or client.asynchronous:
        raise TypeError(
            f"client={client!r} must be a dask.distributed.Client that is not asynchronous."
        )
    return client


class Cluster:
    """The tasks of one fit.  A wait ends after `wait_limit` seconds without a finished task."""

    def __init__(self, client: Client | None, wait_limit: float) -> None:
        if not wait_limit > 0:
            raise ValueError(f"wait_limit={wait_limit!r} must be a positive number of seconds.")
        self.client, self.patience = find_client(client), float(wait_limit)
        self._stopped: Callable[[], Any] = lambda: None
        self.sent = self.received = 0
        self.name = f"softmargin-{uuid.uuid4().hex[:12]}"
        self._tasks = 0
        self._live: weakref.WeakSet[Future] = weakref.WeakSet()

    @contextmanager
    def stoppable(self, stopped: Callable[[], Any]) -> Iterator[None]:
        """Waits end with `Stopped` once `stopped` returns something."""
        self._stopped = stopped
        try:
            yield
        finally:
            self._stopped = lambda: None

    @contextmanager
    def _connected(self) -> Iterator[None]:
        """Whatever goes wrong without a scheduler is reported as its loss."""
        try:
            yield
        except Exception as error:
            if self.client.status == "running" or isinstance(error, (ClusterError, Stopped)):
                raise
            raise ClusterError(
                f"The connection to the scheduler is lost (the client is {self.client.status})."
                " Connect to a cluster and fit again; with a checkpoint, the fit resumes."
            ) from error

    def submit(self, function: Callable[..., Any], *arguments: Any, priority: int = 0) -> Future:
        options = {"key": self._key(function), "pure": False, "priority": priority}
        with self._connected():
            future = self.client.submit(function, *arguments, **options)
        self._live.add(future)
        return future

    def map(self, function: Callable[..., Any], *arguments: Sequence[Any]) -> list[Future]:
        keys = [self._key(function) for _ in arguments[0]]
        with self._connected():
            futures: list[Future] = self.client.map(function, *arguments, key=keys, pure=False)
        self._live.update(futures)
        return futures

    def _key(self, function: Callable[..., Any]) -> str:
        self._tasks += 1
        return f"softmargin_{function.__name__}-{self.name}-{self._tasks}"

    def workers(self) -> list[dict[str, Any]]:
        """What the scheduler says about each worker; waits for the first one."""
        with self._connected():
            try:
                self.client.wait_for_workers(1, timeout=self.patience)
            except (TimeoutError, distributed.TimeoutError) as error:
                raise self._error("for a worker") from error
            return list(self.client.scheduler_info(n_workers=-1)["workers"].values())

    def send(self, values: Sequence[Any], size: int, everywhere: bool = False) -> list[Future]:
        """Sends values of this many bytes, each to some worker, or to all; a value is lost with its
        last worker."""
        end = time.monotonic() + self.patience
        while True:
            try:
                with self._connected():
                    futures: list[Future] = self.client.scatter(
                        list(values), hash=False, timeout=self.patience, broadcast=everywhere
                    )
                break
            except NOT_SENT as error:
                if time.monotonic() > end:
                    raise self._error("to send data to a worker") from error
                time.sleep(POLL)
        self._live.update(futures)
        self.sent += size
        return futures

    def wait(self, futures: Iterable[Future], what: str) -> None:
        """Returns when all have ended, or one has failed."""
        with self._connected():
            self._wait(list(futures), what)

    def _wait(self, awaited: list[Future], what: str) -> None:
        finished, since = -1, time.monotonic()
        while True:
            try:
                distributed.wait(awaited, timeout=POLL)
                return
            except CancelledError as error:
                raise LostBlocks from error
            except (TimeoutError, distributed.TimeoutError):
                pass
            states = [future.status for future in awaited]
            if "cancelled" in states or "lost" in states:
                raise LostBlocks
            if "error" in states:
                return
            if self._stopped():
                raise Stopped
            if states.count("finished") > finished:
                finished, since = states.count("finished"), time.monotonic()
            elif time.monotonic() - since > self.patience:
                raise self._error(f"for {what}: {finished} of {len(awaited)} tasks have ended")

    def ended(self, futures: Sequence[Future], what: str) -> list[Future]:
        """Those that have ended, failed or been lost; waits for the first one."""
        since = time.monotonic()
        with self._connected():
            while True:
                if self._stopped():
                    raise Stopped
                if found := [future for future in futures if future.status != "pending"]:
                    return found
                if time.monotonic() - since > self.patience:
                    raise self._error(f"for {what}: none of {len(futures)} tasks has ended")
                with suppress(CancelledError, TimeoutError, distributed.TimeoutError):
                    distributed.wait(futures, timeout=POLL, return_when="FIRST_COMPLETED")

    def result(self, future: Future, what: str) -> Any:
        return self.results([future], what)[0]

    def results(self, futures: Sequence[Future], what: str) -> list[Any]:
        """The results.  What a task raises is raised here."""
        self.wait(futures, what)
        with self._connected():
            return self._received(futures, what)

    def _received(self, futures: Sequence[Future], what: str) -> list[Any]:
        try:
            return [future.result(timeout=self.patience) for future in futures]
        except LOST as error:
            raise LostBlocks from error
        except (TimeoutError, distributed.TimeoutError) as error:
            raise self._error(f"to receive {what}") from error

    def _error(self, what: str) -> ClusterError:
        try:
            workers = str(len(self.client.scheduler_info(n_workers=-1)["workers"]))
        except Exception:
            workers = "an unknown number of"
        return ClusterError(
            f"Waited {self.patience:g} s {what}. The client is {self.client.status}, and there are"
            f" {workers} workers. Check the cluster, or raise wait_limit."
        )

    def close(self) -> None:
        """Cancels whatever is left of the fit; a task that runs ends after its pass."""
        left = [future for future in self._live if not future.cancelled()]
        if left and self.client.status == "running":
            self.client.cancel(left, force=True)
