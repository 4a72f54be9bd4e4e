"""A warning that the data should be scaled, where even float64 is not precise enough."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from softmargin.problem.kernels import DIFFERENCES, FunctionOfProducts

LARGE = 1e12
"""Data are too large if gamma |x|^2 exceeds this.  Below it, rounding is visible only because
coefficients are large."""


def warn_unless_scaled(machine: Any, X: Any, stacklevel: int) -> None:
    """Warns if float64 rounding would be visible in the decision values of a machine fitted to X,
    and names the feature that causes it."""
    kernel = machine._fitted_kernel()
    avoided = DIFFERENCES in machine.solution_.precision
    if not isinstance(kernel, FunctionOfProducts) or (kernel.translation_invariant and not avoided):
        return
    expansion = machine._expansion()
    rounding = kernel.rounding(expansion.vectors, expansion.coef, expansion.starts)
    shows = avoided or rounding > machine.tol
    if not shows or not kernel.gamma * _length(X) > LARGE:
        return
    feature, share = largest_feature(X, centred=kernel.translation_invariant)
    names = getattr(machine, "feature_names_in_", None)
    name = feature if names is None else repr(str(names[feature]))
    so = (
        f"would change decision values by about {rounding:.1g}, so kernel values were computed from"
        " differences, which is slower"
        if avoided
        else f"may change decision values by about {rounding:.1g}, which is more than"
        f" tol={machine.tol:.3g}"
    )
    warnings.warn(
        f"The data are too large for this kernel: rounding in float64 {so}. Scale the data"
        f" (StandardScaler, MaxAbsScaler): feature {name} makes up {share:.0%} of the squared"
        " length of the examples.",
        UserWarning,
        stacklevel=stacklevel,
    )


def _length(X: Any) -> float:
    """The mean squared length of an example."""
    values = (X.data if sp.issparse(X) else X).astype(np.float64).ravel()
    with np.errstate(over="ignore"):
        return float(values @ values / X.shape[0])


def largest_feature(X: Any, centred: bool) -> tuple[int, float]:
    """The column with the largest sum of squares (for dense data, about its mean if `centred`), and
    its share of the sum over all columns."""
    squares: NDArray[Any]
    if sp.issparse(X):
        scale = float(np.abs(X.data).max(initial=0.0)) or 1.0
        squares = np.bincount(
            X.indices, weights=(X.data.astype(np.float64) / scale) ** 2, minlength=X.shape[1]
        )
    else:
        scale = float(np.abs(X).max(initial=0.0)) or 1.0
        scaled = X.astype(np.float64) / scale
        if centred:
            scaled -= scaled.mean(axis=0)
        squares = np.einsum("ij,ij->j", scaled, scaled)
    feature = int(squares.argmax())
    total = float(squares.sum())
    return feature, float(squares[feature]) / total if total > 0 else 1.0
