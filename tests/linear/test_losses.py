"""scikit-learn's LinearSVC and LinearSVR: LIBLINEAR's optimum, and true certificates."""

import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn import svm
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import load_digits, load_iris
from sklearn.ensemble import StackingRegressor, VotingClassifier
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.feature_selection import SelectFromModel
from sklearn.kernel_approximation import PolynomialCountSketch
from sklearn.multiclass import OneVsRestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from softmargin import SVC, SVR, LinearSVC, LinearSVR, l1_min_c
from softmargin.fitting import newton, sparse_weights
from tests.cases.linear import iris

TIGHT = {"tol": 1e-11, "max_iter": 10**6, "random_state": 0}
CLASSIFIERS = {
    "squared, primal": {"dual": False},
    "squared, dual": {"dual": True},
    "hinge": {"loss": "hinge", "dual": True},
    "l1": {"penalty": "l1", "dual": False},
}
REGRESSORS = {
    "linear": {"loss": "epsilon_insensitive", "dual": True},
    "squared, primal": {"loss": "squared_epsilon_insensitive", "dual": False},
    "squared, dual": {"loss": "squared_epsilon_insensitive", "dual": True},
}


def regression():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((90, 5))
    return X, X @ [1.0, -2.0, 0.0, 0.5, 3.0] + 0.7 + rng.standard_normal(90)


def objective(machine, X, y, weight=1.0):
    """The primal objective, from the fitted attributes."""
    W = np.column_stack([np.atleast_2d(machine.coef_), machine.intercept_])
    l1 = getattr(machine, "penalty", "l2") == "l1"
    norm = np.abs(W).sum() if l1 else np.sum(W**2) / 2
    if not hasattr(machine, "classes_"):
        beyond = np.maximum(np.abs(y - machine.predict(X)) - machine.epsilon, 0)
    else:
        classes = machine.classes_[1:] if len(machine.classes_) == 2 else machine.classes_
        sign = np.where(np.asarray(y)[:, None] == classes, 1.0, -1.0)
        scores = machine.decision_function(X).reshape(len(y), -1)
        beyond = np.maximum(1 - sign * scores, 0)
    losses = beyond**2 if machine.loss.startswith("squared") else beyond
    return norm + machine.C * np.sum(losses * np.reshape(weight, (-1, *[1] * (losses.ndim - 1))))


def theirs(machine, **options):
    """scikit-learn's estimator with the same parameters, at its tightest."""
    names = [*options, "C", "random_state", "class_weight", "epsilon"]
    kept = {name: value for name, value in machine.get_params().items() if name in names}
    return getattr(svm, type(machine).__name__)(**kept, tol=1e-10, max_iter=10**6)


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("name", CLASSIFIERS)
def test_classification_has_liblinears_optimum(name, classes):
    X, y = iris()
    y = np.minimum(y, classes - 1)
    ours = LinearSVC(C=0.7, **CLASSIFIERS[name], **TIGHT).fit(X, y)
    peer = theirs(ours, **CLASSIFIERS[name]).fit(X, y)
    assert ours.solution_.primal_objective == pytest.approx(objective(ours, X, y), rel=1e-12)
    assert objective(ours, X, y) == pytest.approx(objective(peer, X, y), rel=1e-8)
    np.testing.assert_allclose(ours.coef_, peer.coef_, atol=1e-4)
    if name == "l1":
        np.testing.assert_array_equal(ours.coef_ != 0, peer.coef_ != 0)


@pytest.mark.parametrize("epsilon", [0.0, 0.4])
@pytest.mark.parametrize("name", REGRESSORS)
def test_regression_has_liblinears_optimum(name, epsilon):
    X, y = regression()
    ours = LinearSVR(C=0.7, epsilon=epsilon, **REGRESSORS[name], **TIGHT).fit(X, y)
    peer = theirs(ours, **REGRESSORS[name]).fit(X, y)
    assert ours.solution_.primal_objective == pytest.approx(objective(ours, X, y), rel=1e-12)
    assert objective(ours, X, y) == pytest.approx(objective(peer, X, y), rel=1e-8)
    np.testing.assert_allclose(ours.predict(X), peer.predict(X), atol=1e-4)


