"""Support vector classification: C-SVC and nu-SVC, one-vs-one for more than two classes."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Sequence
from os import PathLike
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.base import ClassifierMixin, _fit_context
from sklearn.utils import assert_all_finite, column_or_1d
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted

from softmargin import multiclass
from softmargin.checkpoint import Checkpoint
from softmargin.formulations import (
    CSupportVectorClassification,
    Formulation,
    NuSupportVectorClassification,
)
from softmargin.machine import Array, Indices, KernelMachine
from softmargin.validation import (
    check_classes_present,
    class_weights,
    prices,
    sample_weights,
    unchanged_on_error,
)
from softmargin.watching import Status
from softmargin.working_sets import WorkingSet


class Classifier(ClassifierMixin, KernelMachine):  # type: ignore[misc]
    """Base of SVC and NuSVC."""

    class_weight: dict[Any, float] | str | None
    decision_function_shape: str
    break_ties: bool

    @abstractmethod
    def _pair_problem(self, y: Array, weight: Array, class_factor: Array) -> Formulation:
        """The problem of two classes, y in {+1, -1}; each example with its own weight and the
        weight of its class."""

    def _check_problems(
        self, problems: dict[tuple[int, int], tuple[Indices, Any]], names: list[Any]
    ) -> None:
        """Refuses infeasible problems before any kernel work."""

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Classifier:
        """Fit the machine to examples X and their classes y.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features) or (n_samples, n_samples)
            The examples; the kernel matrix for ``kernel="precomputed"``.  float32 and float64,
            dense or CSR, are used as they are.
        y : array-like of shape (n_samples,)
            Class labels.
        sample_weight : array-like of shape (n_samples,), default=None
            A weight of w counts as w repetitions of the example, zero as its absence.

        Returns
        -------
        self : object
        """
        with unchanged_on_error(self):
            X, y = self._validate_examples(X, y, numeric_target=False)
            labels = column_or_1d(y, warn=True)
            if labels.dtype.kind == "f":
                assert_all_finite(labels, input_name="y")
            check_classification_targets(labels)
            classes, codes = np.unique(labels, return_inverse=True)
            if len(classes) < 2:
                raise ValueError(
                    f"The number of classes has to be greater than one; got {len(classes)} class"
                )
            weight = sample_weights(sample_weight, len(labels))
            self.class_weight_ = class_weights(self.class_weight, classes, labels)
            self.classes_ = classes
            self._fit_pairs(X, codes, weight)
            self._warn_unless_converged()
        return self

    def _fit_pairs(self, X: Any, codes: NDArray[np.intp], sample_weight: Array) -> None:
        k = len(self.classes_)
        weight, factor = sample_weight, self.class_weight_[codes]
        members = [np.flatnonzero((codes == c) & (weight > 0)).astype(np.int32) for c in range(k)]
        problems = {}
        for i, j in multiclass.pairs(k):
            ids = np.concatenate([members[i], members[j]])
            y = np.where(codes[ids] == i, 1.0, -1.0)
            problems[i, j] = (ids, self._pair_problem(y, weight[ids], factor[ids]))
        present = [len(member) > 0 for member in members]
        if sum(present) > 1:
            check_classes_present(self.classes_, present)
        self._check_problems(problems, self.classes_.tolist())
        check_classes_present(self.classes_, present)
        labels = self.classes_.tolist()
        names = [(labels[i], labels[j]) for i, j in problems]
        models = self._solve(X, sample_weight, list(problems.values()), names)
        coefficients = {pair: model.coef for pair, model in zip(problems, models, strict=True)}
        support, n_support, dual_coef = multiclass.layout(members, coefficients)
        sign = -1.0 if k == 2 else 1.0  # with two classes, positive values mean the second
        self._keep(X, support, n_support, sign * dual_coef)
        self.intercept_ = sign * np.array([model.intercept for model in models])
        self.n_iter_ = self._n_iter.astype(np.int32)

    def _linear_coef(self, vectors: Any) -> Any:
        if len(self.classes_) == 2:
            return super()._linear_coef(vectors)
        rows = multiclass.pair_coef(self.dual_coef_, self._n_support, vectors)
        return sp.vstack(rows, format="csr") if self._sparse else np.vstack(rows)

    def _pair_values(self, X: Any) -> Array:
        """(n_samples,) for two classes, where positive means the second; else one column per
        pair, where positive means the first of the pair."""
        sums = self._expand(X)
        if len(self.classes_) != max(sums.shape[2] + 1, 2):
            raise ValueError(
                f"The internal representation of {type(self).__name__} was altered: classes_ does"
                " not fit to dual_coef_. Fit it again."
            )
        if sums.shape[1] == 1:
            values: Array = sums[:, 0, 0] + self.intercept_[0]
            return values
        return multiclass.pair_values(sums, self.intercept_)

    def decision_function(self, X: Any) -> Array:
        """Decision values of the samples in X.

        Returns
        -------
        values : ndarray of shape (n_samples,) for two classes, else (n_samples, n_classes), or
            (n_samples, n_classes * (n_classes - 1) / 2) for ``decision_function_shape="ovo"``
        """
        values = self._pair_values(X)
        if self.decision_function_shape == "ovr" and len(self.classes_) > 2:
            return multiclass.class_values(values, len(self.classes_))
        return values

    def predict(self, X: Any) -> NDArray[Any]:
        """Class labels of the samples in X."""
        if self.break_ties and self.decision_function_shape == "ovo":
            check_is_fitted(self)
            raise ValueError("break_ties must be False when decision_function_shape is 'ovo'")
        values = self._pair_values(X)
        if len(self.classes_) == 2:
            code = (values >= 0).astype(np.intp)
        elif self.break_ties:
            code = multiclass.class_values(values, len(self.classes_)).argmax(axis=1)
        else:
            code = multiclass.vote(values, len(self.classes_))
        predicted: NDArray[Any] = self.classes_[code]
        return predicted


class SVC(Classifier):
    """C-support vector classification.

    Minimises ``1/2 w'w + C * sum of hinge losses`` exactly; more than two classes one-vs-one.

    Parameters
    ----------
    C : float, default=1.0
        Price of a unit of hinge loss. Larger fits the training data more closely.
    kernel : {"linear", "poly", "rbf", "sigmoid", "precomputed"} or callable, default="rbf"
        A callable gets two sets of examples A and B and returns the matrix of kernel values; it
        is asked only for the rows that the solver needs.
    degree : int, default=3
        Degree of the polynomial kernel.
    gamma : {"scale", "auto"} or float, default="scale"
        Coefficient of the rbf, poly and sigmoid kernels: ``1 / (n_features * X.var())`` for
        "scale" (rows counted by their sample weight), ``1 / n_features`` for "auto".
    coef0 : float, default=0.0
        Constant of the poly and sigmoid kernels.
    shrinking : bool, default=True
        Take variables that seem settled out of the problem (and check them at the end).
    tol : float, default=1e-3
        How much the optimality conditions may be violated at the end.
    cache_size : float or "auto", default="auto"
        Megabytes for kernel rows; "auto" is up to a quarter of free memory, taken as needed.
    class_weight : dict, "balanced" or None, default=None
        Factor on C for each class.
    verbose : bool or int, default=False
        1: a live line of progress on standard error.  2: lines through ``logging``.
    max_iter : int, default=-1
        Limit on the solver's iterations (per pair of classes), -1 for none.
    decision_function_shape : {"ovr", "ovo"}, default="ovr"
        One column per class, or one per pair of classes.
    break_ties : bool, default=False
        With "ovr" and more than two classes, break ties of votes by the decision values.
    random_state : int, RandomState instance or None, default=None
        Not needed: the solver is deterministic. Here so that code written for scikit-learn runs.
    working_set : {"auto", "most-violating-pair", "second-order", "maximum-gain", \
            "hybrid-maximum-gain", "block"} or an object of softmargin.working_sets, default="auto"
        The variables that the solver works on at a time. ``solution_`` says what "auto" chose.
    precision : {"auto", "float32", "float64"}, default="auto"
        Type of the kernel rows; the solution itself is float64. "auto" is float64 for small
        problems, float32 for large ones, and goes on in float64 where float32 cannot reach tol.
    n_jobs : int or None, default=None
        Number of threads. None obeys OMP_NUM_THREADS and threadpoolctl, -1 takes all processors.
    time_limit : float or None, default=None
        Seconds after which the fit, with all its pairs of classes, stops with the model as it is.
    on_interrupt : {"raise", "keep"}, default="raise"
        What Ctrl-C does: raise KeyboardInterrupt and leave the machine as it was, or stop the fit
        with the model as it is.
    callbacks : list of callables or None, default=None
        Each gets a :class:`softmargin.watching.Status` some 20 times a second; it stops the fit by
        returning True (or a StopReason), or by ``status.stop()``.  Pairs of classes that are solved
        side by side call it from their threads, one at a time.
    warm_start : bool, default=False
        Start from the last fit's solution, matched by the position of the rows in X (and by class),
        whatever has changed since.
    checkpoint : str, path, softmargin.checkpoint.Checkpoint or None, default=None
        A file that holds the state of the fit, written every minute, from which a fit of the same
        data with the same parameters goes on.  It is removed when the fit has reached its end.

    Attributes
    ----------
    solution_ : Solution
        The certificate: objectives, duality gap, KKT violation, iterations, stop reason, ...
    history_ : structured ndarray
        The course of the fit in at most 1000 rows: seconds, problem (pair of classes), iterations,
        violation, objective, gap (where known, else NaN), active.
    support_, support_vectors_, n_support_ : indices, examples and number per class of the support
        vectors, class by class.
    dual_coef_ : of shape (n_classes - 1, n_SV)
        Coefficients of the support vectors; their layout for more than two classes is in
        :mod:`softmargin.multiclass`.
    intercept_ : ndarray of shape (n_classes * (n_classes - 1) / 2,)
    coef_ : of shape (n_classes * (n_classes - 1) / 2, n_features), with ``kernel="linear"``
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

    _parameter_constraints = {  # noqa: RUF012
        name: rule
        for name, rule in KernelMachine._parameter_constraints.items()
        if name not in ("nu", "epsilon")
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
        time_limit: float | None = None,
        on_interrupt: str = "raise",
        callbacks: Sequence[Callable[[Status], Any]] | None = None,
        warm_start: bool = False,
        checkpoint: str | PathLike[str] | Checkpoint | None = None,
    ) -> None:
        self.C = C
        self.kernel = kernel
        self.degree = degree
        self.gamma = gamma
        self.coef0 = coef0
        self.shrinking = shrinking
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
        self.time_limit = time_limit
        self.on_interrupt = on_interrupt
        self.callbacks = callbacks
        self.warm_start = warm_start
        self.checkpoint = checkpoint

    def _pair_problem(self, y: Array, weight: Array, class_factor: Array) -> Formulation:
        return CSupportVectorClassification(y, prices(self.C, weight, class_factor))


