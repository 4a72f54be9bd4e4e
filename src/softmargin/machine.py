"""What the five kernel machines have in common: parameters, validation, training."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from numbers import Integral, Real
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import (
    _num_samples,
    check_consistent_length,
    validate_data,
)

from softmargin import planning
from softmargin.checkpoint import Answer, DualVariables, Recorder
from softmargin.expansion import Expansion
from softmargin.formulations import Formulation, Model
from softmargin.gamma import gamma_value
from softmargin.io.saving import Saving
from softmargin.kernels import BUILT_IN, Function, Kernel, Precomputed
from softmargin.memory import cache_bytes
from softmargin.observed import Observed
from softmargin.solution import Solution
from softmargin.training import NO_LIMIT, Point, Settings, run_all, train
from softmargin.validation import for_core, indexable
from softmargin.warm_start import Kept
from softmargin.watching import Watch
from softmargin.working_sets import BY_NAME, WorkingSet

Array = NDArray[np.float64]
Indices = NDArray[np.int32]


class KernelMachine(Saving, Expansion, Observed):
    """Base of the kernel machines; a subclass states its problems and what it predicts."""

    _parameter_constraints: dict[str, list[Any]] = {  # noqa: RUF012
        **Observed._observed_constraints,
        "kernel": [StrOptions({*BUILT_IN, "precomputed"}), callable],
        "degree": [Interval(Integral, 0, 2**31 - 1, closed="both")],
        "gamma": [StrOptions({"scale", "auto"}), Interval(Real, 0.0, None, closed="left")],
        "coef0": [Interval(Real, None, None, closed="neither")],
        "tol": [Interval(Real, 0.0, None, closed="neither")],
        "C": [Interval(Real, 0.0, None, closed="right")],
        "nu": [Interval(Real, 0.0, 1.0, closed="right")],
        "epsilon": [Interval(Real, 0.0, None, closed="left")],
        "shrinking": ["boolean"],
        "cache_size": [StrOptions({"auto"}), Interval(Real, 0, None, closed="neither")],
        "class_weight": [StrOptions({"balanced"}), dict, None],
        "max_iter": [Interval(Integral, -1, None, closed="left")],
        "random_state": ["random_state"],
        "decision_function_shape": [StrOptions({"ovr", "ovo"})],
        "break_ties": ["boolean"],
        "working_set": [StrOptions({"auto", *BY_NAME}), WorkingSet],
        "precision": [StrOptions({"auto", "float32", "float64"})],
        "n_jobs": [None, Integral],
    }

    kernel: str | Callable[[Any, Any], Any]
    degree: int
    gamma: str | float
    coef0: float
    shrinking: bool
    cache_size: float | str
    working_set: str | WorkingSet
    precision: str
    n_jobs: int | None

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = self.kernel == "precomputed"
        tags.input_tags.sparse = self.kernel != "precomputed"
        return tags

    def _validate_examples(self, X: Any, y: Any, numeric_target: bool) -> tuple[Any, Any]:
        """X as the core takes it, without a copy where its type already fits; and y."""
        if sp.issparse(X) and self.kernel == "precomputed":
            raise TypeError("Sparse precomputed kernels are not supported.")
        if callable(self.kernel):
            # What an example is, is between the user and the function.
            X = indexable(X)
            if y is not None:
                check_consistent_length(X, y)
            if _num_samples(X) == 0:
                raise ValueError(f"X has no samples; {type(self).__name__} needs at least one.")
            return X, y
        checks = {"dtype": [np.float64, np.float32], "accept_sparse": "csr"}
        if y is None:
            X = validate_data(self, X, **checks)
        else:
            X, y = validate_data(self, X, y, y_numeric=numeric_target, **checks)
        if self.kernel == "precomputed" and X.shape[0] != X.shape[1]:
            raise ValueError(
                "Precomputed matrix must be a square matrix."
                f" Input is a {X.shape[0]}x{X.shape[1]} matrix."
            )
        return for_core(X), y

    def _make_kernel(self, X: Any, weight: Array) -> Kernel:
        if callable(self.kernel):
            return Function(self.kernel)
        if self.kernel == "precomputed":
            return Precomputed()
        self._gamma = 1.0 if self.kernel == "linear" else gamma_value(self.gamma, X, weight)
        return BUILT_IN[self.kernel](float(self._gamma), float(self.coef0), int(self.degree))

    def _solve(
        self,
        X: Any,
        weight: Array,
        problems: list[tuple[Indices, Formulation]],
        names: list[Any] | None = None,
    ) -> list[Model]:
        """Solves the problems, each on the examples given by its indices, and keeps their
        certificates in ``solution_``; `weight` is the weight of each example of X, and `names` tell
        the problems of one fit, and of the next, apart."""
        names = names or [None]
        kernel = self._make_kernel(X, weight)
        variables = [DualVariables(problem.dual()) for _, problem in problems]
        recorder = self._recorder(X, _stated(problems), variables)
        with self._watched(X, len(problems), recorder) as watch:
            starts = self._starts(names, problems, recorder)
            answers = self._train(kernel, X, names, problems, starts, watch, recorder)
        solutions = [solution for _, solution, _ in answers]
        self.solution_ = Solution.combine(solutions)
        self.fit_status_ = int(not self.solution_.converged)
        self._n_iter = np.array([solution.iterations for solution in solutions])
        self._kept = {
            name: Kept.of(ids, point.beta, problem.dual())
            for name, (ids, problem), (_, _, point) in zip(names, problems, answers, strict=True)
        }
        return [model for model, _, _ in answers]

    def _train(
        self,
        kernel: Kernel,
        X: Any,
        names: list[Any],
        problems: list[tuple[Indices, Formulation]],
        starts: dict[int, Point],
        watch: Watch,
        recorder: Recorder | None,
    ) -> list[Answer]:
        threads = planning.threads(self.n_jobs)
        together = planning.problems_at_once(len(problems), threads, callable(self.kernel))
        largest = max(len(ids) for ids, _ in problems)
        settings = Settings(
            tol=float(self.tol),
            shrinking=bool(self.shrinking),
            cache_bytes=cache_bytes(self.cache_size, 8 * together * largest**2) // together,
            threads=threads // together,
            max_iter=min(int(self.max_iter), NO_LIMIT),
            watch=watch,
            save=recorder.note if recorder else None,
        )
        sources = kernel.training(X)

        def solve(number: int) -> Answer:
            ids, problem = problems[number]
            if recorder and number in recorder.answers:
                watch.done(number, recorder.answers[number][1], active=len(ids))
                return recorder.answers[number]
            plan = planning.plan(self.working_set, self.precision, len(ids), kernel)
            start = starts.get(number)
            if start and not start.precision:
                start = replace(start, precision=plan.precision)
            answer = train(
                problem,
                lambda precision: sources(precision, ids),
                plan,
                settings,
                number,
                start,
                names[number],
            )
            if recorder:
                recorder.done(number, answer)
            return answer

        answers = run_all([partial(solve, i) for i in range(len(problems))], together, watch)
        if recorder:
            recorder.close(finished=all(s.stop_reason.final for _, s, _ in answers))
        return answers

    def _starts(
        self,
        names: list[Any],
        problems: list[tuple[Indices, Formulation]],
        recorder: Recorder | None,
    ) -> dict[int, Point]:
        """Where problems go on from: a checkpoint, or the last fit."""
        starts = dict(recorder.points) if recorder else {}
        kept = self._kept if self.warm_start and hasattr(self, "_kept") else {}
        for number, (name, (ids, problem)) in enumerate(zip(names, problems, strict=True)):
            if number not in starts and name in kept:
                starts[number] = Point(kept[name].start(ids, problem.dual()), precision="")
        return starts


def _stated(problems: list[tuple[Indices, Formulation]]) -> Iterator[Any]:
    """The arrays and numbers that tell a problem from others."""
    for ids, formulation in problems:
        yield ids
        yield from vars(formulation).values()
