"""What a report is about: a machine, and the data it is judged by."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from softmargin.io.models.record import Record
from softmargin.problem.sparse_columns import with_columns


@dataclass(frozen=True)
class Subject:
    machine: Any
    record: Record
    X: Any = None
    y: NDArray[Any] | None = None
    model: str = ""
    data: str = ""
    predicted: NDArray[Any] | None = None
    search: Any = None
    """The search that found the parameters of the machine, if there was one."""

    @classmethod
    def of(
        cls, machine: Any, X: Any, y: Any, model: str = "", data: str = "", search: Any = None
    ) -> Subject:
        from sklearn.utils.validation import check_consistent_length, check_is_fitted

        check_is_fitted(machine)
        if X is None:
            return cls(machine, Record.of(machine), model=model, data=data, search=search)
        if y is not None:
            check_consistent_length(X, y)
            y = np.asarray(y)
        X = as_trained(machine, X)
        predicted = machine.predict(X)
        return cls(machine, Record.of(machine), X, y, model, data, predicted, search)

    @property
    def title(self) -> str:
        name = type(self.machine).__name__
        return f"{name}: {self.model}" if self.model else name

    @property
    def solution(self) -> Any:
        return self.record.attributes.get("solution_")


def as_trained(machine: Any, X: Any) -> Any:
    """X in the form that the machine takes: sparse data may lack the last features, which are zero,
    and a machine that was trained on dense data takes only dense data."""
    if not sp.issparse(X):
        return X
    X, width = sp.csr_matrix(X), machine.n_features_in_
    if X.shape[1] < width:
        X = with_columns(X, X.indices, width)
    return X if getattr(machine, "_sparse", True) else X.toarray()
