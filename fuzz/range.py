"""Fuzzes the range files of svm-scale: reading one, scaling with it, writing it again."""

import atheris

with atheris.instrument_imports(include=["softmargin"]):
    from softmargin.io import FileError
    from softmargin.io.data import ranges

import io

import numpy as np
import scipy.sparse as sp
from target import fuzz

ROWS = sp.csr_matrix(np.array([[1.0, 0.0, 2.5], [0.0, -1.0, 0.0]]))


def read(path):
    scale = ranges.read_range(path)
    with np.errstate(all="ignore"):
        scale.apply(ROWS)
    scale.unknown(ROWS)
    stream = io.BytesIO()
    ranges.write_range(stream, scale)
    again = ranges.read_range(io.BytesIO(stream.getvalue()))
    assert np.array_equal(again.minimum, scale.minimum)
    assert np.array_equal(again.features, scale.features)


fuzz(read, "fuzz.range", FileError)
