"""LIBLINEAR's text model, for the linear machines.

The file has one row of weights per feature, and one more for the constant feature of value ``bias``
unless that is negative.  With two classes (and any machine but Crammer-Singer's) there is one
column, whose value above zero means the first class of the file; here it means the second, so it
changes sign.  Otherwise there is a column per class, and the class of the largest value wins.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from softmargin.io.header import Header, count, finite, one_of, whole
from softmargin.io.libsvm_data import INT32_MAX, read_rows
from softmargin.io.libsvm_model import integer_labels, words
from softmargin.io.record import Record
from softmargin.io.streams import reading, writing

Array = NDArray[np.float64]

CRAMMER_SINGER, ONE_VS_REST = "MCSVM_CS", "L2R_L1LOSS_SVC_DUAL"
CLASSIFIERS = (
    *("L2R_LR", "L2R_L2LOSS_SVC_DUAL", "L2R_L2LOSS_SVC", ONE_VS_REST, CRAMMER_SINGER),
    *("L1R_L2LOSS_SVC", "L1R_LR", "L2R_LR_DUAL"),
)
KEYS = ("solver_type", "nr_class", "label", "nr_feature", "bias")


def read_liblinear_model(path: Any) -> Record:
    """The classifier in a model file of LIBLINEAR's train; it predicts what LIBLINEAR's does."""
    with reading(path) as stream:
        header = Header.read(stream, path, KEYS, "w")
        what = f"a classifier: one of {', '.join(CLASSIFIERS)}"
        solver = header.value("solver_type", one_of(CLASSIFIERS), what)
        number = header.value("nr_class", count, "a number of classes")
        header.require("nr_class", number >= 2, "2 classes or more")
        labels = header.values("label", whole, "an integer (of up to 18 digits)", number)
        header.require("label", len(set(labels)) == number, "a different label for each class")
        columns = 1 if number == 2 and solver != CRAMMER_SINGER else number
        weights, _, _ = read_rows(
            stream, path, leading=columns, first_index=1, first_line=header.length + 1
        )
    coef, intercept = _parts(header, weights)
    params: dict[str, Any] = {
        "multi_class": "crammer_singer" if solver == CRAMMER_SINGER else "ovr",
        "fit_intercept": bool(intercept.any()),
    }
    return Record(
        "LinearSVC",
        params,
        {
            "solution_": None,
            "classes_": np.array(labels, dtype=np.int64),
            "class_weight_": np.ones(number),
            "coef_": coef,
            "intercept_": intercept,
            "n_features_in_": coef.shape[1],
            "n_iter_": 0,
        },
    )


def _parts(header: Header, weights: Array) -> tuple[Array, Array]:
    features = header.value("nr_feature", count, "a number of features")
    bias = header.value("bias", finite, "a finite number")
    rows = features + (bias >= 0)
    header.require(
        "nr_feature", len(weights) == rows <= INT32_MAX, f"the {len(weights)} rows of weights below"
    )
    constant = bias * weights[-1] if bias >= 0 else np.zeros(weights.shape[1])
    coef = weights[:features].T
    if weights.shape[1] == 1:
        return np.ascontiguousarray(-coef), -constant
    if weights.shape[1] == 2:  # Crammer-Singer with two classes: the difference decides
        return coef[1:] - coef[:1], constant[1:] - constant[:1]
    return np.ascontiguousarray(coef), constant


def check_liblinear_model(record: Record) -> None:
    """Refuses what the format cannot hold; of the record only kind and classes count, so it can be
    asked before a training."""
    if record.kind != "LinearSVC":
        raise ValueError(f"LIBLINEAR's model format is for linear machines, not {record.kind}.")
    integer_labels(record.attributes["classes_"], "LIBLINEAR")


def write_liblinear_model(path: Any, record: Record) -> None:
    """Writes a linear machine such that LIBLINEAR's predict gives its predictions.

    LIBLINEAR has no name for Weston-Watkins' machine; with more than two classes it is written as
    Crammer-Singer's, which predicts in the same way.
    """
    check_liblinear_model(record)
    values = record.attributes
    coef, intercept = values["coef_"], np.atleast_1d(values["intercept_"])
    coef = coef.toarray() if sp.issparse(coef) else np.asarray(coef)
    if len(values["classes_"]) == 2:
        coef, intercept = -coef, -intercept
    joint = record.params["multi_class"] != "ovr" and len(values["classes_"]) > 2
    with_constant = bool(intercept.any())
    lines = [
        f"solver_type {CRAMMER_SINGER if joint else ONE_VS_REST}",
        f"nr_class {len(values['classes_'])}",
        f"label {words(integer_labels(values['classes_'], 'LIBLINEAR'))}",
        f"nr_feature {coef.shape[1]}",
        f"bias {1 if with_constant else -1}",
        "w",
    ]
    rows = np.vstack([coef.T, intercept]) if with_constant else coef.T
    with writing(path) as stream:
        stream.write("".join(f"{line}\n" for line in lines).encode())
        for row in rows:
            stream.write(f"{words(row)} \n".encode())
