"""Blocks of examples on a Dask cluster: the crew for the rounds of `softmargin.fitting.rounds`.

The problem and the variables of a block are results of tasks, which stay where they were computed.
In a round, W is sent once; every block makes its step in a task; the changes are added in tasks, in
the order of a fixed tree; and their sum is received.  The variables are gathered now and then.  If
some are lost with a worker, all blocks continue from those gathered last.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from distributed import Future

from softmargin.dask.cluster import Cluster, ClusterError
from softmargin.estimator import block_fit
from softmargin.estimator.block_fit import Summary
from softmargin.fitting import blocks
from softmargin.fitting.blocks import Held, Step, Survey, Task
from softmargin.fitting.linear_problem import Array, Dual
from softmargin.fitting.rounds import LostBlocks
from softmargin.watching import Watch

MOST_LOSSES = 10
"""In a row: lost without gathering variables in between."""


class DaskSource:
    """Blocks of examples, each given by the futures of its X, y and weights (or None)."""

    def __init__(self, cluster: Cluster, chunks: Sequence[tuple[Any, Any, Any]]) -> None:
        self.cluster, self.chunks = cluster, chunks

    def summaries(self, classes: bool, digest: bool) -> list[Summary]:
        for _ in range(MOST_LOSSES):
            try:
                count = len(self.chunks)
                self.loaded = self.cluster.map(block_fit.load, *zip(*self.chunks, strict=True))
                every = [classes] * count, [digest] * count
                found = self.cluster.map(block_fit.summarise, self.loaded, *every)
                return self.cluster.results(found, f"the data of {count} blocks")
            except LostBlocks:
                continue
        raise ClusterError(
            f"The data were lost {MOST_LOSSES} times while they were loaded. Data that were sent to"
            " the cluster, or persisted from such data, cannot be loaded again: let tasks read them"
            " from files. Check also whether the workers run out of memory."
        )

    def crew(self, machine: Any, duals: Sequence[Dual], watch: Watch) -> DaskCrew:
        count = len(self.loaded)
        problems = self.cluster.map(block_fit.state, self.loaded, [block_fit.bare(machine)] * count)
        self.cluster.wait(problems, f"the problems of {count} blocks")
        self.loaded, self.chunks = [], []
        return DaskCrew(self.cluster, problems, duals, watch)


class DaskCrew:
    """`watch` may stop a round, but not a certificate."""

    def __init__(
        self, cluster: Cluster, problems: list[Future], duals: Sequence[Dual], watch: Watch
    ) -> None:
        self.cluster, self.problems, self.watch = cluster, problems, watch
        self.kept = list(duals)
        self.losses = 0
        self.held: list[Future] = []
        self.renew()
        if any(len(dual[1]) for dual in duals):
            self._results(blocks.check, "the check of the variables", self.held)

    @property
    def count(self) -> int:
        return len(self.problems)

    def step(self, W: Array, task: Task) -> Step:
        tasks = [replace(task, seed=task.seed + k) for k in range(self.count)]
        return self._move("a round", blocks.step, self._everywhere(W), tasks)

    def jump(self, ahead: Array, share: float) -> Step:
        return self._move("a jump", blocks.jump, [share] * self.count, [ahead] * self.count)

    def _move(self, what: str, function: Callable[..., tuple[Held, Step]], *given: Any) -> Step:
        pairs = self.cluster.map(function, self.problems, self.held, *given)
        held = self.cluster.map(_variables, pairs)
        with self.cluster.stoppable(self.watch.expired):
            found = self._sum(self.cluster.map(_change, pairs), what, held)
        self.held = held
        return found

    def weigh(self, share: float) -> tuple[Array, float]:
        parts = self.cluster.map(blocks.weigh, self.problems, self.held, [share] * self.count)
        total = self._sum(parts, "W")
        return total.change, total.rise

    def measure(self, W: Array, share: float) -> tuple[float, float, float]:
        shares = [share] * self.count
        found = self._results(
            blocks.measure, "the certificate", self.held, shares, self._everywhere(W)
        )
        return blocks.total(found)

    def survey(self, z: Array, share: float) -> Survey:
        shares = [share] * self.count
        found: list[Survey] = self._results(
            blocks.survey, "the survey", self.held, shares, self._everywhere(z)
        )
        self.cluster.received += sum(one.present.nbytes for one in found)
        return blocks.surveyed(found)

    def keep(self, share: float) -> None:
        found = self._results(
            blocks.variables_at, "the dual variables", self.held, [share] * self.count
        )
        self.kept = found
        self.cluster.received += sum(_bytes(dual) for dual in found)
        self.losses = 0

    def renew(self) -> None:
        size = sum(_bytes(dual) for dual in self.kept)
        self.held = self.cluster.send([blocks.held(dual) for dual in self.kept], size)

    def dual_variables(self) -> Dual:
        return blocks.joined(self.kept)

    def _everywhere(self, W: Array) -> list[Future]:
        return self.cluster.send([W], W.nbytes) * self.count

    def _results(self, function: Callable[..., Any], what: str, *given: Any) -> list[Any]:
        futures = self.cluster.map(function, self.problems, *given)
        found: list[Any] = self._received(
            lambda: self.cluster.results(futures, f"{what}, of all blocks")
        )
        return found

    def _sum(self, steps: list[Future], what: str, others: Sequence[Future] = ()) -> Step:
        awaited = [*steps, *others]
        while len(steps) > 1:
            groups = range(0, len(steps), blocks.FAN_IN)
            steps = [self.cluster.submit(blocks.add, steps[a : a + blocks.FAN_IN]) for a in groups]
        awaited += steps

        def receive() -> Any:
            self.cluster.wait(awaited, f"{what} of {self.count} blocks")
            failed = [future for future in awaited if future.status == "error"]
            return self.cluster.result(failed[0] if failed else steps[0], what)

        found: Step = self._received(receive)
        self.cluster.received += found.change.nbytes
        return found

    def _received(self, receive: Callable[[], Any]) -> Any:
        try:
            return receive()
        except LostBlocks as error:
            self.losses += 1
            if self.losses < MOST_LOSSES:
                raise
            raise ClusterError(
                f"Blocks were lost {self.losses} times in a row. Check whether the workers run out"
                " of memory; smaller blocks need less at once."
            ) from error


def _variables(pair: tuple[Held, Step]) -> Held:
    return pair[0]


def _change(pair: tuple[Held, Step]) -> Step:
    return pair[1]


def _bytes(dual: Dual) -> int:
    return sum(array.nbytes for array in dual)
