"""What a warm start goes on from, as the tuples, arrays and numbers that a model file holds."""

from __future__ import annotations

from typing import Any

import numpy as np

from softmargin.warm_start import Kept, KeptBlocks, KeptPart


def plain(kept: KeptBlocks | dict[Any, Kept]) -> tuple[Any, ...]:
    """Of a linear machine its blocks; of a kernel machine a name and parts for each problem."""
    if isinstance(kept, KeptBlocks):
        return ("blocks", *vars(kept).values())
    problems = [
        (name, *((part.ids, part.beta, part.bounded) for part in problem.parts))
        for name, problem in kept.items()
    ]
    return ("problems", *problems)


def from_plain(value: Any) -> KeptBlocks | dict[Any, Kept]:
    """ValueError where it is not what `plain` makes: values that a solver could not start from."""
    kind, *rest = value
    if kind == "problems":
        return {name: Kept(tuple(_part(*part) for part in parts)) for name, *parts in rest}
    blocks = KeptBlocks(*rest)
    count, entries, classes = len(blocks.codes), len(blocks.share), len(blocks.classes)
    _check(
        kind == "blocks" and isinstance(blocks.machine, str) and blocks.classes.ndim == 1,
        len(blocks.starts) == count + 1 and len(blocks.cls) == entries,
        blocks.starts[0] == 0 and blocks.starts[-1] == entries,
        (np.diff(blocks.starts) >= 0).all(),
        _indices(blocks.codes, classes) and _indices(blocks.cls, classes),
        ((blocks.share >= 0) & (blocks.share <= 1 + 1e-9)).all(),
    )
    return blocks


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