@pytest.mark.parametrize("name", CLASSIFIERS)
def test_class_weights_are_liblinears(name):
    X, y = iris()
    weights = {0: 3.0, 1: 0.4, 2: 1.0}
    ours = LinearSVC(class_weight=weights, **CLASSIFIERS[name], **TIGHT).fit(X, y)
    peer = theirs(ours, **CLASSIFIERS[name]).fit(X, y)
    np.testing.assert_allclose(ours.coef_, peer.coef_, atol=1e-4)


@pytest.mark.parametrize("name", CLASSIFIERS)
def test_weights_are_repetitions(name):
    X, y = iris()
    times = np.random.default_rng(1).integers(0, 3, len(y))
    machine = LinearSVC(C=0.3, **CLASSIFIERS[name], **TIGHT)
    weighted = machine.fit(X, y, times).coef_.copy()
    machine.fit(np.repeat(X, times, axis=0), np.repeat(y, times))
    np.testing.assert_allclose(weighted, machine.coef_, atol=2e-5)


@pytest.mark.parametrize("name", REGRESSORS)
def test_weights_are_repetitions_in_regression(name):
    X, y = regression()
    times = np.random.default_rng(1).integers(0, 3, len(y))
    machine = LinearSVR(C=0.3, epsilon=0.2, **REGRESSORS[name], **TIGHT)
    weighted = machine.fit(X, y, times).coef_.copy()
    machine.fit(np.repeat(X, times, axis=0), np.repeat(y, times))
    np.testing.assert_allclose(weighted, machine.coef_, atol=2e-5)


@pytest.mark.parametrize("machine", ["classifier", "regressor"])
@pytest.mark.parametrize("squared", [False, True])
def test_newton_and_descent_agree(machine, squared, monkeypatch):
    if machine == "classifier":
        (X, y), loss = iris(), "squared_hinge" if squared else "hinge"
        make = LinearSVC(loss=loss, **TIGHT)
    else:
        (X, y), loss = regression(), f"{'squared_' if squared else ''}epsilon_insensitive"
        make = LinearSVR(loss=loss, epsilon=0.1, **TIGHT)
    newtons = make.fit(X, y).solution_
    monkeypatch.setattr(newton, "MOST_FEATURES", 0)
    monkeypatch.setattr(newton, "MANY_EXAMPLES", 1)
    by_products = make.fit(X, y).solution_
    monkeypatch.setattr(newton, "MANY_EXAMPLES", np.inf)
    descents = make.fit(X, y).solution_
    assert descents.working_set == "one example"
    assert descents.converged
    for found in (newtons, by_products):
        assert found.working_set == "all examples"
        assert found.converged
        assert found.iterations < descents.iterations
        assert found.primal_objective == pytest.approx(descents.primal_objective, rel=1e-10)


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
def test_many_features_and_many_more_examples(loss):
    """Steps by conjugate gradients, which may be stopped within, and a free intercept."""
    rng = np.random.default_rng(0)
    X = sp.random(21_000, 1030, 0.005, format="csr", random_state=0)
    y = X @ rng.standard_normal(1030) + 0.3 * rng.standard_normal(21_000) > 0.2
    options = {"loss": loss, "tol": 1e-6, "random_state": 0}
    found = LinearSVC(**options).fit(X, y)
    assert found.solution_.working_set == "all examples"
    assert found.solution_.relative_gap <= 1e-6
    assert found.solution_.primal_objective == pytest.approx(objective(found, X, y), rel=1e-10)
    free = LinearSVC(penalize_intercept=False, **options).fit(X, y)
    assert free.solution_.converged
    assert free.solution_.primal_objective < found.solution_.primal_objective
    with pytest.warns(UserWarning, match="stopped"):
        early = LinearSVC(callbacks=[lambda status: status.iterations > 0], **options).fit(X, y)
    assert early.n_iter_ < found.n_iter_
    assert early.solution_.relative_gap > 1e-6


