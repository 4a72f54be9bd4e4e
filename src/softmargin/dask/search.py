"""The fits of a search as tasks on a Dask cluster.

A task is one kernel on some folds, with all C, or some fits that cannot share their work.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import sklearn
from dask.sizeof import sizeof
from sklearn.base import clone

from softmargin.dask.shared_data import SharedDataTasks, Unwanted
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


class SearchTasks(SharedDataTasks):
    """The tasks of one search."""

    def __init__(self, client: Any, wait_limit: float) -> None:
        super().__init__(client, wait_limit, "the fits of a search")

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

    def _run(
        self,
        function: Callable[..., Any],
        sharing: Sharing,
        groups: list[list[int]],
        stopped: Callable[[], bool],
        waiting: Callable[[], None],
    ) -> Iterator[Any]:
        config = sklearn.get_config()
        return self.run(function, Sent(sharing), groups, stopped, config, waiting=waiting)


def _solve(sent: Sent, group: list[int], config: dict[str, Any]) -> list[engine.Answer]:
    unwanted = Unwanted()
    with sklearn.config_context(**config), one_blas_thread():
        tasks, wishes = sent.sharing.tasks(group), sent.sharing.wishes
        answers = [a for some in engine.run(tasks, 1, wishes, unwanted) for a in some]
    unwanted.leave()
    return answers


def _fit(sent: Sent, group: list[int], config: dict[str, Any]) -> list[tuple[int, Result]]:
    sharing = sent.sharing
    with sklearn.config_context(**config):
        return [(k, sharing.fits[k].run(clone(sharing.estimator))) for k in group]
