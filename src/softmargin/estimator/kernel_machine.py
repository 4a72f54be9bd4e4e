"""What the five kernel machines have in common: parameters, validation, training."""

from __future__ import annotations

import copy
from abc import abstractmethod
from collections.abc import Callable, Iterator, Mapping
from dataclasses import fields
from functools import partial
from numbers import Integral, Real
from types import MappingProxyType
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from softmargin import _core
from softmargin.checkpoint import DualVariables, Recorder
from softmargin.estimator.base import Observed
from softmargin.estimator.conventions import (
    Interval,
    StrOptions,
    check_consistent_length,
    num_samples,
    validate_data,
)
from softmargin.estimator.fitted import Fitted
from softmargin.estimator.validation import CHECKS, for_core, indexable, validate_examples
from softmargin.fitting import planning
from softmargin.fitting.elsewhere import ELSEWHERE
from softmargin.fitting.held_out import Folds
from softmargin.fitting.kernel_fit import FitResult, KernelFit
from softmargin.fitting.kernel_solver import Settings
from softmargin.fitting.memory import cache_bytes
from softmargin.fitting.problems import Problems, Stated
from softmargin.fitting.side_by_side import run_all
from softmargin.fitting.slices import NO_LIMIT
from softmargin.fitting.tolerances import Tolerances
from softmargin.fitting.warm_start import Kept
from softmargin.io.models.save_and_load import Saving
from softmargin.problem.convexity import ConvexityCheck
from softmargin.problem.gamma import gamma_value
from softmargin.problem.kernel_names import NAMES
from softmargin.problem.kernels import Function, Kernel, make_kernel
from softmargin.problem.symmetry import check_symmetric
from softmargin.watching import Watch
from softmargin.working_sets import BY_NAME, WorkingSet

Array = NDArray[np.float64]
Indices = NDArray[np.int32]


def useful_bytes(examples: int) -> int:
    """The most bytes that a cache can use: enough for all kernel rows, and such that a quarter of
    them (the share of Newton steps) holds the matrix of a step on one variable of every example."""
    return max(8 * examples**2, 32 * min(examples, _core.MOST_FREE) ** 2)


