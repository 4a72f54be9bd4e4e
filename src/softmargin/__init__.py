"""Support vector machines that are exact, fast and observable, with scikit-learn's conventions."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from softmargin.classification import SVC, NuSVC
    from softmargin.io.models.save_and_load import load
    from softmargin.linear import LinearSVC, LinearSVR, l1_min_c
    from softmargin.model_selection import GridSearchCV, RandomizedSearchCV
    from softmargin.novelty import OneClassSVM
    from softmargin.regression import SVR, NuSVR
    from softmargin.solution import Solution, StopReason

__version__ = "0.1.0"

__all__ = [
    "SVC",
    "SVR",
    "GridSearchCV",
    "LinearSVC",
    "LinearSVR",
    "NuSVC",
    "NuSVR",
    "OneClassSVM",
    "RandomizedSearchCV",
    "Solution",
    "StopReason",
    "l1_min_c",
    "load",
]

_HOMES = {
    "SVC": "classification",
    "NuSVC": "classification",
    "SVR": "regression",
    "NuSVR": "regression",
    "OneClassSVM": "novelty",
    "LinearSVC": "linear",
    "LinearSVR": "linear",
    "l1_min_c": "linear",
    "GridSearchCV": "model_selection",
    "RandomizedSearchCV": "model_selection",
    "Solution": "solution",
    "StopReason": "solution",
    "load": "io.models.save_and_load",
}

_MODULES = (
    "checkpoint",
    "crammer_singer",
    "io",
    "model_selection",
    "plotting",
    "solution",
    "watching",
    "weston_watkins",
    "working_sets",
)
"""Modules for users, available as attributes without an import of their own."""


# A name is imported when it is first used: scikit-learn takes a second to import, and
# `softmargin --help` does not need it.
def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return import_module(f"softmargin.{name}")
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    globals()[name] = found = getattr(import_module(f"softmargin.{_HOMES[name]}"), name)
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__, *_MODULES})
