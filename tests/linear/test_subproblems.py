"""The sub-problems of the linear machines against exact rational arithmetic, a general QP solver,
and their optimality conditions."""

import math
from fractions import Fraction

import numpy as np
import pytest
import quadprog
from hypothesis import example, given, settings
from hypothesis import strategies as st

from softmargin import _core, crammer_singer, weston_watkins
from tests.oracles import naive_linear

TOLERANCE = 1e-12  # relative to the largest positive entry of v: b = v - g cannot be better than v
GRAIN = Fraction(2) ** -1073  # two of the smallest numbers there are, for entries of that size


def pass_limit(size):
    return 3 * (54 + math.log2(size))


def passes(v, C, machine, start=0.0):
    return _core.linear.solve_subproblem(np.asarray(v, float), C, machine, "newton", start)[1]


@st.composite
def subproblems(draw, max_size=60):
    """v and C, with ties, entries at and a few ulp beside 0 and C, tiny and huge C."""
    C = draw(st.sampled_from([1.0, 1e-8, 1e8, 0.5, 3.0]) | st.floats(1e-12, 1e12))
    ulp = st.sampled_from([-2, -1, 0, 1, 2])
    special = st.builds(
        lambda base, steps: base + steps * np.spacing(max(base, 1e-300)),
        st.sampled_from([0.0, C, 2 * C, C / 2]),
        ulp,
    )
    common = draw(st.floats(-3, 3)) * C
    scaled = st.floats(-4, 4).map(lambda x: x * C)
    wide = st.floats(-1e6, 1e6, allow_subnormal=False)
    values = st.one_of(special, st.just(common), scaled, wide)
    return draw(st.lists(values, min_size=1, max_size=max_size)), C


def assert_close(b, exact, v):
    scale = max(max(v), 0.0)
    error = max(abs(Fraction(float(x)) - y) for x, y in zip(b, exact, strict=True))
    assert error <= Fraction(TOLERANCE) * Fraction(scale) + GRAIN


def assert_kkt(b, v, C):
    """0 <= b <= C, and v - b - sum b is 0 inside, <= 0 at 0, >= 0 at C, in rational arithmetic."""
    slack = (Fraction(TOLERANCE) * Fraction(max(max(v), 0.0)) + GRAIN) * (len(v) + 1)
    total = sum(Fraction(float(x)) for x in b)
    for x, value in zip(b, v, strict=True):
        assert 0 <= x <= C
        gradient = Fraction(value) - Fraction(float(x)) - total
        assert x == C or gradient <= slack
        assert x == 0 or gradient >= -slack


@given(subproblems(), st.floats(-2, 2))
@example(([0.0], 1.0), 0.0)
@example(([-1.0, -2.0], 1.0), 1.0)
@example(([5.0] * 40, 1.0), 0.0)
@example(([1.0, 1.0 + 2**-52, 2.0, 2.0 - 2**-52], 1.0), 0.5)
@example(([2.0], 1.0), 1.0)
def test_weston_watkins_agrees_with_exact_arithmetic(problem, start):
    v, C = problem
    exact = naive_linear.solve_subproblem(v, C)
    for b in (
        weston_watkins.solve_subproblem(v, C, "newton"),
        weston_watkins.solve_subproblem(v, C, "newton", start=start * C),
        weston_watkins.solve_subproblem(v, C, "sorted"),
    ):
        assert_close(b, exact, v)
        assert_kkt(b, v, C)
    assert passes(v, C, "weston_watkins", start * C) <= pass_limit(len(v))


def assert_simplex_kkt(b, v, C):
    """b >= 0, sum b <= C, and with some m >= 0, which is 0 unless sum b = C, v - b - sum b - m is
    0 where b > 0 and <= 0 where b = 0, in rational arithmetic."""
    slack = (Fraction(TOLERANCE) * Fraction(max(max(v), 0.0)) + GRAIN) * (len(v) + 1)
    b = [Fraction(float(x)) for x in b]
    total = sum(b)
    gradient = [Fraction(value) - x - total for x, value in zip(b, v, strict=True)]
    m = max(max(gradient), Fraction(0))
    assert min(b) >= 0
    assert total <= Fraction(C) + slack
    assert m <= slack or total >= Fraction(C) - slack
    assert all(x == 0 or g >= m - slack for x, g in zip(b, gradient, strict=True))


@given(subproblems(), st.floats(-2, 2))
@example(([5.0] * 40, 1.0), 0.0)
@example(([-1.0, -2.0], 1.0), 1.0)
@example(([1.6578092e-316, 1.6578092e-316], 1.0), 0.0)
def test_crammer_singer_agrees_with_exact_arithmetic(problem, start):
    v, C = problem
    exact = naive_linear.solve_simplex_subproblem(v, C)
    for b in (
        crammer_singer.solve_subproblem(v, C, "newton"),
        crammer_singer.solve_subproblem(v, C, "newton", start=start * C),
        crammer_singer.solve_subproblem(v, C, "sorted"),
    ):
        assert_close(b, exact, v)
        assert_simplex_kkt(b, v, C)
    assert passes(v, C, "crammer_singer", start * C) <= pass_limit(len(v))


