"""Many pairs of classes are solved together, and come out as if each had been solved alone."""

from __future__ import annotations

import time
from itertools import combinations

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from softmargin import SVC, NuSVC
from softmargin.fitting.history import History
from softmargin.solution import Certificates, Solution, StopReason
from softmargin.watching import TOLD_ONE_BY_ONE

TOL = 1e-9


def blobs(classes, rows, seed=0):
    rng = np.random.default_rng(seed)
    y = np.repeat(np.arange(classes), rows)
    return 2 * rng.normal(size=(classes, 4))[y] + rng.normal(size=(len(y), 4)), y


@pytest.mark.parametrize("form", ["dense", "sparse", "float32", "second-order"])
@pytest.mark.parametrize(
    "machine",
    [
        SVC(C=2.0, gamma=0.2, tol=TOL),
        SVC(C=2.0, kernel="linear", tol=TOL, class_weight={0: 3.0, 2: 0.5}),
        NuSVC(nu=0.3, gamma=0.2, tol=TOL),
        NuSVC(nu=0.9, gamma=0.2, tol=TOL, class_weight={1: 4.0}),
    ],
)
def test_pairs_together_are_the_pairs_alone(machine, form):
    X, y = blobs(6, 12)
    weight = np.random.default_rng(1).uniform(0.5, 2.0, len(y))
    if isinstance(machine, NuSVC):
        weight[:] = 1.5
    weight[::7] = 0
    machine = clone(machine).set_params(
        working_set="second-order" if form == "second-order" else "auto"
    )
    X = {"sparse": sp.csr_matrix(X), "float32": X.astype(np.float32)}.get(form, X)
    together = machine.set_params(decision_function_shape="ovo").fit(X, y, sample_weight=weight)
    values = together.decision_function(X)
    for number, pair in enumerate(combinations(range(6), 2)):
        rows = np.isin(y, pair)
        alone = clone(machine)
        if machine.class_weight:
            alone.set_params(
                class_weight={c: w for c, w in machine.class_weight.items() if c in pair} or None
            )
        alone.fit(X[rows], y[rows], sample_weight=weight[rows])
        # with two classes, a positive value means the second
        np.testing.assert_allclose(values[:, number], -alone.decision_function(X), atol=1e-5)
        ours, theirs = together.solution_.problems[number], alone.solution_
        assert ours.converged
        assert ours.dual_objective == pytest.approx(theirs.dual_objective, rel=1e-7)
        assert ours.primal_objective == pytest.approx(theirs.primal_objective, rel=1e-7)


def test_time_grows_with_the_pairs_and_not_with_their_square():
    """Once 5,000 pairs took 4 seconds of Python; a tenth of it is allowed for each thousand."""
    X, y = blobs(100, 5)
    begin = time.process_time()
    machine = SVC(n_jobs=1).fit(X, y)
    assert time.process_time() - begin < 2.0
    assert len(machine.solution_.problems) == 4950
    assert machine.solution_.converged


@pytest.mark.parametrize("classes", [10, 50])
def test_observers_see_all_problems_end(classes):
    X, y = blobs(classes, 4)
    seen = []
    SVC(callbacks=[seen.append], n_jobs=2).fit(X, y)
    problems = classes * (classes - 1) // 2
    assert seen[-1].ended == seen[-1].problems == problems
    assert seen[-1].progress == pytest.approx(1.0)
    ends = [status.problem for status in seen if not np.isnan(status.gap)]
    if problems <= TOLD_ONE_BY_ONE:
        assert sorted(ends) == list(range(problems))
    else:
        assert len(ends) < problems / 10


def test_a_stop_leaves_the_other_pairs_as_they_are():
    X, y = blobs(20, 60)
    # two threads have some runs of pairs each, and the first one stops the rest
    machine = SVC(n_jobs=2, C=1e3, tol=1e-6, callbacks=[lambda status: status.ended >= 5])
    with pytest.warns(ConvergenceWarning, match="stopped by a callback"):
        machine.fit(X, y)
    reasons = [solution.stop_reason for solution in machine.solution_.problems]
    assert set(reasons) <= {StopReason.CONVERGED, StopReason.CALLBACK}
    assert all(solution.duality_gap >= -1e-9 for solution in machine.solution_.problems)
    assert len(machine.predict(X)) == len(y)
    more = machine.set_params(warm_start=True, callbacks=None).fit(X, y)
    assert more.solution_.converged


def test_no_time_and_no_iterations():
    X, y = blobs(12, 10)
    for limit, reason in (
        ({"time_limit": 0}, StopReason.TIME_LIMIT),
        ({"max_iter": 1}, StopReason.MAX_ITER),
    ):
        with pytest.warns(ConvergenceWarning):
            machine = SVC(C=10.0, **limit).fit(X, y)
        assert {solution.stop_reason for solution in machine.solution_.problems} == {reason}
        assert (machine.n_iter_ == limit.get("max_iter", 0)).all()


def test_a_pair_without_a_margin_is_named():
    y = np.repeat([0, 1, 2, 3], 10)
    X = 5 * np.eye(4)[y] + np.random.default_rng(0).normal(size=(40, 4))
    X[y == 3] = X[y == 2]  # the same rows in two classes
    with pytest.raises(ValueError, match=r"Classes \(2, 3\): nu=0.5 gives a margin"):
        NuSVC(nu=0.5, kernel="linear").fit(X, y)


def test_certificates_are_a_sequence_of_solutions():
    X, y = blobs(4, 8)
    whole = SVC().fit(X, y).solution_
    problems = whole.problems
    assert len(problems) == 6
    assert all(isinstance(one, Solution) for one in problems)
    assert problems[-1] == list(problems)[5]
    assert problems == tuple(problems)
    assert hash(whole) == hash(SVC().fit(X, y).solution_) or whole.seconds > 0
    assert Certificates.of(list(problems)) == problems
    assert problems[1:3] == tuple(problems)[1:3]
    assert isinstance(problems[0].iterations, int)
    with pytest.raises(IndexError):
        problems[6]


def test_history_of_very_many_pairs_is_short():
    X, y = blobs(60, 3)
    machine = SVC().fit(X, y)
    assert isinstance(machine._history, History)
    assert len(machine.history_) < 200
    assert machine.history_["seconds"][-1] >= machine.history_["seconds"][0]
