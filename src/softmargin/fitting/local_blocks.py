"""Blocks of examples on this machine: a crew of threads for the rounds of :mod:`.rounds`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

import numpy as np

from softmargin import _core
from softmargin.fitting import blocks
from softmargin.fitting.blocks import Held, Step, Survey, Task
from softmargin.fitting.linear_problem import Array, Dual, Problem, no_variables
from softmargin.fitting.rounds import Rounds
from softmargin.fitting.slices import Point
from softmargin.solution import Solution

Map = Callable[[Callable[[int, Problem], Any]], Iterable[Any]]
"""Calls a function with the number and the problem of every block, and gives the results in order.
"""


class LocalCrew:
    """Blocks whose variables are in this process, wherever their examples come from."""

    def __init__(self, every: Map, duals: Sequence[Dual], columns: int) -> None:
        self.every, self.columns = every, columns
        self.held = [blocks.held(dual) for dual in duals]
        self.kept = list(duals)

    @property
    def count(self) -> int:
        return len(self.held)

    def step(self, W: Array, task: Task) -> Step:
        def work(k: int, block: Problem) -> tuple[Held, Step]:
            return blocks.step(block, self.held[k], W, replace(task, seed=task.seed + k))

        return self._move(work)

    def jump(self, ahead: Array, share: float) -> Step:
        return self._move(lambda k, block: blocks.jump(block, self.held[k], share, ahead))

    def _move(self, work: Callable[[int, Problem], tuple[Held, Step]]) -> Step:
        moved: list[Held] = []

        def steps() -> Iterator[Step]:
            for held, step in self.every(work):
                moved.append(held)
                yield step

        total = blocks.add_up(steps())
        self.held = moved
        return total

    def weigh(self, share: float) -> tuple[Array, float]:
        total = blocks.add_up(self.every(lambda k, block: blocks.weigh(block, self.held[k], share)))
        return total.change, total.rise

    def measure(self, W: Array, share: float) -> tuple[float, float, float]:
        found = self.every(lambda k, block: blocks.measure(block, self.held[k], share, W))
        return blocks.total(list(found))

    def survey(self, z: Array, share: float) -> Survey:
        found = self.every(lambda k, block: blocks.survey(block, self.held[k], share, z))
        return blocks.surveyed(list(found))

    def keep(self, share: float) -> None:
        self.kept = [held.at(share, self.columns) for held in self.held]

    def renew(self) -> None:
        self.held = [blocks.held(dual) for dual in self.kept]

    def dual_variables(self) -> Dual:
        return blocks.joined(self.kept)


def solve(
    problem: Problem, number: int, start: Point | None, settings: Any, count: int, threads: int
) -> tuple[Solution, Array, Dual]:
    """Descends on `count` blocks at once; returns the certificate, W and the variables."""
    begin = start or Point([], "float64")
    parts = blocks.cut(problem, count)
    whole = tuple(begin.beta) if begin.beta else no_variables(len(problem.upper))
    ends = np.cumsum([0] + [len(part.upper) for part in parts])
    duals = [blocks.rows_of(whole, ends[k], ends[k + 1]) for k in range(len(parts))]
    with ThreadPoolExecutor(threads, initializer=_core.prepare_thread) as pool:
        crew = LocalCrew(
            lambda work: pool.map(work, range(len(parts)), parts), duals, problem.columns
        )
        run = Rounds(crew, len(problem.upper), number, begin.effort, settings)
        reason = run.go()
        point = run.last_point()
    if settings.recorder:
        settings.recorder.left(number, point)
    W = run.state.W.reshape(-1, problem.columns)
    return run.solution(reason), W, tuple(point.beta)
