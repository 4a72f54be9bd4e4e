"""A small model file cannot fill the memory: read under a limit of the address space."""

from __future__ import annotations

import hashlib
import io
import json
import os
import subprocess
import sys
import textwrap
import zipfile

import numpy as np
import pytest

import softmargin

pytestmark = pytest.mark.skipif(os.name != "posix", reason="limits memory by setrlimit")

REFERENCES = 20_000
LOAD = """
import re, resource, sys
import softmargin
from softmargin.io import FileError
softmargin.SVC, softmargin.load  # what is imported late
import softmargin.io.models.native
pages = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
limit = pages + 400 * 2**20
resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
try:
    softmargin.load(sys.argv[1], mmap=sys.argv[2] == "True")
except FileError as error:
    print(error.expected)
"""


def saved(tmp_path):
    """A model with an array of 1.6 MB, and what is in its file."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(2000, 100))
    path = tmp_path / "m"
    softmargin.SVC(kernel="linear", C=1e-6).fit(X, rng.integers(0, 2, 2000)).save(path)
    with zipfile.ZipFile(path) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    return path, members, json.loads(members.pop("header.json"))


def write(path, header, members):
    header["sha256"] = {n: hashlib.sha256(c).hexdigest() for n, c in members.items()}
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("header.json", json.dumps(header))
        for name, content in members.items():
            archive.writestr(name, content)


def named_many_times(tmp_path):
    path, members, header = saved(tmp_path)
    header["attributes"]["more"] = {"tuple": [{"array": "support_vectors_"}] * REFERENCES}
    write(path, header, members)
    return path


def overlapping(tmp_path, copies=8000):
    """Many members of the archive that are the same bytes: only the directory is longer."""
    path, members, header = saved(tmp_path)
    names = [f"{k:x}" for k in range(copies)]
    header["attributes"]["more"] = {"tuple": [{"array": name} for name in names]}
    large = members["support_vectors_.npy"]
    digest = hashlib.sha256(large).hexdigest()
    header["sha256"] = {n: hashlib.sha256(c).hexdigest() for n, c in members.items()}
    header["sha256"] |= {f"{name}.npy": digest for name in names}
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        archive.writestr("header.json", json.dumps(header, separators=(",", ":")))
        for name, content in members.items():
            archive.writestr(name, content)
        whole = archive.getinfo("support_vectors_.npy")
        for name in names:
            info = zipfile.ZipInfo(f"{name}.npy")
            for field in ("header_offset", "file_size", "compress_size", "CRC"):
                setattr(info, field, getattr(whole, field))
            archive.filelist.append(info)
            archive.NameToInfo[info.filename] = info
        archive._didModify = True
    path.write_bytes(stream.getvalue())
    return path


@pytest.mark.parametrize("mmap", [True, False])
@pytest.mark.parametrize("bomb", [named_many_times, overlapping])
def test_a_bomb_is_refused(tmp_path, bomb, mmap):
    path = bomb(tmp_path)
    assert path.stat().st_size < 5_000_000
    command = [sys.executable, "-c", textwrap.dedent(LOAD), os.fspath(path), str(mmap)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout.startswith("at most"), done.stderr


@pytest.mark.parametrize("mmap", [True, False])
def test_an_honest_file_is_not(tmp_path, mmap):
    path, members, header = saved(tmp_path)
    write(path, header, members)
    assert softmargin.load(path, mmap=mmap).support_vectors_.shape[1] == 100
