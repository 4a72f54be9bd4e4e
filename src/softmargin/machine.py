"""What the five kernel machines have in common: parameters, validation, training, expansion."""

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
    check_is_fitted,
    validate_data,
)

from softmargin import planning
from softmargin.checkpoint import Answer, DualVariables, Recorder
from softmargin.formulations import Formulation, Model
from softmargin.io.saving import Saving
from softmargin.kernels import BUILT_IN, Function, Kernel, Precomputed, take
from softmargin.memory import cache_bytes
from softmargin.observed import Observed
from softmargin.solution import Solution
from softmargin.training import Point, Settings, run_all, train
from softmargin.validation import for_core, is_plain
from softmargin.warm_start import Kept
from softmargin.watching import Watch
from softmargin.working_sets import BY_NAME, WorkingSet

Array = NDArray[np.float64]
Indices = NDArray[np.int32]


class KernelMachine(Saving, Observed):
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

    dual_coef_: Any  # dense or CSR, as X was
    support_vectors_: Any

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = self.kernel == "precomputed"
        tags.input_tags.sparse = self.kernel != "precomputed"
        return tags

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "solution_")

    # --- fitting -----------------------------------------------------------------------------

    def _validate_examples(self, X: Any, y: Any, numeric_target: bool) -> tuple[Any, Any]:
        """X as the core takes it, without a copy where its type already fits; and y."""
        if sp.issparse(X) and self.kernel == "precomputed":
            raise TypeError("Sparse precomputed kernels are not supported.")
        if callable(self.kernel):
            # What an example is, is between the user and the function.
            X = _indexable(X)
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
        self._gamma = 1.0 if self.kernel == "linear" else self._gamma_value(X, weight)
        return BUILT_IN[self.kernel](float(self._gamma), float(self.coef0), int(self.degree))

    def _gamma_value(self, X: Any, weight: Array) -> float:
        if self.gamma == "auto":
            return 1.0 / int(X.shape[1])
        if self.gamma != "scale":
            return float(self.gamma)
        variance = _variance(X, weight)
        if not np.isfinite(variance):
            raise ValueError(
                f"gamma='scale' needs the variance of X, which is {variance}."
                " Scale the data (StandardScaler), or give gamma as a number."
            )
        return 1.0 / (X.shape[1] * variance) if variance != 0 else 1.0

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
        with self._watched(X, len(problems)) as watch:
            starts = self._starts(names, problems, recorder)
            answers = self._train(kernel, X, problems, starts, watch, recorder)
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
            max_iter=int(self.max_iter),
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
                problem, lambda precision: sources(precision, ids), plan, settings, number, start
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

    def _keep(self, X: Any, support: Indices, n_support: Indices, dual_coef: Array) -> None:
        """Sets the attributes that every fitted machine has."""
        self._sparse = sp.issparse(X) and not callable(self.kernel)
        self.shape_fit_ = X.shape if hasattr(X, "shape") else (len(X),)
        self.support_ = support.astype(np.int32)
        if self.kernel == "precomputed":
            self.support_vectors_ = np.empty((0, 0))
        else:
            self.support_vectors_ = take(X, support)
        self._n_support = n_support
        self.dual_coef_ = sp.csr_matrix(dual_coef) if self._sparse else dual_coef

    @property
    def n_support_(self) -> Indices:
        """Number of support vectors, for each class of a classifier."""
        if not self.__sklearn_is_fitted__():
            raise AttributeError(f"{type(self).__name__} is not fitted yet: n_support_ is unknown.")
        return self._n_support

    @property
    def coef_(self) -> Any:
        """Weights of the features, for ``kernel="linear"`` only."""
        if self.kernel != "linear":
            raise AttributeError("coef_ is only available when using a linear kernel")
        coef = self._linear_coef()
        (coef.data if sp.issparse(coef) else coef).flags.writeable = False
        return coef

    def _linear_coef(self) -> Any:
        return self.dual_coef_ @ self.support_vectors_

    # --- prediction --------------------------------------------------------------------------

    def _expand(self, X: Any) -> Array:
        """sums[t, g, o] over the support vectors of class g, all of them in one for others."""
        X = self._validate_points(X)
        coef, starts = self._checked_expansion()
        if self.kernel == "precomputed":
            X, vectors = X[:, self.support_], None
        else:
            vectors = self.support_vectors_
        threads = planning.threads(self.n_jobs)
        sums = self._fitted_kernel().expand(X, vectors, coef, starts, threads)
        if not np.isfinite(sums).all():
            row = int(np.flatnonzero(~np.isfinite(sums).all(axis=(1, 2)))[0])
            raise ValueError(
                f"The decision value of row {row} of X is not finite: its kernel values overflow,"
                " or the fitted attributes are not finite. Scale the data as for fit, or fit again."
            )
        return sums

    def _fitted_kernel(self) -> Kernel:
        if callable(self.kernel):
            return Function(self.kernel)
        if self.kernel == "precomputed":
            return Precomputed()
        if self.kernel not in BUILT_IN:
            raise ValueError(f"kernel={self.kernel!r} is unknown; it was changed after fit.")
        return BUILT_IN[self.kernel](float(self._gamma), float(self.coef0), int(self.degree))

    def _validate_points(self, X: Any) -> Any:
        check_is_fitted(self)
        if callable(self.kernel):
            return _indexable(X)
        if not is_plain(X, self):
            checks = {"dtype": [np.float64, np.float32], "accept_sparse": "csr"}
            X = validate_data(self, X, reset=False, **checks)
        if sp.issparse(X) and not self._sparse:
            raise ValueError(
                f"cannot use sparse input in {type(self).__name__!r} trained on dense data"
            )
        if self._sparse and not sp.issparse(X):
            X = sp.csr_matrix(X)
        return for_core(X)

    def _checked_expansion(self) -> tuple[Array, list[int]]:
        """Coefficients and group starts, after checking that the fitted attributes still fit
        together: they are open to the user, and the core trusts its input."""
        try:
            coef, counts = self._coefficients(), np.atleast_1d(self._n_support).astype(np.int64)
            consistent = self._consistent(coef, counts)
        except (AttributeError, IndexError, TypeError, ValueError):
            consistent = False
        if not consistent:
            raise ValueError(
                f"The internal representation of {type(self).__name__} was altered:"
                " support_, support_vectors_, n_support_, dual_coef_ and intercept_ do not fit"
                " together. Fit it again."
            )
        starts = [0, *np.cumsum(counts)] if len(coef) > 1 else [0, coef.shape[1]]
        return coef, [int(start) for start in starts]

    def _coefficients(self) -> Array:
        if not sp.issparse(self.dual_coef_):
            return np.asarray(self.dual_coef_, dtype=np.float64)
        self.dual_coef_.check_format(full_check=True)
        return np.asarray(self.dual_coef_.toarray(), dtype=np.float64)

    def _consistent(self, coef: Array, counts: NDArray[np.int64]) -> bool:
        groups = len(counts) if len(coef) > 1 else 1
        count = len(self.support_)
        if not (
            coef.shape == (max(groups - 1, 1), count)
            and (counts >= 0).all()
            and counts.sum() == count
            and np.shape(self.intercept_) == (max(groups * (groups - 1) // 2, 1),)
        ):
            return False
        if self.kernel == "precomputed":
            support = np.asarray(self.support_)
            within = (support >= 0) & (support < self.n_features_in_)
            return support.dtype.kind == "i" and bool(within.all())
        return callable(self.kernel) or self._vectors_consistent(count)

    def _vectors_consistent(self, count: int) -> bool:
        vectors = self.support_vectors_
        if sp.issparse(vectors) != self._sparse or vectors.shape != (count, self.n_features_in_):
            return False
        if self._sparse:
            vectors.check_format(full_check=True)
            return bool(vectors.format == "csr")
        return vectors.dtype in (np.float32, np.float64)


def _stated(problems: list[tuple[Indices, Formulation]]) -> Iterator[Any]:
    """The arrays and numbers that tell a problem from others."""
    for ids, formulation in problems:
        yield ids
        yield from vars(formulation).values()


def _indexable(X: Any) -> Any:
    """X such that examples can be taken out of it, for a kernel function."""
    if sp.issparse(X):
        return X.tocsr()
    if isinstance(X, (list, tuple)):
        array = np.asarray(X) if len(X) and np.ndim(X[0]) == 1 else None
        return array if array is not None and array.dtype.kind in "fiub" else list(X)
    return X


def _variance(X: Any, weight: Array) -> float:
    """The variance of all entries of X, where a row counts as often as its weight says; in
    float64 without a copy of X in float64."""
    values, row_weight = X, weight
    if sp.issparse(X):
        values, row_weight = X.data[:, None], np.repeat(weight, np.diff(X.indptr))
    count = float(weight.sum()) * int(X.shape[1])
    stored = float(row_weight.sum()) * int(values.shape[1])
    with np.errstate(over="ignore", invalid="ignore"):
        mean = _moment(values, row_weight, 0.0, power=1) / count
        squares = _moment(values, row_weight, mean, power=2)
        return (squares + (count - stored) * mean * mean) / count


def _moment(values: Any, weight: Array, shift: float, power: int) -> float:
    """The weighted sum of (values - shift) ** power, block by block of rows."""
    total = 0.0
    rows = max(1, 2**18 // max(1, values.shape[1]))
    for start in range(0, values.shape[0], rows):
        block = values[start : start + rows].astype(np.float64) - shift
        total += float(weight[start : start + rows] @ (block**power).sum(axis=1))
    return total
