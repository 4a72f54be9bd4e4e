"""exp and tanh of the core, against a reference of higher precision."""

import numpy as np
import pytest

from softmargin import _core

LARGER = {"float32": np.float64, "float64": np.longdouble}


def ulps(values, exact):
    """The error in units in the last place of the exact value, which is not subnormal."""
    return float(np.max(np.abs(values - exact) / np.spacing(np.abs(exact).astype(values.dtype))))


def sweep(dtype, smallest, largest, count):
    """Numbers of all magnitudes: the bit patterns between two numbers, evenly spaced."""
    bits = {"float32": np.int32, "float64": np.int64}[dtype]
    ends = np.array([smallest, largest], dtype=dtype).view(bits)
    return np.unique(np.linspace(*ends, count).astype(bits)).view(dtype)


def core_exp(x):
    """exp(-x) as the rbf kernel of a point at 0 and one at squared distance x."""
    values = np.zeros((1, len(x)), dtype=x.dtype)
    _core.testing.apply_kernel(values, np.zeros(1), x, "rbf", 1.0, 0.0, 1, 1)
    return values[0]


def core_tanh(x):
    values = x[None].copy()
    _core.testing.apply_kernel(values, np.zeros(1), np.zeros_like(x), "sigmoid", 1.0, 0.0, 1, 1)
    return values[0]


@pytest.fixture(params=["float32", "float64"])
def precision(request):
    if np.finfo(LARGER[request.param]).precision <= np.finfo(request.param).precision:
        pytest.skip("this platform has no floating-point type of higher precision")
    return request.param


def test_exp_is_within_two_units_in_the_last_place(precision):
    end = {"float32": 87.3, "float64": 708.3}[precision]
    x = np.concatenate([sweep(precision, 1e-30, end, 2_000_000), np.linspace(0, end, 2_000_000)])
    x = x.astype(precision)
    assert ulps(core_exp(x), np.exp(-x.astype(LARGER[precision]))) <= 2


def test_tanh_is_within_two_units_in_the_last_place(precision):
    x = np.concatenate([sweep(precision, 1e-30, 100.0, 1_000_000), np.linspace(0, 10, 1_000_000)])
    x = np.concatenate([x, -x]).astype(precision)
    x = x[x != 0]
    assert ulps(core_tanh(x), np.tanh(x.astype(LARGER[precision]))) <= 2


def test_ends_and_what_is_not_a_number(precision):
    x = np.array([0.0, np.inf, 1e30, np.nan], dtype=precision)
    np.testing.assert_array_equal(core_exp(x), np.array([1, 0, 0, np.nan]))
    x = np.array([0.0, 1e30, -1e30, np.nan], dtype=precision)
    np.testing.assert_array_equal(core_tanh(x), np.array([0, 1, -1, np.nan]))
