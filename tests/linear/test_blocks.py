"""Blocks of examples that descend side by side."""

import pickle

import numpy as np
import pytest
import scipy.sparse as sp

from softmargin import LinearSVC, LinearSVR
from softmargin.fitting import blocks
from softmargin.fitting.linear_problem import Problem, no_variables
from tests.cases.linear import iris

MACHINES = {
    "Weston-Watkins": {"multi_class": "weston_watkins"},
    "Crammer-Singer": {"multi_class": "crammer_singer"},
    "hinge": {"loss": "hinge"},
    "squared hinge": {"loss": "squared_hinge"},
}
OPTIONS = {"tol": 1e-4, "max_iter": 10**5, "random_state": 0}


@pytest.mark.parametrize("name", MACHINES)
@pytest.mark.parametrize("layout", [np.asarray, sp.csr_matrix])
def test_the_same_optimum_and_the_same_bits_on_any_number_of_threads(name, layout):
    X, y = iris()
    X = layout(X)
    alone = LinearSVC(**MACHINES[name], **OPTIONS).fit(X, y).solution_
    one, two = (
        LinearSVC(n_blocks=4, n_jobs=threads, **MACHINES[name], **OPTIONS).fit(X, y)
        for threads in (1, 2)
    )
    np.testing.assert_array_equal(one.coef_, two.coef_)
    assert one.solution_.converged
    assert one.solution_.relative_gap <= 1e-4
    assert one.solution_.primal_objective == pytest.approx(alone.primal_objective, rel=2e-4)
    assert "4 blocks" in one.solution_.working_set_reason


@pytest.mark.parametrize("loss", ["epsilon_insensitive", "squared_epsilon_insensitive"])
def test_regression(loss):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((60, 4))
    y = X @ [1.0, 0.0, -1.0, 2.0] + rng.standard_normal(60)
    options = {"loss": loss, "epsilon": 0.2, **OPTIONS}
    alone = LinearSVR(**options).fit(X, y).solution_
    several = LinearSVR(n_blocks=3, **options).fit(X, y).solution_
    assert several.converged
    assert several.primal_objective == pytest.approx(alone.primal_objective, rel=2e-4)


def test_warm_start_and_limits():
    X, y = iris()
    machine = LinearSVC(multi_class="weston_watkins", n_blocks=2, warm_start=True, **OPTIONS)
    machine.fit(X, y)
    assert machine.fit(X, y).n_iter_ == 0
    with pytest.warns(UserWarning, match="max_iter=3"):
        machine.set_params(warm_start=False, max_iter=3, tol=1e-9).fit(X, y)
    assert machine.n_iter_ == 3
    assert 0 < machine.solution_.relative_gap < 1


def test_the_dual_objective_rises_by_what_the_line_search_says():
    """Rounds that skip what seems settled, and jumps now and then."""
    X, y = iris()
    problem = Problem(X, y.astype(np.int32), np.full(len(y), 0.1), 3, "weston_watkins", 1.0)
    parts = blocks.cut(problem, 3)
    state = [blocks.held(no_variables(len(part.upper))) for part in parts]
    W, dual, share = np.zeros(15), 0.0, 1.0
    for seed in range(40):
        if seed % 10 == 9:
            ahead = np.array([2.0, 0.5])
            found = [
                blocks.jump(part, own, share, ahead) for part, own in zip(parts, state, strict=True)
            ]
        else:
            task = blocks.Task(3.0, seed, share, seed, seed % 7 == 0, remember=2)
            found = [
                blocks.step(part, own, W, task) for part, own in zip(parts, state, strict=True)
            ]
        step = blocks.add_up([step for _, step in found])
        state = [own for own, _ in found]
        share, gain, _ = blocks.length(step, W)
        W, dual = W + share * step.change, dual + gain
        weighed = blocks.add_up(
            [blocks.weigh(p, own, share) for p, own in zip(parts, state, strict=True)]
        )
        np.testing.assert_allclose(weighed.change, W, atol=1e-12)
        assert dual == pytest.approx(weighed.rise - W @ W / 2)
    loss, gap, _ = blocks.total(
        [blocks.measure(part, own, share, W) for part, own in zip(parts, state, strict=True)]
    )
    assert dual == pytest.approx(W @ W / 2 + loss - gap)


@pytest.mark.parametrize("machine", ["ovr", "ovr_squared", "crammer_singer", "svr", "svr_squared"])
def test_jumps_keep_to_the_bounds_and_gain_what_they_say(machine):
    rng = np.random.default_rng(0)
    regression = machine.startswith("svr")
    X, columns = rng.standard_normal((30, 3)), 1 if regression else 3
    problem = Problem(
        X,
        np.zeros(30, np.int32) if regression else rng.integers(0, 3, 30).astype(np.int32),
        rng.uniform(0.1, 2.0, 30),
        columns,
        machine,
        1.0,
        target=rng.standard_normal(30) if regression else None,
        epsilon=0.1 if regression else 0.0,
    )
    state, W, share = blocks.held(no_variables(30)), np.zeros(4 * columns), 1.0
    for seed in range(3):
        state, step = blocks.step(
            problem, state, W, blocks.Task(1.0, seed, share, seed, remember=2)
        )
        share, _, _ = blocks.length(step, W)
        W = W + share * step.change
    before = blocks.weigh(problem, state, share)
    state, step = blocks.jump(problem, state, share, np.array([3.0, -1.0]))
    problem.check_variables(state.after)
    share, gain, _ = blocks.length(step, W)
    after = blocks.weigh(problem, state, share)
    rose = after.rise - after.change @ after.change / 2 - (before.rise - W @ W / 2)
    assert rose >= gain - 1e-12  # more, if the linear cost of a variable bends
    if not regression:
        assert rose == pytest.approx(gain, abs=1e-12)


def test_a_step_depends_on_its_arguments_alone():
    """Whatever the block did before: a task may run again elsewhere, on a copy of the block."""
    X, y = iris()
    problem = Problem(X, y.astype(np.int32), np.full(len(y), 0.1), 3, "weston_watkins", 1.0)
    state, W = blocks.held(no_variables(len(y))), np.zeros(15)
    steps = []
    for seed in range(30):
        task = blocks.Task(3.0 / (1 + seed), seed, 0.9, seed, wake=False, remember=3)
        steps.append((state, W, task))
        state, step = blocks.step(problem, state, W, task)
        W = W + 0.9 * step.change
    assert state.visits[0].reshape(-1, 4)[:, 3].any(), "no example is skipped"
    for state, W, task in steps:
        fresh = pickle.loads(pickle.dumps((problem, state)))
        found = [blocks.step(*where, W, task) for where in ((problem, state), fresh)]
        for one, other in zip(*(flat(pair) for pair in found), strict=True):
            np.testing.assert_array_equal(one, other)


def flat(pair):
    state, step = pair
    numbers = [step.change, step.rise, step.cost, step.curved, step.gap]
    return [*state.before, *state.after, *state.visits, *numbers]
