"""ONNX operators, and the products that all graphs are made of."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from skl2onnx.algebra import onnx_ops
from skl2onnx.proto import onnx_proto

DOUBLE = onnx_proto.TensorProto.DOUBLE
Array = NDArray[Any]


class Graph:
    """Operators by name, all of one version: ``graph.MatMul(a, b)``."""

    def __init__(self, version: int) -> None:
        self.version = version

    def __getattr__(self, name: str) -> Callable[..., Any]:
        operator = getattr(onnx_ops, f"Onnx{name}")
        return lambda *inputs, **options: operator(*inputs, op_version=self.version, **options)

    def as_double(self, condition: Any) -> Any:
        return self.Cast(condition, to=DOUBLE)


def product(graph: Graph, X: Any, matrix: Array) -> Any:
    """X times a constant matrix.

    onnxruntime merges a scalar factor before or after a matrix product into the product, as a
    float32.  The scale of a single feature is such a factor, so that one is multiplied by
    elements."""
    return graph.Mul(X, matrix) if len(matrix) == 1 else graph.MatMul(X, matrix)


def dense(matrix: Any) -> Array:
    return np.asarray(matrix.toarray() if sp.issparse(matrix) else matrix, dtype=np.float64)
