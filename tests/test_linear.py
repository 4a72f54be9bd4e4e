"""LinearSVC against the paper's algorithms in plain Python, its own certificate recomputed, and
the identities that a linear multi-class machine must meet."""

import functools

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn import svm
from sklearn.datasets import load_digits, load_iris, make_blobs
from sklearn.exceptions import ConvergenceWarning
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

import softmargin.descent
import softmargin.linear
from softmargin import LinearSVC, StopReason, _core
from tests import naive_linear
from tests.test_inputs import field_of_records, with_strides

MACHINES = ("weston_watkins", "crammer_singer", "ovr")
TIGHT = {"tol": 1e-12, "max_iter": 100_000, "random_state": 0}


# The checks compare decision values to 1e-7, so the fits go as far as rounding allows, and say so;
# and some are on data of large scale, where the descent is slow.
@pytest.mark.thread_unsafe(reason="some of the checks count warnings, which all threads share")
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@parametrize_with_checks(
    [LinearSVC(machine, tol=1e-15, max_iter=20_000) for machine in MACHINES]
    + [LinearSVC(precision="float32", tol=1e-15, max_iter=20_000)]
)
def test_scikit_learn_conventions(estimator, check):
    check(estimator)


@functools.cache
def small():
    X, y = make_blobs(60, n_features=4, centers=5, cluster_std=4.0, random_state=3)
    X = StandardScaler().fit_transform(X)
    X[7] = 0.0
    X.flags.writeable = False
    return X, y


@functools.cache
def digits():
    X, y = load_digits(return_X_y=True)
    X = X[:600] / 16.0
    X.flags.writeable = False
    return X, y[:600]


@functools.cache
def iris():
    X, y = load_iris(return_X_y=True)
    return StandardScaler().fit_transform(X), y


def scores(machine, X):
    """n x k, also for two classes: the problem's W is then (-coef / 2, coef / 2)."""
    values = machine.decision_function(X)
    if values.ndim == 2:
        return values
    return np.column_stack([-values / 2, values / 2])


def primal(machine, X, y, upper):
    """The objective, from the fitted attributes alone."""
    codes = np.searchsorted(machine.classes_, y)
    s = scores(machine, X)
    own = np.arange(len(y)), codes
    coef = np.column_stack([machine.coef_, machine.intercept_ / machine.intercept_scaling])
    if machine.multi_class == "ovr":
        sign = -np.ones_like(s)
        sign[own] = 1
        losses = np.maximum(0, 1 - sign * s).sum(axis=1)
        return 0.5 * np.sum(coef**2) + upper @ losses
    errors = 1 - s[own][:, None] + s
    errors[own] = 0
    errors = np.maximum(errors, 0)
    losses = errors.sum(axis=1) if machine.multi_class == "weston_watkins" else errors.max(axis=1)
    norm = np.sum(coef**2) / (2 if len(machine.classes_) == 2 else 1)
    return 0.5 * norm + upper @ losses


# --- the algorithm -------------------------------------------------------------------------------


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
    solver = _core.linear.SolverFloat64(
        _core.linear.Rows.dense(X, 0.0),
        y.astype(np.int32),
        C,
        5,
        machine,
        method,
        1e-300,
        False,
        False,
        11,
    )
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
        machine, C=0.3, tol=1e-6, shrinking=shrinking, max_iter=20_000, random_state=0
    )
    found.fit(X, y, weight)
    assert found.solution_.converged
    assert found.solution_.relative_gap <= 1e-6
    assert found.solution_.dual_objective <= found.solution_.primal_objective
    assert found.solution_.primal_objective == pytest.approx(
        primal(found, X, y, 0.3 * weight), rel=1e-11
    )
    exact = LinearSVC(machine, C=0.3, **TIGHT).fit(X, y, weight)
    assert found.solution_.dual_objective <= exact.solution_.primal_objective * (1 + 1e-11)
    assert exact.solution_.dual_objective <= found.solution_.primal_objective * (1 + 1e-11)


