"""LIBSVM's text model: read and written for all five formulations.

LIBSVM's decision value is sum_i coef_i K(x_i, x) - rho; a positive value means the first class of
the pair, in the order of the file.  In softmargin (as in scikit-learn) a positive value means the
second class if there are two classes, and the first class of the pair if there are more.  So
coefficients change sign for two classes only.  A machine that is read keeps the file's order of
classes, because ties in the vote go to the class that comes first.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from softmargin.io.data.libsvm_text import INT32_MAX, as_csr, read_rows, write_rows
from softmargin.io.file_error import FileError
from softmargin.io.models.record import CLASSIFIERS, Record
from softmargin.io.models.text_header import Header, count, finite, one_of, whole
from softmargin.io.streams import reading, writing
from softmargin.problem.kernel_names import FROM_LIBSVM, IN_LIBSVM, PARAMETERS

Array = NDArray[np.float64]

KINDS = {
    "c_svc": "SVC",
    "nu_svc": "NuSVC",
    "one_class": "OneClassSVM",
    "epsilon_svr": "SVR",
    "nu_svr": "NuSVR",
}
PROBABILITIES = ("probA", "probB", "prob_density_marks")
KEYS = (
    *("svm_type", "kernel_type", "degree", "gamma", "coef0", "nr_class", "total_sv", "rho"),
    *("label", *PROBABILITIES, "nr_sv"),
)
LIBSVM_DEFAULTS: dict[str, Any] = {"degree": 3, "gamma": 0.0, "coef0": 0.0}
NAMES = {kind: name for name, kind in KINDS.items()}


def read_libsvm_model(path: Any) -> Record:
    """The machine in a model file of svm-train.

    It predicts what svm-predict would.  Parameters that the file does not contain (C, nu, epsilon)
    keep their defaults, and ``solution_`` is None: the file has no certificate.
    """
    with reading(path) as stream:
        header = Header.read(stream, path, KEYS, "SV")
        kind = KINDS[header.value("svm_type", one_of(KINDS), f"one of {', '.join(KINDS)}")]
        what = f"one of {', '.join(FROM_LIBSVM)}"
        kernel = FROM_LIBSVM[header.value("kernel_type", one_of(FROM_LIBSVM), what)]
        classes, n_support = _classes(header, kind)
        rho = _rho(header, len(classes))
        coef, vectors = _support_vectors(stream, header, path, kernel, len(rho), len(classes))
    params = {"kernel": kernel, **_kernel_parameters(header, kernel)}
    attributes = _attributes(kind, kernel, coef, vectors, rho)
    attributes["_gamma"] = params["gamma"]
    if kind in CLASSIFIERS:
        attributes |= {"classes_": classes, "class_weight_": np.ones(len(classes))}
        attributes["_n_support"] = n_support
        _flip_two_classes(attributes)
    else:
        attributes["_n_support"] = np.array([len(coef)], dtype=np.int32)
    if kind == "OneClassSVM":
        attributes["offset_"] = -attributes["intercept_"]
    attributes |= _probabilities(header, kind, len(rho))
    if len(attributes.get("probA_", attributes.get("prob_density_marks_", ()))):
        params["probability"] = "platt" if kind in CLASSIFIERS else True
    elif kind in CLASSIFIERS:
        attributes |= {"probA_": np.empty(0), "probB_": np.empty(0)}
    return Record(kind, params, attributes)


def _classes(header: Header, kind: str) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
    """The labels and the number of support vectors of each class; both are empty unless the
    machine is a classifier."""
    number = header.value("nr_class", count, "a number of classes")
    total = header.value("total_sv", count, "a number of support vectors")
    header.require("total_sv", total <= INT32_MAX, f"at most {INT32_MAX} support vectors")
    if kind not in CLASSIFIERS:
        header.require("nr_class", number == 2, f"2 classes for svm_type {NAMES[kind]}")
        return np.empty(0, np.int64), np.empty(0, np.int32)
    header.require("nr_class", number >= 2, "2 classes or more")
    labels = header.values("label", whole, "an integer (of 64 bits)", number)
    header.require("label", len(set(labels)) == number, "a different label for each class")
    counts = header.values("nr_sv", count, "a number of support vectors", number)
    header.require("nr_sv", sum(counts) == total, f"numbers that add up to total_sv {total}")
    return np.array(labels, dtype=np.int64), np.array(counts, dtype=np.int32)


def _rho(header: Header, classes: int) -> Array:
    pairs = classes * (classes - 1) // 2 if classes else 1
    return np.array(header.values("rho", finite, "a finite number", pairs))


def _kernel_parameters(header: Header, kernel: str) -> dict[str, Any]:
    params = dict(LIBSVM_DEFAULTS)
    for name in PARAMETERS[kernel]:
        if name == "degree":
            params[name] = header.value(name, count, "an integer of 0 or more")
            header.require(name, params[name] <= INT32_MAX, f"at most {INT32_MAX}")
        else:
            params[name] = header.value(name, finite, "a finite number")
    if "gamma" in PARAMETERS[kernel]:
        header.require("gamma", params["gamma"] >= 0, "a gamma of 0 or more")
    return params


def _support_vectors(
    stream: Any, header: Header, path: Any, kernel: str, pairs: int, classes: int
) -> tuple[Array, sp.csr_matrix]:
    precomputed = kernel == "precomputed"
    coef, vectors, _ = read_rows(
        stream,
        path,
        leading=max(classes - 1, 1),
        first_index=int(not precomputed),
        first_line=header.length + 1,
    )
    total = header.value("total_sv", count, "a number of support vectors")
    header.require("total_sv", len(coef) == total, f"{len(coef)}, the support vectors below")
    if precomputed:
        serial = vectors.data
        ok = (np.diff(vectors.indptr) == 1).all() and not vectors.indices.any()
        ok = ok and ((serial >= 1) & (serial <= INT32_MAX) & (serial == np.floor(serial))).all()
        if not ok:
            raise FileError(
                path,
                "support vectors 0:serial, with a serial number from 1 (the kernel is precomputed)",
                line=header.length + 1,
            )
    return coef, vectors


def _attributes(
    kind: str, kernel: str, coef: Array, vectors: sp.csr_matrix, rho: Array
) -> dict[str, Any]:
    count = len(coef)
    attributes: dict[str, Any] = {
        "solution_": None,
        "fit_status_": 0,
        "dual_coef_": np.ascontiguousarray(coef.T),
        "intercept_": -rho,
    }
    if kernel == "precomputed":
        support = (vectors.data - 1).astype(np.int32)
        width = int(support.max(initial=-1)) + 1
        return attributes | {
            "support_": support,
            "support_vectors_": np.empty((0, 0)),
            "_sparse": False,
            "n_features_in_": width,
            "shape_fit_": (width, width),
        }
    attributes["dual_coef_"] = sp.csr_matrix(attributes["dual_coef_"])
    return attributes | {
        "support_": np.arange(count, dtype=np.int32),
        "support_vectors_": vectors,
        "_sparse": True,
        "n_features_in_": vectors.shape[1],
        "shape_fit_": vectors.shape,
    }


def _flip_two_classes(attributes: dict[str, Any]) -> None:
    if len(attributes["classes_"]) == 2:
        attributes["dual_coef_"] = -attributes["dual_coef_"]
        attributes["intercept_"] = -attributes["intercept_"]


def _probabilities(header: Header, kind: str, pairs: int) -> dict[str, Any]:
    """The probability parameters that svm-train -b 1 adds, unchanged."""
    counts = {"probA": pairs, "probB": pairs, "prob_density_marks": 10}
    return {
        f"{key}_": np.array(header.values(key, finite, "a finite number", counts[key]))
        for key in PROBABILITIES
        if key in header
    }


def write_libsvm_model(path: Any, record: Record) -> None:
    """Writes a machine so that svm-predict makes the same predictions."""
    lines = _header_lines(record)
    coef, vectors, first_index = _rows(record)
    with writing(path) as stream:
        stream.write("".join(f"{line}\n" for line in [*lines, "SV"]).encode())
        write_rows(stream, coef, vectors, first_index=first_index)


def check_libsvm_model(record: Record) -> None:
    """Raises ValueError if the format cannot hold the machine.  Only the kind, the parameters and
    the classes matter, so this can be called before training."""
    kernel: Any = record.params.get("kernel")
    if record.kind not in NAMES or callable(kernel):
        what = "kernel functions" if callable(kernel) else record.kind
        remedy = " Save in LIBLINEAR's format or softmargin's own." if record.is_linear else ""
        raise ValueError(
            f"LIBSVM's model format has no {what}; its kernels are {', '.join(FROM_LIBSVM)}, its"
            f" machines {', '.join(NAMES)}.{remedy}"
        )
    if record.scores_classes and len(record.attributes["classes_"]) > 2:
        raise ValueError(
            f"LIBSVM's model format has no multi_class={record.params['multi_class']!r}: with more"
            " than two classes, it holds a machine for each pair of them. Save in softmargin's own"
            " format (a name that ends in .softmargin)."
        )
    if record.is_classifier:
        integer_labels(record.attributes["classes_"])


def _header_lines(record: Record) -> list[str]:
    check_libsvm_model(record)
    kernel, values = record.params["kernel"], record.attributes
    lines = [f"svm_type {NAMES[record.kind]}", f"kernel_type {IN_LIBSVM[kernel]}"]
    parameters = {**record.params, "gamma": values.get("_gamma")}
    lines += [f"{name} {_text(parameters[name])}" for name in PARAMETERS[kernel]]
    classes = values["classes_"] if record.is_classifier else [0, 0]
    sign = 1.0 if record.is_classifier and len(classes) == 2 else -1.0
    lines += [
        f"nr_class {len(classes)}",
        f"total_sv {len(values['support_'])}",
        f"rho {words(sign * values['intercept_'])}",
    ]
    if record.is_classifier:
        lines.append(f"label {words(integer_labels(values['classes_']))}")
    for key in PROBABILITIES:
        if len(values.get(f"{key}_", ())):
            lines.append(f"{key} {words(values[f'{key}_'])}")
    if record.is_classifier:
        lines.append(f"nr_sv {words(values['_n_support'])}")
    return lines


def _rows(record: Record) -> tuple[Array, sp.csr_matrix, int]:
    coef = record.attributes["dual_coef_"]
    coef = (coef.toarray() if sp.issparse(coef) else np.asarray(coef)).T
    if record.is_classifier and len(record.attributes["classes_"]) == 2:
        coef = -coef
    if not record.precomputed:
        return coef, as_csr(record.attributes["support_vectors_"]), 1
    serial = record.attributes["support_"].astype(np.float64) + 1
    zeros = np.zeros(len(serial), dtype=np.int32)
    starts = np.arange(len(serial) + 1, dtype=np.int32)
    return coef, sp.csr_matrix((serial, zeros, starts), shape=(len(serial), 1)), 0


def integer_labels(classes: NDArray[Any], owner: str = "LIBSVM") -> list[int]:
    labels = []
    for label in classes.tolist():
        # Not converted to float first: above 2^53 different integers become the same float.
        whole = isinstance(label, (int, float)) and np.isfinite(label) and int(label) == label
        if not whole or not -(2**63) <= label < 2**63:
            kind = "integers of 64 bits" if whole else "integers"
            raise ValueError(
                f"{owner}'s model format has {kind} as classes, not {label!r}."
                " Number the classes (sklearn.preprocessing.LabelEncoder), or save in softmargin's"
                " own format (on the command line: a name that ends in .softmargin)."
            )
        labels.append(int(label))
    return labels


def words(values: Any) -> str:
    return " ".join(_text(value) for value in values)


def _text(value: Any) -> str:
    whole = isinstance(value, (int, np.integer)) or float(value) == int(value)
    return str(int(value)) if whole else repr(float(value))
