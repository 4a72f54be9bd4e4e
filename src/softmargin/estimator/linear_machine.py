"""What LinearSVC and LinearSVR share: parameters, and everything from the stated problem to the
fitted attributes."""

from __future__ import annotations

from dataclasses import replace
from numbers import Integral, Real
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from softmargin.checkpoint import Recorder
from softmargin.estimator.base import Observed
from softmargin.estimator.conventions import (
    Interval,
    SparseCoefMixin,
    StrOptions,
    check_random_state,
)
from softmargin.estimator.validation import for_core, validate_examples
from softmargin.fitting.linear_problem import COUPLED, Array, Dual, Problem
from softmargin.fitting.linear_solver import Settings, descend, weights_precision
from softmargin.fitting.memory import available_bytes
from softmargin.fitting.newton import pays
from softmargin.fitting.planning import threads
from softmargin.fitting.slices import NO_LIMIT, Point
from softmargin.fitting.sparse_weights import SparseWeights, by_column
from softmargin.fitting.warm_start import KeptBlocks
from softmargin.io.data.block_folder import Blocks
from softmargin.io.models.save_and_load import Saving
from softmargin.watching import RELATIVE_GAP, Watch

Codes = NDArray[np.intp]
SMALL_BYTES = 2**20
"""For weights of up to this many bytes, free memory is not checked, because the check takes a
millisecond."""


