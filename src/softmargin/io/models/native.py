"""softmargin's own model file: everything in a fitted machine, including its certificate.

The container is described in :mod:`softmargin.io.models.container`.  Its header has the keys::

    format       "softmargin model"
    version      of the format that wrote it
    readable_by  the oldest version of the format whose readers understand it
    class, parameters, attributes, certificate
    history      the columns of the fit's history, with fewer rows; missing in older files

A reader of version v opens every file with readable_by <= v and ignores header keys that it does
not know.  So a later version may add keys; a change of meaning must raise readable_by.
"""

from __future__ import annotations

import dataclasses
import re
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from softmargin.io.file_error import FileError
from softmargin.io.models import history, warm_start
from softmargin.io.models.checks import check_record
from softmargin.io.models.container import KINDS, Container, write_container
from softmargin.io.models.record import MACHINES, Record
from softmargin.solution import Solution
from softmargin.working_sets import BY_EXAMPLE, BY_NAME, WorkingSet

FORMAT, VERSION, READABLE_BY = "softmargin model", 3, 1
READABLE_BY_SCALED = 2
"""For machines that scale their features: a reader of version 1 would predict without scaling."""
READABLE_BY_SCORES = 3
"""For machines with a score for each class: earlier readers know only those that vote."""
SCALARS = (bool, int, float, str, type(None))


NOT_SAVED = ("_kept", "_history", "_skl_callbacks")
"""Attributes that are not saved as such.  The history has a form of its own in the file; the point
for a warm start is saved only if ``warm_start=True``, because then the next fit starts from it."""


def write_model(path: Any, record: Record) -> None:
    """Writes a fitted machine; if that fails, there is no new file."""
    import softmargin

    if record.kind not in MACHINES:
        raise TypeError(
            f"{record.kind} cannot be saved: a model file holds the machines"
            f" {', '.join(MACHINES)}, never code. Save one of these, or pickle yours."
        )
    arrays: dict[str, NDArray[Any]] = {}
    attributes = {
        name: _encode(name, value, arrays)
        for name, value in record.attributes.items()
        if not isinstance(value, Solution)
        if name not in NOT_SAVED
    }
    if record.params.get("warm_start") and "_kept" in record.attributes:
        attributes["_kept"] = _encode("_kept", warm_start.plain(record.attributes["_kept"]), arrays)
    header = {
        "format": FORMAT,
        "version": VERSION,
        "readable_by": _readable_by(record),
        "written_by": f"softmargin {softmargin.__version__}",
        "class": record.kind,
        "parameters": {k: _encode_parameter(k, v) for k, v in record.params.items()},
        "attributes": attributes,
        "certificate": _encode_solution(record.attributes.get("solution_"), arrays),
        "history": history.columns(record.attributes.get("_history"), arrays),
    }
    write_container(path, header, arrays)


def _readable_by(record: Record) -> int:
    if record.scores_classes:
        return READABLE_BY_SCORES
    return READABLE_BY_SCALED if "_scaling" in record.attributes else READABLE_BY


def read_model(path: Any, *, mmap: bool = True, verify: bool = True) -> Record:
    """The machine in a model file.

    Parameters
    ----------
    mmap : bool, default=True
        Memory-map the arrays instead of reading them; the file must then not change while the
        machine is used.
    verify : bool, default=True
        Verify the checksums of the arrays, which reads each array once.
    """
    container = Container(path, mmap=mmap, verify=verify)
    header = container.header
    if header.get("format") != FORMAT:
        raise FileError(path, f"the format {FORMAT!r}", found=str(header.get("format")))
    oldest = header.get("readable_by")
    if not isinstance(oldest, int) or oldest > VERSION:
        raise FileError(
            path,
            f"a file that version {VERSION} of the format can read; a newer softmargin reads it",
            found=f"readable_by {oldest!r}, written by {header.get('written_by')!r}",
        )
    parts = {key: header.get(key) for key in ("parameters", "attributes")}
    for key, part in parts.items():
        if not isinstance(part, dict):
            raise FileError(path, f"an object {key!r} in the header", found=type(part).__name__)
    decoder = _Decoder(container)
    record = Record(
        str(header.get("class")),
        {k: decoder.parameter(k, v) for k, v in (parts["parameters"] or {}).items()},
        {k: decoder.attribute(k, v) for k, v in (parts["attributes"] or {}).items()},
    )
    if record.kind == "LinearSVC":
        record.params.setdefault("loss", "hinge")  # the only one when files had no "loss"
    if "_kept" in record.attributes:
        record.attributes["_kept"] = decoder.kept(record.attributes["_kept"])
    record.attributes["solution_"] = decoder.solution(header.get("certificate"))
    past = history.read(header.get("history"), container)
    if past is not None:
        record.attributes["_history"] = past
    check_record(record, path)
    return record


def _encode_parameter(name: str, value: Any) -> Any:
    if isinstance(value, (np.bool_, np.integer, np.floating)):
        value = value.item()
    if isinstance(value, SCALARS):
        return value
    if isinstance(value, WorkingSet):
        return {"working_set": value.name, "options": dataclasses.asdict(value)}  # type: ignore[call-overload]
    if isinstance(value, dict):
        pairs = [[_encode_parameter(name, k), _encode_parameter(name, v)] for k, v in value.items()]
        return {"dict": pairs}
    raise TypeError(
        f"{name}={value!r} cannot be saved: a model file holds numbers, text and arrays, never"
        " code. " + _remedy(name, value)
    )


def _remedy(name: str, value: Any) -> str:
    if name == "kernel":
        return (
            "Save a machine with a built-in kernel, or use kernel='precomputed' and compute the"
            " kernel yourself when predicting."
        )
    return f"Set {name} to a number, text or None before saving; it is not needed to predict."


