"""Files appear whole or not at all, where they were asked for and with the right permissions."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
import textwrap
import threading

import numpy as np
import pytest

import softmargin
from softmargin.io import atomic
from softmargin.io.streams import writing

posix = pytest.mark.skipif(os.name != "posix", reason="permissions and links of POSIX")


def machine():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 3))
    return softmargin.SVC().fit(X, X[:, 0] > 0)


@posix
@pytest.mark.slow
@pytest.mark.thread_unsafe(reason="looks at the umask of the process")
def test_threads_that_save_never_change_the_umask(tmp_path):
    """Neither our file nor one that another thread creates meanwhile is readable by everyone."""
    before = os.umask(0o027)
    try:
        modes, stop = set(), threading.Event()

        def save(number):
            for k in range(200):
                path = tmp_path / f"{number}-{k}"
                with writing(path) as stream:
                    stream.write(b"x")
                modes.add(stat.S_IMODE(path.stat().st_mode))

        def other():
            while not stop.is_set():
                path = tmp_path / "other"
                os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o666))
                modes.add(stat.S_IMODE(path.stat().st_mode))
                path.unlink()

        threads = [threading.Thread(target=save, args=(k,)) for k in range(8)]
        witness = threading.Thread(target=other)
        for thread in (*threads, witness):
            thread.start()
        for thread in threads:
            thread.join()
        stop.set()
        witness.join()
        assert modes == {0o640}
    finally:
        os.umask(before)


@posix
@pytest.mark.thread_unsafe(reason="replaces os.umask")
def test_the_umask_is_never_touched(tmp_path, monkeypatch):
    monkeypatch.setattr("os.umask", None)
    machine().save(tmp_path / "m")
    machine().save(tmp_path / "m")


@posix
def test_a_file_that_is_replaced_keeps_its_permissions(tmp_path):
    path = tmp_path / "m"
    machine().save(path)
    path.chmod(0o600)
    machine().save(path)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


@pytest.mark.parametrize("length", [250, 255])
@pytest.mark.parametrize("format", ["native", "libsvm"])
def test_names_as_long_as_names_can_be(tmp_path, length, format):
    path = tmp_path / ("m" * length)
    machine().save(path, format=format)
    assert softmargin.load(path).support_.size
    assert list(tmp_path.iterdir()) == [path]


@posix
def test_a_link_stays_and_its_target_is_replaced(tmp_path):
    (tmp_path / "folder").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "folder" / "m")
    for _ in range(2):
        machine().save(tmp_path / "link")
        assert (tmp_path / "link").is_symlink()
        assert softmargin.load(tmp_path / "folder" / "m", mmap=False).support_.size


@pytest.mark.thread_unsafe(reason="replaces functions of os")
def test_the_new_file_is_on_the_disk_before_it_has_the_name(tmp_path, monkeypatch):
    calls = []
    for name in ("fsync", "replace"):
        real = getattr(os, name)
        monkeypatch.setattr(
            os, name, lambda *a, name=name, real=real: calls.append(name) or real(*a)
        )
    machine().save(tmp_path / "m")
    assert calls[:2] == ["fsync", "replace"]
    if os.name == "posix":
        assert calls == ["fsync", "replace", "fsync"]  # the folder, too


@pytest.mark.thread_unsafe(reason="replaces the source of random names")
def test_a_file_beside_that_is_there_already_is_not_written_to(tmp_path, monkeypatch):
    """Even if its name were guessed: neither a file nor a link to one is followed."""
    monkeypatch.setattr("secrets.token_hex", lambda size: "guessed")
    (tmp_path / "victim").write_bytes(b"precious")
    (tmp_path / f"{atomic.PREFIX}guessed").symlink_to(tmp_path / "victim")
    with pytest.raises(FileExistsError):
        machine().save(tmp_path / "m")
    assert (tmp_path / "victim").read_bytes() == b"precious"
    assert not (tmp_path / "m").exists()


def test_names_beside_cannot_be_guessed(tmp_path):
    seen = set()
    for _ in range(20):
        with writing(tmp_path / "m") as stream:
            seen |= {path.name for path in tmp_path.iterdir()} - {"m"}
            stream.write(b"x")
    assert len(seen) == 20
    assert all(len(name) == len(atomic.PREFIX) + 16 for name in seen)


FULL = """
import resource, sys
import numpy as np
import softmargin
X = np.random.default_rng(0).normal(size=(300, 20))
machine = softmargin.SVC().fit(X, X[:, 0] > 0)
resource.setrlimit(resource.RLIMIT_FSIZE, (10_000, 10_000))
try:
    machine.save(sys.argv[1])
except OSError as error:
    print(error.filename)
"""


@posix
def test_what_has_no_room_leaves_the_old_file_and_nothing_else(tmp_path):
    path = tmp_path / "m"
    path.write_bytes(b"old")
    command = [sys.executable, "-c", textwrap.dedent(FULL), os.fspath(path)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout == f"{path}\n"
    assert path.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [path]


@posix
def test_one_holder_at_a_time(tmp_path):
    first = atomic.FileLock(tmp_path / "m")
    with pytest.raises(atomic.FileInUse):
        atomic.FileLock(tmp_path / "m")
    other = atomic.FileLock(tmp_path / "other")
    first.release()
    atomic.FileLock(tmp_path / "m").release()
    other.release()
    assert list(tmp_path.iterdir()) == []
