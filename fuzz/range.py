"""Fuzzes the range files of svm-scale: reading one, scaling with it, writing it again."""

import atheris

with atheris.instrument_imports(include=["softmargin"]):
    from softmargin.io import FileError, libsvm_range

import io

import numpy as np
import scipy.sparse as sp
from target import fuzz

ROWS = sp.csr_matrix(np.array([[1.0, 0.0, 2.5], [0.0, -1.0, 0.0]]))


def read(path):
    scale = libsvm_range.read_range(path)
    with np.errstate(all="ignore"):
        scale.apply(ROWS)
    scale.unknown(ROWS)
    stream = io.BytesIO()
    libsvm_range.write_range(stream, scale)
    again = libsvm_range.read_range(io.BytesIO(stream.getvalue()))
    assert np.array_equal(again.minimum, scale.minimum)
    assert np.array_equal(again.features, scale.features)


fuzz(read, "fuzz.range", FileError)
