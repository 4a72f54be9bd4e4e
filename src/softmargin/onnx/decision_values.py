"""Kernel values and decision values as graphs."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np

from softmargin.estimator import one_vs_one
from softmargin.onnx.graph import Array, Graph, dense, product


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
