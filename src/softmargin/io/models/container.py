"""One file with a JSON header and arrays that can be memory-mapped.

It is a zip archive without compression: ``header.json``, and a NumPy ``.npy`` file for each array,
aligned to 64 bytes.  Any zip tool and ``numpy.load`` can open it.  There is no pickle, and nothing
in it is ever executed.  The reader rejects sizes in the file that exceed the size of the file
itself, for each array and for all arrays together.
"""

from __future__ import annotations

import hashlib
import io
import json
import math
import struct
import threading
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from softmargin.io.file_error import FileError
from softmargin.io.streams import writing

ALIGNMENT = 64
PADDING_FIELD = 0xD935  # the extra field that Android's zipalign uses for the same purpose
HEADER = "header.json"
HEADER_LIMIT = 2**22
KINDS = "fiubU"
PARSER = threading.Lock()
"""NumPy reads array headers with Python's parser, which is not thread-safe before 3.11.8."""
# What zipfile raises for some broken archives, besides its own error.
BROKEN = (OSError, ValueError, NotImplementedError, EOFError, struct.error, OverflowError)


def write_container(path: Any, header: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> None:
    """Writes the header, to which it adds checksums of the arrays, and the arrays."""
    members = {f"{name}.npy": _npy(array) for name, array in arrays.items()}
    checksums = {name: hashlib.sha256(content).hexdigest() for name, content in members.items()}
    text = json.dumps({**header, "sha256": checksums}, indent=1, allow_nan=True)
    if len(text) > HEADER_LIMIT:
        raise ValueError(
            f"The header of {path} would have {len(text)} bytes, more than {HEADER_LIMIT}: are the"
            " parameters of the machine that large?"
        )
    with writing(path) as stream:
        archive_bytes = io.BytesIO() if not _is_plain(stream) else stream
        with zipfile.ZipFile(archive_bytes, "w", zipfile.ZIP_STORED) as archive:
            _add(archive, HEADER, text.encode())
            for name, content in members.items():
                _add(archive, name, content)
        if archive_bytes is not stream:
            stream.write(archive_bytes.getvalue())


def _is_plain(stream: Any) -> bool:
    return bool(stream.seekable())


def _npy(array: NDArray[Any]) -> bytes:
    content = io.BytesIO()
    np.lib.format.write_array(content, np.ascontiguousarray(array), (1, 0), allow_pickle=False)
    return content.getvalue()


def _add(archive: zipfile.ZipFile, name: str, content: bytes) -> None:
    info = zipfile.ZipInfo(name)  # dated 1980, so that the same content makes the same file
    start = archive.fp.tell() + 30 + len(name) + 4  # type: ignore[union-attr]
    padding = -start % ALIGNMENT
    info.extra = struct.pack("<HH", PADDING_FIELD, padding) + bytes(padding)
    archive.writestr(info, content)


class Container:
    """A container that is open for reading."""

    def __init__(self, path: Any, *, mmap: bool = True, verify: bool = True) -> None:
        """`path` is a file name or a binary stream; a stream is read into memory."""
        self.content = path.read() if hasattr(path, "read") else None
        self.path = path if self.content is not None else Path(path)
        self.mmap, self.verify, self.taken = mmap, verify, 0
        self.size = self.path.stat().st_size if self.content is None else len(self.content)
        with self._open() as stream:
            try:
                with zipfile.ZipFile(stream) as archive:
                    self.members = {info.filename: info for info in archive.infolist()}
                    self.header = self._read_header(archive)
            except FileError:
                raise
            except (zipfile.BadZipFile, *BROKEN) as error:
                raise self._error("a model file of softmargin", str(error)) from error

    def _open(self) -> Any:
        return open(self.path, "rb") if self.content is None else io.BytesIO(self.content)

    def _error(self, expected: str, found: str | None = None) -> FileError:
        return FileError(self.path, expected, found=found)

    def _read_header(self, archive: zipfile.ZipFile) -> dict[str, Any]:
        info = self.members.get(HEADER)
        if info is None:
            raise self._error(f"a member {HEADER}", ", ".join(list(self.members)[:5]))
        self._check_stored(info, min(self.size, HEADER_LIMIT))
        try:
            header = json.loads(archive.read(info))
        except (ValueError, RecursionError, OSError, RuntimeError) as error:
            raise self._error(f"JSON in {HEADER}", str(error)) from error
        if not isinstance(header, dict):
            raise self._error(f"an object in {HEADER}", type(header).__name__)
        return header

    def _check_stored(self, info: zipfile.ZipInfo, limit: int) -> None:
        if info.compress_type != zipfile.ZIP_STORED or info.flag_bits & 1:
            raise self._error(f"the member {info.filename} neither compressed nor encrypted")
        if info.file_size > limit or info.file_size != info.compress_size:
            raise self._error(
                f"at most {limit} bytes of {info.filename}", f"{info.file_size} bytes"
            )

    def array(self, name: str) -> NDArray[Any]:
        """An array by name: mapped from the file, or read into memory."""
        member = f"{name}.npy"
        info = self.members.get(member)
        if info is None:
            raise self._error(f"a member {member}")
        # The header may name one array many times, and members may overlap.  Without this limit
        # a small file could take any amount of memory.
        self._check_stored(info, self.size - self.taken)
        self.taken += info.file_size
        with self._open() as stream:
            start = self._content_start(stream, info)
            if self.verify:
                self._check_sum(stream, info, start)
            stream.seek(start)
            dtype, shape, fortran = self._array_header(stream, member)
            offset = stream.tell()
        count, length = math.prod(shape), start + info.file_size - offset
        if length < 0 or count * dtype.itemsize != length:
            raise self._error(f"{count * dtype.itemsize} bytes in {member}", f"{length} bytes")
        order: Any = "F" if fortran else "C"
        if count == 0:
            return np.empty(shape, dtype)
        if self.content is not None:
            values = np.frombuffer(self.content, dtype, count, offset)
            aligned = offset % dtype.alignment == 0
            return (values if aligned else values.copy()).reshape(shape, order=order)
        # Another zip tool may have moved the arrays, and the core needs aligned numbers.
        if self.mmap and offset % dtype.alignment == 0:
            mapped = np.memmap(self.path, dtype, "r", offset=offset, shape=shape, order=order)
            return np.asarray(mapped)
        values = np.fromfile(self.path, dtype, count, offset=offset)
        return values.reshape(shape, order=order)

    def _content_start(self, stream: Any, info: zipfile.ZipInfo) -> int:
        """The offset of a member's content.  The content follows the member's local header, whose
        length may differ from the one in the directory at the end of the archive."""
        stream.seek(max(info.header_offset, 0))
        local = stream.read(30)
        if len(local) != 30 or local[:4] != b"PK\3\4":
            raise self._error(f"the member {info.filename} where the archive says it is")
        name_length, extra_length = struct.unpack("<HH", local[26:30])
        start = info.header_offset + 30 + name_length + extra_length
        if start + info.file_size > self.size:
            raise self._error(
                f"{info.file_size} bytes of {info.filename}", f"{self.size - start} bytes"
            )
        return int(start)

    def _array_header(
        self, stream: Any, member: str
    ) -> tuple[np.dtype[Any], tuple[int, ...], bool]:
        try:
            if np.lib.format.read_magic(stream) != (1, 0):
                raise ValueError("a version of the .npy format other than 1.0")
            with PARSER:
                shape, fortran, dtype = np.lib.format.read_array_header_1_0(stream)
        except Exception as error:  # NumPy passes on whatever Python's tokenizer raises
            raise self._error(f"a NumPy array in {member}", str(error)) from error
        plain = dtype.kind in KINDS and dtype.names is None and dtype.subdtype is None
        if not plain or dtype.itemsize == 0 or dtype.hasobject:
            raise self._error(f"numbers or text in {member}", str(dtype))
        if any(not isinstance(size, int) or size < 0 for size in shape):
            raise self._error(f"sizes of 0 or more in {member}", str(shape))
        return dtype, shape, bool(fortran)

    def _check_sum(self, stream: Any, info: zipfile.ZipInfo, start: int) -> None:
        announced = self.header.get("sha256")
        expected = announced.get(info.filename) if isinstance(announced, dict) else None
        stream.seek(start)
        actual, left = hashlib.sha256(), info.file_size
        while left > 0:
            piece = stream.read(min(left, 2**20))
            if not piece:
                break
            actual.update(piece)
            left -= len(piece)
        if actual.hexdigest() != expected:
            raise self._error(
                f"the checksum of {info.filename} that the header gives; the file is damaged",
                actual.hexdigest()[:16],
            )
