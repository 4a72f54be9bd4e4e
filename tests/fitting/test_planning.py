"""What "auto" means: working set, precision, threads, and which problems are solved together."""

from __future__ import annotations

import numpy as np
import pytest

from softmargin import SVC, LinearSVC
from softmargin.fitting import planning
from softmargin.problem.kernels import DIFFERENCES, Function, RadialBasisFunction


@pytest.mark.parametrize("n_jobs", [2**31, 10**30, -(2**31), -(10**30)])
def test_more_threads_than_a_number_can_count(n_jobs):
    assert 1 <= planning.threads(n_jobs) <= planning.MOST_THREADS
    X, y = np.eye(6), [0, 0, 1, 1, 2, 2]
    if n_jobs < 0:
        SVC(n_jobs=n_jobs).fit(X, y).predict(X)
        LinearSVC(loss="hinge", n_jobs=n_jobs).fit(X, y)


def test_threads_without_meaning():
    with pytest.raises(ValueError, match="n_jobs=0"):
        planning.threads(0)


@pytest.mark.parametrize(
    ("n", "rule", "precision"),
    [
        (2, "block", "float64"),
        (800, "block", "float64"),
        (801, "block", "float64"),
        (5000, "block", "float32"),
        (30_000, "block", "float32"),
    ],
)
def test_what_auto_means(n, rule, precision):
    plan = planning.plan("auto", "auto", n, RadialBasisFunction())
    assert (plan.working_set.name, plan.arithmetics[0]) == (rule, precision)
    assert (plan.next("float64"), plan.next(DIFFERENCES)) == (DIFFERENCES, None)
    size = plan.working_set.size
    assert size >= n if n <= planning.SMALL else size in (512, 1024)
    function = planning.plan("auto", "auto", n, Function(lambda A, B: A @ B.T))
    assert (function.working_set.name, function.arithmetics) == ("second-order", ("float64",))


def test_what_is_asked_for_is_done():
    plan = planning.plan("maximum-gain", "float32", 10, RadialBasisFunction())
    assert (plan.working_set.name, plan.arithmetics) == ("maximum-gain", ("float32",))
    assert plan.reason == "as asked"


@pytest.mark.parametrize(
    ("problems", "threads", "in_python", "expected"),
    [(1, 4, False, 1), (7, 4, False, 1), (8, 4, False, 4), (8, 4, True, 1), (3, 1, False, 1)],
)
def test_problems_at_once(problems, threads, in_python, expected):
    sizes = np.full(problems, 1000)
    assert planning.problems_at_once(sizes, threads, in_python) == expected


def test_few_examples_are_not_worth_a_thread():
    assert planning.problems_at_once(np.full(55, 100), threads=2, in_python=False) == 1
    assert planning.problems_at_once(np.full(55, 300), threads=2, in_python=False) == 2


def test_runs_of_small_problems():
    small, large = 10, planning.SMALL + 1
    sizes = np.array([small, small, large, small, small, small, large])
    whole = [range(0, 2), range(2, 3), range(3, 6), range(6, 7)]
    assert planning.groups(sizes, threads=1, alone=False) == whole
    assert planning.groups(sizes, threads=1, alone=True) == [range(k, k + 1) for k in range(7)]
    many = planning.groups(np.full(1000, 100), threads=2, alone=False)
    assert [number for run in many for number in run] == list(range(1000))
    assert max(len(run) for run in many) == 125
    assert all(
        sum(100 for _ in run) <= planning.TOGETHER
        for run in planning.groups(np.full(10_000, 100), threads=1, alone=False)
    )
