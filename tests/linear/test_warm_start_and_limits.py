"""Warm starts, seeds, threads and limits of LinearSVC."""

from types import SimpleNamespace

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.exceptions import ConvergenceWarning

from softmargin import LinearSVC, StopReason, load, watching
from softmargin.fitting import linear_solver
from tests.cases.linear import MACHINES, digits, primal, small


@pytest.mark.parametrize("machine", MACHINES)
def test_warm_start_continues(machine):
    X, y = digits()
    found = LinearSVC(
        multi_class=machine,
        loss="hinge",
        tol=1e-6,
        max_iter=20_000,
        warm_start=True,
        random_state=0,
    ).fit(X, y)
    optimum = found.solution_.primal_objective
    found.fit(X, y)
    assert found.n_iter_ == 0
    assert found.solution_.primal_objective == pytest.approx(optimum, rel=1e-12)
    with pytest.warns(ConvergenceWarning):
        found.set_params(C=1.1, max_iter=0).fit(X, y)
    assert found.solution_.relative_gap < 0.2  # without a warm start it is 1
    found.set_params(max_iter=20_000).fit(X, y)
    cold = LinearSVC(
        multi_class=machine, loss="hinge", tol=1e-6, max_iter=20_000, C=1.1, random_state=0
    ).fit(X, y)
    assert found.solution_.primal_objective == pytest.approx(
        cold.solution_.primal_objective, rel=2e-6
    )


def test_warm_start_from_another_machine_is_refused():
    X, y = digits()
    found = LinearSVC(multi_class="weston_watkins", warm_start=True, random_state=0).fit(X, y)
    with pytest.raises(ValueError, match="Set warm_start=False"):
        found.set_params(multi_class="ovr").fit(X, y)


@pytest.mark.parametrize("precision", ["float64", "float32"])
def test_threads_share_out_the_classes(precision):
    X, y = digits()
    options = {"tol": 1e-8, "max_iter": 20_000, "precision": precision, "random_state": 0}
    one = LinearSVC(loss="hinge", **options).fit(X, y)
    three = LinearSVC(loss="hinge", n_jobs=3, warm_start=True, **options).fit(X, y)
    again = LinearSVC(loss="hinge", n_jobs=3, warm_start=True, **options).fit(X, y)
    np.testing.assert_array_equal(three.coef_, again.coef_)
    np.testing.assert_allclose(three.coef_, one.coef_, atol=1e-3)
    assert three.solution_.primal_objective == pytest.approx(
        primal(three, X, y, np.ones(len(y))), rel=1e-11
    )
    assert three.solution_.relative_gap <= 1e-8
    assert three.fit(X, y).n_iter_ == 0
    # The parts' gaps add up, so the whole is solved as well; other parts need not be.
    assert three.set_params(n_jobs=None).fit(X, y).n_iter_ == 0


@pytest.mark.parametrize("blocks", [None, 2])
@pytest.mark.parametrize("machine", MACHINES)
def test_a_certificate_that_takes_too_long_is_given_up(machine, blocks, monkeypatch, tmp_path):
    """With very many classes it would take several times the time limit."""
    X, y = digits()
    monkeypatch.setattr(watching.Watch, "overdue", lambda watch: True)
    with pytest.warns(ConvergenceWarning, match="inf"):
        found = LinearSVC(
            loss="hinge", multi_class=machine, n_blocks=blocks, time_limit=1e-9, warm_start=True
        ).fit(X, y)
    solution = found.solution_
    assert solution.stop_reason is StopReason.TIME_LIMIT
    assert solution.duality_gap == solution.relative_gap == solution.kkt_violation == np.inf
    found.save(tmp_path / "model")
    assert load(tmp_path / "model").solution_.duality_gap == np.inf
    monkeypatch.undo()
    tol = 1e-4 if blocks is None else 0.1  # blocks need many more passes
    assert found.set_params(time_limit=None, tol=tol).fit(X, y).solution_.converged


