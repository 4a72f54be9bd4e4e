"""What the Python targets have in common: a file of bytes in, a refusal or a result out.

Anything but a refusal is a finding, and so is more memory than ten times the input (and a
constant), as NumPy and Python report it.
"""

import sys
import tempfile
import tracemalloc
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import atheris

ROOM = 2**23


def fuzz(read: Callable[[Path], Any], name: str, refusal: type[Exception]) -> None:
    """Fuzzes `read`, which gets the name of a file with the bytes and may raise `refusal`."""
    path = Path(tempfile.mkdtemp()) / name

    def one(content: bytes) -> None:
        path.write_bytes(content)
        tracemalloc.reset_peak()
        before, _ = tracemalloc.get_traced_memory()
        with suppress(refusal):
            read(path)
        _, peak = tracemalloc.get_traced_memory()
        if peak > before + 10 * len(content) + ROOM:
            raise MemoryError(f"{peak - before} bytes for an input of {len(content)}")

    tracemalloc.start()
    atheris.Setup(sys.argv, one)
    atheris.Fuzz()


def spliced(old: bytes, content: bytes) -> bytes:
    """`old`, changed as `content` says: bytes 1 and 2 are where, byte 0 whether the rest is put
    over what is there or in between."""
    where, piece = int.from_bytes(content[1:3], "little") % (len(old) + 1), content[3:]
    return old[:where] + piece + old[where + (len(piece) if content[0] % 2 else 0) :]
