"""Every fit ends and says why; what it was given - iterations, memory, kernel rows - it does not
exceed."""

from __future__ import annotations

import subprocess
import sys
import textwrap
import warnings

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics.pairwise import rbf_kernel

from softmargin import SVC, SVR, LinearSVC, NuSVC, NuSVR, OneClassSVM, StopReason
from softmargin.working_sets import Block

rng = np.random.default_rng(0)
X = rng.normal(size=(60, 2))
Y = rng.integers(0, 2, 60)
Z = rng.normal(size=60)
RULES = ["most-violating-pair", "second-order", "hybrid-maximum-gain", Block(8), "auto"]
TARGET = {SVC: Y, NuSVC: Y, SVR: Z, NuSVR: Z, OneClassSVM: None}


def fit_with_warning(machine, *arguments):
    """The fitted machine, and the one ConvergenceWarning of its fit."""
    with pytest.warns(ConvergenceWarning) as caught:
        machine.fit(*arguments)
    assert len(caught) == 1
    assert caught[0].filename == __file__  # it points to the caller of fit
    return machine, str(caught[0].message)


# --- iterations --------------------------------------------------------------------------------


@pytest.mark.parametrize("limit", [0, 1, 2, 10])
@pytest.mark.parametrize("machine_class", TARGET)
def test_max_iter(machine_class, limit):
    machine = machine_class(max_iter=limit, tol=1e-8)
    if machine_class is NuSVC:
        machine.set_params(nu=0.8, gamma=20.0)
    machine, message = fit_with_warning(machine, X, TARGET[machine_class])
    solution = machine.solution_
    assert solution.stop_reason is StopReason.MAX_ITER
    assert solution.iterations == np.sum(machine.n_iter_) == limit
    assert not solution.converged
    assert machine.fit_status_ == 1
    assert message.startswith(f"Solver terminated early (max_iter={limit}).")
    assert "raise max_iter" in message
    assert f"The KKT violation is {solution.kkt_violation:.3g}" in message
    assert solution.duality_gap > 0
    assert len(machine.predict(X)) == 60


@pytest.mark.parametrize("machine_class", [SVC, LinearSVC])
def test_max_iter_beyond_what_the_core_counts_is_no_limit(machine_class):
    assert machine_class(max_iter=2**64).fit(X, Y).solution_.converged


def test_max_iter_counts_for_each_pair_of_classes():
    three = rng.integers(0, 3, 60)
    machine, _ = fit_with_warning(SVC(max_iter=5), X, three)
    np.testing.assert_array_equal(machine.n_iter_, [5, 5, 5])
    assert machine.solution_.iterations == 15
    assert [part.stop_reason for part in machine.solution_.problems] == [StopReason.MAX_ITER] * 3


def test_enough_iterations_are_no_limit():
    machine = SVC().fit(X, Y)
    same = SVC(max_iter=machine.solution_.iterations).fit(X, Y)
    np.testing.assert_array_equal(same.dual_coef_, machine.dual_coef_)
    assert same.solution_.converged


def test_a_warning_that_is_an_error_leaves_the_machine_unfitted():
    machine = SVC(max_iter=1)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(ConvergenceWarning):
            machine.fit(X, Y)
    assert not hasattr(machine, "solution_")


# --- rounding ----------------------------------------------------------------------------------


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("rule", RULES, ids=str)
@pytest.mark.parametrize("shrinking", [False, True])
@pytest.mark.parametrize("machine_class", TARGET)
def test_a_tolerance_below_rounding(machine_class, shrinking, rule):
    """It stops when nothing moves any more, and then the answer is as good as it can be."""
    machine = machine_class(tol=1e-300, shrinking=shrinking, working_set=rule)
    if machine_class is NuSVC:
        machine.set_params(nu=0.8)
    if hasattr(machine, "C"):
        machine.set_params(C=100.0)
    solution = machine.fit(X, TARGET[machine_class]).solution_
    assert solution.stop_reason is StopReason.NO_PROGRESS or solution.kkt_violation == 0
    assert abs(solution.relative_gap) < 1e-11
    assert solution.kkt_violation < 1e-11


