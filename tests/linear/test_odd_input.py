"""Bad and odd input to LinearSVC: zero rows, tiny and huge values, many classes."""

import numpy as np
import pytest
import scipy.sparse as sp

import softmargin.fitting.linear_solver
from softmargin import LinearSVC, _core
from softmargin.estimator import linear_machine
from softmargin.fitting import newton
from tests.cases.linear import MACHINES, TIGHT, core_solver, digits, iris, primal, small


@pytest.mark.parametrize("machine", MACHINES)
@pytest.mark.parametrize("make", [np.asarray, sp.csr_matrix])
def test_all_zero_rows(machine, make):
    y = [0, 1, 2, 0, 1, 2]
    found = LinearSVC(multi_class=machine, loss="hinge", fit_intercept=False).fit(
        make(np.zeros((6, 3))), y
    )
    assert found.solution_.converged
    assert found.solution_.relative_gap == 0
    per_row = {"weston_watkins": 2, "crammer_singer": 1, "ovr": 3}[machine]
    assert found.solution_.primal_objective == 6 * per_row
    assert not found.coef_.any()
    with_intercept = LinearSVC(multi_class=machine, loss="hinge").fit(make(np.zeros((6, 3))), y)
    assert with_intercept.solution_.converged


@pytest.mark.parametrize("machine", MACHINES)
def test_a_class_of_zero_rows_only(machine):
    X, y = small()
    X = np.where((y == 2)[:, None], 0.0, X)
    found = LinearSVC(multi_class=machine, loss="hinge", fit_intercept=False, **TIGHT).fit(X, y)
    assert found.solution_.converged
    assert found.solution_.primal_objective == pytest.approx(
        primal(found, X, y, np.ones(len(y))), rel=1e-10
    )


def test_a_class_of_zero_weight_is_refused():
    X, y = small()
    with pytest.raises(ValueError, match=r"class .*2.* have zero weight; remove the class"):
        LinearSVC(multi_class="weston_watkins").fit(X, y, (y != 2).astype(float))
    with pytest.raises(ValueError, match="belong to the same class"):
        LinearSVC(multi_class="weston_watkins").fit(X, y, (y == 2).astype(float))
    with pytest.raises(ValueError, match="zero"):
        LinearSVC(multi_class="weston_watkins").fit(X, y, np.zeros(len(y)))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"C": np.inf}, r"'C' .* range \(0\.0, inf\)"),
        ({"C": 0.0}, r"'C' .* range \(0\.0, inf\)"),
        ({"tol": 0.0}, "'tol'"),
        ({"multi_class": "ovo"}, "'multi_class'"),
        ({"precision": "half"}, "'precision'"),
        ({"intercept_scaling": 0.0}, "'intercept_scaling'"),
        ({"max_iter": -1}, "'max_iter'"),
        ({"class_weight": {0: -1.0}}, "every weight must be positive"),
    ],
)
def test_bad_parameters_are_named(options, message):
    X, y = small()
    with pytest.raises(ValueError, match=message):
        LinearSVC(**options).fit(X, y)


def test_values_too_large_to_square():
    with pytest.raises(ValueError, match="overflows; scale the data"):
        LinearSVC(multi_class="weston_watkins").fit([[1e200], [-1e200]], [0, 1])
    # A row of weight zero is absent, whatever it holds.
    found = LinearSVC(multi_class="weston_watkins", random_state=0).fit(
        [[1.0], [-1.0], [1e200]], [0, 1, 1], [1.0, 1.0, 0.0]
    )
    without = LinearSVC(multi_class="weston_watkins", random_state=0).fit([[1.0], [-1.0]], [0, 1])
    np.testing.assert_array_equal(found.coef_, without.coef_)


@pytest.mark.parametrize("machine", MACHINES)
def test_variables_at_a_bound_stay_there(machine, monkeypatch):
    # They would have their whole error count as a violation otherwise.
    monkeypatch.setattr(newton, "MOST_FEATURES", 0)  # the descent's variables are meant
    X, y = digits()
    found = LinearSVC(
        multi_class=machine, loss="hinge", tol=1e-5, max_iter=10**5, random_state=0
    ).fit(X / 16, y)
    assert found.solution_.converged
    assert found.solution_.kkt_violation < 0.01


@pytest.mark.parametrize("machine", ["weston_watkins", "ovr"])
def test_variables_that_reach_a_bound_are_there_to_the_bit(machine):
    # All of them end at C here, from anywhere below: beta + (C - beta) need not be C.
    X, y = small()
    rng = np.random.default_rng(0)
    C = rng.uniform(0.5e-4, 1e-4, len(y))
    rows = _core.linear.Rows.dense(X, 1.0)
    options = (5, machine, 1e-12, True, True, 0)
    solver = _core.linear.SolverFloat64(rows, y.astype(np.int32), C, *options)
    others = np.array([[c for c in range(5) if c != own] for own in y], dtype=np.int32)
    start = rng.uniform(0, 1, others.shape) * C[:, None]
    solver.start_from(np.arange(len(y) + 1) * 4, others.ravel(), start.ravel())
    status = solver.run(100, 1e9)
    assert status.optimal
    starts, _, beta = solver.dual_variables()
    np.testing.assert_array_equal(beta, np.repeat(C, np.diff(starts)))
    assert status.violation == 0


@pytest.mark.parametrize("machine", MACHINES)
@pytest.mark.parametrize(("scale", "C"), [(1e-155, 1.0), (1e-9, 1.0), (1e100, 1e-200)])
def test_squares_at_the_edge_of_numbers(machine, scale, C):
    X, y = iris()
    found = LinearSVC(
        multi_class=machine, loss="hinge", C=C, fit_intercept=False, random_state=0
    ).fit(X * scale, y)
    assert found.solution_.converged
    assert np.isfinite(found.coef_).all()
    assert found.solution_.relative_gap <= 1e-3