def test_newton_on_features_of_very_large_values():
    """Separable classes and C |x|^2 near 1e9: each step on its own ends early."""
    X, y = load_digits(return_X_y=True)
    X = PolynomialCountSketch(n_components=200, random_state=0).fit_transform(X)
    machine = LinearSVC(random_state=0).fit(X, y)  # a gap above tol would be a warning, so an error
    assert machine.solution_.working_set_reason.startswith("Newton's method")
    assert objective(machine, X, y) == pytest.approx(machine.solution_.primal_objective, rel=1e-6)
    assert machine.score(X, y) == 1


@pytest.mark.parametrize("name", CLASSIFIERS)
def test_forms_of_input(name):
    X, y = iris()
    X = np.where(np.abs(X) < 0.3, 0, X).astype(np.float32)
    long = sp.csr_matrix(X)
    long.indices, long.indptr = long.indices.astype(np.int64), long.indptr.astype(np.int64)
    machine = LinearSVC(**CLASSIFIERS[name], **TIGHT)
    expected = machine.fit(X.astype(np.float64), y).coef_.copy()
    for given in (X, sp.csr_matrix(X), long, sp.csr_matrix(X.astype(np.float64))):
        np.testing.assert_allclose(machine.fit(given, y).coef_, expected, atol=1e-5)


@pytest.mark.parametrize("C", [0.03, 1.0])
def test_l1_is_optimal_and_screening_changes_nothing(C):
    rng = np.random.default_rng(2)
    X = rng.standard_normal((80, 300))
    y = X[:, 0] - X[:, 1] + 0.5 * rng.standard_normal(80) > 0
    options = {"penalty": "l1", "C": C, "tol": 1e-9, "max_iter": 10**5, "random_state": 0}
    found = LinearSVC(**options).fit(X, y)
    full = LinearSVC(shrinking=False, **options).fit(X, y)
    np.testing.assert_allclose(found.coef_, full.coef_, atol=1e-4)
    sign = np.where(y, 1.0, -1.0)
    error = np.maximum(1 - sign * found.decision_function(X), 0)
    slope = -2 * C * X.T @ (sign * error)
    w = found.coef_[0]
    assert np.abs(slope).max() <= 1 + 1e-3
    np.testing.assert_allclose(slope[w != 0], -np.sign(w[w != 0]), atol=1e-3)
    assert 0 < np.count_nonzero(w) < 80


@pytest.mark.parametrize("most_newton", [0, 50, 1000])
@pytest.mark.parametrize("sparse", [False, True])
def test_l1_is_optimal_in_every_way_to_solve_it(most_newton, sparse, monkeypatch):
    """By descent and conjugate gradients, by Newton steps on some features, and on all.  The rows
    have the same sum, so that the features and the intercept are collinear."""
    monkeypatch.setattr(sparse_weights, "MOST_NEWTON", most_newton)
    monkeypatch.setattr(sparse_weights, "FIRST_FEATURES", 5)
    rng = np.random.default_rng(3)
    X = rng.random((300, 60)) * (rng.random((300, 60)) < 0.3)
    X /= X.sum(axis=1, keepdims=True)
    y = (X @ rng.standard_normal(60) + 0.05 * rng.standard_normal(300) > 0).astype(int)
    given = sp.csr_matrix(X) if sparse else X
    found = LinearSVC("l1", C=20.0, tol=1e-9, max_iter=10**5, random_state=0).fit(given, y)
    assert found.solution_.converged
    sign = np.where(y, 1.0, -1.0)
    error = np.maximum(1 - sign * found.decision_function(given), 0)
    W = np.append(found.coef_[0], found.intercept_)
    slope = -40 * np.column_stack([X, np.ones(300)]).T @ (sign * error)
    assert np.abs(slope).max() <= 1 + 1e-3
    np.testing.assert_allclose(slope[W != 0], -np.sign(W[W != 0]), atol=1e-3)
    assert found.solution_.primal_objective == pytest.approx(np.abs(W).sum() + 20 * error @ error)


