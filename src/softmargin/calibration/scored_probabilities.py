"""Class probabilities of a fitted machine with a score for each class (a linear machine,
one-vs-rest, all classes at once), of an estimator or of a model file."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from softmargin.calibration.agreement import agreeing
from softmargin.calibration.class_scores import score_probabilities
from softmargin.calibration.signed_curve import curve_probabilities

Array = NDArray[np.float64]


def scored_probabilities(values: Array, fitted: Mapping[str, Any]) -> Array:
    """A row of class probabilities for each row of decision values; `fitted` has the attributes of
    a machine that was calibrated."""
    if values.ndim == 1:
        return agreeing(curve_probabilities(values, fitted["_curve"]), scored_winners(values))
    found = score_probabilities(values, fitted["_curve"], fitted["_mixing"])
    return agreeing(found, scored_winners(values))


def scored_winners(values: Array) -> NDArray[np.intp]:
    """The predicted class of each row, as an index."""
    return values.argmax(axis=1) if values.ndim == 2 else (values > 0).astype(np.intp)
