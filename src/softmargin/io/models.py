"""Model files of every format, told apart by how they begin."""

from __future__ import annotations

from typing import Any

from softmargin.io.file_error import FileError
from softmargin.io.liblinear_model import (
    check_liblinear_model,
    read_liblinear_model,
    write_liblinear_model,
)
from softmargin.io.libsvm_model import check_libsvm_model, read_libsvm_model, write_libsvm_model
from softmargin.io.record import Record
from softmargin.io.streams import compression, reading, suffix_within

FORMATS = ("native", "libsvm", "liblinear")
NATIVE_SUFFIX = ".softmargin"


def format_of(path: Any) -> str:
    """The format of an existing model file."""
    if path == "-":
        raise FileError(path, "the name of a file: models are not read from standard input")
    with reading(path) as stream:
        start = stream.read(64)
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
    """The format that the name of a new model file asks for: softmargin's own for
    ``.softmargin``, else LIBSVM's or, for a linear machine, LIBLINEAR's text."""
    if suffix_within(path) == NATIVE_SUFFIX:
        return "native"
    return "liblinear" if record.is_linear else "libsvm"


def read_any_model(path: Any, *, mmap: bool = True) -> Record:
    format = format_of(path)
    if format == "libsvm":
        return read_libsvm_model(path)
    if format == "liblinear":
        return read_liblinear_model(path)
    if compression(path):
        raise FileError(path, "a native model file that is not compressed: decompress it first")
    from softmargin.io.model_file import read_model

    return read_model(path, mmap=mmap)


def check_format(path: Any, record: Record, format: str) -> None:
    """Refuses what a format or its name cannot hold; of the record only kind, parameters and
    classes count, so it can be asked before a training."""
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
    from softmargin.io.model_file import write_model

    write_model(path, record)
