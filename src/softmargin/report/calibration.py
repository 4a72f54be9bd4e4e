"""Predicted probabilities compared with observed frequencies."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from softmargin.report.html import number, section, tiles
from softmargin.report.pictures import picture
from softmargin.report.subject import Subject

UNKNOWN = "&ndash;"


def calibration(subject: Subject) -> str:
    if subject.X is None or subject.y is None or not subject.record.is_classifier:
        return ""
    probabilities = _probabilities(subject)
    if probabilities is None:
        return ""
    from softmargin.plotting.calibration import calibration_error, draw_reliability, reliability

    classes = subject.machine.classes_
    highest = probabilities.max(axis=1)
    right = classes[probabilities.argmax(axis=1)] == subject.y

    def draw(ax: Any) -> None:
        draw_reliability(ax, highest, right)
        ax.set(xlabel="probability of the predicted class", ylabel="share that is right")

    error = calibration_error(*reliability(highest, right))
    shown = tiles(
        expected_calibration_error=f"{error:.2%}", log_loss=_log_loss(subject, probabilities)
    )
    words = "Calibration: on the dashed line, 80 % sure is right 80 % of the time."
    return section("Calibration", shown, picture(draw, words, height=3.2))


def _probabilities(subject: Subject) -> NDArray[Any] | None:
    if hasattr(subject.machine, "predict_proba"):
        return np.asarray(subject.machine.predict_proba(subject.X))
    if subject.record.has_probabilities:
        return subject.record.predict_probabilities(subject.X)[1]
    return None


def _log_loss(subject: Subject, probabilities: NDArray[Any]) -> str:
    classes, y = subject.machine.classes_, subject.y
    codes = np.searchsorted(classes, y)  # type: ignore[arg-type]
    codes[codes == len(classes)] = 0
    known = classes[codes] == y
    own = probabilities[np.arange(len(codes)), codes][known]
    return number(float(-np.log(np.maximum(own, 1e-15)).mean()), 4) if known.any() else UNKNOWN