def test_gap_of_1e_8_and_beyond_is_reached():
    X, y = digits()
    found = LinearSVC(tol=1e-10, max_iter=20_000, random_state=0).fit(X, y)
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
            "newton",
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
    options = (rows, y.astype(np.int32), C, 20, "crammer_singer", "newton", 1e-9, True, True, 0)
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
    options = (rows, y.astype(np.int32), C, 4, machine, "newton", 1e-9, True)
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


# --- identities ----------------------------------------------------------------------------------


@pytest.mark.parametrize("machine", MACHINES)
def test_weights_are_repetitions(machine):
    X, y = small()
    times = np.random.default_rng(1).integers(0, 4, len(y))
    weighted = LinearSVC(machine, C=0.1, **TIGHT).fit(X, y, times)
    repeated = LinearSVC(machine, C=0.1, **TIGHT).fit(
        np.repeat(X, times, axis=0), np.repeat(y, times)
    )
    np.testing.assert_allclose(weighted.coef_, repeated.coef_, atol=1e-5)
    assert weighted.solution_.primal_objective == pytest.approx(
        repeated.solution_.primal_objective, rel=1e-11
    )


@pytest.mark.parametrize("machine", MACHINES)
def test_class_weight_scales_the_weights_of_examples(machine):
    X, y = small()
    by_class = {0: 2.0, 1: 0.5, 2: 1.0, 3: 3.0, 4: 0.1}
    a = LinearSVC(machine, class_weight=by_class, **TIGHT).fit(X, y)
    b = LinearSVC(machine, **TIGHT).fit(X, y, [by_class[c] for c in y])
    np.testing.assert_array_equal(a.coef_, b.coef_)
    balanced = LinearSVC(machine, class_weight="balanced", **TIGHT).fit(X, y)
    np.testing.assert_allclose(balanced.class_weight_, len(y) / (5 * np.bincount(y)))


def test_balanced_classes_are_balanced_by_their_weights():
    # As in scikit-learn's LinearSVC since 1.7: a weight is so many repetitions there, too.
    X, y = small()
    times = np.random.default_rng(1).integers(0, 4, len(y))
    options = {"class_weight": "balanced", "C": 0.1, **TIGHT}
    weighted = LinearSVC(**options).fit(X, y, times)
    repeated = LinearSVC(**options).fit(np.repeat(X, times, axis=0), np.repeat(y, times))
    np.testing.assert_allclose(weighted.class_weight_, repeated.class_weight_)
    np.testing.assert_allclose(weighted.coef_, repeated.coef_, atol=1e-5)


@pytest.mark.parametrize("machine", MACHINES)
def test_relabelling_permutes_the_weights(machine):
    X, y = small()
    new = np.array([3, 0, 4, 1, 2])
    a = LinearSVC(machine, C=0.1, **TIGHT).fit(X, y)
    b = LinearSVC(machine, C=0.1, **TIGHT).fit(X, new[y])
    np.testing.assert_allclose(a.coef_, b.coef_[new], atol=1e-5)
    np.testing.assert_allclose(a.intercept_, b.intercept_[new], atol=1e-5)


@pytest.mark.parametrize("machine", ["weston_watkins", "crammer_singer"])
def test_two_classes_are_the_hinge_machine_of_twice_the_price(machine):
    X, y = small()
    label = np.where(y > 2, "yes", "no")
    multi = LinearSVC(machine, C=0.2, **TIGHT).fit(X, label)
    binary = LinearSVC("ovr", C=0.4, **TIGHT).fit(X, label)
    assert multi.coef_.shape == binary.coef_.shape == (1, 4)
    np.testing.assert_allclose(multi.coef_, binary.coef_, atol=1e-5)
    np.testing.assert_allclose(multi.intercept_, binary.intercept_, atol=1e-5)
    assert multi.solution_.primal_objective == pytest.approx(
        binary.solution_.primal_objective / 2, rel=1e-10
    )
    assert multi.solution_.primal_objective == pytest.approx(
        primal(multi, X, label, np.full(len(y), 0.2)), rel=1e-10
    )


