"""Linear machines: classification (one-vs-rest, Weston-Watkins, Crammer-Singer) and regression."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from numbers import Real
from os import PathLike
from typing import Any

import numpy as np
from numpy.typing import NDArray

from softmargin.checkpoint import Checkpoint
from softmargin.estimator.conventions import (
    Interval,
    LinearClassifierMixin,
    RegressorMixin,
    StrOptions,
    assert_all_finite,
    check_array,
    check_consistent_length,
    check_is_fitted,
    column_or_1d,
    fit_context,
    validate_data,
)
from softmargin.estimator.linear_machine import Codes, LinearMachine
from softmargin.estimator.linear_probability import LinearProbability
from softmargin.estimator.validation import (
    check_any_weight,
    check_classes_present,
    class_weights,
    classes_of,
    prices,
    sample_weights,
    unchanged_on_error,
)
from softmargin.fitting.linear_problem import COUPLED, SEPARATE, Problem
from softmargin.io.data.block_folder import Blocks
from softmargin.watching import Status


class LinearSVC(LinearProbability, LinearClassifierMixin, LinearMachine):  # type: ignore[misc]
    """Linear support vector classification, with the parameters and defaults of scikit-learn.

    Minimises ``1/2 ||W||^2 + C * sum of losses`` over one weight vector per class.  By default, the
    loss of an example is the sum over the classes of ``max(0, 1 - margin)^2``, each class against
    the rest.  The other machines of `multi_class` treat all classes at once: for an example of
    class y with scores s, the loss is the sum (Weston-Watkins) or the maximum (Crammer-Singer) of
    ``max(0, 1 - s_y + s_c)`` over the other classes c.  The fit stops on a relative duality gap,
    measured on all examples.

    Parameters
    ----------
    penalty : {"l2", "l1"}, default="l2"
        "l1": ``||W||_1`` takes the place of ``1/2 ||W||^2``, so that most weights are zero.  It
        needs the squared hinge loss.
    loss : {"squared_hinge", "hinge"}, default="squared_hinge"
        The loss of ``multi_class="ovr"``: of margin m, ``max(0, 1 - m)`` or its square.  The other
        machines have the hinge loss whatever `penalty`, `loss` and `dual` say, as in scikit-learn.
    dual : "auto" or bool, default="auto"
        Whether the squared hinge loss is minimised in the dual problem (by coordinate descent) or
        in the primal.  Both lead to the same optimum; "auto" chooses the faster one.  The hinge
        loss needs the dual problem.
    tol : float, default=1e-4
        The fit stops when the relative duality gap, (primal - dual) / primal, is at most ``tol``.
    gap_tol : float or None, default=None
        In the kernel machines, ``tol`` limits the KKT violation and ``gap_tol`` the relative
        duality gap.  Here both limit the gap, and the smaller one counts; None: only ``tol``.
    C : float, default=1.0
        Weight of the losses against ``1/2 ||W||^2``; positive and finite.
    multi_class : {"ovr", "weston_watkins", "crammer_singer"}, default="ovr"
        What to do with more than two classes.  With two, the last two are the same machine, and
        equal to "ovr" with the hinge loss and twice the C.
    fit_intercept : bool, default=True
        Add a constant feature; its weights are regularised like the others.  Without it, the fit
        solves the problem above exactly as stated.
    intercept_scaling : float, default=1
        Value of the constant feature.  Larger values regularise the intercept less.
    class_weight : dict, "balanced" or None, default=None
        Factor on C for each class.  "balanced" gives all classes the same total weight.  As in
        scikit-learn, with "ovr" and more than two classes the factor of a class applies in the
        problem of that class against the rest, not in those where the class is part of the rest.
    verbose : bool or int, default=0
        1: a live progress line on standard error.  2: progress messages through ``logging``.
    random_state : int, RandomState instance or None, default=None
        Determines the order of the examples in each pass.  With an int, the same data give the same
        result.
    max_iter : int, default=1000
        Limit on the passes over the data.
    penalize_intercept : bool, default=True
        False: the intercept is not regularised, as in `SVC`.  It needs Newton's method, so fewer
        than 1,024 features, and the penalty "l2" with "ovr".
    shrinking : bool, default=True
        Skip examples, and classes of an example, whose dual variables are probably final.  All are
        checked before the fit ends.  Blocks (`n_blocks`) visit all examples in any case.
    precision : {"auto", "float64", "float32"}, default="auto"
        Precision of the weights during the descent.  "float32" is used only for the first passes
        (down to a relative gap of 1e-4), with half the memory traffic; the remaining passes, the
        result and its certificate are always in float64.  "auto" is "float32" if the weights take
        more than 1 MiB.
    warm_start : bool, default=False
        Continue from the last fit, if it had ``warm_start=True`` or was stopped early.  Its dual
        variables are scaled to the new C.  Examples are matched by position, so rows can be
        appended, and classes by label.
    n_jobs : int or None, default=None
        Number of threads; -1 uses all processors.  The threads divide the classes of "ovr", or the
        blocks of `n_blocks`, among them; other fits use one thread.  The result depends on the seed
        and, within `tol`, on how many classes are solved together.
    n_blocks : int or None, default=None
        Descend on this many blocks of examples at once, each from the same weights; their changes
        are added, with an exact line search.  The same blocks and seed give the same bits on any
        number of threads.  Blocks take more passes than a single descent.  They need
        ``penalty="l2"``.
    time_limit : float or None, default=None
        Seconds after which the fit stops and keeps the model reached so far.  The limit includes
        the time for the certificate, which is about that of a pass over the data with all classes;
        a shorter limit is exceeded.
    on_interrupt : {"raise", "keep"}, default="raise"
        What Ctrl-C does.  "raise": raise KeyboardInterrupt and leave the machine as it was before
        the fit.  "keep": stop the fit and keep the model reached so far.
    callbacks : list of callables or None, default=None
        Each is called with a :class:`softmargin.watching.Status` about 20 times a second.  It stops
        the fit by returning True (or a StopReason), or by calling ``status.stop()``.  With
        `n_jobs`, it is called from the threads, one call at a time.
    checkpoint : str, path, softmargin.checkpoint.Checkpoint or None, default=None
        A file to which the state of the fit is saved every minute.  After a crash, ``fit`` with the
        same data and parameters resumes from it.  It is removed when the fit is complete.
    probability : bool, default=False
        Whether to calibrate class probabilities on decision values out of fold (see ``cv``), for
        `predict_proba` and `predict_log_proba`.  The predicted class has the largest probability.
    cv : int, splitter, iterable of splits or None, default=None
        The folds of ``probability``.  A number (None means 5) gives stratified folds.  Also
        accepted: a splitter of scikit-learn, or the splits themselves, for instance
        ``list(GroupKFold(5).split(X, y, groups))``.

    Attributes
    ----------
    coef_ : ndarray of shape (n_classes, n_features), (1, n_features) for two classes
    intercept_ : ndarray of shape (n_classes,), (1,) for two classes
        Zeros if ``fit_intercept=False``.
    solution_ : Solution
        The certificate: objectives, duality gap, largest KKT violation, stop reason.  Its
        ``iterations`` counts passes.
    history_ : structured ndarray
        How the fit progressed, in at most 1000 rows: seconds, problem, iterations, violation (the
        relative gap, estimated during the fit), objective, gap, active, dual, primal.
    n_iter_ : int
        Passes over the data; 0 if a warm start was already optimal.
    classes_, class_weight_, n_features_in_, feature_names_in_

    Examples
    --------
    >>> from softmargin import LinearSVC
    >>> X, y = [[0, 2], [0, 3], [2, 0], [3, 0], [-2, -2], [-3, -2]], [0, 0, 1, 1, 2, 2]
    >>> machine = LinearSVC(random_state=0).fit(X, y)
    >>> machine.predict([[0, 1], [-1, -1]])
    array([0, 2])
    >>> machine.solution_.relative_gap <= 1e-4
    True
    """

    _parameter_constraints: dict[str, list[Any]] = {  # noqa: RUF012
        **LinearMachine._parameter_constraints,
        "penalty": [StrOptions({"l1", "l2"})],
        "loss": [StrOptions({"hinge", "squared_hinge"})],
        "multi_class": [StrOptions({"weston_watkins", "crammer_singer", "ovr"})],
        "class_weight": [StrOptions({"balanced"}), dict, None],
        "probability": ["boolean"],
        "cv": ["cv_object"],
    }

    def __init__(
        self,
        penalty: str = "l2",
        loss: str = "squared_hinge",
        *,
        dual: bool | str = "auto",
        tol: float = 1e-4,
        C: float = 1.0,
        multi_class: str = "ovr",
        fit_intercept: bool = True,
        intercept_scaling: float = 1,
        class_weight: dict[Any, float] | str | None = None,
        verbose: bool | int = 0,
        random_state: Any = None,
        max_iter: int = 1000,
        penalize_intercept: bool = True,
        shrinking: bool = True,
        precision: str = "auto",
        warm_start: bool = False,
        n_jobs: int | None = None,
        n_blocks: int | None = None,
        time_limit: float | None = None,
        on_interrupt: str = "raise",
        callbacks: Sequence[Callable[[Status], Any]] | None = None,
        checkpoint: str | PathLike[str] | Checkpoint | None = None,
        gap_tol: float | None = None,
        probability: bool = False,
        cv: Any = None,
    ) -> None:
        self.penalty = penalty
        self.loss = loss
        self.dual = dual
        self.tol = tol
        self.C = C
        self.multi_class = multi_class
        self.fit_intercept = fit_intercept
        self.intercept_scaling = intercept_scaling
        self.class_weight = class_weight
        self.verbose = verbose
        self.random_state = random_state
        self.max_iter = max_iter
        self.penalize_intercept = penalize_intercept
        self.shrinking = shrinking
        self.precision = precision
        self.warm_start = warm_start
        self.n_jobs = n_jobs
        self.n_blocks = n_blocks
        self.time_limit = time_limit
        self.on_interrupt = on_interrupt
        self.callbacks = callbacks
        self.checkpoint = checkpoint
        self.gap_tol = gap_tol
        self.probability = probability
        self.cv = cv

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> LinearSVC:
        """Fit the machine to examples X and their classes y.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The examples.  float32 and float64, CSR or dense with contiguous rows, are used without
            conversion.  Or a :class:`softmargin.io.BlockFolder` or
            :class:`softmargin.io.ParquetBlocks`, which are read block by block; then y and the
            weights are in it, and are not given here.
        y : array-like of shape (n_samples,)
            Class labels.
        sample_weight : array-like of shape (n_samples,), default=None
            A weight of w is equivalent to repeating the example w times; zero leaves it out.

        Returns
        -------
        self : object
        """
        with unchanged_on_error(self) as began:
            self._check_combination()
            if isinstance(X, Blocks):
                self._train_from_disk(X, y, sample_weight, began)
            else:
                problem, codes = self._problem(X, y, sample_weight)
                self._train(problem, self.classes_, codes, began, keep_start=bool(self.probability))
                weight = sample_weights(sample_weight, len(codes))
                self._calibrate(problem.X, codes, weight, began)
                self._drop_start()
            self._warn_unless_converged()
        return self

    def _check_combination(self) -> None:
        """Refuses what scikit-learn refuses."""
        if self.multi_class != "ovr":
            return
        penalty, loss, dual = self.penalty, self.loss, self.dual
        remedy = None
        if penalty == "l1" and loss == "hinge":
            remedy = "penalty='l1' needs loss='squared_hinge'"
        elif penalty == "l1" and dual is True:
            remedy = "penalty='l1' is minimised in the primal problem: use dual='auto'"
        elif loss == "hinge" and dual is False:
            remedy = "loss='hinge' is minimised in the dual problem: use dual='auto'"
        if remedy:
            raise ValueError(
                f"Unsupported set of arguments: penalty={penalty!r}, loss={loss!r}, dual={dual!r};"
                f" {remedy}."
            )

    def _problem(self, X: Any, y: Any, sample_weight: Any) -> tuple[Problem, Codes]:
        """The problem, and the class number of each example."""
        X, y = self._validate_examples(X, y, numeric_target=False)
        labels, classes, codes = classes_of(y)
        weight = sample_weights(sample_weight, len(labels))
        self._learn(classes, np.bincount(codes, weights=weight).astype(np.float64))
        return self._state(X, labels, weight), codes

    _classifies = True

    def _learn(self, classes: NDArray[Any], counts: NDArray[np.float64]) -> None:
        """Keeps the classes and their weights; `counts` are the weights of their examples."""
        if len(classes) < 2:
            raise ValueError(
                f"The number of classes has to be greater than one; got {len(classes)} class"
            )
        check_classes_present(classes, counts > 0)
        self.class_weight_ = class_weights(self.class_weight, classes, classes, counts)
        self.classes_ = classes

    @property
    def _columns(self) -> int:
        """The columns of W: one is enough for "the second class against the first"."""
        classes = len(self.classes_)
        return 1 if classes == 2 and self.multi_class not in COUPLED else classes

    def _state(self, X: Any, y: NDArray[Any], weight: NDArray[np.float64]) -> Problem:
        """The problem of examples of the known classes."""
        codes = np.searchsorted(self.classes_, y)
        separate = self.multi_class not in COUPLED
        binary = separate and len(self.classes_) == 2
        own = prices(self.C, weight, self.class_weight_[codes])
        rest = separate and not binary and self.class_weight is not None
        return Problem(
            X=X,
            column=(codes - 1 if binary else codes).astype(np.int32),
            upper=prices(self.C, weight) if rest else own,
            columns=self._columns,
            machine=SEPARATE[self.loss] if separate else self.multi_class,
            constant=self._constant,
            free_intercept=self.fit_intercept and not self.penalize_intercept,
            own_upper=own if rest else None,
            penalty=self.penalty if separate else "l2",
        )


class LinearSVR(RegressorMixin, LinearMachine):  # type: ignore[misc]
    """Linear support vector regression, with the parameters and defaults of scikit-learn.

    Minimises ``1/2 ||w||^2 + C * sum of losses``, where an error e = y - w'x costs
    ``max(0, |e| - epsilon)`` or its square.  The fit stops on a relative duality gap, measured on
    all examples.

    Parameters
    ----------
    epsilon : float, default=0.0
        Errors up to epsilon cost nothing.
    tol : float, default=1e-4
        The fit stops when the relative duality gap, (primal - dual) / primal, is at most ``tol``.
    C : float, default=1.0
        Weight of the losses against ``1/2 ||w||^2``; positive and finite.
    loss : {"epsilon_insensitive", "squared_epsilon_insensitive"}, default="epsilon_insensitive"
    fit_intercept : bool, default=True
        Add a constant feature; its weight is regularised like the others.
    intercept_scaling : float, default=1.0
        Value of the constant feature.  Larger values regularise the intercept less.
    dual : "auto" or bool, default="auto"
        Whether the squared loss is minimised in the dual problem (by coordinate descent) or in the
        primal.  Both lead to the same optimum; "auto" takes what is faster.  The other loss needs
        the dual problem.
    verbose : bool or int, default=0
        1: a live progress line on standard error.  2: progress messages through ``logging``.
    random_state : int, RandomState instance or None, default=None
        Determines the order of the examples in each pass.  With an int, the same data give the same
        result.
    max_iter : int, default=1000
        Limit on the passes over the data.
    penalize_intercept, shrinking, precision, warm_start, n_jobs, n_blocks
        As for :class:`LinearSVC`.
    time_limit, on_interrupt, callbacks, checkpoint, gap_tol
        As for :class:`LinearSVC`.

    Attributes
    ----------
    coef_ : ndarray of shape (n_features,)
    intercept_ : ndarray of shape (1,)
        Zero if ``fit_intercept=False``.
    solution_ : Solution
        The certificate: objectives, duality gap, largest KKT violation, stop reason.  Its
        ``iterations`` counts passes.
    history_ : structured ndarray
        How the fit progressed, in at most 1000 rows: seconds, problem, iterations, violation (the
        relative gap, estimated during the fit), objective, gap, active, dual, primal.
    n_iter_ : int
        Passes over the data; 0 if a warm start was already optimal.
    n_features_in_, feature_names_in_

    Examples
    --------
    >>> from softmargin import LinearSVR
    >>> machine = LinearSVR(C=10.0, random_state=0).fit([[0.0], [1.0], [2.0]], [0.0, 1.0, 2.0])
    >>> machine.predict([[1.0]]).round(1)
    array([1.])
    """

    _parameter_constraints: dict[str, list[Any]] = {  # noqa: RUF012
        **LinearMachine._parameter_constraints,
        "epsilon": [Interval(Real, 0.0, None, closed="left")],
        "loss": [StrOptions({"epsilon_insensitive", "squared_epsilon_insensitive"})],
    }

    def __init__(
        self,
        *,
        epsilon: float = 0.0,
        tol: float = 1e-4,
        C: float = 1.0,
        loss: str = "epsilon_insensitive",
        fit_intercept: bool = True,
        intercept_scaling: float = 1.0,
        dual: bool | str = "auto",
        verbose: bool | int = 0,
        random_state: Any = None,
        max_iter: int = 1000,
        penalize_intercept: bool = True,
        shrinking: bool = True,
        precision: str = "auto",
        warm_start: bool = False,
        n_jobs: int | None = None,
        n_blocks: int | None = None,
        time_limit: float | None = None,
        on_interrupt: str = "raise",
        callbacks: Sequence[Callable[[Status], Any]] | None = None,
        checkpoint: str | PathLike[str] | Checkpoint | None = None,
        gap_tol: float | None = None,
    ) -> None:
        self.epsilon = epsilon
        self.tol = tol
        self.C = C
        self.loss = loss
        self.fit_intercept = fit_intercept
        self.intercept_scaling = intercept_scaling
        self.dual = dual
        self.verbose = verbose
        self.random_state = random_state
        self.max_iter = max_iter
        self.penalize_intercept = penalize_intercept
        self.shrinking = shrinking
        self.precision = precision
        self.warm_start = warm_start
        self.n_jobs = n_jobs
        self.n_blocks = n_blocks
        self.time_limit = time_limit
        self.on_interrupt = on_interrupt
        self.callbacks = callbacks
        self.checkpoint = checkpoint
        self.gap_tol = gap_tol

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> LinearSVR:
        """Fit the machine to examples X and their targets y.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The examples.  float32 and float64, CSR or dense with contiguous rows, are used without
            conversion.  Or blocks on disk, as for :class:`LinearSVC`.
        y : array-like of shape (n_samples,)
            Target values.
        sample_weight : array-like of shape (n_samples,), default=None
            A weight of w is equivalent to repeating the example w times; zero leaves it out.

        Returns
        -------
        self : object
        """
        with unchanged_on_error(self) as began:
            if self.loss == "epsilon_insensitive" and self.dual is False:
                raise ValueError(
                    "Unsupported set of arguments: loss='epsilon_insensitive', dual=False; this"
                    " loss is minimised in the dual problem: use dual='auto'."
                )
            if isinstance(X, Blocks):
                self._train_from_disk(X, y, sample_weight, began)
            else:
                problem = self._problem(X, y, sample_weight)
                codes = np.zeros(len(problem.upper), dtype=np.intp)
                self._train(problem, np.zeros(1), codes, began)
            self.coef_ = self.coef_.ravel()
            self._warn_unless_converged()
        return self

    def _problem(self, X: Any, y: Any, sample_weight: Any) -> Problem:
        X, y = self._validate_examples(X, y, numeric_target=True)
        target = column_or_1d(y, warn=True).astype(np.float64)
        assert_all_finite(target, input_name="y")
        return self._state(X, target, sample_weights(sample_weight, len(target)))

    _classifies = False
    _columns = 1

    def _learn(self, classes: NDArray[Any], counts: NDArray[np.float64]) -> None:
        """A regression has no classes; `counts` is the weight of all examples."""
        check_any_weight(counts)

    def _state(self, X: Any, y: NDArray[Any], weight: NDArray[np.float64]) -> Problem:
        return Problem(
            X=X,
            column=np.zeros(len(y), dtype=np.int32),
            upper=prices(self.C, weight),
            columns=1,
            machine=SEPARATE[self.loss],
            constant=self._constant,
            free_intercept=self.fit_intercept and not self.penalize_intercept,
            target=np.asarray(y, np.float64),
            epsilon=float(self.epsilon),
        )

    def predict(self, X: Any) -> Any:
        """The predicted targets of examples X, an array of shape (n_samples,)."""
        check_is_fitted(self)
        X = validate_data(
            self, X, dtype=[np.float64, np.float32], accept_sparse=["csr", "csc"], reset=False
        )
        coef = self.coef_
        values = X @ (coef if isinstance(coef, np.ndarray) else coef.T.toarray().ravel())
        return np.asarray(values).ravel() + self.intercept_


def l1_min_c(
    X: Any,
    y: Any,
    *,
    loss: str = "squared_hinge",
    fit_intercept: bool = True,
    intercept_scaling: float = 1.0,
) -> float:
    """The C up to which ``LinearSVC(penalty="l1")`` has only zero weights.

    Parameters
    ----------
    X, y : the examples and their classes
    loss : {"squared_hinge", "log"}, default="squared_hinge"
        "log" is for scikit-learn's LogisticRegression.
    fit_intercept, intercept_scaling : as in :class:`LinearSVC`

    Returns
    -------
    C : float
        For any larger C, at least one weight or intercept is not zero.

    Examples
    --------
    >>> from softmargin import LinearSVC, l1_min_c
    >>> X, y = [[0.0, 1.0], [1.0, 1.0], [3.0, 0.0], [4.0, 1.0]], [0, 0, 1, 1]
    >>> C = l1_min_c(X, y)
    >>> [bool(LinearSVC("l1", C=factor * C).fit(X, y).coef_.any()) for factor in (1.0, 1.1)]
    [False, True]
    """
    slope_at_zero = {"squared_hinge": 2.0, "log": 0.5}  # of the loss of margin 0
    if loss not in slope_at_zero:
        raise ValueError(f"loss={loss!r} is not known: use one of {', '.join(slope_at_zero)}.")
    X = check_array(X, accept_sparse="csr", dtype=[np.float64, np.float32])
    check_consistent_length(X, y)
    classes, codes = np.unique(column_or_1d(y), return_inverse=True)
    sign = np.where(codes[:, None] == np.arange(len(classes)), 1.0, -1.0)
    slopes = np.abs(np.asarray(X.T @ sign))
    steepest = float(slopes.max(initial=0.0))
    if fit_intercept:
        steepest = max(steepest, float(intercept_scaling * np.abs(sign.sum(axis=0)).max()))
    if steepest == 0:
        raise ValueError(
            "Ill-posed l1_min_c calculation: l1 will always select zero coefficients for this data."
        )
    return 1 / (slope_at_zero[loss] * steepest)