@pytest.mark.parametrize(
    "machine",
    [SVC(C=1e3, tol=1e-14), SVC(kernel="linear", C=1e3, tol=1e-14), SVR(C=1e3, tol=1e-14)],
    ids=str,
)
def test_a_large_price_with_a_small_tolerance(machine):
    """Coefficients of a thousand leave the gradient fewer digits than tol asks for."""
    machine, message = fit_with_warning(clone(machine), X, TARGET[type(machine)])
    assert machine.solution_.stop_reason is StopReason.NO_PROGRESS
    assert "No step makes measurable progress" in message
    assert "Raise tol, lower C, or scale the data" in message
    assert abs(machine.solution_.relative_gap) < 1e-12


@pytest.mark.parametrize("rule", RULES, ids=str)
def test_stopping_within_a_shrunk_problem_is_no_end(rule):
    """Rounding can end a problem of few active variables while shrunk variables still violate."""
    machine, _ = fit_with_warning(SVC(kernel="linear", tol=1e-300, working_set=rule), X, Y)
    assert machine.solution_.kkt_violation < 1e-12
    assert abs(machine.solution_.relative_gap) < 1e-12


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_identical_examples(kernel):
    """No pair has any curvature."""
    same = np.ones((10, 3))
    y = np.arange(10) % 2
    machine = SVC(kernel=kernel, gamma=1.0).fit(same, y)
    assert machine.solution_.converged
    assert machine.solution_.dual_objective == pytest.approx(10.0)
    assert SVR(kernel=kernel, gamma=1.0).fit(same, y).predict(same[:1]) == pytest.approx(0.5)
    OneClassSVM(kernel=kernel, gamma=1.0).fit(same)
    with pytest.raises(ValueError, match="cannot be told apart"):
        NuSVC(kernel=kernel, gamma=1.0).fit(same, y)


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_classes_without_a_margin_are_named(n_jobs):
    """Two of the four classes have the same rows."""
    centres = np.array([[0, 0], [9, 0], [0, 9], [9, 0]])
    points, y = np.tile(centres, (5, 1)), np.tile(["a", "b", "c", "d"], 5)
    with pytest.raises(ValueError, match=r"Classes \('b', 'd'\): nu=0.5 .*Increase nu.*lower tol"):
        NuSVC(n_jobs=n_jobs).fit(points, y)


@pytest.mark.parametrize("machine_class", TARGET)
def test_a_kernel_that_is_not_positive_definite(machine_class):
    """Negative curvature: steps go to the bounds, and the fit ends."""
    K = rng.normal(size=(60, 60))
    machine = machine_class(kernel="precomputed")
    if machine_class is NuSVC:
        with pytest.raises(ValueError, match="cannot be told apart"):
            machine.fit(K + K.T, Y)
        return
    with pytest.warns(ConvergenceWarning, match="Stationary, not certified"):
        machine.fit(K + K.T, TARGET[machine_class])
    assert machine.solution_.kkt_violation <= machine.tol


# --- C = inf -----------------------------------------------------------------------------------


def test_no_limit_on_the_price_where_classes_can_be_separated():
    y = X[:, 0] > 0
    apart = X + np.column_stack([2.0 * y - 1, np.zeros(60)])
    hard, soft = SVC(kernel="linear", C=np.inf), SVC(kernel="linear", C=1e6)
    hard.fit(apart, y), soft.fit(apart, y)
    np.testing.assert_allclose(hard.coef_, soft.coef_, rtol=1e-3)
    assert hard.solution_.converged
    margins = (2 * y - 1) * hard.decision_function(apart)
    assert margins.min() > 1 - 2 * hard.tol


@pytest.mark.parametrize("rule", RULES, ids=str)
@pytest.mark.parametrize("machine_class", [SVC, SVR])
def test_no_limit_on_the_price_where_a_fit_is_impossible(machine_class, rule):
    machine = machine_class(kernel="linear", C=np.inf, working_set=rule)
    machine, message = fit_with_warning(machine, X, TARGET[machine_class])
    assert machine.solution_.stop_reason is StopReason.NO_PROGRESS
    assert "lower C" in message
    assert machine.solution_.relative_gap == np.inf


# --- memory ------------------------------------------------------------------------------------


@pytest.mark.parametrize("machine_class", TARGET)
def test_cache_size_changes_the_work_not_the_result(machine_class):
    wide = np.random.default_rng(1).normal(size=(300, 5))
    target = None if machine_class is OneClassSVM else (wide[:, 0] > 0) * 1.0
    machine = machine_class(gamma=1.0, working_set="most-violating-pair")
    machine = machine.set_params(nu=0.3) if hasattr(machine, "nu") else machine.set_params(C=10.0)
    small, middle, large = (
        clone(machine).set_params(cache_size=size).fit(wide, target) for size in (1e-6, 0.1, 5000.0)
    )
    for other in (middle, large):
        np.testing.assert_array_equal(other.dual_coef_, small.dual_coef_)
        np.testing.assert_array_equal(other.intercept_, small.intercept_)
        assert other.solution_.iterations == small.solution_.iterations
    work = [m.solution_.kernel_rows for m in (small, middle, large)]
    assert work[0] > work[1] > work[2]
    assert small.solution_.cache_hits < large.solution_.cache_hits


