"""Fuzzes checkpoints: a fit that finds one must resume from it, or refuse it.

The digest would catch random changes. So the bytes say how to change a valid checkpoint: its header
or its numbers, after which the digest is corrected; or the file itself.
"""

import hashlib
import tempfile
import warnings
from pathlib import Path

import atheris

with atheris.instrument_imports(include=["softmargin.checkpoint"]):
    from softmargin import checkpoint

import numpy as np
from target import fuzz, spliced

from softmargin import SVC

warnings.simplefilter("ignore")
X = np.random.default_rng(0).standard_normal((24, 2)) + 9.0 * (np.arange(24) < 8)[:, None]
Y = np.arange(24) // 8  # the first class is far from the others: its problems are soon solved
PARAMETERS = {"C": 10.0, "gamma": 0.1}


def payload() -> bytes:
    """What is in the checkpoint of a fit that was stopped: some problems solved, others begun."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "checkpoint"
        SVC(**PARAMETERS, checkpoint=path, max_iter=25).fit(X, Y)
        return path.read_bytes()[len(checkpoint.MAGIC) + checkpoint.DIGEST :]


HEADER, _, NUMBERS = payload().partition(b"\n")
assert b'"answers": {"' in HEADER


def changed(content: bytes) -> bytes:
    """Byte 0 says what is changed: the header, the numbers, or all."""
    if len(content) < 4 or content[0] % 8 == 7:
        return content
    header, numbers = HEADER, NUMBERS
    if content[0] % 8 < 4:
        header = spliced(header, content)
    else:
        numbers = spliced(numbers, content)
    whole = header + b"\n" + numbers
    return checkpoint.MAGIC + hashlib.sha256(whole).digest() + whole


def read(path):
    path.write_bytes(changed(path.read_bytes()))
    try:
        machine = SVC(**PARAMETERS, checkpoint=path, max_iter=1000).fit(X, Y)
    finally:
        path.unlink(missing_ok=True)
    machine.predict(X)


fuzz(read, "checkpoint", checkpoint.CheckpointError)
