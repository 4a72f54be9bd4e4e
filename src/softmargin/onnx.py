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

from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

try:
    from skl2onnx import update_registered_converter
    from skl2onnx.algebra import onnx_ops
    from skl2onnx.common.data_types import (
        DoubleTensorType,
        FloatTensorType,
        Int64TensorType,
        StringTensorType,
    )
    from skl2onnx.operator_converters.common import concatenate_variables
    from skl2onnx.proto import onnx_proto
except ImportError as error:
    raise ImportError(
        "softmargin.onnx needs skl2onnx, which cannot be imported: pip install softmargin[onnx]"
    ) from error

from softmargin.classification import SVC, NuSVC
from softmargin.estimator import one_vs_one
from softmargin.linear import LinearSVC, LinearSVR
from softmargin.novelty import OneClassSVM
from softmargin.problem.formulations import boundary_rounding
from softmargin.regression import SVR, NuSVR

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


# --- kernels ------------------------------------------------------------------------------------


def kernel_values(graph: Graph, machine: Any, X: Any) -> Any:
    """K(X, support vectors)."""
    if machine.kernel == "precomputed":
        return graph.Gather(X, machine.support_.astype(np.int64), axis=1)
    vectors = dense(machine.support_vectors_)
    if machine.kernel == "rbf":
        distances = squared_distances(graph, X, vectors)
        return graph.Exp(graph.Mul(distances, np.array([-machine._gamma])))
    # gamma is in the matrix, for the reason that `product` gives.
    products = graph.Add(
        product(graph, X, machine._gamma * vectors.T), np.array([float(machine.coef0)])
    )
    if machine.kernel == "poly":
        return graph.Pow(products, np.array([float(machine.degree)]))
    return graph.Tanh(products)


def squared_distances(graph: Graph, X: Any, vectors: Array) -> Any:
    """|x - v|^2 as |x|^2 + |v|^2 - 2 x'v, after centring: far from the origin it would cancel."""
    centre = vectors.mean(axis=0)
    X, vectors = graph.Sub(X, centre), vectors - centre
    norms = graph.MatMul(graph.Mul(X, X), np.ones((vectors.shape[1], 1)))
    others = (vectors**2).sum(axis=1)[None]
    distances = graph.Sub(graph.Add(norms, others), product(graph, X, 2.0 * vectors.T))
    return graph.Max(distances, np.zeros(1))


def product(graph: Graph, X: Any, matrix: Array) -> Any:
    """X times a constant matrix.

    onnxruntime merges a scalar factor before or after a matrix product into the product, as a
    float32.  The scale of a single feature is such a factor, so that one is multiplied by
    elements."""
    return graph.Mul(X, matrix) if len(matrix) == 1 else graph.MatMul(X, matrix)


def dense(matrix: Any) -> Array:
    return np.asarray(matrix.toarray() if sp.issparse(matrix) else matrix, dtype=np.float64)


# --- decision values ----------------------------------------------------------------------------


def one_value(graph: Graph, machine: Any, X: Any) -> Any:
    """f(x) of a machine with one decision function, of shape (n, 1)."""
    if getattr(machine, "kernel", "linear") == "linear":
        return graph.Add(
            product(graph, X, np.atleast_2d(dense(machine.coef_)).T), machine.intercept_
        )
    K = kernel_values(graph, machine, X)
    return graph.Add(graph.MatMul(K, dense(machine.dual_coef_).T), machine.intercept_)


def pair_values(graph: Graph, machine: Any, X: Any) -> Any:
    """f(x) of every pair of classes, positive for the first of the pair."""
    if machine.kernel == "linear":
        return one_value(graph, machine, X)
    K, coef = kernel_values(graph, machine, X), dense(machine.dual_coef_)
    k = len(machine.classes_)
    starts = [0, *np.cumsum(machine.n_support_).tolist()]
    products = [
        graph.MatMul(graph.Slice(K, np.array([a]), np.array([b]), np.array([1])), coef[:, a:b].T)
        for a, b in pairwise(starts)
    ]
    # Of each class against the others: k - 1 columns.
    grouped = graph.Concat(*products, axis=1)
    first = np.array([i * (k - 1) + j - 1 for i, j in one_vs_one.pairs(k)])
    second = np.array([j * (k - 1) + i for i, j in one_vs_one.pairs(k)])
    of_both = graph.Add(graph.Gather(grouped, first, axis=1), graph.Gather(grouped, second, axis=1))
    return graph.Add(of_both, machine.intercept_)


