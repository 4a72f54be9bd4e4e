"""SVC for all classes at once, against a slow twin, quadprog and identities."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics.pairwise import rbf_kernel

from softmargin import SVC, LinearSVC, _core
from softmargin.problem.all_classes import MACHINES
from softmargin.working_sets import BY_EXAMPLE, Block
from tests.oracles import naive_all_classes as naive

TIGHT = {"tol": 1e-9, "gap_tol": 1e-11}


def problem(seed, n=12, k=3, features=3):
    """Ties (equal rows with equal and other classes), weights, and data of few values."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, features))
    if seed % 3 == 0:
        X = np.round(X)  # many equal rows
    if seed % 4 == 1:
        X[: n // 2] = X[n // 2 : 2 * (n // 2)]
    y = np.concatenate([np.arange(k), rng.integers(0, k, max(n - k, 0))])[:n]
    weight = rng.choice([0.5, 1.0, 2.0], n) if seed % 2 else np.ones(n)
    return X, y, weight, float(rng.choice([0.1, 1.0, 30.0]))


def fitted(machine, X, y, weight=None, **options):
    return SVC(multi_class=machine, **{**TIGHT, **options}).fit(X, y, weight)


def values(a, K):
    """Decision values: a score for each class, or their difference for two classes."""
    scores = K @ a
    return scores[:, 1] - scores[:, 0] if a.shape[1] == 2 else scores


@pytest.mark.filterwarnings("ignore:The number of unique classes")
@pytest.mark.parametrize("machine", MACHINES)
@pytest.mark.parametrize("part", range(6))
def test_agrees_with_quadprog(machine, part):
    for seed in range(20 * part, min(20 * part + 20, 112)):
        k = [2, 3, 4, 5, 6, 3, 4, 8, 3, 7][seed % 10] if seed < 100 else seed - 91
        X, y, weight, C = problem(seed, n=max(12, k + 1), k=k)
        K = rbf_kernel(X, gamma=0.5) if seed % 5 else X @ X.T
        optimum, a = naive.quadratic_program(K, y, C * weight, k, machine)
        found = fitted(machine, K, y, weight, kernel="precomputed", C=C)
        solution = found.solution_
        assert solution.converged
        assert solution.dual_objective <= optimum * (1 + 1e-9)
        assert solution.dual_objective == pytest.approx(optimum, rel=1e-9)
        assert solution.primal_objective == pytest.approx(optimum, rel=1e-9)
        np.testing.assert_allclose(found.decision_function(K), values(a, K), atol=2e-5)


@pytest.mark.filterwarnings("ignore:The number of unique classes")
@pytest.mark.parametrize("machine", MACHINES)
@pytest.mark.parametrize("part", range(5))
def test_agrees_with_the_slow_twin(machine, part):
    for seed in range(4 * part, 4 * part + 4):
        k = 2 + seed % 19
        X, y, weight, _ = problem(seed, n=max(8, k + 1), k=k, features=5)
        K = rbf_kernel(X, gamma=1.0)
        a = naive.descent(K, y, weight, k, machine, passes=60)
        found = fitted(machine, X, y, weight, gamma=1.0)
        expected = naive.primal(K, y, weight, a, machine)
        assert found.solution_.primal_objective == pytest.approx(expected, rel=1e-9)
        np.testing.assert_allclose(found.decision_function(X), values(a, K), atol=1e-6)


@pytest.mark.parametrize("machine", MACHINES)
@pytest.mark.parametrize("rule", [*BY_EXAMPLE, Block(size=5)])
@pytest.mark.parametrize("shrinking", [True, False])
def test_every_rule_reaches_the_same_optimum(machine, rule, shrinking, three_blobs):
    X, y = three_blobs
    reference = fitted(machine, X, y, C=5.0)
    found = fitted(machine, X, y, C=5.0, working_set=rule, shrinking=shrinking, cache_size=0.01)
    name = rule if isinstance(rule, str) else rule.name
    assert found.solution_.working_set == name
    assert found.solution_.dual_objective == pytest.approx(
        reference.solution_.dual_objective, rel=1e-9
    )
    np.testing.assert_allclose(
        found.decision_function(X), reference.decision_function(X), atol=1e-5
    )


@pytest.fixture(scope="module")
def three_blobs():
    rng = np.random.default_rng(0)
    y = np.arange(150) % 3
    return rng.normal(size=(150, 2)) + 1.5 * np.eye(3)[y][:, :2], y


@pytest.mark.parametrize("machine", MACHINES)
def test_the_certificate_is_that_of_the_model(machine, three_blobs):
    X, y = three_blobs
    found = SVC(multi_class=machine, gamma=0.7, C=2.0).fit(X, y)
    a = np.zeros((len(X), 3))
    a[found.support_] = found.dual_coef_.T
    K = rbf_kernel(X, gamma=0.7)
    C = np.full(len(X), 2.0)
    solution = found.solution_
    assert solution.primal_objective == pytest.approx(naive.primal(K, y, C, a, machine), rel=1e-9)
    assert 0 <= solution.relative_gap <= 1e-3
    own = a[np.arange(len(X)), y]
    assert solution.dual_objective == pytest.approx(own.sum() - 0.5 * (a * (K @ a)).sum(), rel=1e-9)
    np.testing.assert_allclose(a.sum(axis=1), 0, atol=1e-12)


@pytest.mark.parametrize("machine", MACHINES)
def test_equals_the_linear_machine_without_intercept(machine, three_blobs):
    X, y = three_blobs
    kernel = fitted(machine, X, y, kernel="linear")
    linear = LinearSVC(multi_class=machine, fit_intercept=False, tol=1e-10, max_iter=100_000).fit(
        X, y
    )
    assert kernel.solution_.primal_objective == pytest.approx(
        linear.solution_.primal_objective, rel=1e-8
    )
    np.testing.assert_allclose(kernel.coef_, linear.coef_, atol=1e-5)
    assert (kernel.predict(X) == linear.predict(X)).all()


@pytest.mark.parametrize("machine", MACHINES)
def test_two_classes_are_the_binary_machine_of_twice_the_price(machine, three_blobs):
    X, y = three_blobs
    X, y = X[y < 2], y[y < 2]
    found = fitted(machine, X, y, kernel="linear", C=0.5)
    binary = LinearSVC(loss="hinge", C=1.0, fit_intercept=False, tol=1e-10, max_iter=100_000).fit(
        X, y
    )
    assert found.dual_coef_.shape[0] == 1
    np.testing.assert_allclose(found.decision_function(X), binary.decision_function(X), atol=1e-5)
    assert (found.predict(X) == binary.predict(X)).all()


@pytest.mark.filterwarnings("ignore:The number of unique classes")
@pytest.mark.parametrize("machine", MACHINES)
def test_small_problems_equal_the_linear_machine(machine):
    """Ties, weights, equal rows, 2 to 20 classes."""
    for seed in range(38):
        k = 2 + seed % 19
        X, y, weight, C = problem(seed, n=max(12, k + 1), k=k)
        kernel = fitted(machine, X, y, weight, kernel="linear", C=C)
        linear = LinearSVC(
            multi_class=machine, C=C, fit_intercept=False, tol=1e-10, gap_tol=1e-11, max_iter=10**6
        ).fit(X, y, weight)
        assert kernel.solution_.primal_objective == pytest.approx(
            linear.solution_.primal_objective, rel=1e-9
        )
        np.testing.assert_allclose(
            kernel.decision_function(X), linear.decision_function(X), atol=2e-5
        )


@pytest.mark.parametrize("machine", MACHINES)
def test_two_classes_with_any_kernel_are_the_binary_machine(machine):
    """K = LL', so the rows of L are features with which a linear machine has this kernel."""
    for seed in range(20):
        X, y, weight, C = problem(seed, k=2)
        K = rbf_kernel(X, gamma=0.5) + 1e-8 * np.eye(len(X))
        L = np.linalg.cholesky(K)
        found = fitted(machine, K, y, weight, kernel="precomputed", C=C / 2)
        binary = LinearSVC(
            loss="hinge", C=C, fit_intercept=False, tol=1e-10, gap_tol=1e-11, max_iter=10**6
        ).fit(L, y, weight)
        assert 2 * found.solution_.primal_objective == pytest.approx(
            binary.solution_.primal_objective, rel=1e-9
        )
        np.testing.assert_allclose(
            found.decision_function(K), binary.decision_function(L), atol=2e-5
        )


@pytest.mark.parametrize("machine", ["ovr", *MACHINES])
def test_weights_are_repetitions(machine, three_blobs):
    X, y = three_blobs
    weight = np.random.default_rng(1).integers(0, 4, len(X))
    weighted = fitted(machine, X, y, weight, gamma=0.5)
    repeated = fitted(machine, np.repeat(X, weight, axis=0), np.repeat(y, weight), gamma=0.5)
    np.testing.assert_allclose(
        weighted.decision_function(X), repeated.decision_function(X), atol=1e-5
    )
    by_class = fitted(machine, X, y, gamma=0.5, class_weight={0: 2.0, 1: 1.0, 2: 3.0})
    by_weight = fitted(machine, X, y, np.array([2.0, 1.0, 3.0])[y], gamma=0.5)
    np.testing.assert_allclose(
        by_class.decision_function(X), by_weight.decision_function(X), atol=1e-6
    )


@pytest.mark.parametrize("machine", ["ovr", *MACHINES])
def test_every_form_of_input_gives_the_same_machine(machine, three_blobs):
    X, y = three_blobs
    K = rbf_kernel(X, gamma=0.5)
    expected = fitted(machine, X, y, gamma=0.5).decision_function(X)
    assert expected.shape == (len(X), 3)
    sparse = sp.csr_matrix(X)
    others = {
        "sparse": fitted(machine, sparse, y, gamma=0.5).decision_function(sparse),
        "given": fitted(machine, K, y, kernel="precomputed").decision_function(K),
        "function": fitted(
            machine, X, y, kernel=lambda A, B: rbf_kernel(A, B, gamma=0.5)
        ).decision_function(X),
        "threads": fitted(machine, X, y, gamma=0.5, n_jobs=2).decision_function(X),
    }
    for name, found in others.items():
        np.testing.assert_allclose(found, expected, atol=1e-5, err_msg=name)


def test_one_vs_rest_is_a_binary_machine_for_each_class(three_blobs):
    X, y = three_blobs
    labels = np.array(["a", "b", "c"])[y]
    found = SVC(multi_class="ovr", gamma=0.5).fit(X, labels)
    scores = np.stack(
        [SVC(gamma=0.5).fit(X, labels == c).decision_function(X) for c in "abc"], axis=1
    )
    np.testing.assert_allclose(found.decision_function(X), scores, atol=5e-3)
    assert (found.predict(X) == found.classes_[found.decision_function(X).argmax(axis=1)]).all()
    assert found.dual_coef_.shape == (3, len(found.support_))
    assert found.intercept_.shape == (3,)
    assert found.n_support_.sum() == len(found.support_)


@pytest.mark.parametrize("machine", MACHINES)
def test_float32_rows_reach_the_certificate(machine):
    rng = np.random.default_rng(3)
    y = np.arange(1500) % 5
    X = (rng.normal(size=(1500, 4)) + 2 * np.eye(5)[y][:, :4]).astype(np.float32)
    narrow = SVC(multi_class=machine, gamma=0.3).fit(X, y)
    exact = SVC(multi_class=machine, gamma=0.3, precision="float64").fit(X, y)
    assert narrow.solution_.converged
    assert exact.solution_.converged
    assert exact.solution_.precision == "float64"
    assert narrow.solution_.dual_objective == pytest.approx(
        exact.solution_.dual_objective, rel=1e-3
    )
    upper = min(narrow.solution_.primal_objective, exact.solution_.primal_objective)
    lower = max(narrow.solution_.dual_objective, exact.solution_.dual_objective)
    assert lower <= upper * (1 + 1e-6)


@pytest.mark.parametrize("machine", MACHINES)
def test_a_newton_step_where_its_own_matrix_would_be_too_large(machine):
    # 1 MB: a matrix has at most 181 variables; here nearly all of 300 examples are support vectors.
    rng = np.random.default_rng(0)
    y = np.arange(300) % 20
    X = rng.normal(size=(300, 10)) + rng.normal(size=(20, 10))[y]
    found = [
        fitted(machine, X, y, C=10, gamma=0.1, **options)
        for options in (
            {"cache_size": 1, "working_set": Block(size=50)},
            {"cache_size": 200, "working_set": Block(size=50, newton=False)},
        )
    ]
    assert all(one.solution_.converged for one in found)
    assert len(found[0].support_) > 181
    first, second = (one.solution_.dual_objective for one in found)
    assert first == pytest.approx(second, rel=1e-9)
    np.testing.assert_allclose(*(one.decision_function(X) for one in found), atol=1e-5)


@pytest.mark.parametrize("machine", MACHINES)
@pytest.mark.parametrize("C", [0.01, 1.0, 100.0])
@pytest.mark.parametrize("newton", [True, False])
def test_blocks_with_some_of_the_variables_reach_the_optimum_of_all(machine, C, newton):
    """With 40 classes, a block has only some variables of an example; with C = 0.01 nearly all are
    at their bound, and small blocks end before they have all their examples."""
    rng = np.random.default_rng(4)
    y = np.arange(200) % 40
    X = rng.normal(size=(200, 6)) + 1.5 * rng.normal(size=(40, 6))[y]
    options = {"C": C, "gamma": 0.2, "gap_tol": 1e-10}
    expected = fitted(machine, X, y, working_set="most-violating-example", **options)
    for size in (2, 4, 30, 200):
        found = fitted(machine, X, y, working_set=Block(size=size, newton=newton), **options)
        assert found.solution_.converged
        assert found.solution_.dual_objective == pytest.approx(
            expected.solution_.dual_objective, rel=1e-9
        )
        np.testing.assert_allclose(
            found.decision_function(X), expected.decision_function(X), atol=1e-5
        )


def overlapping_clusters(n, classes, distance):
    rng = np.random.default_rng(0)
    y = np.arange(n) % classes
    return rng.normal(size=(n, 8)) + distance * rng.normal(size=(classes, 8))[y], y


@pytest.mark.parametrize("machine", MACHINES)
def test_a_gap_that_float32_rows_cannot_reach_is_reached_in_float64(machine):
    """Nearly all variables are free and C is far above them, so the gap is large compared with the
    violation."""
    X, y = overlapping_clusters(1200, 4, 1.0)
    solution = SVC(multi_class=machine, C=1e4, gamma=0.5).fit(X, y).solution_
    assert solution.precision == "float64"
    assert solution.converged


@pytest.mark.parametrize("machine", MACHINES)
def test_a_nearly_singular_kernel_matrix_needs_few_steps(machine):
    """Blocks of descent alone would need tens of millions."""
    X, y = overlapping_clusters(400, 11, 0.7)
    found = SVC(multi_class=machine, C=1e4, gamma=0.001, max_iter=500_000).fit(X, y)
    assert found.solution_.converged


def test_crammer_singer_where_rounding_leaves_tiny_variables():
    """An example with one variable at C and another of 2e-16: a Newton step raised the second."""
    X = np.array([1, 2, 1, -1, 1, -1, 1, -1, 1, 0, -2, 2, -1, -2, 1, 0, 1, -2, 1, 1, 1.0])[:, None]
    y = np.array([0, 1, 2, 0, 2, 1, 2, 1, 1, 2, 1, 2, 1, 1, 0, 1, 1, 2, 2, 1, 2])
    found = SVC(multi_class="crammer_singer", C=1, gamma=0.5, gap_tol=1e-6).fit(X, y)
    optimum, _ = naive.quadratic_program(
        rbf_kernel(X, gamma=0.5), y, np.ones(len(X)), 3, "crammer_singer"
    )
    assert found.solution_.primal_objective == pytest.approx(optimum, rel=1e-6)
    assert np.abs(found.dual_coef_).max() <= 1 + 1e-12


@pytest.mark.parametrize("machine", MACHINES)
@pytest.mark.parametrize(("scale", "C"), [(1e3, 1e6), (1e4, 1e4), (1e5, 1e6)])
def test_variables_that_are_tiny_compared_with_their_bounds(machine, scale, C):
    """The classes are separable, so C does not matter if it is large, and with features multiplied
    by `scale` the dual variables are divided by its square."""
    X, y = overlapping_clusters(200, 4, 5.0)
    expected = fitted(machine, X, y, kernel="linear", C=10.0)
    found = fitted(machine, scale * X, y, kernel="linear", C=C, gap_tol=None)
    assert found.solution_.converged
    assert found.solution_.dual_objective * scale**2 == pytest.approx(
        expected.solution_.dual_objective, rel=1e-9
    )
    np.testing.assert_allclose(
        found.decision_function(scale * X), expected.decision_function(X), atol=1e-6
    )


def many_overlapping_classes():
    X, y = overlapping_clusters(300, 60, 2.0)
    return X[:, :3], y


@pytest.mark.parametrize("machine", MACHINES)
@pytest.mark.parametrize("weighted", [False, True])
def test_large_bounds_for_classes_that_overlap(machine, weighted):
    """The bounds grow to C.  Scores hardly change with such a C, so the objective is about
    proportional to it."""
    X, y = many_overlapping_classes()
    weight = np.random.default_rng(1).choice([0.0, 0.5, 1.0, 3.0], len(X)) if weighted else None
    small, large = (
        SVC(multi_class=machine, C=C, kernel="linear", max_iter=2_000_000)
        .fit(X, y, sample_weight=weight)
        .solution_
        for C in (1e6, 1e8)
    )
    assert small.converged
    assert large.converged
    assert large.primal_objective == pytest.approx(100 * small.primal_objective, rel=2e-3)


@pytest.mark.parametrize("machine", MACHINES)
def test_a_fit_that_ends_while_its_bounds_grow_can_be_continued(machine):
    X, y = many_overlapping_classes()
    model = SVC(multi_class=machine, C=1e8, kernel="linear", max_iter=50_000, warm_start=True)
    with pytest.warns(ConvergenceWarning):
        before = model.fit(X, y).solution_
    after = model.set_params(max_iter=2_000_000).fit(X, y).solution_
    assert after.converged
    assert before.dual_objective <= after.primal_objective
    assert before.kkt_violation > 1  # for C, not for the present bounds


@pytest.mark.parametrize("machine", MACHINES)
def test_the_dual_objective_does_not_drown_in_a_large_primal(machine):
    """The classes are separable, so a large C only raises the price of the margins still missed."""
    X, y = overlapping_clusters(200, 4, 0.5)
    usual, large = (
        SVC(multi_class=machine, C=C, gamma=0.5, gap_tol=None).fit(X, y).solution_
        for C in (1e4, 1e18)
    )
    assert large.primal_objective > 1e14
    assert large.dual_objective == pytest.approx(usual.dual_objective, rel=1e-6)


@pytest.mark.parametrize("size", [np.int64(10), 10**9])
def test_any_size_of_a_block(size, three_blobs):
    X, y = three_blobs
    found = fitted("weston_watkins", X, y, working_set=Block(size=size, newton=True))
    assert found.solution_.converged


@pytest.mark.parametrize("tiny", [0.0, 1e-16, 1e-13])
def test_the_sum_of_crammer_singer_stays_within_its_bound(tiny):
    """Also after Newton steps, if a sum begins at C in one variable, and rounding left others."""
    X, y = overlapping_clusters(300, 6, 0.7)
    C = 10.0
    start = np.zeros((6, len(X)))
    start[(y + 1) % 6, np.arange(len(X))] = C * (1 - tiny)
    start[(y + 2) % 6, np.arange(len(X))] = C * tiny
    core = _core.float64
    examples = core.Examples.dense(X, X.mean(axis=0))
    rows = core.Rows.examples(examples, "rbf", 0.01, 0.0, 3)
    solver = core.all_classes_solver(
        rows=rows,
        ids=np.arange(len(X), dtype=np.int32),
        labels=y.astype(np.int32),
        upper=np.full(len(X), C),
        start=list(start),
        machine="crammer_singer",
        rule="block",
        block_size=64,
        newton=True,
        tolerance=1e-9,
        shrinking=True,
        cache_bytes=10**7,
        threads=1,
    )
    for _ in range(1000):
        state = solver.run(200, 10.0)
        beta = np.stack([solver.variables(c) for c in range(6)])
        assert beta.min() >= 0
        assert beta.sum(axis=0).max() <= C * (1 + 1e-12)
        if state.outcome != _core.Outcome.running:
            break
    assert state.outcome == _core.Outcome.optimal


def test_rows_of_zeros_cost_what_they_must():
    """K_ii = 0: their loss does not depend on the machine, and their variables are at the bound."""
    X, y = np.array([[0.0], [0.0], [0.0], [1.0], [-1.0]]), np.array([0, 1, 2, 0, 1])
    for machine in MACHINES:
        found = fitted(machine, X, y, kernel="linear")
        assert found.solution_.converged
        optimum, _ = naive.quadratic_program(X @ X.T, y, np.ones(5), 3, machine)
        assert found.solution_.primal_objective == pytest.approx(optimum, rel=1e-9)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_a_kernel_that_is_not_positive_semidefinite_is_not_certified(three_blobs):
    X, y = three_blobs
    found = SVC(multi_class="weston_watkins", kernel="sigmoid", gamma=0.5, coef0=-1).fit(X, y)
    assert not found.solution_.certified
    linear = SVC(multi_class="weston_watkins", kernel="poly", degree=1, gamma=1, coef0=-9.0)
    assert not linear.fit(X, y).solution_.certified
    assert SVC(kernel="poly", degree=1, gamma=1, coef0=-9.0).fit(X, y).solution_.certified
