"""Model files of every format; the first bytes tell which format a file has."""

from __future__ import annotations

from typing import Any

from softmargin.io.file_error import FileError, name_of
from softmargin.io.models.liblinear import (
    check_liblinear_model,
    read_liblinear_model,
    write_liblinear_model,
)
from softmargin.io.models.libsvm import check_libsvm_model, read_libsvm_model, write_libsvm_model
from softmargin.io.models.record import Record
from softmargin.io.streams import Named, compression, reading, suffix_within

FORMATS = ("native", "libsvm", "liblinear")
NATIVE_SUFFIX, TEXT_SUFFIX = ".softmargin", ".model"


def format_of(path: Any) -> str:
    """The format of an existing model file."""
    if path == "-":
        raise FileError(path, "the name of a file: models are not read from standard input")
    with reading(path) as stream:
        start = stream.read(64)
        if stream is path:
            stream.seek(-len(start), 1)
    if start[:2] == b"PK":
        return "native"
    if start.startswith(b"svm_type"):
        return "libsvm"
    if start.startswith(b"solver_type"):
        return "liblinear"
    raise FileError(
        path,
        "a model: svm_type (LIBSVM) or solver_type (LIBLINEAR) at the start, or a file that"
        " softmargin has saved",
        found=start[:20],
        line=1,
        column=1,
    )


def format_for(path: Any, record: Record) -> str:
    """The format for a new model file of this name: softmargin's own for ``.softmargin``; LIBSVM's
    text (LIBLINEAR's for a linear machine) for ``.model``.  Any other name gets that text format
    too, unless it cannot hold the model: columns or classes with names, a kernel machine with a
    score for each class."""
    if suffix_within(path) != TEXT_SUFFIX and (has_names(record) or record.scores_classes):
        return "native"
    return format_for_name(path, record)


def format_for_name(path: Any, record: Record) -> str:
    """Like `format_for`, but ignores whether columns or classes have names."""
    if suffix_within(path) == NATIVE_SUFFIX:
        return "native"
    return "liblinear" if record.is_linear else "libsvm"


def has_names(record: Record) -> bool:
    """Whether columns have names, or classes are not numbers."""
    classes = record.attributes.get("classes_")
    return bool(record.feature_names) or (classes is not None and classes.dtype.kind not in "fiub")


def read_any_model(path: Any, *, mmap: bool = True) -> Record:
    """`path` is a file name or a binary stream."""
    if hasattr(path, "read"):
        path = Named(path.read(), name_of(path))
    format = format_of(path)
    if format == "libsvm":
        return read_libsvm_model(path)
    if format == "liblinear":
        return read_liblinear_model(path)
    if compression(path):
        raise FileError(path, "a native model file that is not compressed: decompress it first")
    from softmargin.io.models.native import read_model

    return read_model(path, mmap=mmap)


def check_format(path: Any, record: Record, format: str) -> None:
    """Raises ValueError if the format, or a file of this name, cannot hold the machine.  Only
    the kind, the parameters, the classes and the scaling matter, so this can be called before
    training."""
    if format != "native" and "_scaling" in record.attributes:
        raise ValueError(
            f"{path}: the machine scales its features itself, which this format cannot store."
            " Save it in softmargin's own format (.softmargin), or write model and ranges with"
            " softmargin convert."
        )
    if format == "libsvm":
        check_libsvm_model(record)
    elif format == "liblinear":
        check_liblinear_model(record)
    elif compression(path):
        raise ValueError(
            f"{path}: softmargin's own model files are not compressed, so that they can be"
            " memory-mapped; choose a name without .gz, .bz2, .xz or .zst."
        )


def write_any_model(path: Any, record: Record, format: str) -> None:
    check_format(path, record, format)
    if format == "libsvm":
        write_libsvm_model(path, record)
        return
    if format == "liblinear":
        write_liblinear_model(path, record)
        return
    from softmargin.io.models.native import write_model

    write_model(path, record)