def by_class(graph: Graph, values: Any, classes: int, *, negated: bool) -> Any:
    """(n, classes, classes - 1): the values of the pairs that a class takes part in; where it is
    the second of the pair, negated, or else one minus the value."""
    column = {pair: number for number, pair in enumerate(one_vs_one.pairs(classes))}
    places = [(a, b) for a in range(classes) for b in range(classes) if a != b]
    columns = np.array([column[min(place), max(place)] for place in places])
    second = np.array([float(a > b) for a, b in places])
    signed = graph.Mul(graph.Gather(values, columns, axis=1), 1.0 - 2.0 * second)
    if not negated:
        signed = graph.Add(signed, second)
    return graph.Reshape(signed, np.array([-1, classes, classes - 1]))


def sums(graph: Graph, values: Any, classes: int) -> Any:
    added = graph.MatMul(values, np.ones((classes - 1, 1)))
    return graph.Reshape(added, np.array([-1, classes]))


def votes(graph: Graph, first_wins: Any, classes: int) -> Any:
    """How many of its pairs each class wins."""
    return sums(graph, by_class(graph, first_wins, classes, negated=False), classes)


def class_values(graph: Graph, values: Any, classes: int) -> Any:
    """As :func:`softmargin.estimator.one_vs_one.class_values`."""
    second_wins = graph.as_double(graph.Less(values, np.zeros(1)))
    first_wins = graph.Sub(np.ones(1), second_wins)
    confidence = sums(graph, by_class(graph, values, classes, negated=True), classes)
    scale = graph.Mul(graph.Add(graph.Abs(confidence), np.ones(1)), np.array([3.0]))
    return graph.Add(votes(graph, first_wins, classes), graph.Div(confidence, scale))


# --- what a machine answers ---------------------------------------------------------------------


def two_class_answer(graph: Graph, machine: Any, X: Any) -> tuple[Any, Any]:
    """The number of the class, and the score."""
    values = graph.Reshape(one_value(graph, machine, X), np.array([-1]))
    # At zero a kernel machine takes the second class, a linear one the first: as scikit-learn's.
    if isinstance(machine, LinearSVC):
        second = graph.Greater(values, np.zeros(1))
    else:
        second = graph.Not(graph.Less(values, np.zeros(1)))
    return graph.Cast(second, to=onnx_proto.TensorProto.INT64), values


def scored_answer(graph: Graph, machine: Any, X: Any) -> tuple[Any, Any]:
    values = one_value(graph, machine, X)
    return graph.ArgMax(values, axis=1, keepdims=0), values


def one_vs_one_answer(graph: Graph, machine: Any, X: Any) -> tuple[Any, Any]:
    values, k = pair_values(graph, machine, X), len(machine.classes_)
    scores = values
    if machine.decision_function_shape == "ovr":
        scores = class_values(graph, values, k)
    if machine.break_ties:
        return graph.ArgMax(scores, axis=1, keepdims=0), scores
    first_wins = graph.as_double(graph.Greater(values, np.zeros(1)))
    return graph.ArgMax(votes(graph, first_wins, k), axis=1, keepdims=0), scores


def classes_of(machine: Any) -> Array:
    """The labels, as integers or text: ONNX has no others."""
    classes: Array = machine.classes_
    if classes.dtype.kind in "biuf":  # scikit-learn takes no fractions as classes
        return classes.astype(np.int64)
    return classes.astype(str)


# --- skl2onnx's interface: parser, shapes, converter ---------------------------------------------


def parse(scope: Any, machine: Any, inputs: Any, custom_parsers: Any = None) -> Any:
    """Declares the operator with its outputs."""
    operator = scope.declare_local_operator(ALIASES[type(machine)], machine)
    operator.inputs = inputs
    kinds = {"variable": DoubleTensorType()}
    if not isinstance(machine, (SVR, NuSVR, LinearSVR)):
        kinds = {"label": Int64TensorType(), "scores": DoubleTensorType()}
    for name, kind in kinds.items():
        operator.outputs.append(scope.declare_local_variable(name, kind))
    return operator.outputs


