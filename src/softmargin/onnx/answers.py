"""Labels and scores of classifiers and one-class machines as graphs."""

from __future__ import annotations

from typing import Any

import numpy as np
from skl2onnx.proto import onnx_proto

from softmargin.linear import LinearSVC
from softmargin.onnx.decision_values import class_values, one_value, pair_values, votes
from softmargin.onnx.graph import Array, Graph
from softmargin.problem.formulations import boundary_rounding


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
    if labels.dtype.kind == "U":  # skl2onnx's operators take only numbers as constants
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
