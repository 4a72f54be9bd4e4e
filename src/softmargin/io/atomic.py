"""Atomic writes, and locks on files that only one fit may use at a time.

New content goes to a temporary file in the same folder, which is renamed once it is on disk: a
crash leaves either the old file or the new one.  The temporary file has a random name and must not
exist yet (O_EXCL), so no symbolic link can redirect the write.
"""

from __future__ import annotations

import errno
import hashlib
import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]

PREFIX = ".softmargin-"
"""Prefix of temporary files and lock files.  Their names do not contain the target's name, which
may already have the maximum length."""

NEW_FLAGS = (
    os.O_WRONLY
    | os.O_CREAT
    | os.O_EXCL
    | getattr(os, "O_NOFOLLOW", 0)
    | getattr(os, "O_CLOEXEC", 0)
    | getattr(os, "O_BINARY", 0)
)
LOCK_FLAGS = os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0)


@contextmanager
def replacing(target: Path) -> Iterator[IO[bytes]]:
    """A binary stream whose content, synced to disk, replaces `target` at the end.  If anything
    fails, `target` is unchanged and no temporary file remains.

    The caller must resolve symbolic links in `target`.  A new file gets the default permissions
    (umask); a replaced file keeps its own.
    """
    mode = _mode_of(target)
    temporary = target.with_name(f"{PREFIX}{secrets.token_hex(8)}")
    # The old file may be private, so nobody may open the new one before its mode is set.
    descriptor = os.open(temporary, NEW_FLAGS, 0o666 if mode is None else 0o600)
    try:
        with os.fdopen(descriptor, "wb") as stream:
            if mode is not None and hasattr(os, "fchmod"):
                os.fchmod(descriptor, mode)
            yield stream
            stream.flush()
            os.fsync(descriptor)
        os.replace(temporary, target)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    _sync_folder(target.parent)


def is_temporary(path: Any) -> bool:
    """Whether `path` is one of our temporary or lock files."""
    return Path(os.fspath(path)).name.startswith(PREFIX)


def _mode_of(target: Path) -> int | None:
    try:
        return target.stat().st_mode & 0o777
    except FileNotFoundError:
        return None


def _sync_folder(folder: Path) -> None:
    """Syncs the rename to disk if the system supports it."""
    if os.name != "posix":
        return
    with suppress(OSError):  # the folder may be writable but not readable
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


class FileInUse(OSError):  # noqa: N818 - a state, like FileExistsError
    """Another process, or another thread of this one, has locked the file."""


class FileLock:
    """An exclusive lock on a file, against other processes and other threads.  It is held until it
    is released or the process ends.

    The lock is on a separate small file in the same folder, because the file itself is replaced
    at every write.  If the system has no ``flock`` (Windows, some network drives), nothing is
    locked.
    """

    def __init__(self, target: Path) -> None:
        digest = hashlib.sha256(os.fsencode(target.name)).hexdigest()[:16]
        self.path = target.with_name(f"{PREFIX}{digest}.lock")
        self.descriptor = -1 if fcntl is None else self._lock()

    def _lock(self) -> int:
        while True:
            descriptor = os.open(self.path, LOCK_FLAGS, 0o666)
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                os.close(descriptor)
                raise FileInUse(errno.EAGAIN, "in use") from None
            except OSError:
                os.close(descriptor)
                self.path.unlink(missing_ok=True)
                return -1
            if self._is_ours(descriptor):
                return descriptor
            os.close(descriptor)

    def _is_ours(self, descriptor: int) -> bool:
        """Whether the lock file still exists under its name: the previous holder removes it on
        release, perhaps between our open and our lock."""
        try:
            return os.path.samestat(os.fstat(descriptor), os.stat(self.path))
        except FileNotFoundError:
            return False

    def release(self) -> None:
        descriptor, self.descriptor = self.descriptor, -1
        if descriptor >= 0:
            with suppress(OSError):
                self.path.unlink(missing_ok=True)
            os.close(descriptor)
