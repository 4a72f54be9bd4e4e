"""LIBLINEAR's text model, for the linear machines.

The file has one row of weights per feature, and one more for the constant feature of value ``bias``
unless ``bias`` is negative.  A regression has one column and no labels.  With two classes (except
for Crammer-Singer) there is one column, and a positive decision value means the first class of the
file.  In softmargin a positive value means the second class, so the weights change sign.  Otherwise
there is a column per class, and the largest value wins.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from softmargin.io.data.libsvm_text import INT32_MAX, read_rows
from softmargin.io.models.libsvm import integer_labels, words
from softmargin.io.models.record import Record
from softmargin.io.models.text_header import Header, count, finite, one_of, whole
from softmargin.io.streams import reading, writing

Array = NDArray[np.float64]

CRAMMER_SINGER = "MCSVM_CS"
CLASSIFIERS: dict[str, dict[str, Any]] = {
    "L2R_LR": {},
    "L2R_L2LOSS_SVC_DUAL": {"dual": True},
    "L2R_L2LOSS_SVC": {"dual": False},
    "L2R_L1LOSS_SVC_DUAL": {"loss": "hinge"},
    CRAMMER_SINGER: {"multi_class": "crammer_singer"},
    "L1R_L2LOSS_SVC": {"penalty": "l1"},
    "L1R_LR": {},
    "L2R_LR_DUAL": {},
}
REGRESSIONS: dict[str, dict[str, Any]] = {
    "L2R_L2LOSS_SVR": {"loss": "squared_epsilon_insensitive", "dual": False},
    "L2R_L2LOSS_SVR_DUAL": {"loss": "squared_epsilon_insensitive", "dual": True},
    "L2R_L1LOSS_SVR_DUAL": {"loss": "epsilon_insensitive"},
}
"""The names of LIBLINEAR's solvers, and the parameters of the machine they train.  A logistic
regression can be loaded and used to predict, but not trained."""
KEYS = ("solver_type", "nr_class", "label", "nr_feature", "bias")


def read_liblinear_model(path: Any) -> Record:
    """The machine in a model file of LIBLINEAR's ``train``; it predicts what LIBLINEAR would."""
    with reading(path) as stream:
        header = Header.read(stream, path, KEYS, "w")
        names = (*CLASSIFIERS, *REGRESSIONS)
        solver = header.value("solver_type", one_of(names), f"one of {', '.join(names)}")
        regression = solver in REGRESSIONS
        labels = [] if regression else _labels(header)
        single = regression or (len(labels) == 2 and solver != CRAMMER_SINGER)
        weights, _, _ = read_rows(
            stream,
            path,
            leading=1 if single else len(labels),
            first_index=1,
            first_line=header.length + 1,
        )
    coef, intercept = _parts(header, weights, -1 if single and not regression else 1)
    attributes = {
        "solution_": None,
        "coef_": coef[0] if regression else coef,
        "intercept_": intercept,
        "n_features_in_": coef.shape[1],
        "n_iter_": 0,
    }
    params = (REGRESSIONS if regression else CLASSIFIERS)[solver]
    params = {**params, "fit_intercept": bool(intercept.any())}
    if regression:
        return Record("LinearSVR", params, attributes)
    attributes["classes_"] = np.array(labels, dtype=np.int64)
    attributes["class_weight_"] = np.ones(len(labels))
    return Record("LinearSVC", params, attributes)


def _labels(header: Header) -> list[int]:
    number = header.value("nr_class", count, "a number of classes")
    header.require("nr_class", number >= 2, "2 classes or more")
    labels = header.values("label", whole, "an integer (of 64 bits)", number)
    header.require("label", len(set(labels)) == number, "a different label for each class")
    return labels


def _parts(header: Header, weights: Array, sign: int) -> tuple[Array, Array]:
    features = header.value("nr_feature", count, "a number of features")
    bias = header.value("bias", finite, "a finite number")
    rows = features + (bias >= 0)
    header.require(
        "nr_feature", len(weights) == rows <= INT32_MAX, f"the {len(weights)} rows of weights below"
    )
    constant = bias * weights[-1] if bias >= 0 else np.zeros(weights.shape[1])
    coef = weights[:features].T
    if weights.shape[1] == 1:
        return np.ascontiguousarray(sign * coef), sign * constant
    if weights.shape[1] == 2:  # Crammer-Singer with two classes: only the difference matters
        return coef[1:] - coef[:1], constant[1:] - constant[:1]
    return np.ascontiguousarray(coef), constant


def check_liblinear_model(record: Record) -> None:
    """Raises ValueError if the format cannot hold the machine.  Only the kind and the classes
    matter, so this can be called before training."""
    if not record.is_linear:
        raise ValueError(f"LIBLINEAR's model format is for linear machines, not {record.kind}.")
    if record.is_classifier:
        integer_labels(record.attributes["classes_"], "LIBLINEAR")


def _solver_type(record: Record) -> str:
    """LIBLINEAR has no Weston-Watkins machine; with more than two classes such a machine is written
    as a Crammer-Singer machine, which predicts in the same way."""
    params = record.params
    if record.is_regressor:
        squared = params.get("loss") == "squared_epsilon_insensitive"
        dual = "_DUAL" if params.get("dual") is True else ""
        return f"L2R_L2LOSS_SVR{dual}" if squared else "L2R_L1LOSS_SVR_DUAL"
    if params.get("multi_class", "ovr") != "ovr":
        joint = len(record.attributes["classes_"]) > 2
        return CRAMMER_SINGER if joint else "L2R_L1LOSS_SVC_DUAL"
    if params.get("penalty") == "l1":
        return "L1R_L2LOSS_SVC"
    if params.get("loss") == "hinge":
        return "L2R_L1LOSS_SVC_DUAL"
    return "L2R_L2LOSS_SVC_DUAL" if params.get("dual") is True else "L2R_L2LOSS_SVC"


def write_liblinear_model(path: Any, record: Record) -> None:
    """Writes a linear machine so that LIBLINEAR's ``predict`` makes the same predictions."""
    check_liblinear_model(record)
    values = record.attributes
    coef, intercept = values["coef_"], np.atleast_1d(values["intercept_"])
    coef = np.atleast_2d(coef.toarray() if sp.issparse(coef) else np.asarray(coef))
    classes = values.get("classes_", ())
    if len(classes) == 2:
        coef, intercept = -coef, -intercept
    with_constant = bool(intercept.any())
    labels = [f"label {words(integer_labels(classes, 'LIBLINEAR'))}"] if len(classes) else []
    lines = [
        f"solver_type {_solver_type(record)}",
        f"nr_class {len(classes) or 2}",
        *labels,
        f"nr_feature {coef.shape[1]}",
        f"bias {1 if with_constant else -1}",
        "w",
    ]
    rows = np.vstack([coef.T, intercept]) if with_constant else coef.T
    with writing(path) as stream:
        stream.write("".join(f"{line}\n" for line in lines).encode())
        for row in rows:
            stream.write(f"{words(row)} \n".encode())
