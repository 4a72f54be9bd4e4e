"""A fitted machine as plain data: what model files hold, and what predicts without scikit-learn.

Importing scikit-learn takes longer than predicting a row, so the command line predicts from the
record itself; ``estimator`` makes the estimator of it.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from softmargin import multiclass
from softmargin.columns import with_columns
from softmargin.formulations import on_the_boundary_zero
from softmargin.io.streams import available_processors

Array = NDArray[np.float64]

KERNEL_MACHINES = ("SVC", "NuSVC", "SVR", "NuSVR", "OneClassSVM")
MACHINES = (*KERNEL_MACHINES, "LinearSVC")
CLASSIFIERS = ("SVC", "NuSVC", "LinearSVC")
REGRESSORS = ("SVR", "NuSVR")


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
        return self.kind == "LinearSVC"

    # --- prediction: the same functions as the estimators', without their validation -----------

    def predict(self, X: Any) -> tuple[NDArray[Any], Array]:
        """Predictions, and the decision values that they come from."""
        values = self.decision_values(X)
        if self.is_regressor:
            return values, values
        if self.kind == "OneClassSVM":
            return np.where(values >= 0, 1, -1), values
        classes = self.attributes["classes_"]
        if self.is_linear:
            code = values.argmax(axis=1) if values.ndim == 2 else (values > 0).astype(np.intp)
            return classes[code], values
        if len(classes) == 2:
            return classes[(values >= 0).astype(np.intp)], values
        if self.params.get("break_ties"):
            return classes[multiclass.class_values(values, len(classes)).argmax(axis=1)], values
        return classes[multiclass.vote(values, len(classes))], values

    def predict_probabilities(self, X: Any) -> tuple[NDArray[Any], Array]:
        """Predictions, and a row of probabilities for each: of the classes in their order, or for
        a one-class machine of 1 and -1.  Of models that svm-train -b 1 has written."""
        from softmargin.io.probability import class_probabilities, inlier_probability

        if self.kind == "OneClassSVM":
            predicted, values = self.predict(X)
            inlier = inlier_probability(values, self.attributes["prob_density_marks_"])
            return predicted, np.stack([inlier, 1 - inlier], axis=1)
        classes, values = self.attributes["classes_"], self.decision_values(X)
        if len(classes) == 2:  # a value above zero means the second here, the first in the file
            values = -values[:, None]
        A, B = self.attributes["probA_"], self.attributes["probB_"]
        probabilities = class_probabilities(values, A, B, len(classes))
        return classes[probabilities.argmax(axis=1)], probabilities

    @property
    def has_probabilities(self) -> bool:
        if self.kind == "OneClassSVM":
            return "prob_density_marks_" in self.attributes
        return self.is_classifier and {"probA_", "probB_"} <= self.attributes.keys()

    def decision_values(self, X: Any) -> Array:
        """One value per row; for more than two classes one per pair of classes, or of a linear
        machine one per class."""
        if self.is_linear:
            return self._linear_values(X)
        sums = self._expand(X)
        intercept = self.attributes["intercept_"]
        if sums.shape[1] == 1:
            values: Array = sums[:, 0, 0] + intercept[0]
            if self.kind == "OneClassSVM":
                return on_the_boundary_zero(values, intercept[0], len(self.attributes["support_"]))
            return values
        return multiclass.pair_values(sums, intercept)

    def _linear_values(self, X: Any) -> Array:
        """Features beyond those of the machine have no weight, as in LIBLINEAR."""
        coef = self.attributes["coef_"][:, : X.shape[1]]
        products = X[:, : coef.shape[1]] @ coef.T
        products = products.toarray() if sp.issparse(products) else np.asarray(products)
        values: Array = products + self.attributes["intercept_"]
        return values[:, 0] if values.shape[1] == 1 else values

    def _expand(self, X: Any) -> Array:
        from softmargin.kernels import BUILT_IN, Precomputed

        coef = self.attributes["dual_coef_"]
        coef = np.ascontiguousarray(coef.toarray() if sp.issparse(coef) else coef, dtype=float)
        counts = self.attributes["_n_support"]
        starts = [0, *np.cumsum(counts).tolist()] if len(coef) > 1 else [0, coef.shape[1]]
        if self.precomputed:
            support = self.attributes["support_"]
            points = X.toarray() if sp.issparse(X) else np.asarray(X)
            return Precomputed().expand(points[:, support], None, coef, starts)
        vectors, points = _same_features(self.attributes["support_vectors_"], X)
        kernel = BUILT_IN[self.params["kernel"]](
            float(self.attributes["_gamma"]),
            float(self.params["coef0"]),
            int(self.params["degree"]),
        )
        return kernel.expand(points, vectors, coef, starts, available_processors())


def _same_features(vectors: Any, X: Any) -> tuple[Any, Any]:
    """Both with the same columns, sparse if either is."""
    if not sp.issparse(vectors) and not sp.issparse(X) and vectors.shape[1] == X.shape[1]:
        return vectors, X
    vectors, X = sp.csr_matrix(vectors), sp.csr_matrix(X)
    width = max(vectors.shape[1], X.shape[1])
    return with_columns(vectors, vectors.indices, width), with_columns(X, X.indices, width)