@pytest.mark.parametrize("machine", ["crammer_singer", "ovr"])
@pytest.mark.parametrize("fit_intercept", [True, False])
def test_same_machine_as_scikit_learn(machine, fit_intercept):
    X, y = small()
    options = {"loss": "hinge"} if machine == "ovr" else {}
    peer = svm.LinearSVC(
        multi_class=machine,
        C=0.5,
        tol=1e-9,
        max_iter=1_000_000,
        fit_intercept=fit_intercept,
        intercept_scaling=2.0,
        random_state=0,
        **options,
    ).fit(X, y)
    ours = LinearSVC(
        machine, C=0.5, fit_intercept=fit_intercept, intercept_scaling=2.0, **TIGHT
    ).fit(X, y)
    np.testing.assert_allclose(ours.coef_, peer.coef_, atol=1e-4)
    np.testing.assert_allclose(ours.intercept_, peer.intercept_, atol=1e-4)


@pytest.mark.parametrize("machine", MACHINES)
@pytest.mark.parametrize("make", [np.asarray, sp.csr_matrix])
def test_the_intercept_is_the_weight_of_a_constant_feature(machine, make):
    X, y = small()
    ours = LinearSVC(machine, C=0.1, intercept_scaling=3.0, **TIGHT).fit(make(X), y)
    wider = make(np.column_stack([X, np.full(len(y), 3.0)]))
    same = LinearSVC(machine, C=0.1, fit_intercept=False, **TIGHT).fit(wider, y)
    np.testing.assert_array_equal(ours.coef_, same.coef_[:, :-1])
    np.testing.assert_array_equal(ours.intercept_, 3.0 * same.coef_[:, -1])


def forms(X):
    padded = np.zeros((2 * len(X), X.shape[1]))
    padded[::2] = X
    csr = sp.csr_matrix(X)
    wide_index = csr.copy()
    wide_index.indices = wide_index.indices.astype(np.int64)
    wide_index.indptr = wide_index.indptr.astype(np.int64)
    ends = csr.indptr[1:-1]
    backwards = [
        np.concatenate([row[::-1] for row in np.split(values, ends)])
        for values in (csr.data, csr.indices)
    ]
    halves = np.repeat(csr.data / 2, 2), np.repeat(csr.indices, 2), 2 * csr.indptr
    return {
        "fortran": np.asfortranarray(X),
        "strided": padded[::2],
        "field of records": field_of_records(X),
        "big-endian": X.astype(">f8"),
        "csr": csr,
        "csr array": sp.csr_array(X),
        "csc": sp.csc_matrix(X),
        "int64 indices": wide_index,
        "unsorted indices": sp.csr_matrix((*backwards, csr.indptr), shape=csr.shape),
        "repeated indices": sp.csr_matrix(halves, shape=csr.shape),
        "strided arrays": with_strides(csr),
    }


@pytest.mark.parametrize("form", list(forms(np.eye(2))))
def test_the_form_of_the_data_does_not_matter(form):
    X, y = small()
    reference = LinearSVC(random_state=0).fit(X, y)
    given = forms(X)[form]
    before = given.copy()
    found = LinearSVC(random_state=0).fit(given, y)
    np.testing.assert_array_equal(found.coef_, reference.coef_)
    if sp.issparse(given):  # which stays as it was given
        np.testing.assert_array_equal(given.indices, before.indices)
    np.testing.assert_allclose(
        found.decision_function(forms(X)[form]), reference.decision_function(X), rtol=1e-12
    )


@pytest.mark.parametrize("make", [np.asarray, sp.csr_matrix])
def test_float32_data_are_used_as_they_are(make):
    X, y = digits()
    X32 = X.astype(np.float32)
    a = LinearSVC(random_state=0).fit(make(X32), y)
    b = LinearSVC(random_state=0).fit(make(X32.astype(np.float64)), y)
    np.testing.assert_array_equal(a.coef_, b.coef_)


