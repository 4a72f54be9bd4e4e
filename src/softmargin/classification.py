"""Support vector classification: C-SVC and nu-SVC, one-vs-one for more than two classes."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Sequence
from numbers import Real
from os import PathLike
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from softmargin.calibration.kernel_probabilities import expansion_probabilities
from softmargin.checkpoint import Checkpoint
from softmargin.estimator import one_vs_one
from softmargin.estimator.all_at_once import AllAtOnce
from softmargin.estimator.conventions import (
    ClassifierMixin,
    Interval,
    StrOptions,
    check_is_fitted,
    fit_context,
)
from softmargin.estimator.kernel_expansion import KernelExpansion
from softmargin.estimator.kernel_machine import Array, KernelMachine
from softmargin.estimator.one_vs_rest import OneVsRest
from softmargin.estimator.out_of_fold import FitWithFolds
from softmargin.estimator.probability import Probability
from softmargin.estimator.scaling import warn_unless_scaled
from softmargin.estimator.validation import (
    check_classes_present,
    class_weights,
    classes_of,
    prices,
    sample_weights,
    unchanged_on_error,
)
from softmargin.fitting import planning
from softmargin.fitting.kernel_fit import FitResult
from softmargin.fitting.planning import threads
from softmargin.problem.all_classes import MACHINES
from softmargin.problem.formulations import (
    CSupportVectorClassification,
    Formulation,
    NuSupportVectorClassification,
    nu_totals,
)
from softmargin.problem.kernels import Kernel
from softmargin.watching import Status
from softmargin.working_sets import BY_EXAMPLE, BY_NAME, WorkingSet


class Classifier(Probability, ClassifierMixin, KernelMachine):  # type: ignore[misc]
    """Base of SVC and NuSVC."""

    _parameter_constraints: dict[str, list[Any]] = {  # noqa: RUF012
        **KernelMachine._parameter_constraints,
        "class_weight": [StrOptions({"balanced"}), dict, None],
        "random_state": ["random_state"],
        "decision_function_shape": [StrOptions({"ovr", "ovo"})],
        "break_ties": ["boolean"],
        "probability": ["boolean", StrOptions({"platt"})],
        "cv": ["cv_object"],
    }

    class_weight: dict[Any, float] | str | None
    decision_function_shape: str
    break_ties: bool

    @abstractmethod
    def _prices(self, weight: Array, class_factor: Array) -> Array:
        """The C of each example (nu-SVC: its weight), from its own weight and that of its class."""

    @abstractmethod
    def _pair_problems(
        self, y: Array, price: Array, clipped: NDArray[np.bool_], starts: NDArray[np.int64]
    ) -> Formulation:
        """The problems of some pairs, y in {+1, -1}; `clipped` where class weights differ."""

    def _check_pairs(self, pairs: one_vs_one.Pairs) -> None:
        """Rejects infeasible problems before any kernel value is computed.  Classes without
        examples are rejected afterwards; but if only one class has examples, an infeasible nu is
        reported first, as in scikit-learn."""

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Classifier:
        """Fit the machine to examples X and their classes y.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features) or (n_samples, n_samples)
            The examples, or the kernel matrix for ``kernel="precomputed"``.  float32 and float64,
            dense or CSR, are used without conversion.
        y : array-like of shape (n_samples,)
            Class labels.
        sample_weight : array-like of shape (n_samples,), default=None
            A weight of w is equivalent to repeating the example w times; zero leaves it out.

        Returns
        -------
        self : object
        """
        with unchanged_on_error(self) as began:
            X, y = self._validate_examples(X, y, numeric_target=False)
            problems, weight = self._state(y, sample_weight)
            folds = self._folds(X, y, weight, problems)
            result = self._solve(X, weight, problems, began, folds)
            self._keep_result(X, result)
            self._calibrate(FitWithFolds(X, y, weight, result, folds, began))
            self._warn_unless_converged()
            warn_unless_scaled(self, X, stacklevel=4)
        return self

    def _state(self, y: Any, sample_weight: Any = None) -> tuple[Any, Array]:
        labels, classes, codes = classes_of(y)
        if len(classes) < 2:
            raise ValueError(
                f"The number of classes has to be greater than one; got {len(classes)} class"
            )
        weight = sample_weights(sample_weight, len(labels))
        self.class_weight_ = class_weights(self.class_weight, classes, labels)
        self.classes_ = classes
        taken = np.flatnonzero(weight > 0)
        order = taken[np.argsort(codes[taken], kind="stable")].astype(np.int32)
        counts = np.bincount(codes[taken], minlength=len(classes))
        price = self._prices(weight[order], self.class_weight_[codes[order]])
        return self._problems(order, counts, price), weight

    def _problems(self, order: NDArray[np.int32], counts: NDArray[np.intp], price: Array) -> Any:
        """The problems of the examples `order`, class by class; `counts` of each class."""
        factor = self.class_weight_

        def formulation(
            y: Array, price: Array, numbers: range, starts: NDArray[np.int64]
        ) -> Formulation:
            first, second = (c[numbers.start : numbers.stop] for c in pairs.classes)
            return self._pair_problems(y, price, factor[first] != factor[second], starts)

        pairs = one_vs_one.Pairs(
            self.classes_.tolist(), order, np.append(0, np.cumsum(counts)), price, formulation
        )
        self._check_pairs(pairs)
        check_classes_present(self.classes_, counts > 0)
        return pairs

    def _keep_result(self, X: Any, result: FitResult) -> None:
        pairs: Any = result.problems
        if not isinstance(pairs, one_vs_one.Pairs):
            self._keep(X, result, *pairs.layout(result.answers))
            self.intercept_ = pairs.intercept(result.intercept)
            self.n_iter_ = result.iterations.astype(np.int32)
            return
        support, n_support, dual_coef = pairs.layout((a.numbers, a.coef) for a in result.answers)
        # With two classes, a positive value means the second.
        sign = -1.0 if len(self.classes_) == 2 else 1.0
        self._keep(X, result, support, n_support, dual_coef, sign)
        self.n_iter_ = result.iterations.astype(np.int32)

    def _linear_coef(self, vectors: Any) -> Any:
        if len(self.dual_coef_.shape) == 2 and self.dual_coef_.shape[0] != len(self.classes_) - 1:
            return super()._linear_coef(vectors)  # a row per class
        if len(self.classes_) == 2:
            return super()._linear_coef(vectors)
        rows = one_vs_one.pair_coef(self.dual_coef_, self._n_support, vectors)
        return sp.vstack(rows, format="csr") if self._sparse else np.vstack(rows)

    def _checked(self) -> KernelExpansion:
        expansion = self._expansion()
        if len(self.classes_) != max(expansion.classes, 2):
            raise ValueError(
                f"The internal representation of {type(self).__name__} was altered: classes_ does"
                " not match dual_coef_. Fit it again."
            )
        return expansion

    def decision_function(self, X: Any) -> Array:
        """Decision values of the samples in X.

        Returns
        -------
        values : ndarray of shape (n_samples,) for two classes, else (n_samples, n_classes), or
            (n_samples, n_classes * (n_classes - 1) / 2) for ``decision_function_shape="ovo"``;
            the scores of the classes, unless ``multi_class="ovo"``
        """
        X, expansion = self._validate_points(X), self._checked()
        if self.decision_function_shape == "ovr" and expansion.classes:
            return expansion.class_values(X, threads(self.n_jobs))
        return expansion.values(X, threads(self.n_jobs))

    def predict(self, X: Any) -> NDArray[Any]:
        """Class labels of the samples in X."""
        check_is_fitted(self)
        if self.break_ties and self.decision_function_shape == "ovo":
            raise ValueError("break_ties must be False when decision_function_shape is 'ovo'")
        X, expansion = self._validate_points(X), self._checked()
        winners = expansion.winners(X, threads(self.n_jobs), self.break_ties)
        predicted: NDArray[Any] = self.classes_[winners]
        return predicted

    def _pair_values(self, X: Any) -> Array:
        """A column for each pair of classes, positive for the first class of the pair."""
        values = self._checked().values(self._validate_points(X), threads(self.n_jobs))
        return values if values.ndim == 2 else -values[:, None]

    def _probabilities(self, X: Any) -> Array:
        X, expansion = self._validate_points(X), self._checked()
        self._check_calibrated("_curve" if expansion.scored else "probA_")
        return expansion_probabilities(
            expansion, X, threads(self.n_jobs), vars(self), self.break_ties
        )


class SVC(Classifier):
    """C-support vector classification.

    Minimises ``1/2 w'w + C * sum of hinge losses`` exactly.  With more than two classes, it solves
    one problem per pair of classes (one-vs-one), one per class, or one for all classes at once (see
    `multi_class`).

    Parameters
    ----------
    C : float, default=1.0
        Weight of the hinge losses against ``1/2 w'w``.  A larger C fits the training data more
        closely.
    kernel : {"linear", "poly", "rbf", "sigmoid", "precomputed"} or callable, default="rbf"
        A callable takes two sets of examples, A and B, and returns the matrix of their kernel
        values.  It is called only for the rows that the solver needs.
    degree : int, default=3
        Degree of the polynomial kernel.
    gamma : {"scale", "auto"} or float, default="scale"
        Coefficient of the rbf, poly and sigmoid kernels: ``1 / (n_features * X.var())`` for
        "scale" (with rows weighted by ``sample_weight``), ``1 / n_features`` for "auto".
    coef0 : float, default=0.0
        Constant of the poly and sigmoid kernels.
    shrinking : bool, default=True
        Leave out variables that are probably at their final bound.  All are checked before the fit
        ends.
    probability : bool or "platt", default=False
        Whether to calibrate class probabilities on decision values out of fold (see ``cv``), for
        `predict_proba` and `predict_log_proba`.  True: the predicted class has the largest
        probability.  "platt": LIBSVM's own, which sometimes contradict the prediction.
    tol : float, default=1e-3
        The fit stops when the KKT violation is at most ``tol``.
    cache_size : float or "auto", default="auto"
        Megabytes of memory for cached kernel rows; the cache always holds at least six rows.
        "auto" is up to a quarter of free memory, allocated as needed.  If memory runs out earlier,
        fewer rows are cached.
    class_weight : dict, "balanced" or None, default=None
        Factor on C for each class.
    verbose : bool or int, default=False
        1: a live progress line on standard error.  2: progress messages through ``logging``.
    max_iter : int, default=-1
        Limit on the solver's iterations in each problem (by default there is one per pair of
        classes); -1 for no limit.
    decision_function_shape : {"ovr", "ovo"}, default="ovr"
        Whether decision values have one column per class ("ovr") or one per pair of classes
        ("ovo").
    break_ties : bool, default=False
        With "ovr" and more than two classes, break voting ties by the decision values.
    random_state : int, RandomState instance or None, default=None
        Determines which examples share a fold of ``probability``; with None the folds are the same
        each time.  The solver itself is deterministic.
    working_set : {"auto", "most-violating-pair", "second-order", "maximum-gain", \
            "hybrid-maximum-gain", "block"} or an object of softmargin.working_sets, default="auto"
        The rule that chooses the variables for each step.  ``solution_`` tells what "auto" chose.
    precision : {"auto", "float32", "float64"}, default="auto"
        Type of the kernel rows; the solution itself is float64.  "auto" is float64 for small
        problems and float32 for large ones, and continues in float64 where float32 cannot reach
        ``tol``.  Where float64 inner products cannot reach it either, the rbf kernel computes
        distances as sums of squared differences.
    n_jobs : int or None, default=None
        Number of threads. None respects OMP_NUM_THREADS and threadpoolctl; -1 uses all processors.
    gap_tol : float or None, default=1e-3
        The fit also has to reach a relative duality gap of at most ``gap_tol`` in each problem.  If
        C is large, the solver needs a smaller violation than ``tol`` for that.  With None, only
        ``tol`` counts.
    time_limit : float or None, default=None
        Seconds after which the fit (all problems together) stops and keeps the model
        reached so far.  The limit includes the time for the certificate, as far as it can be
        estimated.
    on_interrupt : {"raise", "keep"}, default="raise"
        What Ctrl-C does.  "raise": raise KeyboardInterrupt and leave the machine as it was before
        the fit.  "keep": stop the fit and keep the model reached so far.
    callbacks : list of callables or None, default=None
        Each is called with a :class:`softmargin.watching.Status` about 20 times a second.  It stops
        the fit by returning True (or a StopReason), or by calling ``status.stop()``.  When
        several problems are solved in parallel, it is called from their threads, one call at a
        time.
    warm_start : bool, default=False
        Start from the solution of the last fit, if that fit had ``warm_start=True`` or was stopped
        early.  Examples are matched by their position in X (and by class); data and parameters may
        have changed.
    checkpoint : str, path, softmargin.checkpoint.Checkpoint or None, default=None
        A file to which the state of the fit is saved every minute.  After a crash, ``fit`` with the
        same data and parameters resumes from it.  It is removed when the fit is complete.
    cv : int, splitter, iterable of splits or None, default=None
        The folds of ``probability``.  A number (None means 5) gives stratified folds.  Also
        accepted: a splitter of scikit-learn, or the splits themselves, for instance
        ``list(GroupKFold(5).split(X, y, groups))``.
    multi_class : {"ovo", "ovr", "weston_watkins", "crammer_singer"}, default="ovo"
        What to do with more than two classes.  "ovo": a machine for each pair, and a vote.  The
        others have a score for each class, of which the largest decides.  "ovr": a machine for each
        class, against all others.  "weston_watkins" and "crammer_singer": one problem for all
        classes; the loss of an example of class y is the sum, or the maximum, of
        ``max(0, 1 - s_y + s_c)`` over the other classes c.  These two have no intercept and need a
        finite C.  (A linear kernel with a regularised intercept is
        ``kernel="poly", degree=1, gamma=1, coef0=1``.)  With two classes they are equivalent to the
        binary machine without an intercept and with twice the C.  Their working sets consist of
        examples, not of pairs of variables: `working_set` is "auto", "block",
        "most-violating-example" or "maximum-gain-example".  Only "ovo" has
        ``probability="platt"`` and ``decision_function_shape="ovo"``.

    Attributes
    ----------
    solution_ : Solution
        The certificate: objectives, duality gap, KKT violation, iterations, stop reason, ...
    history_ : structured ndarray
        How the fit progressed, in at most 1000 rows: seconds, problem (pair of classes),
        iterations, violation, objective, gap (where known, else NaN), active; dual and primal
        of all problems together.
    support_, support_vectors_, n_support_ : indices, examples and number per class of the support
        vectors, grouped by class.
    dual_coef_ : of shape (n_classes - 1, n_SV)
        Coefficients of the support vectors; :mod:`softmargin.estimator.one_vs_one` describes their
        layout for more than two classes.  Unless ``multi_class="ovo"``, its shape is
        (n_classes, n_SV): the coefficients of the score of each class.
    intercept_ : ndarray of shape (n_classes * (n_classes - 1) / 2,)
        The intercept for each pair of classes.  Unless ``multi_class="ovo"``, one for each class
        (or a single one with two classes); zeros for machines of all classes at once.
    coef_ : of shape (n_classes * (n_classes - 1) / 2, n_features), with ``kernel="linear"``
        A row for each entry of `intercept_`.
    probA_, probB_ : ndarrays of shape (n_classes * (n_classes - 1) / 2,)
        Platt's sigmoid of each pair of classes; empty for ``probability=False``.
    classes_, class_weight_, n_iter_, fit_status_, shape_fit_, n_features_in_, feature_names_in_

    Examples
    --------
    >>> from softmargin import SVC
    >>> machine = SVC(kernel="linear").fit([[-1, -1], [-2, -1], [1, 1], [2, 1]], [1, 1, 2, 2])
    >>> machine.predict([[-0.8, -1]])
    array([1])
    >>> machine.solution_.converged
    True
    """

    _parameter_constraints: dict[str, list[Any]] = {  # noqa: RUF012
        **Classifier._parameter_constraints,
        "C": [Interval(Real, 0.0, None, closed="right")],
        "multi_class": [StrOptions({"ovo", "ovr", *MACHINES})],
        "working_set": [StrOptions({"auto", *BY_NAME, *BY_EXAMPLE}), WorkingSet],
    }

    def __init__(
        self,
        *,
        C: float = 1.0,
        kernel: str | Callable[[Any, Any], Any] = "rbf",
        degree: int = 3,
        gamma: str | float = "scale",
        coef0: float = 0.0,
        shrinking: bool = True,
        probability: bool | str = False,
        tol: float = 1e-3,
        cache_size: float | str = "auto",
        class_weight: dict[Any, float] | str | None = None,
        verbose: bool | int = False,
        max_iter: int = -1,
        decision_function_shape: str = "ovr",
        break_ties: bool = False,
        random_state: Any = None,
        working_set: str | WorkingSet = "auto",
        precision: str = "auto",
        n_jobs: int | None = None,
        gap_tol: float | None = 1e-3,
        time_limit: float | None = None,
        on_interrupt: str = "raise",
        callbacks: Sequence[Callable[[Status], Any]] | None = None,
        warm_start: bool = False,
        checkpoint: str | PathLike[str] | Checkpoint | None = None,
        cv: Any = None,
        multi_class: str = "ovo",
    ) -> None:
        self.C = C
        self.kernel = kernel
        self.degree = degree
        self.gamma = gamma
        self.coef0 = coef0
        self.shrinking = shrinking
        self.probability = probability
        self.tol = tol
        self.cache_size = cache_size
        self.class_weight = class_weight
        self.verbose = verbose
        self.max_iter = max_iter
        self.decision_function_shape = decision_function_shape
        self.break_ties = break_ties
        self.random_state = random_state
        self.working_set = working_set
        self.precision = precision
        self.n_jobs = n_jobs
        self.gap_tol = gap_tol
        self.time_limit = time_limit
        self.on_interrupt = on_interrupt
        self.callbacks = callbacks
        self.warm_start = warm_start
        self.checkpoint = checkpoint
        self.cv = cv
        self.multi_class = multi_class

    def _problems(self, order: NDArray[np.int32], counts: NDArray[np.intp], price: Array) -> Any:
        self._check_multi_class()
        pairs = self.multi_class == "ovo" or (self.multi_class == "ovr" and len(counts) == 2)
        if pairs:
            return super()._problems(order, counts, price)
        check_classes_present(self.classes_, counts > 0)
        given = self.classes_.tolist(), order, np.append(0, np.cumsum(counts)), price
        return (
            OneVsRest(*given) if self.multi_class == "ovr" else AllAtOnce(*given, self.multi_class)
        )

    def _check_multi_class(self) -> None:
        """Rejects parameters that cannot be combined with `multi_class`."""
        machine, rule = self.multi_class, self.working_set
        name = rule.name if isinstance(rule, WorkingSet) else rule
        by_example = machine in MACHINES
        known = {"auto", *(BY_EXAMPLE if by_example else BY_NAME)}
        fault = remedy = None
        if name not in known:
            fault = f"working_set={rule!r}"
            remedy = f"Use one of {', '.join(sorted(known))}."
        elif by_example and np.inf == self.C:
            fault, remedy = "C=inf", "Use a finite C."
        elif machine != "ovo" and self.probability == "platt":
            fault, remedy = "probability='platt'", "Use probability=True, or multi_class='ovo'."
        elif machine != "ovo" and self.decision_function_shape == "ovo":
            fault = "decision_function_shape='ovo'"
            remedy = "Use 'ovr': this machine has a value for each class, not for each pair."
        if fault:
            raise ValueError(f"multi_class={machine!r} cannot be combined with {fault}. {remedy}")

    def _plan(self, size: int, kernel: Kernel) -> planning.Plan:
        if self.multi_class not in MACHINES:
            return super()._plan(size, kernel)
        classes = len(self.classes_)
        return planning.plan_all_classes(self.working_set, self.precision, size, classes, kernel)

    def _prices(self, weight: Array, class_factor: Array) -> Array:
        return prices(self.C, weight, class_factor)

    def _pair_problems(
        self, y: Array, price: Array, clipped: NDArray[np.bool_], starts: NDArray[np.int64]
    ) -> Formulation:
        return CSupportVectorClassification(y, price, starts)


class NuSVC(Classifier):
    """nu-support vector classification: the parameter nu replaces C.

    ``nu`` is an upper bound on the fraction of margin errors and a lower bound on the fraction of
    support vectors.  All other parameters, attributes and methods are those of :class:`SVC`.

    Parameters
    ----------
    nu : float, default=0.5
        In (0, 1].  Unbalanced classes can make nu infeasible; the error message then gives the
        largest feasible value.
    class_weight : dict, "balanced" or None, default=None
        Factor on the weight of each example of a class.  Where class weights make nu infeasible for
        a pair of classes, the largest feasible nu is used instead.

    See Also
    --------
    SVC : the other parameters and the attributes.
    """

    _parameter_constraints: dict[str, list[Any]] = {  # noqa: RUF012
        **Classifier._parameter_constraints,
        "nu": [Interval(Real, 0.0, 1.0, closed="right")],
    }

    def __init__(
        self,
        *,
        nu: float = 0.5,
        kernel: str | Callable[[Any, Any], Any] = "rbf",
        degree: int = 3,
        gamma: str | float = "scale",
        coef0: float = 0.0,
        shrinking: bool = True,
        probability: bool | str = False,
        tol: float = 1e-3,
        cache_size: float | str = "auto",
        class_weight: dict[Any, float] | str | None = None,
        verbose: bool | int = False,
        max_iter: int = -1,
        decision_function_shape: str = "ovr",
        break_ties: bool = False,
        random_state: Any = None,
        working_set: str | WorkingSet = "auto",
        precision: str = "auto",
        n_jobs: int | None = None,
        gap_tol: float | None = 1e-3,
        time_limit: float | None = None,
        on_interrupt: str = "raise",
        callbacks: Sequence[Callable[[Status], Any]] | None = None,
        warm_start: bool = False,
        checkpoint: str | PathLike[str] | Checkpoint | None = None,
        cv: Any = None,
    ) -> None:
        self.nu = nu
        self.kernel = kernel
        self.degree = degree
        self.gamma = gamma
        self.coef0 = coef0
        self.shrinking = shrinking
        self.probability = probability
        self.tol = tol
        self.cache_size = cache_size
        self.class_weight = class_weight
        self.verbose = verbose
        self.max_iter = max_iter
        self.decision_function_shape = decision_function_shape
        self.break_ties = break_ties
        self.random_state = random_state
        self.working_set = working_set
        self.precision = precision
        self.n_jobs = n_jobs
        self.gap_tol = gap_tol
        self.time_limit = time_limit
        self.on_interrupt = on_interrupt
        self.callbacks = callbacks
        self.warm_start = warm_start
        self.checkpoint = checkpoint
        self.cv = cv

    def _prices(self, weight: Array, class_factor: Array) -> Array:
        return weight * class_factor

    def _pair_problems(
        self, y: Array, price: Array, clipped: NDArray[np.bool_], starts: NDArray[np.int64]
    ) -> Formulation:
        return NuSupportVectorClassification(y, price, self.nu, clipped, starts)

    def _check_pairs(self, pairs: one_vs_one.Pairs) -> None:
        i, j = pairs.classes
        of_class = np.array([p.sum() for p in np.split(pairs.price, pairs.class_starts[1:-1])])
        same = self.class_weight_[i] == self.class_weight_[j]
        smaller = np.minimum(of_class[i], of_class[j])
        total = nu_totals(self.nu, of_class[i], of_class[j])
        counts = (smaller > 0) | (np.count_nonzero(of_class) == 1)
        infeasible = np.flatnonzero(same & counts & (total > smaller * (1 + 1e-12)))
        if len(infeasible):
            worst = infeasible[0]
            first, second = pairs.name(worst)
            largest = 2 * smaller[worst] / (of_class[i[worst]] + of_class[j[worst]])
            raise ValueError(
                f"specified nu is infeasible: nu={self.nu} for the classes {first!r} and"
                f" {second!r}; at most {largest:.6g} is feasible for these two classes. Decrease nu"
                " or balance the classes (class_weight)."
            )
