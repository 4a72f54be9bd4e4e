"""What the Python targets have in common: a file of bytes in, a refusal or a result out.

Any other exception is a finding.  So is the use of more memory, as NumPy and Python report it, than
a limit: ten times the input plus a constant, or a limit that the target sets for the file that it
makes from the input.
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


def fuzz(
    read: Callable[[Path], Any],
    name: str,
    refusal: type[Exception],
    limit: Callable[[int], int] | None = None,
) -> None:
    """Fuzzes `read`, which gets the name of a file with the bytes and may raise `refusal`."""
    path = Path(tempfile.mkdtemp()) / name

    def one(content: bytes) -> None:
        path.write_bytes(content)
        tracemalloc.reset_peak()
        before, _ = tracemalloc.get_traced_memory()
        with suppress(refusal):
            read(path)
        _, peak = tracemalloc.get_traced_memory()
        allowed = limit(path.stat().st_size) if limit else 10 * len(content) + ROOM
        if peak > before + allowed:
            raise MemoryError(f"{peak - before} bytes for an input of {len(content)}")

    tracemalloc.start()
    atheris.Setup(sys.argv, one)
    atheris.Fuzz()


def spliced(old: bytes, content: bytes) -> bytes:
    """`old`, changed as `content` says: bytes 1 and 2 are where, byte 0 whether the rest is put
    over what is there or in between."""
    where, piece = int.from_bytes(content[1:3], "little") % (len(old) + 1), content[3:]
    return old[:where] + piece + old[where + (len(piece) if content[0] % 2 else 0) :]