def test_l1_continues_from_the_last_fit():
    X, y = iris()
    machine = LinearSVC("l1", C=0.2, warm_start=True, tol=1e-8, random_state=0).fit(X, y)
    assert machine.fit(X, y).n_iter_ == 0
    cold = LinearSVC("l1", C=0.3, tol=1e-8, random_state=0).fit(X, y)
    warm = machine.set_params(C=0.3).fit(X, y)
    assert warm.solution_.primal_objective == pytest.approx(cold.solution_.primal_objective)


def test_regression_continues_from_the_last_fit():
    X, y = regression()
    for loss in ("epsilon_insensitive", "squared_epsilon_insensitive"):
        machine = LinearSVR(loss=loss, warm_start=True, tol=1e-8, random_state=0).fit(X, y)
        assert machine.fit(X, y).n_iter_ == 0
        assert machine.set_params(C=1.5).fit(X, y).solution_.converged


def test_l1_min_c_is_scikit_learns():
    X, y = iris()
    for given in (X, sp.csr_matrix(X)):
        for options in ({}, {"fit_intercept": False}, {"loss": "log", "intercept_scaling": 4.0}):
            assert l1_min_c(given, y, **options) == pytest.approx(svm.l1_min_c(X, y, **options))
    with pytest.raises(ValueError, match="loss='hinge' is not known"):
        l1_min_c(X, y, loss="hinge")
    with pytest.raises(ValueError, match="Ill-posed"):
        l1_min_c(np.zeros((2, 2)), [0, 1])


@pytest.mark.parametrize(
    ("options", "remedy"),
    [
        ({"penalty": "l1", "loss": "hinge"}, "needs loss='squared_hinge'"),
        ({"penalty": "l1", "dual": True}, "primal problem: use dual='auto'"),
        ({"loss": "hinge", "dual": False}, "dual problem: use dual='auto'"),
    ],
)
def test_what_does_not_go_together(options, remedy):
    X, y = iris()
    with pytest.raises(ValueError, match=f"Unsupported set of arguments: .*{remedy}"):
        LinearSVC(**options).fit(X, y)
    LinearSVC(multi_class="crammer_singer", random_state=0, **options).fit(X, y)  # does not apply


def test_the_l1_penalty_knows_no_blocks_of_examples():
    X, y = iris()
    with pytest.raises(ValueError, match="n_blocks=4 needs penalty='l2'"):
        LinearSVC(penalty="l1", n_blocks=4).fit(X, y)


def test_a_regression_with_the_linear_loss_needs_the_dual():
    X, y = regression()
    with pytest.raises(ValueError, match="dual=False; this loss is minimised in the dual"):
        LinearSVR(dual=False).fit(X, y)


def test_constant_targets_and_rows_of_zeros():
    X = np.zeros((6, 2))
    for loss in ("epsilon_insensitive", "squared_epsilon_insensitive"):
        machine = LinearSVR(loss=loss, fit_intercept=False, dual="auto").fit(X, np.arange(6.0))
        assert machine.solution_.converged
        assert (machine.coef_ == 0).all()
        assert LinearSVR(loss=loss).fit(X, np.zeros(6)).solution_.primal_objective == 0


def test_limits_keep_the_best_point():
    X, y = iris()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for options in CLASSIFIERS.values():
            found = LinearSVC(**options, tol=1e-12, max_iter=1, random_state=0).fit(X, y)
            assert found.n_iter_ <= 5
            assert found.solution_.relative_gap <= 1


