"""Fuzzes model files that are larger in memory than on disk, under a memory limit.

The bytes of the input are references to the arrays of a valid model, which its header then makes:
to dense and sparse ones, as text, and within each other. An honest file names each array once, so
reading one may take no more than the file has, and what JSON takes.
"""

import hashlib
import io
import json
import tempfile
import zipfile

import atheris

with atheris.instrument_imports(include=["softmargin"]):
    from softmargin.io import FileError
    from softmargin.io.models import container, native

from pathlib import Path

import numpy as np
import scipy.sparse as sp
from target import fuzz

from softmargin import SVC


def saved() -> dict[str, bytes]:
    """The members of a model with sparse vectors of 100 kB."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((200, 40))
    machine = SVC(kernel="linear", C=1e-6).fit(sp.csr_matrix(X), rng.integers(0, 2, 200))
    with tempfile.TemporaryDirectory() as folder:
        machine.save(Path(folder) / "model")
        with zipfile.ZipFile(Path(folder) / "model") as archive:
            return {name: archive.read(name) for name in archive.namelist()}


MEMBERS = saved()
HEADER = json.loads(MEMBERS.pop("header.json"))
HEADER["sha256"] = {name: hashlib.sha256(member).hexdigest() for name, member in MEMBERS.items()}
ARRAYS = [name.removesuffix(".npy") for name in MEMBERS]
REFERENCES = [
    *({"array": name} for name in ARRAYS),
    *({"array": name, "object": True} for name in ARRAYS),
    HEADER["attributes"]["support_vectors_"],
]


def with_references(content: bytes) -> bytes:
    """The model with one more attribute: one reference per byte, some of them nested."""
    references = [REFERENCES[byte % len(REFERENCES)] for byte in content]
    half = len(references) // 2
    more = {"tuple": [*references[:half], {"tuple": references[half:]}]}
    header = {**HEADER, "attributes": {**HEADER["attributes"], "more": more}}
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        archive.writestr("header.json", json.dumps(header))
        for name, member in MEMBERS.items():
            archive.writestr(name, member)
    return stream.getvalue()


def read(path):
    path.write_bytes(with_references(path.read_bytes()))
    native.read_model(path, mmap=False)


assert container
fuzz(read, "bomb.softmargin", FileError, limit=lambda size: 2 * size + 2**21)
