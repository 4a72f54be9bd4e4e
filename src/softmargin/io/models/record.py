"""A fitted machine as plain data, which model files store and which predicts without scikit-learn.

Importing scikit-learn takes longer than predicting a row, so the command line predicts with the
record itself; the method ``estimator`` turns it into an estimator.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from softmargin.calibration.scored_probabilities import scored_probabilities, scored_winners
from softmargin.estimator.kernel_expansion import KernelExpansion
from softmargin.io.data.ranges import Range
from softmargin.io.streams import available_processors
from softmargin.problem.formulations import on_the_boundary_zero
from softmargin.problem.kernels import make_kernel
from softmargin.problem.sparse_columns import widened

Array = NDArray[np.float64]

KERNEL_MACHINES = ("SVC", "NuSVC", "SVR", "NuSVR", "OneClassSVM")
LINEAR_MACHINES = ("LinearSVC", "LinearSVR")
MACHINES = (*KERNEL_MACHINES, *LINEAR_MACHINES)
CLASSIFIERS = ("SVC", "NuSVC", "LinearSVC")
REGRESSORS = ("SVR", "NuSVR", "LinearSVR")


@dataclass
class Record:
    """The class of an estimator by name, its parameters and its fitted attributes."""

    kind: str
    params: dict[str, Any]
    attributes: dict[str, Any] = field(repr=False)

    @classmethod
    def of(cls, estimator: Any) -> Record:
        params = estimator.get_params(deep=False)
        attributes = {k: v for k, v in vars(estimator).items() if k not in params}
        return cls(type(estimator).__name__, params, attributes)

    def estimator(self) -> Any:
        import softmargin

        machine = getattr(softmargin, self.kind)(**self.params)
        vars(machine).update(self.attributes)
        return machine

    @property
    def is_classifier(self) -> bool:
        return self.kind in CLASSIFIERS

    @property
    def is_regressor(self) -> bool:
        return self.kind in REGRESSORS

    @property
    def precomputed(self) -> bool:
        return bool(self.params.get("kernel") == "precomputed")

    @property
    def is_linear(self) -> bool:
        return self.kind in LINEAR_MACHINES

    @property
    def scores_classes(self) -> bool:
        """Whether it is a kernel machine with a score for each class, not one per pair of them."""
        return not self.is_linear and self.params.get("multi_class", "ovo") != "ovo"

    @property
    def feature_names(self) -> tuple[str, ...]:
        """The names of the columns that the machine was trained on, if known."""
        return tuple(self.attributes.get("feature_names_in_", ()))

    @property
    def scale(self) -> Range | None:
        """The range to which the machine scales features before it predicts, if it does."""
        return Range(*self.attributes["_scaling"]) if "_scaling" in self.attributes else None

    # --- prediction: with the estimators' KernelExpansion, but without their validation --------

    def predict(self, X: Any) -> tuple[NDArray[Any], Array]:
        """Predictions, and the decision values behind them."""
        X = self._scaled(X)
        if self.is_linear and self.is_regressor:
            values = self._linear_values(X)
            return values, values
        if self.is_linear:
            values, classes = self._linear_values(X), self.attributes["classes_"]
            return classes[scored_winners(values)], values
        expansion, X = self._matched(X)
        values = self._kernel_values(expansion, X)
        if self.is_regressor:
            return values, values
        if self.kind == "OneClassSVM":
            return np.where(values >= 0, 1, -1), values
        codes = (values >= 0).astype(np.int64)
        if expansion.classes:
            codes = expansion.winners(
                X, available_processors(), bool(self.params.get("break_ties"))
            )
        return self.attributes["classes_"][codes], values

    def predict_probabilities(self, X: Any) -> tuple[NDArray[Any], Array]:
        """Predictions, and a row of probabilities for each: of the classes in their order or, for a
        one-class machine, of 1 and -1.  Only for machines that were fitted with probabilities."""
        from softmargin.calibration.inliers import inlier_probability
        from softmargin.calibration.kernel_probabilities import expansion_probabilities

        if self.kind == "OneClassSVM":
            predicted, values = self.predict(X)
            inlier = inlier_probability(values, self.attributes["prob_density_marks_"])
            return predicted, np.stack([inlier, 1 - inlier], axis=1)
        if self.is_linear:
            probabilities = scored_probabilities(self.decision_values(X), self.attributes)
        else:
            probabilities = expansion_probabilities(
                *self._matched(self._scaled(X)),
                available_processors(),
                self.attributes,
                bool(self.params.get("break_ties")),
            )
        return self.attributes["classes_"][probabilities.argmax(axis=1)], probabilities

    @property
    def has_probabilities(self) -> bool:
        if self.kind == "OneClassSVM":
            return "prob_density_marks_" in self.attributes
        if self.is_linear or self.scores_classes:
            return "_curve" in self.attributes
        return self.is_classifier and len(self.attributes.get("probA_", ())) > 0

    def decision_values(self, X: Any) -> Array:
        """One value per row; with more than two classes, one per pair of classes (kernel machine)
        or one per class (linear machine)."""
        X = self._scaled(X)
        return self._linear_values(X) if self.is_linear else self._kernel_values(*self._matched(X))

    def _kernel_values(self, expansion: KernelExpansion, X: Any) -> Array:
        values = expansion.values(X, available_processors())
        if self.kind == "OneClassSVM":
            return on_the_boundary_zero(values, expansion.intercept[0], len(expansion.support))
        return values

    def _linear_values(self, X: Any) -> Array:
        """Features that the machine does not have are ignored, as in LIBLINEAR."""
        coef = _as_matrix(self.attributes["coef_"])[:, : X.shape[1]]
        products = X[:, : coef.shape[1]] @ coef.T
        products = products.toarray() if sp.issparse(products) else np.asarray(products)
        values: Array = products + self.attributes["intercept_"]
        return values[:, 0] if values.shape[1] == 1 else values

    def expansion(self) -> KernelExpansion:
        """The kernel expansion that computes the decision values of a kernel machine."""
        gamma = self.attributes.get("_gamma", 1.0)
        kernel = make_kernel(
            self.params["kernel"], gamma, self.params["coef0"], self.params["degree"]
        )
        return KernelExpansion.of(kernel, self.attributes)

    def _matched(self, X: Any) -> tuple[KernelExpansion, Any]:
        """The kernel expansion and X with the same columns; columns that one of the two lacks are
        filled with zeros, as in LIBSVM."""
        expansion = self.expansion()
        if self.precomputed:
            return expansion, X.toarray() if sp.issparse(X) else np.asarray(X)
        vectors, X = _same_features(expansion.vectors, X)
        return replace(expansion, vectors=vectors), X

    def _scaled(self, X: Any) -> Any:
        return X if self.scale is None else self.scale.apply(X)


def _as_matrix(coef: Any) -> Any:
    """The weights with a row per column of W; those of a regression are a single row."""
    return coef if coef.ndim == 2 else coef[None, :]


def _same_features(vectors: Any, X: Any) -> tuple[Any, Any]:
    """Both with the same number of columns; sparse if either is or if their widths differ."""
    if not sp.issparse(vectors) and not sp.issparse(X) and vectors.shape[1] == X.shape[1]:
        return vectors, X
    vectors, X = sp.csr_matrix(vectors), sp.csr_matrix(X)
    width = max(vectors.shape[1], X.shape[1])
    return widened(vectors, width), widened(X, width)