@pytest.mark.parametrize("machine", MACHINES)
def test_weights_in_float32_end_with_a_certificate_in_float64(machine):
    X, y = digits()
    for tol in (1e-2, 1e-8):
        found = LinearSVC(
            machine, precision="float32", tol=tol, max_iter=20_000, random_state=0
        ).fit(X, y)
        assert found.solution_.converged
        assert found.coef_.dtype == np.float64
        assert found.solution_.primal_objective == pytest.approx(
            primal(found, X, y, np.ones(len(y))), rel=1e-11
        )


def test_float32_first_is_chosen_where_the_weights_are_large():
    X, y = digits()
    assert LinearSVC(random_state=0).fit(X, y).solution_.precision == "float64"
    wide = sp.csr_matrix((X[:60].ravel(), np.tile(np.arange(64) * 300, 60), np.arange(61) * 64))
    found = LinearSVC(tol=1e-8, max_iter=20_000, random_state=0).fit(wide, y[:60])
    assert found.solution_.precision == "float32"
    exact = LinearSVC(precision="float64", tol=1e-8, max_iter=20_000, random_state=0)
    assert found.solution_.primal_objective == pytest.approx(
        exact.fit(wide, y[:60]).solution_.primal_objective, rel=1e-8
    )


# --- warm start, seeds, limits -------------------------------------------------------------------


@pytest.mark.parametrize("machine", MACHINES)
def test_warm_start_continues(machine):
    X, y = digits()
    found = LinearSVC(machine, tol=1e-6, max_iter=20_000, warm_start=True, random_state=0).fit(X, y)
    optimum = found.solution_.primal_objective
    found.fit(X, y)
    assert found.n_iter_ == 0
    assert found.solution_.primal_objective == pytest.approx(optimum, rel=1e-12)
    with pytest.warns(ConvergenceWarning):
        found.set_params(C=1.1, max_iter=0).fit(X, y)
    assert found.solution_.relative_gap < 0.2  # without a warm start it is 1
    found.set_params(max_iter=20_000).fit(X, y)
    cold = LinearSVC(machine, tol=1e-6, max_iter=20_000, C=1.1, random_state=0).fit(X, y)
    assert found.solution_.primal_objective == pytest.approx(
        cold.solution_.primal_objective, rel=2e-6
    )


def test_warm_start_from_another_machine_is_refused():
    X, y = digits()
    found = LinearSVC(warm_start=True, random_state=0).fit(X, y)
    with pytest.raises(ValueError, match="Set warm_start=False"):
        found.set_params(multi_class="ovr").fit(X, y)


@pytest.mark.parametrize("precision", ["float64", "float32"])
def test_threads_share_out_the_classes(precision):
    X, y = digits()
    options = {"tol": 1e-8, "max_iter": 20_000, "precision": precision, "random_state": 0}
    one = LinearSVC("ovr", **options).fit(X, y)
    three = LinearSVC("ovr", n_jobs=3, warm_start=True, **options).fit(X, y)
    again = LinearSVC("ovr", n_jobs=3, **options).fit(X, y)
    np.testing.assert_array_equal(three.coef_, again.coef_)
    np.testing.assert_allclose(three.coef_, one.coef_, atol=1e-3)
    assert three.solution_.primal_objective == pytest.approx(
        primal(three, X, y, np.ones(len(y))), rel=1e-11
    )
    assert three.solution_.relative_gap <= 1e-8
    assert three.fit(X, y).n_iter_ == 0
    # The parts' gaps add up, so the whole is solved as well; other parts need not be.
    assert three.set_params(n_jobs=None).fit(X, y).n_iter_ == 0


def test_threads_are_refused_where_they_have_nothing_to_do():
    with pytest.raises(ValueError, match="n_jobs=2 needs multi_class='ovr'"):
        LinearSVC(n_jobs=2).fit(*small())
    with pytest.raises(ValueError, match="n_jobs=0 has no meaning: use None"):
        LinearSVC("ovr", n_jobs=0).fit(*small())


