"""Reading and writing files, compressed or not; reading in blocks of whole lines."""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from softmargin.io import atomic
from softmargin.io.file_error import FileError, name_of

COMPRESSED = (".gz", ".bz2", ".xz", ".zst")
# Per thread: small enough that what was just copied from the file is still in the cache.
BLOCK_BYTES, SMALL_BLOCK_BYTES = 2**21, 2**15


def compression(path: Any) -> str:
    """The suffix that tells how a file is compressed, or "" if it is not."""
    suffix = Path(name_of(path)).suffix.lower()
    return suffix if suffix in COMPRESSED else ""


def suffix_within(path: Any) -> str:
    """The suffix that tells the file's format, without that of its compression."""
    name = Path(name_of(path))
    return (name.with_suffix("") if compression(name) else name).suffix.lower()


@contextmanager
def reading(path: Any) -> Iterator[Any]:
    """A binary stream of the decompressed file that can be read again from its start (``seek(0)``).

    `path` is a file name, "-" for standard input, or a binary stream.
    """
    if path == "-" or hasattr(path, "read"):
        stream = _standard(sys.stdin, "input") if path == "-" else path
        yield stream if stream.seekable() else io.BytesIO(stream.read())
        return
    with _decompressed(path) as stream, _broken_archives(path):
        yield stream


class Named(io.BytesIO):
    """A stream of bytes with the name of the file that they came from, for messages."""

    def __init__(self, text: bytes, name: str) -> None:
        super().__init__(text)
        self.name = name


@contextmanager
def _broken_archives(path: Any) -> Iterator[None]:
    """Turns errors of a decompressor into FileError."""
    import lzma
    import zlib

    kind = compression(path)
    try:
        yield
    except (EOFError, zlib.error, lzma.LZMAError) as error:
        raise FileError(path, f"a complete {kind} file", found=str(error)) from error
    except OSError as error:
        if kind and error.errno is None:  # what gzip and bz2 raise for a broken file
            raise FileError(path, f"a valid {kind} file", found=str(error)) from error
        raise


def _decompressed(path: Any) -> Any:
    kind = compression(path)
    if not kind:
        return open(path, "rb")
    return _opener(kind)(path, "rb")


def _opener(kind: str) -> Any:
    """The function that opens files of this compression, like ``open``."""
    if kind == ".gz":
        import gzip

        return gzip.open
    if kind == ".bz2":
        import bz2

        return bz2.open
    if kind == ".xz":
        import lzma

        return lzma.open
    return _open_zstandard


def _open_zstandard(path: Any, mode: str) -> Any:
    try:
        from compression import zstd  # Python 3.14

        return zstd.open(path, mode)
    except ImportError:
        pass
    try:
        import zstandard
    except ImportError:
        raise FileError(
            path,
            "the package zstandard for .zst files: install it with"
            " pip install 'softmargin[zstd]', or use .gz, .bz2 or .xz",
        ) from None
    if mode == "wb":
        return zstandard.open(path, mode)
    return io.BytesIO(_zstandard_bytes(path, zstandard))


def _zstandard_bytes(path: Any, zstandard: Any) -> bytes:
    """The whole content, because zstandard's streams cannot seek back to their start."""
    try:
        with zstandard.open(path, "rb") as stream:
            content: bytes = stream.read()
            return content
    except zstandard.ZstdError as error:
        raise FileError(path, "a valid .zst file", found=str(error)) from error


def line_blocks(stream: Any, size: int = BLOCK_BYTES) -> Iterator[memoryview]:
    """The rest of a stream in blocks of about `size` bytes that end with a line (or the stream).

    The first blocks are smaller, so that a small file does not pay for a large buffer.  A block is
    valid until the next one is requested.
    """
    buffer, held = bytearray(min(size, SMALL_BLOCK_BYTES)), 0
    while True:
        if held == len(buffer) or len(buffer) < size:
            buffer = buffer[:held] + bytearray(2 * len(buffer) - held)
        got = stream.readinto(memoryview(buffer)[held:])
        if not got:
            break
        end = held + got
        cut = buffer.rfind(b"\n", held, end) + 1
        if cut:
            yield memoryview(buffer)[:cut]
            buffer[: end - cut] = buffer[cut:end]
        held = end - cut
    if held:
        yield memoryview(buffer)[:held]


@contextmanager
def writing(path: Any) -> Iterator[Any]:
    """A binary stream whose content becomes the file at the end, or not at all if anything fails.

    `path` is a file name, "-" for standard output, or a binary stream.
    """
    if path == "-" or hasattr(path, "write"):
        stream = _standard(sys.stdout, "output") if path == "-" else path
        yield stream
        stream.flush()
        return
    check_target(path)
    if _is_device(path):
        with _errors_of(path), open(path, "wb") as stream:
            yield stream
        return
    target = Path(os.path.realpath(path))
    with (
        _errors_of(path),
        atomic.replacing(target) as raw,
        _compressing(raw, path) as stream,
    ):
        yield stream


def _standard(stream: Any, name: str) -> Any:
    if stream is None:  # Python sets it to None if the shell has closed it
        raise OSError(f"standard {name} is closed; name a file instead of -")
    return stream.buffer


def _is_device(path: Any) -> bool:
    """Whether `path` is written directly, such as /dev/stdout or a named pipe.  Symbolic links
    must not be resolved first: what /dev/stdout points to may have no name."""
    return os.path.exists(path) and not os.path.isfile(path)


@contextmanager
def _errors_of(path: Any) -> Iterator[None]:
    """Puts the name `path` into system errors that name no file or a temporary one."""
    try:
        yield
    except OSError as error:
        ours = error.filename is None or atomic.is_temporary(error.filename)
        if error.errno is None or not ours:
            raise
        raise OSError(error.errno, error.strerror, name_of(path)) from error


def check_target(path: Any) -> None:
    """Raises OSError if no file of this name can be written; called before the work, to fail
    early."""
    if path == "-" or hasattr(path, "write"):
        return
    target = Path(os.path.realpath(path))
    if target.is_dir():
        raise IsADirectoryError(f"{path}: this is a folder; name a file in it")
    if _is_device(path):
        return
    if not target.parent.is_dir():
        raise FileNotFoundError(f"{path}: the folder {target.parent} does not exist; make it first")
    if not os.access(target.parent, os.W_OK):
        raise PermissionError(f"{path}: the folder {target.parent} cannot be written to")


@contextmanager
def _compressing(raw: Any, path: Any) -> Iterator[Any]:
    """A stream that compresses into `raw`, according to the suffix of `path`."""
    kind = compression(path)
    if not kind:
        yield raw
    elif kind == ".gz":
        import gzip

        # No name and no time in the header, so that the same content makes the same file.
        with gzip.GzipFile("", "wb", fileobj=raw, mtime=0) as stream:
            yield stream
    else:
        try:
            compressed = _opener(kind)(raw, "wb")
        except FileError as error:
            raise FileError(path, error.expected) from None
        with compressed as stream:
            yield stream


def available_processors() -> int:
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
