"""The compiled core, in the build that fits the processor.

``SOFTMARGIN_CORE=baseline`` in the environment asks for the portable build.
"""

from __future__ import annotations

import importlib
import importlib.util
import os
from typing import Any


def _best_build() -> str:
    """The build for this processor if it was installed (SOFTMARGIN_AVX2=OFF leaves it out)."""
    name: str = importlib.import_module("softmargin._core._cpu").build()
    return name if importlib.util.find_spec(f"softmargin._core._{name}") else "baseline"


def _load(build: str) -> Any:
    try:
        return importlib.import_module(f"softmargin._core._{build}")
    except ModuleNotFoundError:
        raise ImportError(
            f"This installation of softmargin has no core named {build!r}; set SOFTMARGIN_CORE to"
            " 'baseline', or unset it to have the best one chosen."
        ) from None


BUILD = os.environ.get("SOFTMARGIN_CORE") or _best_build()
_module = _load(BUILD)

float32: Any = _module.float32
float64: Any = _module.float64
linear: Any = _module.linear
testing: Any = _module.testing
best_thresholds: Any = _module.best_thresholds
KernelNotFinite: type[ValueError] = _module.KernelNotFinite
means: Any = _module.means
MOST_FREE: int = _module.MOST_FREE
Outcome: Any = _module.Outcome
prepare_thread: Any = _module.prepare_thread
repaired: Any = _module.repaired
SolverState: Any = _module.SolverState
text: Any = _module.text
vote: Any = _module.vote
