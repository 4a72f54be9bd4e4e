"""Linear multi-class machines: Weston-Watkins, Crammer-Singer and one-vs-rest."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from numbers import Integral, Real
from os import PathLike
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import _fit_context
from sklearn.linear_model._base import LinearClassifierMixin, SparseCoefMixin
from sklearn.utils import check_random_state, column_or_1d
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import validate_data

from softmargin.checkpoint import Checkpoint, Recorder
from softmargin.descent import Dual, Problem, Settings, descend, weights_precision
from softmargin.io.saving import Saving
from softmargin.memory import available_bytes
from softmargin.observed import Observed
from softmargin.planning import threads
from softmargin.training import NO_LIMIT, Point
from softmargin.validation import (
    check_classes_present,
    class_weights,
    for_core,
    prices,
    sample_weights,
    unchanged_on_error,
)
from softmargin.warm_start import KeptBlocks
from softmargin.watching import RELATIVE_GAP, Status, Watch

Array = NDArray[np.float64]
Codes = NDArray[np.intp]


class LinearSVC(Saving, LinearClassifierMixin, SparseCoefMixin, Observed):  # type: ignore[misc]
    """Linear support vector classification that treats all classes at once.

    Minimises ``1/2 ||W||^2 + C * sum of losses`` over one weight vector per class.  The loss of an
    example of class y with scores s adds up ``max(0, 1 - s_y + s_c)`` over the other classes c
    (Weston-Watkins), takes their maximum (Crammer-Singer), or separates each class from the rest
    by the hinge loss.  The solver is block coordinate descent on the dual with exact sub-problems
    (Wang and Scott, 2021); it stops on a relative duality gap measured on all examples.

    Parameters
    ----------
    multi_class : {"weston_watkins", "crammer_singer", "ovr"}, default="weston_watkins"
        The loss.  With two classes the first two are the same machine, and equal the binary hinge
        machine ("ovr") of twice the C.
    C : float, default=1.0
        Price of a unit of loss; positive and finite.
    tol : float, default=1e-3
        The fit stops when (primal - dual) / primal is no larger.
    max_iter : int, default=1000
        Limit on the passes over the data.
    fit_intercept : bool, default=True
        Add a constant feature; its weights are regularised like the others.  Without it, the fit
        solves the problem above exactly as stated.
    intercept_scaling : float, default=1.0
        Value of the constant feature.  Larger values regularise the intercept less.
    class_weight : dict, "balanced" or None, default=None
        Factor on C for each class.  "balanced" gives all classes the same total weight.
    shrinking : bool, default=True
        Leave out examples, and classes of examples, that seem settled (and check them at the end).
    precision : {"auto", "float64", "float32"}, default="auto"
        Of the weights during the descent.  "float32" takes the first passes (up to a relative gap
        of 1e-4) with half the memory traffic; the rest, the result and its certificate are
        always in float64.  "auto" is "float32" where the weights take more than 1 MiB.
    random_state : int, RandomState instance or None, default=None
        For the order of the examples in each pass.  With an int, the same data give the same
        result.
    n_jobs : int or None, default=None
        Threads, for ``multi_class="ovr"`` only, which share out the classes; -1 for all
        processors.  The result depends on the seed and, within `tol`, on the number of threads.
    verbose : bool or int, default=False
        1: a live line of progress on standard error.  2: lines through ``logging``.
    time_limit : float or None, default=None
        Seconds after which the fit stops with the model as it is.
    on_interrupt : {"raise", "keep"}, default="raise"
        What Ctrl-C does: raise KeyboardInterrupt and leave the machine as it was, or stop the fit
        with the model as it is.
    callbacks : list of callables or None, default=None
        Each gets a :class:`softmargin.watching.Status` some 20 times a second; it stops the fit by
        returning True (or a StopReason), or by ``status.stop()``.  With `n_jobs` it is called from
        the threads, one at a time.
    warm_start : bool, default=False
        Go on from the last fit, if it had ``warm_start=True`` or was stopped early.  Its dual
        variables are scaled to the new C; examples are matched by position, so that rows can be
        appended, and classes by their labels.
    checkpoint : str, path, softmargin.checkpoint.Checkpoint or None, default=None
        A file that the state of the fit is written to every minute.  After a crash, ``fit`` with
        the same data and parameters goes on from it.  It is removed when the fit has ended.

    Attributes
    ----------
    coef_ : ndarray of shape (n_classes, n_features), (1, n_features) for two classes
    intercept_ : ndarray of shape (n_classes,), (1,) for two classes
        Zeros without `fit_intercept`.
    solution_ : Solution
        The certificate: objectives, gap, largest violation of an optimality condition, stop
        reason; ``iterations`` counts passes.
    history_ : structured ndarray
        The course of the fit in at most 1000 points: seconds, problem, iterations, violation (the
        relative gap, as estimated on the way), objective, gap, active.
    n_iter_ : int
        Passes over the data; 0 where a warm start is optimal already.
    classes_, class_weight_, n_features_in_, feature_names_in_

    Examples
    --------
    >>> from softmargin import LinearSVC
    >>> X, y = [[0, 2], [0, 3], [2, 0], [3, 0], [-2, -2], [-3, -2]], [0, 0, 1, 1, 2, 2]
    >>> machine = LinearSVC(random_state=0).fit(X, y)
    >>> machine.predict([[0, 1], [-1, -1]])
    array([0, 2])
    >>> machine.solution_.relative_gap <= 1e-3
    True
    """

    _parameter_constraints: dict[str, list[Any]] = {  # noqa: RUF012
        **Observed._observed_constraints,
        "multi_class": [StrOptions({"weston_watkins", "crammer_singer", "ovr"})],
        "C": [Interval(Real, 0.0, None, closed="neither")],
        "tol": [Interval(Real, 0.0, None, closed="neither")],
        "max_iter": [Interval(Integral, 0, None, closed="left")],
        "fit_intercept": ["boolean"],
        "intercept_scaling": [Interval(Real, 0.0, None, closed="neither")],
        "class_weight": [StrOptions({"balanced"}), dict, None],
        "shrinking": ["boolean"],
        "precision": [StrOptions({"auto", "float64", "float32"})],
        "random_state": ["random_state"],
        "n_jobs": [Integral, None],
    }
    _measure = RELATIVE_GAP

    def __init__(
        self,
        multi_class: str = "weston_watkins",
        *,
        C: float = 1.0,
        tol: float = 1e-3,
        max_iter: int = 1000,
        fit_intercept: bool = True,
        intercept_scaling: float = 1.0,
        class_weight: dict[Any, float] | str | None = None,
        shrinking: bool = True,
        precision: str = "auto",
        warm_start: bool = False,
        random_state: Any = None,
        n_jobs: int | None = None,
        verbose: bool | int = False,
        time_limit: float | None = None,
        on_interrupt: str = "raise",
        callbacks: Sequence[Callable[[Status], Any]] | None = None,
        checkpoint: str | PathLike[str] | Checkpoint | None = None,
    ) -> None:
        self.multi_class = multi_class
        self.C = C
        self.tol = tol
        self.max_iter = max_iter
        self.fit_intercept = fit_intercept
        self.intercept_scaling = intercept_scaling
        self.class_weight = class_weight
        self.shrinking = shrinking
        self.precision = precision
        self.warm_start = warm_start
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.time_limit = time_limit
        self.on_interrupt = on_interrupt
        self.callbacks = callbacks
        self.checkpoint = checkpoint

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> LinearSVC:
        """Fit the machine to examples X and their classes y.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The examples.  float32 and float64, CSR or dense with contiguous rows, are used as they
            are.
        y : array-like of shape (n_samples,)
            Class labels.
        sample_weight : array-like of shape (n_samples,), default=None
            A weight of w counts as w repetitions of the example, zero as its absence.

        Returns
        -------
        self : object
        """
        with unchanged_on_error(self):
            problem, codes = self._problem(X, y, sample_weight)
            parts = problem.split(self._threads())
            stated = (problem.column, problem.upper, problem.constant)
            recorder = self._recorder(problem.X, stated, parts, parts=len(parts))
            with self._watched(problem.X, len(parts), recorder) as watch:
                starts = self._starts(parts, problem, codes, recorder)
                result = descend(parts, starts, self._settings(problem, watch, recorder))
            self.solution_ = result.solution
            self.n_iter_ = result.solution.iterations
            self._keep(result.weights)
            self._keep_start(result.dual, problem, codes)
            self._warn_unless_converged()
        return self

    def _problem(self, X: Any, y: Any, sample_weight: Any) -> tuple[Problem, Codes]:
        """The problem, and the class of each example by its number."""
        X, y = validate_data(
            self, X, y, dtype=[np.float64, np.float32], accept_sparse="csr", y_numeric=False
        )
        X = for_core(X)
        labels = column_or_1d(y, warn=True)
        check_classification_targets(labels)
        classes, codes = np.unique(labels, return_inverse=True)
        if len(classes) < 2:
            raise ValueError(
                f"The number of classes has to be greater than one; got {len(classes)} class"
            )
        weight = sample_weights(sample_weight, len(labels))
        counts = np.bincount(codes, weights=weight).astype(np.float64)
        check_classes_present(classes, counts > 0)
        self.class_weight_ = class_weights(self.class_weight, classes, labels, counts)
        self.classes_ = classes
        binary = self.multi_class == "ovr" and len(classes) == 2
        _check_room_for_weights(X.shape[1], 1 if binary else len(classes))
        problem = Problem(
            X=X,
            # One column is enough for "the second class against the first".
            column=(codes - 1 if binary else codes).astype(np.int32),
            upper=prices(self.C, weight, self.class_weight_[codes]),
            columns=1 if binary else len(classes),
            machine=self.multi_class,
            constant=float(self.intercept_scaling) if self.fit_intercept else 0.0,
        )
        return problem, codes

    def _threads(self) -> int:
        if self.n_jobs in (None, 1):
            return 1
        if self.multi_class != "ovr":
            raise ValueError(
                f"n_jobs={self.n_jobs} needs multi_class='ovr', whose classes are separate"
                f" problems; the descent of {self.multi_class!r} is sequential. Use n_jobs=None."
            )
        return threads(self.n_jobs)

    def _settings(self, problem: Problem, watch: Watch, recorder: Recorder | None) -> Settings:
        return Settings(
            tol=float(self.tol),
            max_iter=min(int(self.max_iter), NO_LIMIT),
            shrinking=bool(self.shrinking),
            precision=weights_precision(problem, self.precision),
            seed=int(check_random_state(self.random_state).randint(np.iinfo(np.int32).max)),
            watch=watch,
            recorder=recorder,
        )

    def _keep(self, weights: Array) -> None:
        """Sets the fitted attributes from W, features x classes, without a copy where possible."""
        if weights.shape[1] == 2:
            weights = weights[:, 1:] - weights[:, :1]
        if self.fit_intercept:
            self.intercept_ = weights[-1] * float(self.intercept_scaling)
            weights = weights[:-1]
        else:
            self.intercept_ = np.zeros(weights.shape[1])
        self.coef_ = weights.T

    def _starts(
        self, parts: list[Problem], problem: Problem, codes: Codes, recorder: Recorder | None
    ) -> dict[int, Point]:
        """Where the parts go on from: a checkpoint, or the last fit."""
        starts = dict(recorder.points) if recorder else {}
        kept: KeptBlocks | None = getattr(self, "_kept", None) if self.warm_start else None
        if kept is None:
            return starts
        if kept.machine != problem.machine:
            raise ValueError(
                f"warm_start=True continues a fit of multi_class={kept.machine!r}; got"
                f" multi_class={problem.machine!r}. Set warm_start=False to start afresh."
            )
        rows, cls, beta = kept.start(self.classes_, codes, problem.upper)
        dual = rows, (cls - self._first_class(problem)).astype(np.int32), beta
        for number, part in enumerate(parts):
            if number not in starts:
                precision = weights_precision(problem, self.precision)
                starts[number] = Point(list(part.select(dual)), precision)
        return starts

    def _keep_start(self, dual: Dual, problem: Problem, codes: Codes) -> None:
        """Keeps what a warm start needs, where one is to be expected: it can be larger than the
        model."""
        if not self.warm_start and self.solution_.stop_reason.final:
            self.__dict__.pop("_kept", None)
            return
        rows, column, beta = dual
        self._kept = KeptBlocks(
            problem.machine,
            self.classes_,
            codes,
            rows,
            column + self._first_class(problem),
            beta / np.repeat(problem.upper, np.diff(rows)),
        )

    def _first_class(self, problem: Problem) -> int:
        """The class that the first column of W is about: with one column, the second of two."""
        return len(self.classes_) - problem.columns


def _check_room_for_weights(features: int, columns: int) -> None:
    needed, free = 8 * features * columns, available_bytes()
    problem = None
    if features >= 2**31 - 1:
        problem = "at most 2147483646 can have weights"
    elif needed > free:
        problem = (
            f"their weights would take {needed / 1e9:.3g} GB, and {free / 1e9:.3g} GB are free"
        )
    if problem:
        raise ValueError(
            f"X has {features} features: {problem}. Number the features without gaps, or hash them"
            " to fewer (sklearn.feature_extraction.FeatureHasher)."
        )
