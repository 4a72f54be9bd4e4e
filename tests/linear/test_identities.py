"""Identities of linear machines: weights = repetitions, relabelling, scikit-learn's optimum."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn import svm

from softmargin import LinearSVC
from tests.cases.linear import MACHINES, TIGHT, primal, small


@pytest.mark.parametrize("machine", MACHINES)
def test_weights_are_repetitions(machine):
    X, y = small()
    times = np.random.default_rng(1).integers(0, 4, len(y))
    weighted = LinearSVC(multi_class=machine, loss="hinge", C=0.1, **TIGHT).fit(X, y, times)
    repeated = LinearSVC(multi_class=machine, loss="hinge", C=0.1, **TIGHT).fit(
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
    a = LinearSVC(multi_class=machine, loss="hinge", class_weight=by_class, **TIGHT).fit(X, y)
    weight = np.array([by_class[c] for c in y])
    if machine != "ovr":
        b = LinearSVC(multi_class=machine, loss="hinge", **TIGHT).fit(X, y, weight)
        np.testing.assert_array_equal(a.coef_, b.coef_)
    else:  # only where a class is on its own, not where it is among the rest
        for c in range(5):
            own = np.where(y == c, weight, 1.0)
            b = LinearSVC(loss="hinge", **TIGHT).fit(X, y == c, own)
            np.testing.assert_allclose(a.coef_[c], b.coef_[0], atol=1e-6)
    balanced = LinearSVC(multi_class=machine, loss="hinge", class_weight="balanced", **TIGHT).fit(
        X, y
    )
    np.testing.assert_allclose(balanced.class_weight_, len(y) / (5 * np.bincount(y)))


def test_balanced_classes_are_balanced_by_their_weights():
    # As in scikit-learn's LinearSVC since 1.7: a weight is so many repetitions there, too.
    X, y = small()
    times = np.random.default_rng(1).integers(0, 4, len(y))
    options = {"class_weight": "balanced", "C": 0.1, **TIGHT}
    weighted = LinearSVC(multi_class="weston_watkins", **options).fit(X, y, times)
    repeated = LinearSVC(multi_class="weston_watkins", **options).fit(
        np.repeat(X, times, axis=0), np.repeat(y, times)
    )
    np.testing.assert_allclose(weighted.class_weight_, repeated.class_weight_)
    np.testing.assert_allclose(weighted.coef_, repeated.coef_, atol=1e-5)


@pytest.mark.parametrize("machine", MACHINES)
def test_relabelling_permutes_the_weights(machine):
    X, y = small()
    new = np.array([3, 0, 4, 1, 2])
    a = LinearSVC(multi_class=machine, loss="hinge", C=0.1, **TIGHT).fit(X, y)
    b = LinearSVC(multi_class=machine, loss="hinge", C=0.1, **TIGHT).fit(X, new[y])
    np.testing.assert_allclose(a.coef_, b.coef_[new], atol=1e-5)
    np.testing.assert_allclose(a.intercept_, b.intercept_[new], atol=1e-5)


@pytest.mark.parametrize("machine", ["weston_watkins", "crammer_singer"])
def test_two_classes_are_the_hinge_machine_of_twice_the_price(machine):
    X, y = small()
    label = np.where(y > 2, "yes", "no")
    multi = LinearSVC(multi_class=machine, loss="hinge", C=0.2, **TIGHT).fit(X, label)
    binary = LinearSVC(loss="hinge", C=0.4, **TIGHT).fit(X, label)
    assert multi.coef_.shape == binary.coef_.shape == (1, 4)
    np.testing.assert_allclose(multi.coef_, binary.coef_, atol=1e-5)
    np.testing.assert_allclose(multi.intercept_, binary.intercept_, atol=1e-5)
    assert multi.solution_.primal_objective == pytest.approx(
        binary.solution_.primal_objective / 2, rel=1e-10
    )
    assert multi.solution_.primal_objective == pytest.approx(
        primal(multi, X, label, np.full(len(y), 0.2)), rel=1e-10
    )


# scikit-learn before 1.8 warns after every fit of its Crammer-Singer machine.
@pytest.mark.filterwarnings("ignore:Liblinear failed to converge")
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
        multi_class=machine,
        loss="hinge",
        C=0.5,
        fit_intercept=fit_intercept,
        intercept_scaling=2.0,
        **TIGHT,
    ).fit(X, y)
    np.testing.assert_allclose(ours.coef_, peer.coef_, atol=1e-4)
    np.testing.assert_allclose(ours.intercept_, peer.intercept_, atol=1e-4)


@pytest.mark.parametrize("machine", MACHINES)
@pytest.mark.parametrize("make", [np.asarray, sp.csr_matrix])
def test_the_intercept_is_the_weight_of_a_constant_feature(machine, make):
    X, y = small()
    ours = LinearSVC(multi_class=machine, loss="hinge", C=0.1, intercept_scaling=3.0, **TIGHT).fit(
        make(X), y
    )
    wider = make(np.column_stack([X, np.full(len(y), 3.0)]))
    same = LinearSVC(multi_class=machine, loss="hinge", C=0.1, fit_intercept=False, **TIGHT).fit(
        wider, y
    )
    np.testing.assert_array_equal(ours.coef_, same.coef_[:, :-1])
    np.testing.assert_array_equal(ours.intercept_, 3.0 * same.coef_[:, -1])
