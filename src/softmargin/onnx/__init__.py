"""Fitted machines as ONNX graphs: importing this module registers them with skl2onnx.

The graphs are matrix products, exponentials and comparisons in double precision.  ONNX has
operators of its own for support vector machines, but they compute in float32, and a label near the
boundary would differ from the machine's.

A classifier or one-class machine has two outputs: ``label``, and ``scores``, which is what
``decision_function`` returns.  A regressor has one, of shape (n, 1), as in skl2onnx.  The input is
dense; pass it as ``DoubleTensorType``, because the steps of a pipeline compute in the type of the
input.

>>> import softmargin.onnx
>>> from skl2onnx import to_onnx
>>> from skl2onnx.common.data_types import DoubleTensorType
>>> machine = softmargin.SVC().fit([[0.0], [1.0], [2.0], [3.0]], [0, 0, 1, 1])
>>> graph = to_onnx(machine, initial_types=[("X", DoubleTensorType([None, 1]))])
>>> [output.name for output in graph.graph.output]
['label', 'scores']

It needs skl2onnx: ``pip install softmargin[onnx]``.
"""

from __future__ import annotations

try:
    import skl2onnx  # noqa: F401
except ImportError as error:
    raise ImportError(
        "softmargin.onnx needs skl2onnx, which cannot be imported: pip install softmargin[onnx]"
    ) from error

from softmargin.onnx.converter import register

register()