def quadratic_program(v, C, simplex):
    """The same minimiser from a general solver for quadratic programs."""
    size = len(v)
    upper = -np.ones((size, 1)) if simplex else -np.eye(size)
    constraints = np.hstack([np.eye(size), upper])
    bounds = np.concatenate([np.zeros(size), -np.full(upper.shape[1], C)])
    return quadprog.solve_qp(np.eye(size) + 1, np.asarray(v), constraints, bounds)[0]


@given(
    st.integers(1, 120),
    st.integers(0, 2**32 - 1),
    st.sampled_from([0.01, 0.3, 1.0, 30.0]),
    st.booleans(),
)
@settings(max_examples=60)
def test_agrees_with_a_general_qp_solver(size, seed, C, simplex):
    v = np.random.default_rng(seed).normal(0.5, 1.0, size)
    reference = quadratic_program(v, C, simplex)
    module = crammer_singer if simplex else weston_watkins
    for method in ("newton", "sorted"):
        b = module.solve_subproblem(v, C, method)
        np.testing.assert_allclose(b, reference, rtol=0, atol=TOLERANCE * max(v.max(), 1))


@st.composite
def large_subproblems(draw):
    """As `subproblems`, up to k = 2,000: a few values, many times each, among random ones."""
    v, C = draw(subproblems(max_size=10))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    size = draw(st.integers(60, 1999))
    spread = C * draw(st.sampled_from([1e-6, 0.1, 1.0, 30.0]))
    mixed = np.where(rng.random(size) < 0.5, rng.choice(v, size), rng.normal(0, spread, size))
    return mixed.tolist(), C


# The problem is strictly convex, so its optimality conditions prove the answer by themselves.
@given(large_subproblems())
@settings(max_examples=20, deadline=None)
def test_up_to_2000_classes_the_optimality_conditions_hold(problem):
    v, C = problem
    for method in ("newton", "sorted"):
        assert_kkt(weston_watkins.solve_subproblem(v, C, method), v, C)
        assert_simplex_kkt(crammer_singer.solve_subproblem(v, C, method), v, C)
    np.testing.assert_allclose(
        weston_watkins.solve_subproblem(v, C, "newton"),
        weston_watkins.solve_subproblem(v, C, "sorted"),
        rtol=0,
        atol=TOLERANCE * max(*v, 0.0),
    )
    for machine in ("weston_watkins", "crammer_singer"):
        assert passes(v, C, machine) <= pass_limit(len(v))


@pytest.mark.parametrize("size", [500, 1999])
@pytest.mark.parametrize("C", [1e-3, 0.2, 100.0])
def test_many_classes(size, C):
    v = np.random.default_rng(size).normal(0.0, 1.0, size)
    v[: size // 3] = v[0]
    v[size // 3 : size // 2] += C
    exact = naive_linear.solve_subproblem(v, C)
    for method in ("newton", "sorted"):
        b = weston_watkins.solve_subproblem(v, C, method)
        assert_close(b, exact, v)
        assert_kkt(b, v, C)
    np.testing.assert_allclose(
        b, quadratic_program(v, C, simplex=False) if size < 1000 else b, atol=1e-12 * v.max()
    )


def test_random_cases_agree_and_take_few_passes():
    """Short form of benchmarks/walrus/subproblem_cases.py, which runs ten million."""
    worst, most = _core.testing.compare_subproblems(20_000, 200, 0)
    assert worst <= TOLERANCE
    assert most <= pass_limit(200)


def test_example_of_the_documentation():
    np.testing.assert_array_equal(
        weston_watkins.solve_subproblem([3.0, 1.0, -2.0], C=1.0), [1.0, 0.0, 0.0]
    )


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([[1.0]], 1.0), "one dimension"),
        (([np.nan], 1.0), "NaN or infinity"),
        (([np.inf], 1.0), "NaN or infinity"),
        (([1.0], 0.0), "C=0.0 must be positive and finite"),
        (([1.0], np.inf), "C=inf must be positive and finite"),
        (([1.0], np.nan), "C=nan must be positive and finite"),
        (([1e308, 1e308], 1.0), r"up to 1e\+308, and a sum of 2 such values overflows"),
        (([1.0], 1.0, "greedy"), "method='greedy' is unknown; choose one of newton, sorted"),
    ],
)
def test_bad_input_is_named(arguments, message):
    for module in (weston_watkins, crammer_singer):
        with pytest.raises(ValueError, match=message):
            module.solve_subproblem(*arguments)


def test_no_classes():
    assert weston_watkins.solve_subproblem([], 1.0).shape == (0,)
    assert crammer_singer.solve_subproblem([], 1.0, "sorted").shape == (0,)
