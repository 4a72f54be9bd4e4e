"""The first phase of a descent on blocks of examples."""

import numpy as np
import pytest

from softmargin import LinearSVC
from softmargin.fitting import blocks, consensus
from softmargin.fitting.consensus import Consensus
from softmargin.fitting.linear_problem import Problem, no_variables
from softmargin.fitting.local_blocks import LocalCrew


def similar_rows(rows=3000, features=30):
    """Every block knows nearly everything about the others' examples."""
    rng = np.random.default_rng(0)
    X = (rng.random((rows, features)) < 0.3).astype(float)
    return X, (X @ rng.normal(size=features) + rng.normal(size=rows) > 0).astype(int)


def crew_of(problem, count):
    parts = blocks.cut(problem, count)
    duals = [no_variables(len(part.upper)) for part in parts]
    return parts, LocalCrew(lambda work: map(work, range(count), parts), duals, problem.columns)


@pytest.mark.parametrize("machine", ["weston_watkins", "ovr_squared", "svr"])
def test_the_gap_is_that_of_the_common_point_and_the_variables(machine):
    X, y = similar_rows(60, 10)
    rng = np.random.default_rng(0)
    columns = 1 if machine == "svr" else 2
    target = rng.normal(size=60) if machine == "svr" else None
    column = (y * (columns - 1)).astype(np.int32)
    problem = Problem(X, column, np.full(60, 0.5), columns, machine, 1.0, target=target)
    _, crew = crew_of(problem, 3)
    W = np.zeros(11 * columns)
    for rounds in range(2):
        W = W + crew.step(W, blocks.Task(3.0, rounds, 1.0, rounds)).change
    z = rng.normal(size=W.size)
    point = Consensus.start(z, 3)
    survey = crew.survey(z, 1.0)
    exact, linear = crew.weigh(1.0)
    np.testing.assert_allclose(exact, W, atol=1e-12)
    loss, _, _ = crew.measure(z, 1.0)
    gap = z @ z / 2 + loss - (linear - W @ W / 2)
    assert point.gap(W, survey) == pytest.approx(gap, rel=1e-9)


def test_what_a_survey_counts():
    X = np.array([[1.0, 0.0, 2.0], [1.0, 0.0, 0.0], [0.0, 0.0, 3.0]])
    problem = Problem(X, np.array([0, 1, 0], np.int32), np.ones(3), 2, "weston_watkins", 0.0)
    parts, crew = crew_of(problem, 3)
    crew.step(np.zeros(6), blocks.Task(3.0, 0, 1.0))
    found = crew.survey(np.zeros(6), 1.0)
    np.testing.assert_array_equal(found.present, [2, 0, 2])
    own = [
        blocks.weigh(part, held, 1.0).change for part, held in zip(parts, crew.held, strict=True)
    ]
    assert found.squared == pytest.approx(sum(part @ part for part in own))


def test_the_common_point_stays_where_it_agrees_with_all_blocks():
    W = np.arange(6.0)
    point = Consensus.start(W, 4).moved(W)
    np.testing.assert_array_equal(point.z, W)
    np.testing.assert_array_equal(point.anchor, W)


@pytest.mark.parametrize(
    "options",
    [{"multi_class": "weston_watkins"}, {"loss": "hinge"}, {"loss": "squared_hinge"}],
    ids=str,
)
def test_similar_blocks_take_few_rounds(monkeypatch, options):
    X, y = similar_rows()
    options = {
        **options,
        "n_blocks": 16,
        "tol": 1e-2,
        "random_state": 0,
        "max_iter": 10**5,
        "C": 10,
    }
    found = LinearSVC(**options).fit(X, y)
    monkeypatch.setattr(consensus, "MOST", 0)
    without = LinearSVC(**options).fit(X, y)
    assert found.solution_.converged
    assert found.solution_.primal_objective == pytest.approx(
        without.solution_.primal_objective, rel=2e-2
    )
    assert 2 * found.n_iter_ < without.n_iter_


def test_a_fit_stopped_in_this_phase_is_certified_and_can_be_continued():
    X, y = similar_rows()
    options = {"loss": "hinge", "n_blocks": 16, "random_state": 0, "warm_start": True}
    machine = LinearSVC(max_iter=10, tol=1e-3, **options)
    with pytest.warns(UserWarning, match="max_iter=10"):
        machine.fit(X, y)
    scores = machine.decision_function(X)
    loss = np.maximum(1 - (2 * y - 1) * scores, 0).sum()
    W = np.append(machine.coef_, machine.intercept_)
    assert machine.solution_.primal_objective == pytest.approx(W @ W / 2 + loss)
    alone = LinearSVC(loss="hinge", tol=1e-6, random_state=0, max_iter=10**5).fit(X, y).solution_
    assert machine.solution_.dual_objective <= alone.primal_objective
    machine.set_params(max_iter=10**5).fit(X, y)
    assert machine.solution_.converged
    assert machine.solution_.primal_objective == pytest.approx(alone.primal_objective, rel=2e-3)
