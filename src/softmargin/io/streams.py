"""Opening files: compressed or not, as bytes in blocks of whole lines, and atomic writing."""

from __future__ import annotations

import io
import os
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from softmargin.io.file_error import FileError, name_of

COMPRESSED = (".gz", ".bz2", ".xz", ".zst")
# A block for each thread: what was just copied from the file should still be in a cache.
BLOCK_BYTES, SMALL_BLOCK_BYTES = 2**21, 2**15


def compression(path: Any) -> str:
    """The suffix that says how a file is compressed, or nothing."""
    suffix = Path(name_of(path)).suffix.lower()
    return suffix if suffix in COMPRESSED else ""


def suffix_within(path: Any) -> str:
    """The suffix that says what a file is, below that of its compression."""
    name = Path(name_of(path))
    return (name.with_suffix("") if compression(name) else name).suffix.lower()


@contextmanager
def reading(path: Any) -> Iterator[Any]:
    """A binary stream that can be read again from its start (``seek(0)``), decompressed.

    `path` is the name of a file, "-" for standard input, or a binary stream.
    """
    if path == "-" or hasattr(path, "read"):
        stream = _standard(sys.stdin, "input") if path == "-" else path
        yield stream if stream.seekable() else io.BytesIO(stream.read())
        return
    with _decompressed(path) as stream, _broken_archives(path):
        yield stream


class Named(io.BytesIO):
    """A text as a stream that messages call by the name of the file it came from."""

    def __init__(self, text: bytes, name: str) -> None:
        super().__init__(text)
        self.name = name


@contextmanager
def _broken_archives(path: Any) -> Iterator[None]:
    """Errors of a decompressor, told as errors of the file."""
    import lzma
    import zlib

    kind = compression(path)
    try:
        yield
    except (EOFError, zlib.error, lzma.LZMAError) as error:
        raise FileError(path, f"a complete {kind} file", found=str(error)) from error
    except OSError as error:
        if kind and error.errno is None:  # gzip and bz2 call a broken file so
            raise FileError(path, f"a valid {kind} file", found=str(error)) from error
        raise


def _decompressed(path: Any) -> Any:
    kind = compression(path)
    if not kind:
        return open(path, "rb")
    return _opener(kind)(path, "rb")


def _opener(kind: str) -> Any:
    """What opens files that are compressed in this way, as ``open`` does."""
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
    """All of it: zstandard's streams cannot go back to their start."""
    try:
        with zstandard.open(path, "rb") as stream:
            content: bytes = stream.read()
            return content
    except zstandard.ZstdError as error:
        raise FileError(path, "a valid .zst file", found=str(error)) from error


def line_blocks(stream: Any, size: int = BLOCK_BYTES) -> Iterator[memoryview]:
    """The rest of a stream in blocks of about `size` bytes that end with a line (or the stream).

    The first blocks are smaller: a small file shall not pay for a large buffer.  A block is valid
    until the next one is asked for.
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
    """A binary stream whose content appears under its name at the end, whole, or not at all.

    `path` is the name of a file, "-" for standard output, or a binary stream.
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
    with _errors_of(path, f".{target.name}."):
        handle, name = tempfile.mkstemp(prefix=f".{target.name}.", dir=target.parent)
        os.close(handle)
        temporary = Path(name)
        try:
            with _compressing(temporary, compression(path)) as stream:
                yield stream
            _adopt_mode(temporary, target)
            os.replace(temporary, target)
        except BaseException:
            temporary.unlink(missing_ok=True)
            raise


def _standard(stream: Any, name: str) -> Any:
    if stream is None:  # how Python finds it when the shell has closed it
        raise OSError(f"standard {name} is closed; name a file instead of -")
    return stream.buffer


def _is_device(path: Any) -> bool:
    """Whether bytes go there as they come: /dev/stdout, a named pipe.  To be asked of the name as
    it is: what /dev/stdout leads to need not be the name of anything."""
    return os.path.exists(path) and not os.path.isfile(path)


@contextmanager
def _errors_of(path: Any, temporary: str | None = None) -> Iterator[None]:
    """Errors of the system that name no file, or one that begins with `temporary`, name `path`."""
    try:
        yield
    except FileError as error:
        if temporary and Path(error.path).name.startswith(temporary):
            raise FileError(path, error.expected, found=error.found) from None
        raise
    except OSError as error:
        named = error.filename
        ours = named is None or bool(temporary and Path(named).name.startswith(temporary))
        if error.errno is None or not ours:
            raise
        raise OSError(error.errno, error.strerror, name_of(path)) from error


def check_target(path: Any) -> None:
    """Refuses a name under which no file can appear; best known before what to write is made."""
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


def _adopt_mode(temporary: Path, target: Path) -> None:
    """The permissions of the file that is replaced, or those of any new file."""
    if target.exists():
        mode = target.stat().st_mode & 0o777
    else:
        mask = os.umask(0)
        os.umask(mask)
        mode = 0o666 & ~mask
    os.chmod(temporary, mode)


@contextmanager
def _compressing(path: Path, kind: str) -> Iterator[Any]:
    if kind == ".gz":
        import gzip

        # No name and no time in the header: the same content makes the same file.
        with open(path, "wb") as raw, gzip.GzipFile("", "wb", fileobj=raw, mtime=0) as stream:
            yield stream
    else:
        with _opener(kind)(path, "wb") if kind else open(path, "wb") as stream:
            yield stream


def available_processors() -> int:
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