def test_the_seed_decides():
    X, y = digits()
    a, b, c = (LinearSVC(random_state=seed, max_iter=1000).fit(X, y) for seed in (0, 0, 1))
    np.testing.assert_array_equal(a.coef_, b.coef_)
    assert (a.coef_ != c.coef_).any()


def test_max_iter_warns_and_still_certifies():
    X, y = digits()
    found = LinearSVC(tol=1e-9, max_iter=2, random_state=0)
    with pytest.warns(ConvergenceWarning, match=r"max_iter=2.*relative duality gap is"):
        found.fit(X, y)
    assert found.solution_.stop_reason is StopReason.MAX_ITER
    assert found.n_iter_ == found.solution_.iterations == 2
    assert found.solution_.primal_objective == pytest.approx(primal(found, X, y, np.ones(len(y))))


def test_no_passes_at_all():
    X, y = small()
    with pytest.warns(ConvergenceWarning, match="relative duality gap is 1 "):
        found = LinearSVC(max_iter=0).fit(X, y)
    assert found.solution_.primal_objective == pytest.approx(4 * len(y))
    assert not found.coef_.any()


def test_a_tolerance_beyond_rounding_ends():
    X, y = small()
    with pytest.warns(ConvergenceWarning):
        found = LinearSVC(tol=1e-300, max_iter=3000, random_state=0).fit(X, y)
    assert found.solution_.relative_gap < 1e-13


@pytest.mark.parametrize("options", [{}, {"multi_class": "ovr", "n_jobs": 2}])
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
    found = LinearSVC(random_state=0).fit(X, y)
    before = found.decision_function(X)
    assert sp.issparse(found.sparsify().coef_)
    np.testing.assert_allclose(found.decision_function(X), before)
    np.testing.assert_allclose(found.densify().decision_function(X), before)


# --- bad and odd input ---------------------------------------------------------------------------


@pytest.mark.parametrize("machine", MACHINES)
@pytest.mark.parametrize("make", [np.asarray, sp.csr_matrix])
def test_all_zero_rows(machine, make):
    y = [0, 1, 2, 0, 1, 2]
    found = LinearSVC(machine, fit_intercept=False).fit(make(np.zeros((6, 3))), y)
    assert found.solution_.converged
    assert found.solution_.relative_gap == 0
    per_row = {"weston_watkins": 2, "crammer_singer": 1, "ovr": 3}[machine]
    assert found.solution_.primal_objective == 6 * per_row
    assert not found.coef_.any()
    with_intercept = LinearSVC(machine).fit(make(np.zeros((6, 3))), y)
    assert with_intercept.solution_.converged


@pytest.mark.parametrize("machine", MACHINES)
def test_a_class_of_zero_rows_only(machine):
    X, y = small()
    X = np.where((y == 2)[:, None], 0.0, X)
    found = LinearSVC(machine, fit_intercept=False, **TIGHT).fit(X, y)
    assert found.solution_.converged
    assert found.solution_.primal_objective == pytest.approx(
        primal(found, X, y, np.ones(len(y))), rel=1e-10
    )


def test_a_class_of_zero_weight_is_refused():
    X, y = small()
    with pytest.raises(ValueError, match=r"class .*2.* have zero weight; remove the class"):
        LinearSVC().fit(X, y, (y != 2).astype(float))
    with pytest.raises(ValueError, match="belong to the same class"):
        LinearSVC().fit(X, y, (y == 2).astype(float))
    with pytest.raises(ValueError, match="zero"):
        LinearSVC().fit(X, y, np.zeros(len(y)))


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
        LinearSVC().fit([[1e200], [-1e200]], [0, 1])
    # A row of weight zero is absent, whatever it holds.
    found = LinearSVC(random_state=0).fit([[1.0], [-1.0], [1e200]], [0, 1, 1], [1.0, 1.0, 0.0])
    without = LinearSVC(random_state=0).fit([[1.0], [-1.0]], [0, 1])
    np.testing.assert_array_equal(found.coef_, without.coef_)


