"""Class probabilities of a fitted kernel machine, of an estimator or of a model file."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from softmargin.calibration.agreement import agreeing
from softmargin.calibration.coupling import class_probabilities
from softmargin.calibration.scored_probabilities import scored_probabilities
from softmargin.calibration.signed_curve import curve_probabilities
from softmargin.estimator.kernel_expansion import KernelExpansion

Array = NDArray[np.float64]


def expansion_probabilities(
    expansion: KernelExpansion, X: Any, threads: int, fitted: Mapping[str, Any], break_ties: bool
) -> Array:
    """A row of class probabilities for each row of X; `fitted` has the attributes of a machine that
    was calibrated."""
    if expansion.scored:
        return scored_probabilities(expansion.values(X, threads), fitted)
    A, B, agree = fitted["probA_"], fitted["probB_"], fitted.get("_agreeing", False)
    if not expansion.classes:
        values = expansion.values(X, threads)
        if not agree:
            return class_probabilities(-values[:, None], A, B, 2)
        two = curve_probabilities(values, fitted["_curve"])
        return agreeing(two, (values >= 0).astype(np.intp))

    def coupled(values: Array, winners: NDArray[np.integer]) -> Array:
        found = class_probabilities(values, A, B, expansion.classes)
        return agreeing(found, winners) if agree else found

    return expansion.values_and_winners(X, threads, break_ties, coupled)
