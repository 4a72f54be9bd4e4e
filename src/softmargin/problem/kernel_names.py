"""The kernels that have names, their parameters, and LIBSVM's names for them.

A module of its own, because the help of the command line needs the names but not the kernels.
"""

from __future__ import annotations

PARAMETERS: dict[str, tuple[str, ...]] = {
    "linear": (),
    "poly": ("degree", "gamma", "coef0"),
    "rbf": ("gamma",),
    "sigmoid": ("gamma", "coef0"),
    "precomputed": (),
}

NAMES = tuple(PARAMETERS)

IN_LIBSVM = {name: "polynomial" if name == "poly" else name for name in NAMES}
"""In the order of LIBSVM's numbers."""

FROM_LIBSVM = {name: kernel for kernel, name in IN_LIBSVM.items()}