@pytest.mark.parametrize("machine", MACHINES)
def test_variables_at_a_bound_stay_there(machine):
    # They would have their whole error count as a violation otherwise.
    X, y = digits()
    found = LinearSVC(machine, tol=1e-5, max_iter=10**5, random_state=0).fit(X / 16, y)
    assert found.solution_.converged
    assert found.solution_.kkt_violation < 0.01


@pytest.mark.parametrize("machine", ["weston_watkins", "ovr"])
def test_variables_that_reach_a_bound_are_there_to_the_bit(machine):
    # All of them end at C here, from anywhere below: beta + (C - beta) need not be C.
    X, y = small()
    rng = np.random.default_rng(0)
    C = rng.uniform(0.5e-4, 1e-4, len(y))
    rows = _core.linear.Rows.dense(X, 1.0)
    options = (5, machine, "newton", 1e-12, True, True, 0)
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
    found = LinearSVC(machine, C=C, fit_intercept=False, random_state=0).fit(X * scale, y)
    assert found.solution_.converged
    assert np.isfinite(found.coef_).all()
    assert found.solution_.relative_gap <= 1e-3


def test_a_price_too_large_for_a_number():
    X, y = small()
    with pytest.raises(ValueError, match=r"C=1e\+308 times a weight .* Lower C"):
        LinearSVC(C=1e308).fit(X, y, sample_weight=np.full(len(y), 10.0))


def test_tiny_and_huge_values():
    X = np.array([[1e-160, 0], [0, 1e-160], [1e100, 0], [0, 1e100]])
    found = LinearSVC(fit_intercept=False, random_state=0).fit(X, [0, 1, 0, 1])
    assert found.solution_.converged
    assert np.isfinite(found.coef_).all()


def test_more_classes_than_sixteen_bits_count():
    classes = np.repeat(np.arange(70_000), 3)
    rows = sp.csr_matrix((np.ones(3), ([0, 3, 6], [0, 1, 2])), shape=(len(classes), 3))
    machine = LinearSVC(fit_intercept=False, random_state=0).fit(rows, classes)
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
        found = LinearSVC(machine, fit_intercept=False, tol=1e-10, random_state=0).fit(X, y)
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
        options = (200, "weston_watkins", method, 1e-8, True, True, 0)
        solver = _core.linear.SolverFloat64(rows, y.astype(np.int32), np.full(400, 0.01), *options)
        status = solver.run(100_000, 1e9)
        assert status.optimal
        primal_values.append(status.primal)
    assert primal_values[0] == pytest.approx(primal_values[1], rel=1e-8)


def test_dual_variables_that_fill_the_memory(monkeypatch):
    monkeypatch.setattr(softmargin.descent, "MANY_VARIABLES_BYTES", 0)
    monkeypatch.setattr(softmargin.descent, "available_bytes", lambda: 10)
    X, y = small()
    with pytest.raises(MemoryError, match=r"60 examples and 5 classes.*Fit fewer"):
        LinearSVC(tol=1e-12, max_iter=10**6).fit(X, y)


def test_the_core_checks_what_it_is_given():
    X, y = small()
    rows = _core.linear.Rows.dense(X, 0.0)
    options = (5, "weston_watkins", "newton", 1e-3, True, True, 0)
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
            rows, y.astype(np.int32), np.ones(len(y)), 5, "ovr", "sorted", 1e-3, True, True, 0
        )


def test_weights_that_do_not_fit_in_memory(monkeypatch):
    monkeypatch.setattr(softmargin.linear, "available_bytes", lambda: 10**6)
    X = sp.csr_matrix(([1.0, 2.0], ([0, 1], [0, 10**6])), shape=(2, 10**6 + 1))
    with pytest.raises(ValueError, match=r"1000001 features: .* 0.016 GB.*FeatureHasher"):
        LinearSVC().fit(X, [0, 1])
    far = sp.csr_matrix(([1.0, 2.0], ([0, 1], [0, 2**31 - 2])), shape=(2, 2**31 - 1))
    with pytest.raises(ValueError, match=r"2147483647 features: at most .*FeatureHasher"):
        LinearSVC().fit(far, [0, 1])
