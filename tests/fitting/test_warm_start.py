"""A warm start continues from the last solution, whatever has changed since, and ends at the same
optimum as a cold one."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from softmargin import SVC, SVR, LinearSVC, NuSVC, NuSVR, OneClassSVM
from softmargin.problem.formulations import Part, repaired

TOL = 1e-8
MACHINES = {
    "SVC": SVC(C=2.0, gamma=0.2, tol=TOL),
    "NuSVC": NuSVC(nu=0.4, gamma=0.2, tol=TOL),
    "SVR": SVR(C=2.0, gamma=0.2, tol=TOL),
    "NuSVR": NuSVR(C=2.0, nu=0.4, gamma=0.2, tol=TOL),
    "OneClassSVM": OneClassSVM(nu=0.4, gamma=0.2, tol=TOL),
    "Weston-Watkins": LinearSVC(
        multi_class="weston_watkins", C=2.0, tol=TOL, max_iter=10**6, random_state=0
    ),
    "Crammer-Singer": LinearSVC(
        multi_class="crammer_singer", C=2.0, tol=TOL, max_iter=10**6, random_state=0
    ),
    "one-vs-rest": LinearSVC(loss="hinge", C=2.0, tol=TOL, max_iter=10**6, random_state=0),
}
LINEAR = ("Weston-Watkins", "Crammer-Singer", "one-vs-rest")


def make_data(count=200):
    rng = np.random.default_rng(3)
    X = rng.normal(size=(count, 5))
    z = np.sin(2 * X[:, 0]) + 0.3 * rng.normal(size=count)
    return X, z, rng.uniform(0.5, 2.0, count)


def target(name, z, classes=2):
    if name in ("SVC", "NuSVC", *LINEAR):
        return np.digitize(z, [0.0] if classes == 2 else [-0.3, 0.3])
    return None if name == "OneClassSVM" else z


def agree(warm, cold):
    assert warm.solution_.converged
    assert warm.solution_.dual_objective == pytest.approx(cold.solution_.dual_objective, rel=1e-7)


@pytest.fixture(params=MACHINES)
def name(request):
    return request.param


@pytest.mark.parametrize("classes", [2, 3])
def test_a_solution_needs_no_more_steps(name, classes):
    X, z, weight = make_data()
    machine = clone(MACHINES[name]).set_params(warm_start=True)
    machine.fit(X, target(name, z, classes), sample_weight=weight)
    objective = machine.solution_.dual_objective
    machine.fit(X, target(name, z, classes), sample_weight=weight)
    assert machine.solution_.iterations == 0
    assert machine.solution_.dual_objective == pytest.approx(objective, rel=1e-12)


def test_after_an_early_stop_nothing_is_lost(name):
    X, z, _ = make_data()
    y, seen = target(name, z), []
    machine = clone(MACHINES[name])
    unlimited = machine.max_iter
    with pytest.warns(ConvergenceWarning):
        machine.set_params(max_iter=5).fit(X, y)
    reached = machine.solution_.dual_objective
    machine.set_params(max_iter=unlimited, warm_start=True, callbacks=[seen.append]).fit(X, y)
    # The objective is summed anew, in another order.
    assert seen[0].objective >= reached * (1 - 1e-14)
    agree(machine, clone(machine).fit(X, y))


CHANGES = {
    "tol": {"tol": 1e-10},
    "gamma": {"gamma": 0.3},
    "kernel": {"kernel": "poly", "coef0": 1.0},
    "larger C": {"C": 10.0},
    "smaller C": {"C": 0.3},
    "larger nu": {"nu": 0.6},
    "smaller nu": {"nu": 0.2},
    "wider tube": {"epsilon": 0.3},
}


@pytest.mark.parametrize("change", CHANGES)
def test_after_other_parameters(name, change):
    X, z, _ = make_data()
    y, machine = target(name, z), clone(MACHINES[name]).set_params(warm_start=True)
    if not CHANGES[change].keys() <= machine.get_params().keys():
        pytest.skip(f"{name} has no such parameter")
    machine.fit(X, y).set_params(**CHANGES[change]).fit(X, y)
    agree(machine, clone(machine).fit(X, y))


def test_after_other_weights_rows_and_labels(name):
    X, z, weight = make_data()
    y, machine = target(name, z, classes=3), clone(MACHINES[name]).set_params(warm_start=True)
    some = slice(0, 150)
    machine.fit(X[some], None if y is None else y[some])
    for rows, w in ((slice(0, 200), None), (slice(0, 200), weight), (slice(0, 120), weight[:120])):
        part = None if y is None else y[rows]
        machine.fit(X[rows], part, sample_weight=w)
        agree(machine, clone(machine).fit(X[rows], part, sample_weight=w))
    if y is not None:
        shuffled = y[::-1]
        machine.fit(X, shuffled)
        agree(machine, clone(machine).fit(X, shuffled))


def test_to_and_from_no_limit_on_the_slack():
    """C = inf: a variable that was at a bound has no bound now."""
    rng = np.random.default_rng(0)
    X = np.concatenate([rng.normal(size=(30, 2)) + 4, rng.normal(size=(30, 2)) - 4])
    y = np.repeat([0, 1], 30)
    machine = SVC(kernel="linear", C=1e-4, tol=TOL, warm_start=True).fit(X, y)
    for C in (np.inf, 1e-3):
        machine.set_params(C=C).fit(X, y)
        agree(machine, clone(machine).fit(X, y))


@pytest.mark.parametrize("kind", ["SVC", *LINEAR])
def test_classes_that_come_and_go(kind):
    X, z, _ = make_data()
    y = np.digitize(z, [-0.3, 0.3])
    machine = clone(MACHINES[kind]).set_params(warm_start=True).fit(X, y)
    for labels in (np.where(y == 2, 7, y), np.where(y == 2, 1, y), y):
        machine.fit(X, labels)
        agree(machine, clone(machine).fit(X, labels))


def test_a_path_of_c_takes_fewer_iterations():
    X, z, _ = make_data(400)
    total = {}
    for warm in (False, True):
        machine = SVC(gamma=0.2, warm_start=warm)
        total[warm] = sum(
            machine.set_params(C=2.0**k).fit(X, z > 0).solution_.iterations for k in range(-3, 8)
        )
    assert total[True] < total[False]


@pytest.mark.parametrize("name", [name for name in MACHINES if name not in LINEAR])
def test_appended_rows_take_fewer_iterations(name):
    X, z, _ = make_data(400)
    y, machine = target(name, z), clone(MACHINES[name]).set_params(tol=1e-3, warm_start=True)
    machine.fit(X[:380], None if y is None else y[:380])
    cold = clone(machine).fit(X, y).solution_.iterations
    assert machine.fit(X, y).solution_.iterations < cold


@pytest.mark.parametrize("name", LINEAR)
def test_appended_rows_leave_a_small_gap(name):
    """Of a cold start the relative gap is 1; passes are saved where the rest is not a long tail."""
    X, z, _ = make_data(400)
    y, machine = target(name, z, classes=3), clone(MACHINES[name]).set_params(warm_start=True)
    machine.fit(X[:380], y[:380])
    with pytest.warns(ConvergenceWarning):
        machine.set_params(max_iter=0).fit(X, y)
    assert machine.solution_.relative_gap < 0.2


@settings(max_examples=200, deadline=None)
@given(st.integers(1, 30), st.integers(0, 2**32 - 1))
def test_repaired_points_are_feasible(count, seed):
    rng = np.random.default_rng(seed)
    lower = -rng.choice([0.0, 1.0, 2.0], count)
    upper = rng.choice([0.0, 1.0, 3.0], count)
    beta = np.clip(rng.normal(scale=2, size=count), lower, upper)
    start = rng.uniform(lower, upper) * rng.integers(0, 2)
    repaired_beta = repaired(beta, Part(start, lower, upper))
    assert (repaired_beta >= lower).all()
    assert (repaired_beta <= upper).all()
    assert repaired_beta.sum() == pytest.approx(start.sum(), abs=1e-10)
