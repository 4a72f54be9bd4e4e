"""Fitting a linear machine to blocks of examples that are never in one place.

The blocks are in a `Source`, such as a cluster.  Each is checked where it is.  The classes, the
number of features and the weights of all blocks together determine the problem, which each block
then states for its own examples.
"""

from __future__ import annotations

import copy
import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from softmargin.checkpoint import Recorder, Take, arrays_of
from softmargin.estimator.conventions import (
    check_array,
    check_classification_targets,
    column_or_1d,
)
from softmargin.estimator.linear_machine import LinearMachine, check_room_for_weights
from softmargin.estimator.validation import for_core
from softmargin.fitting.blocks import rows_of
from softmargin.fitting.linear_problem import Dual, Problem, no_variables, read_variables
from softmargin.fitting.rounds import Crew, Rounds
from softmargin.fitting.slices import Point
from softmargin.watching import Watch


@dataclass(frozen=True)
class ExampleBlock:
    """Examples, their targets and their weights, checked."""

    X: Any
    y: NDArray[Any]
    weight: NDArray[np.float64]


@dataclass(frozen=True)
class Summary:
    """What the fit has to know about a block."""

    rows: int
    features: int
    labels: NDArray[Any]
    """The classes of the block, or nothing."""
    weights: NDArray[np.float64]
    """The sum of the weights of each class, or of all examples."""
    digest: bytes


class Source(Protocol):
    """Where the blocks are."""

    def summaries(self, classes: bool, digest: bool) -> list[Summary]: ...

    def crew(self, machine: LinearMachine, duals: Sequence[Dual], watch: Watch) -> Crew:
        """The crew that runs the rounds, starting from these variables of the blocks; `watch` may
        stop it."""


def load(X: Any, y: Any, weight: Any = None) -> ExampleBlock:
    """A block in the form that the core needs; it may have no rows."""
    if hasattr(X, "to_scipy_sparse"):  # of the package sparse
        X = X.to_scipy_sparse()
    kinds = [np.float64, np.float32]
    X = for_core(
        check_array(X, dtype=kinds, accept_sparse="csr", ensure_min_samples=0, input_name="X")
    )
    if X.shape[0] == 0:
        X = sp.csr_matrix(X.shape)  # an empty dense array has no rows that could be contiguous
    y = column_or_1d(np.asarray(y))
    if y.dtype == object:
        y = np.array(y.tolist())
    weight = np.ones(len(y)) if weight is None else np.asarray(weight, np.float64)
    if X.shape[0] != len(y) or weight.shape != y.shape:
        raise ValueError(
            f"A block has {X.shape[0]} examples, {len(y)} targets and weights of the shape"
            f" {weight.shape}. X, y and sample_weight must be cut at the same rows."
        )
    if not np.isfinite(weight).all():
        raise ValueError("sample_weight contains NaN or infinity; every weight must be finite.")
    return ExampleBlock(X, y, np.maximum(weight, 0.0))


def summarise(block: ExampleBlock, classes: bool, digest: bool) -> Summary:
    labels, weights = np.zeros(0), np.array([block.weight.sum()])
    if classes and len(block.y):
        check_classification_targets(block.y)
        labels, codes = np.unique(block.y, return_inverse=True)
        weights = np.bincount(codes, weights=block.weight, minlength=len(labels))
    elif not classes and not np.isfinite(np.asarray(block.y, np.float64)).all():
        raise ValueError("y contains NaN or infinity; every target must be finite.")
    found = hashlib.sha256()
    for array in [*arrays_of(block.X), block.y, block.weight] if digest else []:
        found.update(f"{array.dtype.str}{array.shape}".encode())
        found.update(np.ascontiguousarray(array).tobytes())
    rows, features = block.X.shape
    return Summary(rows, features, labels, weights, found.digest())


def bare(machine: LinearMachine) -> LinearMachine:
    """A copy without callbacks, checkpoint and the like, which may not exist on another computer or
    may be too large for a message.  It keeps everything that is needed to state the problem and to
    predict."""
    copied = copy.copy(machine)
    copied.callbacks = copied.checkpoint = None
    copied.__dict__.pop("_history", None)
    return copied


def state(block: ExampleBlock, machine: LinearMachine) -> Problem:
    """The problem of the block's examples, as `machine` states it."""
    return machine._state(block.X, block.y, block.weight)


@dataclass(frozen=True)
class _Variables:
    """How a checkpoint stores the variables of all blocks."""

    rows: int
    columns: int
    coefficients = 0

    def read(self, take: Take) -> list[Any]:
        return read_variables(take, self.rows, self.columns)


def fit(machine: LinearMachine, source: Source, began: float) -> Rounds:
    """Fits the machine; it must be new, or be restored by the caller if this fails."""
    classes = machine._classifies
    summaries = source.summaries(classes, machine.checkpoint is not None)
    rows, features = _shape(summaries)
    machine.n_features_in_ = features
    machine._learn(*_classes(summaries, classes))
    columns = machine._columns
    check_room_for_weights(features, columns)
    recorder = _recorder(machine, summaries, rows, columns)
    with machine._watched(None, 1, recorder, began) as watch:
        settings = machine._settings_in_blocks(watch, recorder)
        start = recorder.points.get(0) if recorder else None
        begin = start or Point([], "float64")
        duals = _cut(tuple(begin.beta) if begin.beta else no_variables(rows), summaries)
        crew = source.crew(machine, duals, watch)
        run = Rounds(crew, rows, 0, begin.effort, settings)
        machine.solution_ = run.solution(run.go())
        if recorder:
            final = machine.solution_.stop_reason.final
            if not final:
                recorder.left(0, run.last_point())
            recorder.close(final)
    machine.n_iter_ = machine.solution_.iterations
    machine._keep(run.state.W.reshape(-1, columns))
    return run


def _shape(summaries: list[Summary]) -> tuple[int, int]:
    widths = {summary.features for summary in summaries if summary.rows}
    rows = sum(summary.rows for summary in summaries)
    if not rows:
        raise ValueError("Found array with 0 sample(s) while a minimum of 1 is required.")
    if len(widths) > 1:
        raise ValueError(
            f"The blocks have different numbers of features: {sorted(widths)}. Give all the same"
            " columns."
        )
    return rows, widths.pop()


def _classes(summaries: list[Summary], classes: bool) -> tuple[NDArray[Any], NDArray[np.float64]]:
    """The classes of all blocks, and the weight of each."""
    if not classes:
        return np.zeros(1), np.array([sum(float(s.weights[0]) for s in summaries)])
    filled = [summary for summary in summaries if summary.rows]
    labels = np.concatenate([summary.labels for summary in filled])
    found, codes = np.unique(labels, return_inverse=True)
    weights = np.concatenate([summary.weights for summary in filled])
    return found, np.bincount(codes, weights=weights).astype(np.float64)


def _cut(dual: Dual, summaries: list[Summary]) -> list[Dual]:
    ends = np.cumsum([0] + [summary.rows for summary in summaries])
    return [rows_of(dual, ends[k], ends[k + 1]) for k in range(len(summaries))]


def _recorder(
    machine: LinearMachine, summaries: list[Summary], rows: int, columns: int
) -> Recorder | None:
    digests = np.frombuffer(b"".join(summary.digest for summary in summaries), np.uint8)
    return machine._recorder(
        digests, [], [_Variables(rows, columns)], parts=1, blocks=len(summaries)
    )
