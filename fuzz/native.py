"""Fuzzes softmargin's own model files.

Checksums would catch random changes of a zip archive. So the bytes say how to change a valid model:
the header's text, or the bytes of an array, after which all checksums are corrected; or the archive
itself.
"""

import hashlib
import io
import json
import zipfile

import atheris

with atheris.instrument_imports(include=["softmargin"]):
    from softmargin.cli import certificate
    from softmargin.io import FileError
    from softmargin.io.models import checks, container, native

from pathlib import Path

import numpy as np
from target import fuzz, spliced

VALID = (Path(__file__).parent / "corpus" / "native.softmargin").read_bytes()
with zipfile.ZipFile(io.BytesIO(VALID)) as archive:
    MEMBERS = {name: archive.read(name) for name in archive.namelist()}
NAMES = list(MEMBERS)


def changed(content: bytes) -> bytes:
    """Byte 0 says which member is changed, the header mostly; or nothing is changed."""
    if len(content) < 4 or content[0] % 8 == 7:
        return content
    name = NAMES[0] if content[0] % 8 < 4 else NAMES[content[0] // 8 % len(NAMES)]
    return archived({**MEMBERS, name: spliced(MEMBERS[name], content)})


def archived(members: dict[str, bytes]) -> bytes:
    try:
        header = json.loads(members[NAMES[0]])
        sums = {m: hashlib.sha256(c).hexdigest() for m, c in members.items() if m != NAMES[0]}
        if isinstance(header, dict):
            members[NAMES[0]] = json.dumps({**header, "sha256": sums}).encode()
    except (ValueError, RecursionError):
        pass
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        for name, content in members.items():
            archive.writestr(zipfile.ZipInfo(name), content)
    return stream.getvalue()


def read(path):
    path.write_bytes(changed(path.read_bytes()))
    machine = native.read_model(path)
    certificate.as_lines(machine)
    width = machine.attributes["n_features_in_"]
    if width <= 1000:
        with np.errstate(all="ignore"):
            machine.predict(np.ones((2, width)))


assert container
assert checks
fuzz(read, "fuzz.softmargin", FileError)
