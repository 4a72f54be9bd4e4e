"""Searches for good parameters that share kernels and solutions between their fits."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from softmargin.model_selection.search import GridSearchCV, RandomizedSearchCV

__all__ = ["GridSearchCV", "RandomizedSearchCV"]


def __getattr__(name: str) -> Any:
    """The searches need scikit-learn; the engine, which probabilities use too, does not."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from softmargin.model_selection import search

    return getattr(search, name)