def test_a_price_too_large_for_a_number():
    X, y = small()
    with pytest.raises(ValueError, match=r"C=1e\+308 times a weight .* Lower C"):
        LinearSVC(multi_class="weston_watkins", C=1e308).fit(
            X, y, sample_weight=np.full(len(y), 10.0)
        )


def test_tiny_and_huge_values():
    X = np.array([[1e-160, 0], [0, 1e-160], [1e100, 0], [0, 1e100]])
    found = LinearSVC(multi_class="weston_watkins", fit_intercept=False, random_state=0).fit(
        X, [0, 1, 0, 1]
    )
    assert found.solution_.converged
    assert np.isfinite(found.coef_).all()


def test_more_classes_than_sixteen_bits_count():
    classes = np.repeat(np.arange(70_000), 3)
    rows = sp.csr_matrix((np.ones(3), ([0, 3, 6], [0, 1, 2])), shape=(len(classes), 3))
    machine = LinearSVC(multi_class="weston_watkins", fit_intercept=False, random_state=0).fit(
        rows, classes
    )
    assert machine.solution_.converged
    assert machine.coef_.shape == (70_000, 3)
    assert machine.predict(np.eye(3)).tolist() == [0, 1, 2]


def test_rows_that_share_no_feature():
    # Each class, with its one example given twice, is a problem of its own: the k - 1 variables of
    # both together end at 1/k, and add (k - 1) / (2 k) to the objective. They come in little by
    # little, 64 at first.
    k = 300
    X, y = np.tile(np.eye(k), (2, 1)), np.tile(np.arange(k), 2)
    for machine in ("weston_watkins", "crammer_singer"):
        found = LinearSVC(
            multi_class=machine, loss="hinge", fit_intercept=False, tol=1e-10, random_state=0
        ).fit(X, y)
        assert found.solution_.converged
        assert found.solution_.dual_objective == pytest.approx((k - 1) / 2, rel=1e-10)
        away = np.linalg.norm(found.coef_ - (np.eye(k) - 1 / k))
        assert away <= np.sqrt(2 * found.solution_.duality_gap) + 1e-12


def test_many_classes_by_either_sub_problem():
    # `sorted` takes all classes into a block at once.
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((400, 6)), rng.integers(200, size=400)
    y[:200] = np.arange(200)
    rows = _core.linear.Rows.dense(X, 0.0)
    primal_values = []
    for method in ("newton", "sorted"):
        options = (y.astype(np.int32), np.full(400, 0.01), 200, 1e-8, True, True, 0)
        solver = core_solver("weston_watkins", method, rows, *options)
        status = solver.run(100_000, 1e9)
        assert status.optimal
        primal_values.append(status.primal)
    assert primal_values[0] == pytest.approx(primal_values[1], rel=1e-8)


def test_dual_variables_that_fill_the_memory(monkeypatch):
    monkeypatch.setattr(softmargin.fitting.linear_solver, "MANY_VARIABLES_BYTES", 0)
    monkeypatch.setattr(softmargin.fitting.linear_solver, "available_bytes", lambda: 10)
    X, y = small()
    with pytest.raises(MemoryError, match=r"60 examples and 5 classes.*Fit fewer"):
        LinearSVC(multi_class="weston_watkins", tol=1e-12, max_iter=10**6).fit(X, y)


def test_the_core_checks_what_it_is_given():
    X, y = small()
    rows = _core.linear.Rows.dense(X, 0.0)
    options = (5, "weston_watkins", 1e-3, True, True, 0)
    with pytest.raises(ValueError, match="do not fit"):
        _core.linear.SolverFloat64(rows, y[1:].astype(np.int32), np.ones(len(y)), *options)
    for label in (-1, 5):
        labels = np.full(len(y), label, dtype=np.int32)
        with pytest.raises(ValueError, match="not the number of a class"):
            _core.linear.SolverFloat64(rows, labels, np.ones(len(y)), *options)
    with pytest.raises(ValueError, match="rows of X must be contiguous"):
        _core.linear.Rows.dense(np.asfortranarray(X), 0.0)
    with pytest.raises(ValueError, match="unknown machine"):
        _core.linear.SolverFloat64(
            rows, y.astype(np.int32), np.ones(len(y)), 5, "multinomial", 1e-3, True, True, 0
        )
    with pytest.raises(ValueError, match="unknown method"):
        _core.testing.linear_solver_float64(
            "simplex", rows, y.astype(np.int32), np.ones(len(y)), 5, 1e-3, True, True, 0
        )


def test_weights_that_do_not_fit_in_memory(monkeypatch):
    monkeypatch.setattr(linear_machine, "available_bytes", lambda: 10**6)
    X = sp.csr_matrix(([1.0, 2.0], ([0, 1], [0, 10**6])), shape=(2, 10**6 + 1))
    with pytest.raises(ValueError, match=r"1000001 features: .* 0.016 GB.*FeatureHasher"):
        LinearSVC(multi_class="weston_watkins").fit(X, [0, 1])
    far = sp.csr_matrix(([1.0, 2.0], ([0, 1], [0, 2**31 - 2])), shape=(2, 2**31 - 1))
    with pytest.raises(ValueError, match=r"2147483647 features: at most .*FeatureHasher"):
        LinearSVC(multi_class="weston_watkins").fit(far, [0, 1])