def shapes(operator: Any) -> None:
    machine = operator.raw_operator
    if callable(getattr(machine, "kernel", None)):
        raise TypeError(
            f"kernel={machine.kernel!r} is a Python function, which an ONNX graph cannot hold. Use"
            " a built-in kernel, or kernel='precomputed' and compute the kernel yourself."
        )
    rows = operator.inputs[0].get_first_dimension()
    if isinstance(machine, (SVR, NuSVR, LinearSVR)):
        operator.outputs[0].type = DoubleTensorType([rows, 1])
        return
    text = not isinstance(machine, OneClassSVM) and classes_of(machine).dtype.kind == "U"
    operator.outputs[0].type = (StringTensorType if text else Int64TensorType)([rows])
    operator.outputs[1].type = DoubleTensorType(_score_shape(machine, rows))
    if _two_columns(operator.scope_inst, machine):
        kind = DoubleTensorType if _is_double(operator) else FloatTensorType
        operator.outputs[1].type = kind([rows, max(2, len(machine.classes_))])


def _score_shape(machine: Any, rows: Any) -> list[Any]:
    k = len(getattr(machine, "classes_", ()))
    if k <= 2:
        return [rows]
    if getattr(machine, "decision_function_shape", "ovr") == "ovo":
        return [rows, k * (k - 1) // 2]
    return [rows, k]


def _two_columns(scope: Any, machine: Any) -> bool:
    """Other converters of skl2onnx, such as CalibratedClassifierCV's, ask for a column for each of
    two classes, in the type of the input."""
    if isinstance(machine, OneClassSVM):
        return False
    return bool(scope.get_options(machine, {"raw_scores": False})["raw_scores"])


def _is_double(operator: Any) -> bool:
    return isinstance(operator.inputs[0].type, DoubleTensorType)


def convert(scope: Any, operator: Any, container: Any) -> None:
    machine, graph = operator.raw_operator, Graph(container.target_opset)
    X = graph.Cast(concatenate_variables(scope, operator.inputs, container), to=DOUBLE)
    if isinstance(machine, (SVR, NuSVR, LinearSVR)):
        results = [one_value(graph, machine, X)]
    elif isinstance(machine, OneClassSVM):
        results = list(one_class_answer(graph, machine, X))
    else:
        results = list(classifier_answer(graph, machine, X, scope, container))
        if _two_columns(scope, machine):
            results[1] = _in_two_columns(graph, results[1], machine, _is_double(operator))
    for result, output in zip(results, operator.outputs, strict=True):
        graph.Identity(result, output_names=[output.full_name]).add_to(scope, container)


def classifier_answer(
    graph: Graph, machine: Any, X: Any, scope: Any, container: Any
) -> tuple[Any, Any]:
    if len(machine.classes_) == 2:
        code, scores = two_class_answer(graph, machine, X)
    elif getattr(machine, "multi_class", "ovo") != "ovo":
        code, scores = scored_answer(graph, machine, X)
    else:
        code, scores = one_vs_one_answer(graph, machine, X)
    labels: Any = classes_of(machine)
    if labels.dtype.kind == "U":  # skl2onnx's operators take numbers alone as constants
        text = [label.encode() for label in labels]
        name = scope.get_unique_variable_name("classes")
        container.add_initializer(name, onnx_proto.TensorProto.STRING, [len(text)], text)
        labels = name
    return graph.Gather(labels, code), scores


def one_class_answer(graph: Graph, machine: Any, X: Any) -> tuple[Any, Any]:
    values = graph.Reshape(one_value(graph, machine, X), np.array([-1]))
    rounding = boundary_rounding(machine.intercept_[0], len(machine.support_))
    outside = graph.Less(values, np.array([-rounding]))
    label = graph.Where(outside, np.array([-1]), np.array([1]))
    on_boundary = graph.Not(graph.Greater(graph.Abs(values), np.array([rounding])))
    return label, graph.Where(on_boundary, np.zeros(1), values)


def _in_two_columns(graph: Graph, scores: Any, machine: Any, double: bool) -> Any:
    if len(machine.classes_) == 2:
        column = graph.Reshape(scores, np.array([-1, 1]))
        scores = graph.Concat(graph.Neg(column), column, axis=1)
    return scores if double else graph.Cast(scores, to=onnx_proto.TensorProto.FLOAT)


ALIASES = {
    machine: f"Softmargin{machine.__name__}"
    for machine in (SVC, NuSVC, SVR, NuSVR, OneClassSVM, LinearSVC, LinearSVR)
}


def register() -> None:
    """Tells skl2onnx how to convert the machines; done when this module is imported."""
    for machine, alias in ALIASES.items():
        classifier = machine in (SVC, NuSVC, LinearSVC)
        # Pipelines pass zipmap on; there is nothing to zip, as scores are not probabilities.
        options = {"raw_scores": [True, False], "zipmap": [True, False, "columns"]}
        update_registered_converter(
            machine, alias, shapes, convert, parser=parse, options=options if classifier else None
        )


register()
