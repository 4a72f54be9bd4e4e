"""Tasks in threads: the core releases Python's global lock while it computes."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from typing import Any, TypeVar

from softmargin import _core
from softmargin.watching import Abandoned

LONGEST_WAIT = 0.05
"""Seconds.  Keeps Ctrl-C working on systems where an endless wait cannot be interrupted."""

Answer = TypeVar("Answer")


def run_all(
    tasks: Sequence[Callable[[], Answer]],
    at_once: int,
    abandoned: threading.Event,
    on_end: Callable[[int], None] = lambda ended: None,
) -> list[Answer]:
    """The answers of all tasks, `at_once` of them in parallel.  The first failure, or Ctrl-C, sets
    `abandoned`, which the tasks check, and ends them all.  `on_end` is called with the number of
    tasks that have ended."""
    answers: list[Answer] = []
    if at_once == 1:
        for task in tasks:
            answers.append(task())
            on_end(len(answers))
        return answers
    with ThreadPoolExecutor(at_once, initializer=_core.prepare_thread) as pool:
        futures: list[Future[Answer]] = []
        try:
            futures.extend(pool.submit(task) for task in tasks)
            ended = 0
            for future in futures:
                while not _has_ended(future):
                    ended = _report_ended(futures, ended, on_end)
                answers.append(future.result())
            _report_ended(futures, ended, on_end)
            return answers
        except BaseException as failure:
            abandoned.set()
            for future in futures:
                future.cancel()
            raise _cause(failure, futures) from None


def _has_ended(future: Future[Any]) -> bool:
    """Waits for a moment."""
    wait([future], timeout=LONGEST_WAIT)
    return future.done()


def _report_ended(futures: list[Future[Any]], before: int, on_end: Callable[[int], None]) -> int:
    """Reports the number of tasks that have ended, in whatever order, if it has risen."""
    ended = sum(future.done() for future in futures)
    if ended > before:
        on_end(ended)
    return ended


def _cause(failure: BaseException, futures: list[Future[Any]]) -> BaseException:
    """The original error, if `failure` only says that a thread gave up because of it."""
    if isinstance(failure, RuntimeError) and "start new thread" in str(failure):
        return MemoryError(f"There is no memory for another thread ({failure}). Lower n_jobs.")
    if isinstance(failure, Abandoned):
        for future in futures:
            error = None if future.cancelled() or not future.done() else future.exception()
            if error is not None and not isinstance(error, Abandoned):
                return error
    return failure
