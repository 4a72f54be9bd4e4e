"""The packages that are compared, each with the settings its users would give it.

A package takes a work and its data, and returns a machine with fit and predict; the solution is
read from the machine as `Coefficients`, in the layout that LIBSVM and scikit-learn share.
"""

import importlib
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from works import TOLERANCE, Work

from softmargin.working_sets import Block


@dataclass(frozen=True)
class Coefficients:
    values: Any
    """One row, or for k classes k - 1, of coefficients of the support vectors."""
    support: Any
    counts: Any
    """Support vectors of each class."""


@dataclass(frozen=True)
class Estimators:
    """A module with estimators like scikit-learn's."""

    module: str
    options: dict[str, Any]
    dtype: type = np.float64

    def prepare(self, work: Work, X: Any, y: Any) -> Any:
        """The machine and its input. An estimator that the module lacks is an AttributeError."""
        estimator = getattr(importlib.import_module(self.module), work.estimator)
        machine = estimator(**work.parameters, tol=TOLERANCE, **self.options)
        return machine, X.astype(self.dtype, copy=False)

    @staticmethod
    def coefficients(machine: Any) -> Coefficients:
        counts = getattr(machine, "n_support_", [len(machine.support_)])
        values = machine.dual_coef_
        values = values.toarray() if sp.issparse(values) else values
        return Coefficients(values, machine.support_, counts)


SVM_TYPES = {"SVC": 0, "NuSVC": 1, "OneClassSVM": 2, "SVR": 3}
LETTERS = {"C": "c", "gamma": "g", "nu": "n", "epsilon": "p"}


class Libsvm:
    """LIBSVM's own Python package. The time to convert the data is not counted."""

    def __init__(self, work: Work, megabytes: int) -> None:
        self.options = f"-s {SVM_TYPES[work.estimator]} -t 2 -q -m {megabytes} -e {TOLERANCE} " + (
            " ".join(f"-{LETTERS[name]} {value!r}" for name, value in work.parameters.items())
        )
        self.problem: Any = None

    def convert(self, X: Any, y: Any) -> None:
        from libsvm.svmutil import svm_problem

        self.problem = svm_problem(np.asarray(y, dtype=float), X)

    def fit(self, X: Any, y: Any) -> "Libsvm":
        from libsvm.svmutil import svm_train

        self.model = svm_train(self.problem, self.options)
        return self

    def predict(self, X: Any) -> Any:
        from libsvm.svmutil import svm_predict

        return svm_predict([], X, self.model, "-q")[0]


@dataclass(frozen=True)
class LibsvmOfficial:
    megabytes: int = 200

    def prepare(self, work: Work, X: Any, y: Any) -> Any:
        machine = Libsvm(work, self.megabytes)
        machine.convert(X, y)
        return machine, X

    @staticmethod
    def coefficients(machine: Libsvm) -> Coefficients:
        model = machine.model
        support = np.array(model.get_sv_indices()) - 1
        values = np.array(model.get_sv_coef()).T
        counts = model.nSV[: model.get_nr_class()] if model.nSV else [len(support)]
        return Coefficients(values, support, counts)


Package = Estimators | LibsvmOfficial
BEFORE = "softmargin before"
"""Another version of softmargin, in the environment that --before names."""
INTELEX = "intelex"
"""scikit-learn-intelex, by the short name that tells it from scikit-learn."""
PACKAGES: dict[str, Package] = {
    "softmargin": Estimators("softmargin", {}),
    "softmargin float32": Estimators("softmargin", {}, np.float32),
    "scikit-learn": Estimators("sklearn.svm", {}),
    "scikit-learn 2000 MB": Estimators("sklearn.svm", {"cache_size": 2000}),
    f"{INTELEX} float64": Estimators("sklearnex.svm", {}),
    f"{INTELEX} float64 2000 MB": Estimators("sklearnex.svm", {"cache_size": 2000}),
    f"{INTELEX} float32": Estimators("sklearnex.svm", {}, np.float32),
    f"{INTELEX} float32 2000 MB": Estimators("sklearnex.svm", {"cache_size": 2000}, np.float32),
    "libsvm-official": LibsvmOfficial(),
}
RULES: dict[str, Package] = {
    BEFORE: Estimators("softmargin", {}),
    "softmargin only tol": Estimators("softmargin", {"gap_tol": None}),
    "softmargin 200 MB": Estimators("softmargin", {"cache_size": 200}),
    **{
        f"softmargin {rule}": Estimators("softmargin", {"working_set": rule})
        for rule in ("second-order", "hybrid-maximum-gain")
    },
    **{
        f"softmargin block {size}": Estimators("softmargin", {"working_set": Block(size)})
        for size in (256, 512, 1024, 2048)
    },
}