class LinearMachine(Saving, SparseCoefMixin, Observed):  # type: ignore[misc]
    """Base of the linear machines."""

    _parameter_constraints: dict[str, list[Any]] = {  # noqa: RUF012
        **Observed._parameter_constraints,
        "dual": ["boolean", StrOptions({"auto"})],
        "C": [Interval(Real, 0.0, None, closed="neither")],
        "max_iter": [Interval(Integral, 0, None, closed="left")],
        "fit_intercept": ["boolean"],
        "intercept_scaling": [Interval(Real, 0.0, None, closed="neither")],
        "penalize_intercept": ["boolean"],
        "precision": [StrOptions({"auto", "float64", "float32"})],
        "random_state": ["random_state"],
        "n_blocks": [None, Interval(Integral, 1, None, closed="left")],
    }
    _measure = RELATIVE_GAP

    loss: str
    dual: bool | str
    C: float
    fit_intercept: bool
    intercept_scaling: float
    penalize_intercept: bool
    shrinking: bool
    precision: str
    random_state: Any
    n_jobs: int | None
    n_blocks: int | None
    coef_: Any
    intercept_: Any
    n_features_in_: int
    _classifies: bool

    def _learn(self, classes: NDArray[Any], counts: Array) -> None:
        raise NotImplementedError

    def _state(self, X: Any, y: NDArray[Any], weight: Array) -> Problem:
        raise NotImplementedError

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    def _validate_examples(self, X: Any, y: Any, numeric_target: bool) -> tuple[Any, Any]:
        """X in the form that the core needs, without a copy if it has that form already; and y."""
        X, y = validate_examples(self, X, y, numeric_target)
        return for_core(X), y

    @property
    def _constant(self) -> float:
        """The value of the constant feature; 0 if there is none."""
        return float(self.intercept_scaling) if self.fit_intercept else 0.0

    def _train(
        self,
        problem: Problem,
        classes: NDArray[Any],
        codes: Codes,
        began: float,
        keep_start: bool = False,
    ) -> None:
        """Solves the problem and keeps the result.  A warm start matches examples of the same class
        (`codes`, indices into `classes`); a regression has a single class.  `began` is the time at
        which the fit began; `keep_start`: keep the dual variables for another fit, until the caller
        calls `_drop_start`."""
        check_room_for_weights(problem.X.shape[1], problem.columns)
        if problem.free_intercept:
            self._check_free_intercept(problem)
        sparse = problem.penalty == "l1"
        if sparse:
            problem = replace(problem, by_column=by_column(problem.X))
        blocks, at_once = self._blocks(problem)
        parts = [problem] if blocks > 1 else problem.split(at_once)
        width = problem.X.shape[1] + (problem.constant != 0)
        variables = [SparseWeights(width, part.columns) for part in parts] if sparse else parts
        recorder = self._recorder(problem.X, problem.stated, variables, parts=len(parts))
        with self._watched(problem.X, len(parts), recorder, began) as watch:
            if sparse:
                starts = self._sparse_starts(parts, classes, recorder)
            else:
                starts = self._starts(parts, problem, classes, codes, recorder)
            settings = self._settings(problem, watch, recorder)
            continued = keep_start or self.warm_start or recorder is not None
            settings = replace(settings, blocks=blocks, threads=at_once, continued=continued)
            result = descend(parts, starts, settings)
        self.solution_ = result.solution
        self.n_iter_ = result.solution.iterations
        self._keep(result.weights)
        if sparse:
            self._keep_sparse_start(classes)
        else:
            self._drop_start()
            if keep_start or self._start_is_wanted:
                self._keep_start(result.dual, problem, classes, codes)

    def _train_from_disk(self, blocks: Blocks, y: Any, sample_weight: Any, began: float) -> None:
        """Fits to blocks on disk, one after another."""
        from softmargin.estimator import block_fit
        from softmargin.estimator.disk_blocks import DiskSource

        if y is not None or sample_weight is not None:
            raise ValueError(
                "Blocks on disk contain their targets and weights. Call fit without y and"
                " sample_weight."
            )
        supported = {
            "penalty": getattr(self, "penalty", "l2") == "l2",
            "dual": self.dual is not False,
            "penalize_intercept": bool(self.penalize_intercept) or not self.fit_intercept,
            "precision": self.precision != "float32",
            "warm_start": not self.warm_start,
            "n_jobs": self.n_jobs in (None, 1),
            "n_blocks": self.n_blocks is None,
            "probability": not getattr(self, "probability", False),
        }
        for name, fits in supported.items():
            if not fits:
                raise ValueError(
                    f"{name}={getattr(self, name)!r} needs the data in memory. Leave it at its"
                    " default to fit to blocks on disk."
                )
        for name in ("_kept", "_kept_classes", "_curve", "_mixing", "feature_names_in_"):
            self.__dict__.pop(name, None)  # of an earlier fit
        block_fit.fit(self, DiskSource(blocks), began)
        names = getattr(blocks, "feature_names", ())
        if names:
            self.feature_names_in_ = np.array(names, dtype=object)

    def _check_free_intercept(self, problem: Problem) -> None:
        features, reason = problem.X.shape[1], None
        if problem.penalty == "l1" or problem.machine in COUPLED:
            reason = "penalty='l2' and multi_class='ovr'"
        elif not pays(problem, False):
            reason = f"Newton's method, and {len(problem.upper)} x {features} is too much for it"
        elif self.n_blocks not in (None, 1):
            reason = "n_blocks=None"
        if reason:
            raise ValueError(
                f"penalize_intercept=False needs {reason}. Use penalize_intercept=True, centre the"
                " data, or raise intercept_scaling."
            )

    def _blocks(self, problem: Problem) -> tuple[int, int]:
        """How many blocks of examples descend at once, and on how many threads.  Without blocks,
        the threads divide the columns of one-vs-rest among them."""
        at_once = 1 if self.n_jobs in (None, 1) else threads(self.n_jobs)
        if problem.penalty == "l1" and self.n_blocks not in (None, 1):
            raise ValueError(
                f"n_blocks={self.n_blocks} needs penalty='l2': with the L1 penalty, the weights are"
                " found feature by feature, not in blocks of examples. Use n_blocks=None; n_jobs"
                " divides the classes among threads."
            )
        if problem.penalty == "l1" or problem.free_intercept:
            return 1, at_once
        if self.n_blocks is not None:
            return int(self.n_blocks), at_once
        if at_once > 1 and problem.machine in COUPLED:
            raise ValueError(
                f"n_jobs={self.n_jobs} needs multi_class='ovr', whose classes are separate"
                f" problems, or n_blocks: the descent of {problem.machine!r} is sequential. Use"
                " n_jobs=None, or set n_blocks to descend on blocks of examples."
            )
        return 1, at_once

    def _settings(self, problem: Problem, watch: Watch, recorder: Recorder | None) -> Settings:
        precision = weights_precision(problem, self.precision)
        return replace(self._settings_in_blocks(watch, recorder), precision=precision)

    def _settings_in_blocks(self, watch: Watch, recorder: Recorder | None) -> Settings:
        return Settings(
            tol=float(self.tol if self.gap_tol is None else min(self.tol, self.gap_tol)),
            max_iter=min(int(self.max_iter), NO_LIMIT),
            shrinking=bool(self.shrinking),
            precision="float64",
            seed=int(check_random_state(self.random_state).randint(np.iinfo(np.int32).max)),
            watch=watch,
            dual=self.dual,
            recorder=recorder,
        )

    def _keep(self, weights: Array) -> None:
        """Sets the fitted attributes from W, features x columns, without a copy where possible."""
        if weights.shape[1] == 2:
            weights = weights[:, 1:] - weights[:, :1]
        if self.fit_intercept:
            self.intercept_ = weights[-1] * float(self.intercept_scaling)
            weights = weights[:-1]
        else:
            self.intercept_ = np.zeros(weights.shape[1])
        self.coef_ = weights.T

    def _starts(
        self,
        parts: list[Problem],
        problem: Problem,
        classes: NDArray[Any],
        codes: Codes,
        recorder: Recorder | None,
    ) -> dict[int, Point]:
        """The points to continue from, one per part of the problem: from a checkpoint, or from the
        last fit."""
        starts = dict(recorder.points) if recorder else {}
        kept: KeptBlocks | None = getattr(self, "_kept", None) if self.warm_start else None
        if kept is None:
            return starts
        if kept.machine != problem.machine:
            raise ValueError(
                f"warm_start=True continues a fit of the machine {kept.machine!r}; the parameters"
                f" now ask for {problem.machine!r}. Set warm_start=False to start afresh."
            )
        rows, cls, share = kept.start(classes, codes)
        column = (cls - _first_class(problem, classes)).astype(np.int32)
        beta = share * problem.prices(np.repeat(np.arange(len(codes)), np.diff(rows)), column)
        for number, part in enumerate(parts):
            if number not in starts:
                precision = weights_precision(problem, self.precision)
                starts[number] = Point(list(part.select((rows, column, beta))), precision)
        return starts

    def _sparse_starts(
        self, parts: list[Problem], classes: NDArray[Any], recorder: Recorder | None
    ) -> dict[int, Point]:
        """With the L1 penalty, the weights of the last fit are the point to continue from."""
        starts = dict(recorder.points) if recorder else {}
        kept = getattr(self, "_kept_classes", None) if self.warm_start else None
        fits = kept is not None and np.array_equal(kept, classes)
        if not fits or self.coef_.shape[1] != parts[0].X.shape[1]:
            return starts
        coef = self.coef_.toarray() if sp.issparse(self.coef_) else self.coef_
        W = np.ascontiguousarray(coef.T)
        if self.fit_intercept:
            W = np.vstack([W, self.intercept_ / float(self.intercept_scaling)])
        for number, part in enumerate(parts):
            mine = W[:, part.first : part.first + part.columns]
            starts.setdefault(number, Point([mine.ravel()], "float64"))
        return starts

    def _continue_from(self, other: LinearMachine) -> None:
        """With ``warm_start=True``, the next fit starts from the last one of `other`."""
        for name in ("_kept", "_kept_classes", "coef_", "intercept_"):
            if hasattr(other, name):
                setattr(self, name, getattr(other, name))

    def _keep_sparse_start(self, classes: NDArray[Any]) -> None:
        self.__dict__.pop("_kept", None)
        self._kept_classes = classes

    def _keep_start(
        self, dual: Dual, problem: Problem, classes: NDArray[Any], codes: Codes
    ) -> None:
        """Keeps what a warm start needs."""
        rows, column, beta = dual
        example = np.repeat(np.arange(len(codes)), np.diff(rows))
        self._kept = KeptBlocks(
            problem.machine,
            classes,
            codes,
            rows,
            column + _first_class(problem, classes),
            beta / problem.prices(example, column),
        )

    @property
    def _start_is_wanted(self) -> bool:
        """Whether a warm start is likely: what it needs can be larger than the model."""
        return self.warm_start or not self.solution_.stop_reason.final

    def _drop_start(self) -> None:
        if not self._start_is_wanted:
            self.__dict__.pop("_kept", None)


def _first_class(problem: Problem, classes: NDArray[Any]) -> int:
    """The class of W's first column; a single column belongs to the last class."""
    return len(classes) - problem.columns


def check_room_for_weights(features: int, columns: int) -> None:
    needed, problem = 8 * features * columns, None
    if features >= 2**31 - 1:
        problem = "at most 2147483646 can have weights"
    elif needed > SMALL_BYTES and needed > (free := available_bytes()):
        problem = (
            f"their weights would take {needed / 1e9:.3g} GB, but only {free / 1e9:.3g} GB are free"
        )
    if problem:
        raise ValueError(
            f"X has {features} features: {problem}. Number the features without gaps, or hash them"
            " to fewer (sklearn.feature_extraction.FeatureHasher)."
        )
