"""Blocks of examples on disk, visited one after another: at most two are in memory."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from softmargin.estimator import block_fit
from softmargin.estimator.block_fit import ExampleBlock, Summary
from softmargin.estimator.linear_machine import LinearMachine
from softmargin.fitting.linear_problem import Dual, Problem
from softmargin.fitting.local_blocks import LocalCrew
from softmargin.io.data.block_folder import Blocks
from softmargin.watching import Watch


class DiskSource:
    def __init__(self, blocks: Blocks) -> None:
        self.blocks = blocks

    def summaries(self, classes: bool, digest: bool) -> list[Summary]:
        def summarise(k: int, *arrays: Any) -> Summary:
            return block_fit.summarise(block_fit.load(*arrays), classes, digest)

        return list(self._each(summarise))

    def crew(self, machine: LinearMachine, duals: Sequence[Dual], watch: Watch) -> LocalCrew:
        def every(work: Callable[[int, Problem], Any]) -> Iterator[Any]:
            def on(k: int, *arrays: Any) -> Any:
                # The arrays were checked when the blocks were summarised.
                return work(k, block_fit.state(ExampleBlock(*arrays), machine))

            return self._each(on)

        return LocalCrew(every, duals, machine._columns)

    def _each(self, use: Callable[..., Any]) -> Iterator[Any]:
        """The results of `use` for each block, called with its number, X, y and weights.  The next
        block is read meanwhile, and a block is released before the one after the next is read."""
        with ThreadPoolExecutor(1) as reader:
            coming = reader.submit(self.blocks.read, 0)
            for k in range(len(self.blocks)):
                arrays = coming.result()
                if k + 1 < len(self.blocks):
                    coming = reader.submit(self.blocks.read, k + 1)
                found = use(k, *arrays)
                del arrays
                yield found