@pytest.mark.parametrize("C", [0.1, 10.0])
def test_an_intercept_that_is_not_regularised_is_that_of_a_kernel_machine(C):
    X, y = iris()
    y = y > 1
    tight = {"C": C, "tol": 1e-9}
    ours = LinearSVC(loss="hinge", penalize_intercept=False, **tight).fit(X + 5.0, y)
    peer = SVC(kernel="linear", **tight).fit(X + 5.0, y)
    assert ours.solution_.converged
    ours_at, peer_at = ours.solution_, peer.solution_
    assert ours_at.primal_objective == pytest.approx(peer_at.primal_objective, rel=1e-6)
    assert ours_at.dual_objective <= peer_at.primal_objective * (1 + 1e-9)
    np.testing.assert_allclose(ours.coef_, peer.coef_, atol=1e-3)
    X, y = regression()
    ours = LinearSVR(epsilon=0.3, penalize_intercept=False, **tight).fit(X, y + 100)
    peer = SVR(kernel="linear", epsilon=0.3, **tight).fit(X, y + 100)
    assert ours.solution_.converged
    np.testing.assert_allclose(ours.predict(X), peer.predict(X), atol=1e-2)


def test_squared_losses_with_a_free_intercept():
    X, y = regression()
    for shift in (0.0, 1000.0):  # which moves the intercept and nothing else
        found = LinearSVR(
            loss="squared_epsilon_insensitive", penalize_intercept=False, tol=1e-10
        ).fit(X, y + shift)
        assert found.solution_.converged
        error = y + shift - found.predict(X)
        assert abs(error.mean()) < 1e-6
        np.testing.assert_allclose(found.coef_, X.T @ error * 2 * found.C, atol=1e-6)
    X, y = iris()
    found = LinearSVC(penalize_intercept=False, tol=1e-10).fit(X, y)
    assert found.solution_.converged
    assert found.solution_.primal_objective < LinearSVC().fit(X, y).solution_.primal_objective


def test_what_a_free_intercept_needs():
    X, y = iris()
    for options in ({"penalty": "l1"}, {"multi_class": "weston_watkins"}, {"n_blocks": 2}):
        with pytest.raises(ValueError, match="penalize_intercept=False needs"):
            LinearSVC(penalize_intercept=False, **options).fit(X, y)
    with pytest.raises(ValueError, match="too much for it"):
        LinearSVC(penalize_intercept=False).fit(np.ones((4, 2000)), [0, 1, 0, 1])


def test_uses_of_scikit_learns_gallery():
    """Its examples with LinearSVC, with ours in its place."""
    X, y = load_iris(return_X_y=True)
    chosen = SelectFromModel(LinearSVC(C=0.01, penalty="l1", dual=False)).fit_transform(X, y)
    peer = svm.LinearSVC(C=0.01, penalty="l1", dual=False, max_iter=10**6, random_state=0)
    peer = SelectFromModel(peer).fit_transform(X, y)
    np.testing.assert_array_equal(chosen, peer)
    one_vs_rest = OneVsRestClassifier(LinearSVC(random_state=0)).fit(X, y)
    pipeline = make_pipeline(StandardScaler(), LinearSVC(C=1.0, loss="hinge", random_state=42))
    text = make_pipeline(TfidfVectorizer(), LinearSVC(C=0.1, dual=False, max_iter=1000))
    words = [" ".join(f"w{round(v)}{j}" for j, v in enumerate(row)) for row in X]
    stacked = StackingRegressor([("svr", LinearSVR(random_state=42))]).fit(X, y)
    calibrated = CalibratedClassifierCV(LinearSVC(random_state=0), cv=3).fit(X, y)
    named = [("hinge", LinearSVC(loss="hinge", random_state=0)), ("squared", LinearSVC())]
    voting = VotingClassifier(named).fit(X, y)
    assert calibrated.score(X, y) > 0.9
    np.testing.assert_allclose(calibrated.predict_proba(X).sum(axis=1), 1)
    assert voting.score(X, y) > 0.9
    assert one_vs_rest.score(X, y) > 0.9
    assert pipeline.fit(X, y == 2).score(X, y == 2) > 0.9
    assert text.fit(words, y).score(words, y) > 0.9
    assert stacked.score(X, y) > 0.8
