"""The point of a warm start as the tuples, arrays and numbers that a model file can hold."""

from __future__ import annotations

from typing import Any

import numpy as np

from softmargin.fitting.linear_problem import SIGNED, UNBOUNDED
from softmargin.fitting.warm_start import Kept, KeptBlocks, KeptPart, KeptProblems


def plain(kept: KeptBlocks | KeptProblems) -> tuple[Any, ...]:
    """The blocks of a linear machine, or the name and the parts of each problem of a kernel
    machine."""
    if isinstance(kept, KeptBlocks):
        return ("blocks", *vars(kept).values())
    problems = [
        (name, *((part.ids, part.beta, part.bounded) for part in problem.parts))
        for name, problem in kept.items()
    ]
    return ("problems", *problems)


def from_plain(value: Any) -> KeptBlocks | KeptProblems:
    """The inverse of `plain`; ValueError for values that a solver could not start from."""
    kind, *rest = value
    if kind == "problems":
        kept = [Kept(tuple(_part(*part) for part in parts)) for _, *parts in rest]
        return KeptProblems([name for name, *_ in rest], [kept])
    blocks = KeptBlocks(*rest)
    count, entries, classes = len(blocks.codes), len(blocks.share), len(blocks.classes)
    _check(
        kind == "blocks" and isinstance(blocks.machine, str) and blocks.classes.ndim == 1,
        len(blocks.starts) == count + 1 and len(blocks.cls) == entries,
        blocks.starts[0] == 0 and blocks.starts[-1] == entries,
        (np.diff(blocks.starts) >= 0).all(),
        _indices(blocks.codes, classes) and _indices(blocks.cls, classes),
        _within_bounds(blocks),
    )
    return blocks


def _within_bounds(blocks: KeptBlocks) -> bool:
    most = np.finfo(np.float64).max if blocks.machine in UNBOUNDED else 1 + 1e-9
    least = -most if blocks.machine in SIGNED else 0
    return bool(((blocks.share >= least) & (blocks.share <= most)).all())


def _part(ids: Any, beta: Any, bounded: Any) -> KeptPart:
    _check(
        len(ids) == len(beta) == len(bounded) and bounded.dtype == np.bool_,
        _indices(ids, np.iinfo(np.int32).max) and np.isfinite(beta).all(),
    )
    return KeptPart(ids, beta, bounded)


def _indices(values: Any, end: int) -> bool:
    within = (values >= 0) & (values < end)
    return values.ndim == 1 and values.dtype.kind in "iu" and bool(within.all())


def _check(*conditions: Any) -> None:
    if not all(conditions):
        raise ValueError("the variables of a start do not fit together")
