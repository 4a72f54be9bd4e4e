"""Estimators with a Dask client, which copies share and files do not keep."""

from __future__ import annotations

import copy
from typing import Any


class KeepsClient:
    """A base class, before scikit-learn's, for estimators with the parameter `client`."""

    client: Any

    def __sklearn_clone__(self) -> Any:
        """Copies share the client."""
        plain = copy.copy(self)
        plain.client = None
        found = super(KeepsClient, plain).__sklearn_clone__()  # type: ignore[misc]
        found.client = self.client
        return found

    def __copy__(self) -> Any:
        found = type(self).__new__(type(self))
        found.__dict__.update(self.__dict__)
        return found

    def __getstate__(self) -> dict[str, Any]:
        return {**super().__getstate__(), "client": None}  # type: ignore[dict-item]
