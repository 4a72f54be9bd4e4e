"""Fuzzes LIBSVM's model files: reading one, predicting with it, writing it again."""

import atheris

with atheris.instrument_imports(include=["softmargin"]):
    from softmargin.io import FileError
    from softmargin.io.models import libsvm, record, text_header

import io

import numpy as np
from target import fuzz

POINTS = np.array([[1.0, 0.0, 2.5], [0.0, -1.0, 0.0]])


def read(path):
    machine = libsvm.read_libsvm_model(path)
    points = POINTS
    if machine.precomputed:
        if machine.attributes["n_features_in_"] > 1000:
            return
        points = np.ones((2, machine.attributes["n_features_in_"]))
    with np.errstate(all="ignore"):
        machine.predict(points)
    stream = io.BytesIO()
    libsvm.write_libsvm_model(stream, machine)
    again = libsvm.read_libsvm_model(io.BytesIO(stream.getvalue()))
    for name in ("dual_coef_", "intercept_", "support_"):
        first, second = machine.attributes[name], again.attributes[name]
        assert np.array_equal(*(getattr(v, "toarray", lambda v=v: v)() for v in (first, second)))


assert text_header
assert record
fuzz(read, "fuzz.model", FileError)