class NuSVC(Classifier):
    """nu-support vector classification: nu instead of C.

    ``nu`` is an upper bound on the fraction of margin errors and a lower bound on the fraction of
    support vectors.  Parameters, attributes and methods are those of :class:`SVC` otherwise.

    Parameters
    ----------
    nu : float, default=0.5
        In (0, 1]; infeasible values (for unbalanced classes) are refused with the largest
        feasible one.
    class_weight : dict, "balanced" or None, default=None
        Factor on the weight of each example of a class. Where it makes nu infeasible for two
        classes, the largest feasible nu is taken.

    See Also
    --------
    SVC : the other parameters and the attributes.
    """

    _parameter_constraints = {  # noqa: RUF012
        name: rule
        for name, rule in KernelMachine._parameter_constraints.items()
        if name not in ("C", "epsilon")
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
        time_limit: float | None = None,
        on_interrupt: str = "raise",
        callbacks: Sequence[Callable[[Status], Any]] | None = None,
        warm_start: bool = False,
        checkpoint: str | PathLike[str] | Checkpoint | None = None,
    ) -> None:
        self.nu = nu
        self.kernel = kernel
        self.degree = degree
        self.gamma = gamma
        self.coef0 = coef0
        self.shrinking = shrinking
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
        self.time_limit = time_limit
        self.on_interrupt = on_interrupt
        self.callbacks = callbacks
        self.warm_start = warm_start
        self.checkpoint = checkpoint

    def _pair_problem(self, y: Array, weight: Array, class_factor: Array) -> Formulation:
        return NuSupportVectorClassification(
            y, weight * class_factor, self.nu, nu_is_clipped=bool(np.ptp(class_factor) > 0)
        )

    def _check_problems(
        self, problems: dict[tuple[int, int], tuple[Indices, Any]], names: list[Any]
    ) -> None:
        for (i, j), (_, problem) in problems.items():
            reason = problem.infeasibility()
            if reason:
                raise ValueError(
                    f"specified nu is infeasible: nu={self.nu} for the classes {names[i]!r} and"
                    f" {names[j]!r}; {reason}. Decrease nu or balance the classes (class_weight)."
                )