def test_with_room_for_all_each_row_is_computed_once():
    settings = {"working_set": "most-violating-pair", "shrinking": False}
    machine = SVC(cache_size=100, **settings).fit(X, Y)
    solution = machine.solution_
    assert solution.kernel_rows <= 60
    assert solution.kernel_rows + solution.cache_hits == 2 * solution.iterations
    assert solution.kernel_evaluations == 60 * solution.kernel_rows


@pytest.mark.parametrize("rule", ["second-order", "block"])
def test_the_start_takes_each_row_once(rule):
    """Whether variables start at a bound, as most do here, or free, as one does."""
    with pytest.warns(ConvergenceWarning):
        machine = OneClassSVM(nu=0.51, working_set=rule, max_iter=0).fit(X)
    assert machine.solution_.kernel_rows == len(machine.support_) == 31


def peak_growth(code: str) -> float:
    """Megabytes by which the peak memory of a fresh process grew over the last line of `code`."""
    *setup, last = textwrap.dedent(code).strip().splitlines()
    program = [
        "import warnings, numpy as np",
        "from pathlib import Path",
        "from softmargin import SVC",
        "warnings.simplefilter('ignore')",
        "status = lambda: Path('/proc/self/status').read_text()",
        "peak = lambda: int(status().split('VmHWM:')[1].split()[0]) / 1024",
        "SVC().fit([[0.0], [1.0]], [0, 1]).predict([[0.0]])",
        *setup,
        "before = peak()",
        last,
        "print(peak() - before)",
    ]
    result = subprocess.run(
        [sys.executable, "-c", "\n".join(program)], capture_output=True, text=True, check=True
    )
    return float(result.stdout)


on_linux = pytest.mark.skipif(sys.platform != "linux", reason="peak memory is read as on Linux")


@on_linux
def test_cache_size_is_obeyed():
    """All rows would take 128 MB."""
    code = """
        X = np.random.default_rng(0).normal(size=(4000, 4))
        y = np.random.default_rng(1).integers(0, 2, 4000)
        SVC(cache_size={}, working_set="{}", precision="float64", gamma=5.0, tol=0.1).fit(X, y)
    """
    for rule in ("most-violating-pair", "block"):
        assert peak_growth(code.format(1, rule)) < 25
    assert peak_growth(code.format(40, "most-violating-pair")) < 60
    assert peak_growth(code.format(1000, "most-violating-pair")) > 80


@on_linux
@pytest.mark.parametrize("order", ["C", "F"])
def test_float32_is_not_copied_to_float64(order):
    """64 MB of float32: a copy in float64 would take 128 MB, one to change the order 64 MB."""
    code = f"""
        X = np.empty((40_000, 400), dtype=np.float32, order="{order}")
        for k in range(400): X[:, k] = np.random.default_rng(k).normal(size=40_000)
        y = np.arange(40_000) % 2
        SVC(max_iter=2, cache_size=1).fit(X, y).decision_function(X)
    """
    assert peak_growth(code) < (30 if order == "C" else 94)


# --- kernel functions --------------------------------------------------------------------------


@pytest.mark.parametrize("machine_class", TARGET)
def test_kernel_function_is_asked_for_needed_rows_only(machine_class):
    n = 5000
    many = np.random.default_rng(2).normal(size=(n, 2))
    y = many[:, 0] > 0
    asked, diagonal = [], []

    def kernel(A, B):
        (asked if len(B) == n else diagonal).append(len(A))
        return rbf_kernel(A, B, gamma=0.5)

    machine = machine_class(kernel=kernel, tol=0.1)
    if hasattr(machine, "nu"):
        machine.set_params(nu=0.01)
    machine.fit(many, None if machine_class is OneClassSVM else y)
    assert sum(asked) == machine.solution_.kernel_rows < n
    assert max(asked) <= 256
    assert sum(diagonal) == n
    asked.clear()
    machine.predict(many[:10])
    assert asked == []