def test_when_a_certificate_is_given_up():
    watch = watching.Watch(1, 1e-3, time_limit=1.0)
    assert not watch.overdue()
    watch.begin -= 10.0
    assert not watch.overdue()
    watch.begin -= 2.0
    assert watch.overdue()
    watch.time_limit = 100.0
    assert not watch.overdue()
    watch.time_limit = None
    watch.begin -= 1e9
    assert not watch.overdue()


def test_the_first_visits_do_not_tell_how_long_a_certificate_takes():
    """With a million rows, these take a tenth of a second before the first visit."""
    watch = watching.Watch(1, 1e-3, time_limit=60.0)
    problem = SimpleNamespace(upper=np.ones(10**6))
    run = linear_solver._Run(problem, None, 0, SimpleNamespace(watch=watch))
    run._reserve(SimpleNamespace(visits=32, support_visits=0), 0.1, "float64")
    assert watch._end_of_time() == 60.0
    run._reserve(SimpleNamespace(visits=200_000, support_visits=100_000), 1.0, "float64")
    assert watch._end_of_time() == pytest.approx(50.0)


def test_threads_are_refused_where_they_have_nothing_to_do():
    with pytest.raises(ValueError, match="n_jobs=2 needs multi_class='ovr'"):
        LinearSVC(multi_class="weston_watkins", n_jobs=2).fit(*small())
    with pytest.raises(ValueError, match="n_jobs=0 has no meaning: use None"):
        LinearSVC(loss="hinge", n_jobs=0).fit(*small())


def test_the_seed_decides():
    X, y = digits()
    a, b, c = (
        LinearSVC(multi_class="weston_watkins", random_state=seed, max_iter=1000).fit(X, y)
        for seed in (0, 0, 1)
    )
    np.testing.assert_array_equal(a.coef_, b.coef_)
    assert (a.coef_ != c.coef_).any()


def test_max_iter_warns_and_still_certifies():
    X, y = digits()
    found = LinearSVC(multi_class="weston_watkins", tol=1e-9, max_iter=2, random_state=0)
    with pytest.warns(ConvergenceWarning, match=r"max_iter=2.*relative duality gap is"):
        found.fit(X, y)
    assert found.solution_.stop_reason is StopReason.MAX_ITER
    assert found.n_iter_ == found.solution_.iterations == 2
    assert found.solution_.primal_objective == pytest.approx(primal(found, X, y, np.ones(len(y))))


def test_no_passes_at_all():
    X, y = small()
    with pytest.warns(ConvergenceWarning, match="relative duality gap is 1 "):
        found = LinearSVC(multi_class="weston_watkins", max_iter=0).fit(X, y)
    assert found.solution_.primal_objective == pytest.approx(4 * len(y))
    assert not found.coef_.any()


def test_a_tolerance_beyond_rounding_ends():
    X, y = small()
    with pytest.warns(ConvergenceWarning):
        found = LinearSVC(
            multi_class="weston_watkins", tol=1e-300, max_iter=3000, random_state=0
        ).fit(X, y)
    assert found.solution_.relative_gap < 1e-13


@pytest.mark.parametrize(
    "options", [{"multi_class": "weston_watkins"}, {"loss": "hinge", "n_jobs": 2}]
)
def test_interrupt_leaves_the_machine_as_it_was(options):
    X, y = digits()

    def interrupt(status):
        raise KeyboardInterrupt

    machine = LinearSVC(callbacks=[interrupt], random_state=0, **options)
    with pytest.raises(KeyboardInterrupt):
        machine.fit(X, y)
    assert not hasattr(machine, "coef_")


def test_sparsify_and_back():
    X, y = digits()
    found = LinearSVC(multi_class="weston_watkins", random_state=0).fit(X, y)
    before = found.decision_function(X)
    assert sp.issparse(found.sparsify().coef_)
    np.testing.assert_allclose(found.decision_function(X), before)
    np.testing.assert_allclose(found.densify().decision_function(X), before)
