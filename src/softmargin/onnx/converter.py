"""What skl2onnx asks for: a parser, the shapes of the outputs, and a converter."""

from __future__ import annotations

from typing import Any

import numpy as np
from skl2onnx import update_registered_converter
from skl2onnx.common.data_types import (
    DoubleTensorType,
    FloatTensorType,
    Int64TensorType,
    StringTensorType,
)
from skl2onnx.operator_converters.common import concatenate_variables
from skl2onnx.proto import onnx_proto

from softmargin.classification import SVC, NuSVC
from softmargin.linear import LinearSVC, LinearSVR
from softmargin.novelty import OneClassSVM
from softmargin.onnx.answers import classes_of, classifier_answer, one_class_answer
from softmargin.onnx.decision_values import one_value
from softmargin.onnx.graph import DOUBLE, Graph
from softmargin.regression import SVR, NuSVR


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
    """Tells skl2onnx how to convert the machines."""
    for machine, alias in ALIASES.items():
        classifier = machine in (SVC, NuSVC, LinearSVC)
        # Pipelines pass zipmap on; there is nothing to zip, as scores are not probabilities.
        options = {"raw_scores": [True, False], "zipmap": [True, False, "columns"]}
        update_registered_converter(
            machine, alias, shapes, convert, parser=parse, options=options if classifier else None
        )