def _encode(name: str, value: Any, arrays: dict[str, NDArray[Any]]) -> Any:
    """JSON for a fitted attribute; arrays go into `arrays` under the name of the attribute."""
    if isinstance(value, (np.bool_, np.integer, np.floating)):
        value = value.item()
    if sp.issparse(value):
        parts = value.tocsr()
        for part in ("data", "indices", "indptr"):
            arrays[f"{name}.{part}"] = getattr(parts, part)
        return {"csr": name, "shape": list(parts.shape)}
    if isinstance(value, np.ndarray):
        text = value.dtype == object and all(isinstance(item, str) for item in value.flat)
        if not text and value.dtype.kind not in KINDS:
            what = "Python objects" if value.dtype == object else f"values of type {value.dtype}"
            raise TypeError(f"{name} holds {what}, which cannot be saved: {value!r:.80}")
        arrays[name] = value.astype(str) if text else value
        return {"array": name, "object": True} if text else {"array": name}
    if isinstance(value, tuple):
        items = enumerate(value)
        return {"tuple": [_encode(f"{name}.{k}", item, arrays) for k, item in items]}
    if isinstance(value, SCALARS):
        return value
    raise TypeError(f"The attribute {name} of type {type(value).__name__} cannot be saved.")


def _encode_solution(solution: Solution | None, arrays: dict[str, NDArray[Any]]) -> Any:
    """The certificate as JSON; the certificates of its problems become one array per field."""
    if solution is None:
        return None
    certificate, problems = solution.as_plain(), [one.as_plain() for one in solution.problems]
    for field in certificate if problems else ():
        arrays[f"problems.{field}"] = np.array([one[field] for one in problems])
    return {**certificate, "problems": len(problems)}


class _Decoder:
    """Turns the JSON of the header and the arrays of the container back into values."""

    def __init__(self, container: Container) -> None:
        self.container, self.path = container, container.path

    def _error(self, expected: str, found: Any) -> FileError:
        return FileError(self.path, expected, found=str(found))

    def parameter(self, name: str, value: Any) -> Any:
        if isinstance(value, SCALARS):
            return value
        if isinstance(value, dict) and "working_set" in value:
            return self._working_set(value)
        pairs = value.get("dict") if isinstance(value, dict) else None
        valid = isinstance(pairs, list) and all(
            isinstance(pair, list) and len(pair) == 2 and isinstance(pair[0], SCALARS)
            for pair in pairs
        )
        if not valid:
            raise self._error(f"a number, text or dictionary as parameter {name!r}", value)
        return {key: self.parameter(name, item) for key, item in pairs or ()}

    def _working_set(self, value: dict[str, Any]) -> WorkingSet:
        try:
            return type({**BY_EXAMPLE, **BY_NAME}[value["working_set"]])(**value["options"])
        except (KeyError, TypeError, ValueError) as error:
            raise self._error("a working set rule and its options", error) from error

    def attribute(self, name: str, value: Any) -> Any:
        if not re.fullmatch(r"_?[a-zA-Z][a-zA-Z0-9_]*", name):
            raise self._error("the name of an attribute", name)
        return self._value(name, value)

    def _value(self, name: str, value: Any) -> Any:
        if isinstance(value, SCALARS):
            return value
        if isinstance(value, dict) and isinstance(value.get("array"), str):
            array = self.container.array(value["array"])
            return array.astype(object) if value.get("object") is True else array
        if isinstance(value, dict) and isinstance(value.get("csr"), str):
            return self._csr(value["csr"], value.get("shape"))
        if isinstance(value, dict) and isinstance(value.get("tuple"), list):
            return tuple(self._value(name, item) for item in value["tuple"])
        raise self._error(f"a value, an array or a CSR matrix as attribute {name!r}", value)

    def kept(self, value: Any) -> Any:
        try:
            return warm_start.from_plain(value)
        except (AttributeError, IndexError, TypeError, ValueError) as error:
            raise self._error("the variables that a warm start continues from", error) from error

    def _csr(self, name: str, shape: Any) -> sp.csr_matrix:
        parts = [self.container.array(f"{name}.{part}") for part in ("data", "indices", "indptr")]
        try:
            rows, columns = (int(size) for size in shape)
            matrix = sp.csr_matrix(tuple(parts), shape=(rows, columns), copy=False)
            matrix.check_format(full_check=True)
        except (TypeError, ValueError, OverflowError) as error:
            raise self._error(f"a CSR matrix {name}", error) from error
        return matrix

    def solution(self, certificate: Any) -> Solution | None:
        if certificate is None:
            return None
        if not isinstance(certificate, dict):
            raise self._error("an object as certificate", certificate)
        problems: tuple[Solution, ...] = ()
        if certificate.get("problems"):
            members = [name.removesuffix(".npy") for name in self.container.members]
            names = [name[9:] for name in members if name.startswith("problems.")]
            columns = [self.container.array(f"problems.{name}").tolist() for name in names]
            try:
                rows = [dict(zip(names, row, strict=True)) for row in zip(*columns, strict=True)]
            except (ValueError, TypeError) as error:
                raise self._error("columns of one length in the certificate", error) from error
            problems = tuple(self._one_solution(row, ()) for row in rows)
        return self._one_solution(certificate, problems)

    def _one_solution(self, values: dict[str, Any], problems: tuple[Solution, ...]) -> Solution:
        try:
            return Solution.from_plain(values, problems, complete=False)
        except ValueError as error:
            expected, found = error.args
            where = "in" if "known" in expected else "of"
            raise self._error(f"{expected} {where} the certificate", found) from error
