"""What the Python targets have in common: a file of bytes in, a FileError or a result out.

Anything but a FileError is a finding, and so is more memory than ten times the input (and a
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


def fuzz(read: Callable[[Path], Any], name: str) -> None:
    """Fuzzes `read`, which gets the name of a file with the bytes."""
    from softmargin.io import FileError

    path = Path(tempfile.mkdtemp()) / name

    def one(content: bytes) -> None:
        path.write_bytes(content)
        tracemalloc.reset_peak()
        with suppress(FileError):
            read(path)
        _, peak = tracemalloc.get_traced_memory()
        if peak > base + 10 * len(content) + ROOM:
            raise MemoryError(f"{peak - base} bytes for an input of {len(content)}")

    tracemalloc.start()
    base, _ = tracemalloc.get_traced_memory()
    atheris.Setup(sys.argv, one)
    atheris.Fuzz()
