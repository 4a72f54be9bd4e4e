"""Scaling, and the range files of svm-scale."""

import io
import tracemalloc

import numpy as np
import pytest
import scipy.sparse as sp

from softmargin.io.data.ranges import Range, TargetRange, read_range, write_range

rng = np.random.default_rng(0)
X = rng.standard_normal((20, 6)) * (rng.random((20, 6)) < 0.6)
X[:, 2] = 3.0
X[:, 4] = 0.0


def by_definition(X, lower, upper, like=None):
    """One entry after the other."""
    like = X if like is None else like
    scaled = np.zeros_like(X)
    for k in range(X.shape[1]):
        low, high = like[:, k].min(), like[:, k].max()
        if low < high:
            for i in range(X.shape[0]):
                scaled[i, k] = lower + (upper - lower) * (X[i, k] - low) / (high - low)
    return scaled


@pytest.mark.parametrize(("lower", "upper"), [(-1, 1), (0, 1), (0.5, 3)])
@pytest.mark.parametrize("layout", [np.asarray, sp.csr_matrix])
@pytest.mark.parametrize("data", [X, np.abs(X)], ids=["signed", "positive"])
def test_scaling(data, layout, lower, upper):
    scale = Range.of(layout(data), lower, upper)
    scaled = scale.apply(layout(data)).toarray()
    np.testing.assert_allclose(scaled, by_definition(data, lower, upper), rtol=1e-14, atol=1e-15)
    assert scaled[:, [0, 1, 3, 5]].min() == lower
    assert scaled[:, [0, 1, 3, 5]].max() == upper
    other = rng.standard_normal((5, 6))
    expected = by_definition(other, lower, upper, like=data)
    np.testing.assert_allclose(scale.apply(layout(other)).toarray(), expected, rtol=1e-13)


def test_features_that_were_constant_or_not_there_are_left_out():
    scale = Range.of(sp.csr_matrix(X))
    wide = sp.csr_matrix(np.ones((2, 9)))
    assert scale.unknown(wide) == [3, 5, 7, 8, 9]
    scaled = scale.apply(wide)
    assert scaled.shape == (2, 9)
    assert not scaled[:, [2, 4, 6, 7, 8]].nnz


@pytest.mark.thread_unsafe(reason="tracemalloc sees all threads")
@pytest.mark.parametrize(
    ("lower", "expected"), [(0, [1.0, 1.0]), (-1, [1.0, -1.0, -1.0, 1.0])], ids=["some", "all"]
)
def test_a_huge_index_costs_nothing(lower, expected):
    wide = sp.csr_matrix(([1.0, 2.0], [0, 10**9], [0, 1, 2]), shape=(2, 10**9 + 1))
    scale = Range.of(wide, lower, 1)
    tracemalloc.start()
    scaled = scale.apply(wide)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert scaled.data.tolist() == expected
    assert peak < 2**20


def test_files_round_trip(tmp_path):
    target = TargetRange(0.0, 1.0, -3.5, 1e10 / 3)
    scale = Range(
        -1.0, 1.0, np.array([0, 7]), np.array([0.1, -1 / 3]), np.array([0.3, 5.0]), target
    )
    write_range(tmp_path / "range", scale)
    back = read_range(tmp_path / "range")
    for field in ("features", "minimum", "maximum"):
        np.testing.assert_array_equal(getattr(back, field), getattr(scale, field))
    assert (back.lower, back.upper, back.target) == (-1.0, 1.0, target)
    assert back.target.apply(np.array([-3.5, 1e10 / 3])).tolist() == [0.0, 1.0]


def test_a_file_of_svm_scale():
    """As svm-scale writes it, with ends of lines of Windows and empty lines."""
    text = b"x\r\n-1 1\r\n1 0 10\r\n\r\n4 -2.5 2.5\r\n"
    scale = read_range(io.BytesIO(text))
    np.testing.assert_array_equal(
        scale.apply(np.array([[5.0, 9.0, 9.0, 2.5]])).toarray(), [[0, 0, 0, 1]]
    )