class KernelMachine(Saving, Fitted, Observed):
    """Base of the kernel machines; a subclass defines its problems and its predictions."""

    _parameter_constraints: dict[str, list[Any]] = {  # noqa: RUF012
        **Observed._parameter_constraints,
        "kernel": [StrOptions(set(NAMES)), callable],
        "degree": [Interval(Integral, 0, 2**31 - 1, closed="both")],
        "gamma": [StrOptions({"scale", "auto"}), Interval(Real, 0.0, None, closed="left")],
        "coef0": [Interval(Real, None, None, closed="neither")],
        "cache_size": [StrOptions({"auto"}), Interval(Real, 0, None, closed="neither")],
        "max_iter": [Interval(Integral, -1, None, closed="left")],
        "working_set": [StrOptions({"auto", *BY_NAME}), WorkingSet],
        "precision": [StrOptions({"auto", "float32", "float64"})],
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

    @property
    def _kernel_of_the_user(self) -> bool:
        return callable(self.kernel) or self.kernel == "precomputed"

    def _validate_examples(self, X: Any, y: Any, numeric_target: bool) -> tuple[Any, Any]:
        """X in the form that the core needs, without a copy if it has that form already; and y."""
        if sp.issparse(X) and self.kernel == "precomputed":
            raise TypeError("Sparse precomputed kernels are not supported.")
        if callable(self.kernel):
            # Only the kernel function knows what an example is.
            X = indexable(X)
            if y is not None:
                check_consistent_length(X, y)
            if num_samples(X) == 0:
                raise ValueError(f"X has no samples; {type(self).__name__} needs at least one.")
            return X, y
        if y is None:
            X = validate_data(self, X, **CHECKS)
        else:
            X, y = validate_examples(self, X, y, numeric_target)
        if self.kernel == "precomputed" and X.shape[0] != X.shape[1]:
            raise ValueError(
                "Precomputed matrix must be a square matrix."
                f" Input is a {X.shape[0]}x{X.shape[1]} matrix."
            )
        if self.kernel == "precomputed":
            check_symmetric(X, 'X, the matrix of kernel="precomputed",')
        return for_core(X), y

    @abstractmethod
    def _state(self, y: Any, sample_weight: Any = None) -> tuple[Problems, Array]:
        """The problems of a fit to examples with these targets, and the weight of each example.  No
        problem depends on X."""

    def _make_kernel(self, X: Any, weight: Array) -> Kernel:
        uses_gamma = not callable(self.kernel) and self.kernel not in ("precomputed", "linear")
        gamma = gamma_value(self.gamma, X, weight) if uses_gamma else 1.0
        return make_kernel(self.kernel, gamma, self.coef0, self.degree)

    def _solve(
        self, X: Any, weight: Array, problems: Problems, began: float, folds: Folds | None = None
    ) -> FitResult:
        """Solves the problems of a fit that began at `began`, and their folds; `weight` has the
        weight of each example of X.  A fit that may be stopped early and keep its model solves all
        its problems before the first fold: see `_solve_folds`."""
        may_stop = self.time_limit is not None or self.on_interrupt == "keep"
        at_once = folds if not may_stop and self.checkpoint is None else None
        kernel, count = self._make_kernel(X, weight), len(problems.sizes)
        recorder = None
        if self.checkpoint is not None:
            singles = [problems.state(range(k, k + 1)) for k in range(count)]
            variables = [DualVariables(single.formulation.dual()) for single in singles]
            values = kernel.sample(X) if isinstance(kernel, Function) else None
            recorder = self._recorder(X, _stated(singles), variables, values)
        with self._watched(X, count, recorder, began) as watch:
            kept = self._kept if self.warm_start and hasattr(self, "_kept") else {}
            return self._train(kernel, X, problems, watch, recorder, kept, at_once)

    def _solve_folds(self, X: Any, result: FitResult, folds: Folds, watch: Watch) -> FitResult:
        """Solves the folds of a fit whose problems have all ended."""
        kept, started = result.kept(), copy.copy(self)
        started.max_iter = 0
        return started._train(result.kernel, X, result.problems, watch, None, kept, folds)

    def _plan(self, size: int, kernel: Kernel) -> planning.Plan:
        """How to solve a problem of this many examples."""
        return planning.plan(self.working_set, self.precision, size, kernel)

    def _train(
        self,
        kernel: Kernel,
        X: Any,
        problems: Problems,
        watch: Watch,
        recorder: Recorder | None,
        kept: Mapping[Any, Kept],
        folds: Folds | None,
    ) -> FitResult:
        threads = planning.threads(self.n_jobs)
        together = planning.problems_at_once(problems.sizes, threads, callable(self.kernel))
        resources = threads // together, together
        fit = self._kernel_fit(kernel, X, problems, watch, resources, recorder, kept, folds)
        alone, elsewhere = recorder is not None or callable(self.kernel), ELSEWHERE.get()
        continues = self.warm_start or kept
        if elsewhere and len(problems.sizes) > 1 and not (alone or continues):
            answers = elsewhere.solve(self, kernel, X, problems, folds, watch, fit.solve)
        else:
            groups = planning.groups(problems.sizes, together, alone)
            tasks = [partial(fit.solve, numbers) for numbers in groups]
            answers = run_all(tasks, together, watch.abandoned)
        result = FitResult(kernel, problems, answers)
        if recorder:
            recorder.close(finished=result.final)
        return result

    def _kernel_fit(
        self,
        kernel: Kernel,
        X: Any,
        problems: Problems,
        watch: Watch,
        resources: tuple[int, int],
        recorder: Recorder | None = None,
        kept: Mapping[Any, Kept] = MappingProxyType({}),
        folds: Folds | None = None,
    ) -> KernelFit:
        """What solves the problems; `resources`: the threads of each, and how many are solved at
        once."""
        threads, at_once = resources
        useful = at_once * useful_bytes(int(problems.sizes.max()))
        gap_tol = None if self.gap_tol is None else float(self.gap_tol)
        settings = Settings(
            tolerances=Tolerances(float(self.tol), gap_tol),
            shrinking=bool(self.shrinking),
            cache_bytes=cache_bytes(self.cache_size, useful) // at_once,
            threads=threads,
            max_iter=min(int(self.max_iter), NO_LIMIT),
            watch=watch,
            convexity=ConvexityCheck(kernel, X, problems),
            save=recorder.note if recorder else None,
        )
        return KernelFit(
            problems=problems,
            sources=kernel.training(X),
            plan=lambda size: self._plan(size, kernel),
            settings=settings,
            recorder=recorder,
            kept=kept,
            folds=folds,
        )


def _stated(problems: list[Stated]) -> Iterator[Any]:
    """The arrays and numbers that distinguish these problems from others, each stated alone."""
    for problem in problems:
        yield problem.ids
        given = {f.name: getattr(problem.formulation, f.name) for f in fields(problem.formulation)}
        given.pop("starts", None)  # 0 and the number of examples
        if "nu_is_clipped" in given:
            given["nu_is_clipped"] = np.bool_(given["nu_is_clipped"]).reshape(())
        yield from given.values()
