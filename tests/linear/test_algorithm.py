"""LinearSVC takes the steps of the paper's algorithms, and its certificate is true."""

import numpy as np
import pytest

from softmargin import LinearSVC, _core
from tests.cases.linear import MACHINES, TIGHT, core_solver, digits, iris, primal, small
from tests.oracles import naive_linear


@pytest.mark.parametrize("machine", ["weston_watkins", "crammer_singer"])
@pytest.mark.parametrize("method", ["newton", "sorted"])
def test_same_steps_as_the_naive_twin(machine, method):
    if machine == "crammer_singer" and method == "sorted":
        pytest.skip("one solver in the loop")
    X, y = small()
    C = np.linspace(0.2, 2.0, len(y))
    twin = {
        "weston_watkins": naive_linear.solve_subproblem,
        "crammer_singer": naive_linear.solve_simplex_subproblem,
    }[machine]
    w, beta = naive_linear.block_coordinate_descent(X.tolist(), y, 5, C, 4, 11, twin)
    rows = _core.linear.Rows.dense(X, 0.0)
    options = (y.astype(np.int32), C, 5, 1e-300, False, False, 11)
    solver = core_solver(machine, method, rows, *options)
    status = solver.run(4, 1e9)
    status = solver.finish()
    assert status.passes == 4
    starts, classes, values = solver.dual_variables()
    for i, row in enumerate(beta):
        in_order = list(range(5))
        in_order[0], in_order[y[i]] = in_order[y[i]], in_order[0]
        found = dict(zip(classes[starts[i] : starts[i + 1]], values[starts[i] :], strict=False))
        np.testing.assert_allclose([found.get(c, 0.0) for c in in_order[1:]], row, atol=1e-12)
    loss = getattr(naive_linear, f"{machine}_loss")
    assert status.primal == pytest.approx(
        naive_linear.primal_objective(w, X.tolist(), y, C, loss), rel=1e-12
    )
    np.testing.assert_allclose(solver.take_weights().T, w, rtol=0, atol=1e-12)


@pytest.mark.parametrize("machine", MACHINES)
@pytest.mark.parametrize("shrinking", [True, False])
@pytest.mark.parametrize("data", [small, digits, iris])
def test_the_certificate_is_true(machine, shrinking, data):
    X, y = data()
    weight = np.random.default_rng(0).uniform(0.5, 2, len(y))
    found = LinearSVC(
        multi_class=machine,
        loss="hinge",
        C=0.3,
        tol=1e-6,
        shrinking=shrinking,
        max_iter=20_000,
        random_state=0,
    )
    found.fit(X, y, weight)
    assert found.solution_.converged
    assert found.solution_.relative_gap <= 1e-6
    assert found.solution_.dual_objective <= found.solution_.primal_objective
    assert found.solution_.primal_objective == pytest.approx(
        primal(found, X, y, 0.3 * weight), rel=1e-11
    )
    exact = LinearSVC(multi_class=machine, loss="hinge", C=0.3, **TIGHT).fit(X, y, weight)
    assert found.solution_.dual_objective <= exact.solution_.primal_objective * (1 + 1e-11)
    assert exact.solution_.dual_objective <= found.solution_.primal_objective * (1 + 1e-11)


def test_gap_of_1e_8_and_beyond_is_reached():
    X, y = digits()
    found = LinearSVC(multi_class="weston_watkins", tol=1e-10, max_iter=20_000, random_state=0).fit(
        X, y
    )
    assert found.solution_.converged
    assert found.solution_.relative_gap <= 1e-10


def test_slices_of_any_length_give_the_same_steps():
    X, y = digits()
    weights = []
    for passes, seconds in ((200, 1e9), (1, 1e9), (200, 1e-9)):
        solver = _core.linear.SolverFloat64(
            _core.linear.Rows.dense(X, 1.0),
            y.astype(np.int32),
            np.ones(len(y)),
            10,
            "weston_watkins",
            1e-9,
            True,
            True,
            5,
        )
        status = solver.run(passes, seconds)
        while not status.optimal and status.passes < 200:
            status = solver.run(min(passes, 200 - status.passes), seconds)
        weights.append(solver.take_weights())
    np.testing.assert_array_equal(weights[0], weights[1])
    np.testing.assert_array_equal(weights[0], weights[2])


def stretched():
    """Features of very different lengths: descent by single examples is slow there."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((120, 8))
    y = np.argmax(X @ rng.standard_normal((8, 4)), axis=1)
    return X * np.geomspace(0.01, 3, 8), y


@pytest.mark.parametrize("length", [1e-3, 1e-5, 1e-7, 1e-9])
def test_blocks_of_short_rows_keep_to_their_bound(length):
    # C |x|^2 is far below the rounding of the errors there.
    rng = np.random.default_rng(0)
    X, y, C = length * rng.standard_normal((40, 5)), np.arange(40) % 20, np.full(40, 0.1)
    rows = _core.linear.Rows.dense(X, 0.0)
    options = (rows, y.astype(np.int32), C, 20, "crammer_singer", 1e-9, True, True, 0)
    solver = _core.linear.SolverFloat64(*options)
    status = solver.run(300, 1e9)
    assert status.optimal
    starts, columns, beta = solver.dual_variables()
    sums = np.add.reduceat(beta, starts[:-1])
    assert (sums <= C * (1 + 1e-12)).all()
    pull = np.zeros((40, 20))
    pull[np.repeat(np.arange(40), np.diff(starts)), columns] = -beta
    pull[np.arange(40), y] += sums
    dual = beta.sum() - 0.5 * np.sum((X.T @ pull) ** 2)
    assert dual == pytest.approx(status.dual, rel=1e-9)
    assert dual <= status.primal * (1 + 1e-12)


@pytest.mark.parametrize("machine", MACHINES)
def test_extrapolation_keeps_to_the_problem(machine):
    X, y = stretched()
    C = np.linspace(0.5, 20, len(y))
    rows = _core.linear.Rows.dense(X, 0.0)
    options = (rows, y.astype(np.int32), C, 4, machine, 1e-9, True)
    plain = _core.linear.SolverFloat64(*options, False, 0).run(10**6, 1e9)
    solver = _core.linear.SolverFloat64(*options, True, 0)
    status, dual = solver.run(1, 1e9), -np.inf
    while not status.optimal:
        status = solver.run(1, 1e9)
        assert not status.stuck
        assert status.dual >= dual - 1e-12 * abs(dual)
        dual = status.dual
    assert status.visits < plain.visits / 3
    assert status.primal == pytest.approx(plain.primal, rel=2e-9)
    assert status.violation < 1e-3
    starts, columns, beta = solver.dual_variables()
    example = np.repeat(np.arange(len(y)), np.diff(starts))
    B = np.zeros((len(y), 4))
    B[example, columns] = beta
    assert beta.min() > 0
    largest = B.sum(axis=1) if machine == "crammer_singer" else B.max(axis=1)
    assert (largest <= C * (1 + 1e-12)).all()
    own = np.arange(len(y)), y
    pull = -B
    pull[own] = B[own] if machine == "ovr" else B.sum(axis=1)
    np.testing.assert_allclose(solver.take_weights(), X.T @ pull, atol=1e-9)
