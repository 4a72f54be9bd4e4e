"""Identities of every fit: duality, KKT conditions, constraints, weights = repetitions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
import sklearn.svm
from hypothesis import given
from hypothesis import strategies as st
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics.pairwise import pairwise_kernels

import softmargin
from softmargin import SVC, SVR, NuSVC, NuSVR, OneClassSVM, StopReason
from tests.oracles import certificates

pytestmark = pytest.mark.filterwarnings(
    f"ignore::{ConvergenceWarning.__module__}.ConvergenceWarning"
)

KERNELS = ["linear", "poly", "rbf"]  # positive semidefinite: there is one optimum to certify
TOL = 1e-3


@dataclass
class Data:
    X: np.ndarray
    y: np.ndarray  # +1 and -1
    z: np.ndarray
    weight: np.ndarray
    kernel: str
    C: float

    def kernel_matrix(self):
        settings = {} if self.kernel == "linear" else {"gamma": 0.5}
        if self.kernel == "poly":
            settings |= {"degree": 2, "coef0": 1.0}
        return pairwise_kernels(self.X, metric=self.kernel, **settings)

    def settings(self) -> dict[str, Any]:
        return {"kernel": self.kernel, "gamma": 0.5, "degree": 2, "coef0": 1.0, "tol": TOL}


@st.composite
def data(draw, whole_weights=False):
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n, features = draw(st.integers(4, 24)), draw(st.integers(1, 4))
    X = rng.normal(size=(n, features))
    if draw(st.booleans()):
        X = X.round()
    if draw(st.booleans()):
        X = X[rng.integers(0, n, n)]  # repeated rows
    if draw(st.booleans()):
        X[:, 0] = draw(st.sampled_from([0.0, 0.3, -2.0]))
    y = rng.permutation(np.where(np.arange(n) < draw(st.integers(2, n - 2)), 1.0, -1.0))
    if draw(st.booleans()):
        y = np.where(X[:, -1] + 0.1 * y > 0, 1.0, -1.0)
        y[:2], y[-2:] = 1.0, -1.0
    weight = np.ones(n)
    if whole_weights:
        weight = rng.integers(0, 4, n).astype(float)
    elif draw(st.booleans()):
        weight = rng.choice([0.0, 0.1, 1.0, 2.5], n)
    weight[[0, -1]] = np.maximum(weight[[0, -1]], 1.0)
    y[0], y[-1] = 1.0, -1.0
    z = rng.normal(size=n) + X[:, -1]
    C = 10.0 ** draw(st.integers(-6, 8))
    return Data(X, y, z, weight, draw(st.sampled_from(KERNELS)), C)


def largest_nu(y, weight):
    return 2 * min(weight[y > 0].sum(), weight[y < 0].sum()) / weight.sum()


def check(machine, certificate):
    """The machine's solution_ says what its attributes say."""
    solution, slack = machine.solution_, certificate.rounding
    assert certificate.bounds_hold
    assert certificate.sums <= 1e-11
    assert solution.duality_gap >= -slack
    assert solution.duality_gap == solution.primal_objective - solution.dual_objective
    assert solution.dual_objective <= certificate.dual + slack
    assert certificate.primal <= solution.primal_objective + slack
    assert certificate.primal >= certificate.dual - slack
    assert solution.kkt_violation >= 0
    if certificate.violation is not None:
        assert solution.kkt_violation == pytest.approx(
            certificate.violation, abs=certificate.value_rounding
        )
        assert solution.dual_objective == pytest.approx(certificate.dual, abs=slack)
        assert solution.primal_objective == pytest.approx(certificate.primal, abs=slack)
    if solution.converged:
        assert solution.kkt_violation <= machine.tol
    else:
        assert solution.stop_reason in (StopReason.MAX_ITER, StopReason.NO_PROGRESS)
    assert solution.iterations == np.sum(machine.n_iter_)
    assert machine.fit_status_ == int(not solution.converged)
    assert solution.seconds > 0
    assert solution.working_set == "block"  # what "auto" takes for problems of this size


@given(data())
def test_svc_certificate(d):
    machine = SVC(C=d.C, max_iter=20_000, **d.settings()).fit(d.X, d.y, sample_weight=d.weight)
    check(machine, certificates.of_svc(machine, d.kernel_matrix(), d.y, d.C * d.weight))


@given(data(), st.floats(0.01, 1.0))
def test_nu_svc_certificate(d, fraction):
    nu = fraction * largest_nu(d.y, d.weight)
    machine = NuSVC(nu=nu, max_iter=20_000, **d.settings())
    try:
        machine.fit(d.X, d.y, sample_weight=d.weight)
    except ValueError as error:
        assert "cannot be told apart" in str(error)  # noqa: PT017
        return
    check(machine, certificates.of_nu_svc(machine, d.kernel_matrix(), d.y, d.weight, nu))


@given(data(), st.floats(0.01, 1.0))
def test_one_class_certificate(d, nu):
    machine = OneClassSVM(nu=nu, max_iter=20_000, **d.settings())
    machine.fit(d.X, sample_weight=d.weight)
    check(machine, certificates.of_one_class(machine, d.kernel_matrix(), d.weight, nu))


@given(data(), st.sampled_from([0.0, 0.1, 1.0]))
def test_svr_certificate(d, epsilon):
    machine = SVR(C=d.C, epsilon=epsilon, max_iter=20_000, **d.settings())
    machine.fit(d.X, d.z, sample_weight=d.weight)
    check(machine, certificates.of_svr(machine, d.kernel_matrix(), d.z, d.C * d.weight, epsilon))


@given(data(), st.floats(0.01, 1.0))
def test_nu_svr_certificate(d, nu):
    machine = NuSVR(C=d.C, nu=nu, max_iter=20_000, **d.settings())
    machine.fit(d.X, d.z, sample_weight=d.weight)
    expected = certificates.of_nu_svr(machine, d.kernel_matrix(), d.z, d.C * d.weight, nu)
    check(machine, expected)
    # The certificate is that of the best epsilon for w and b.
    assert machine.solution_.primal_objective == pytest.approx(
        expected.primal, abs=expected.rounding
    )


@given(data())
def test_gap_is_small_where_the_conditions_hold(d):
    """Each variable misses complementary slackness by at most its bound times the violation."""
    machine = SVC(C=d.C, max_iter=20_000, **d.settings()).fit(d.X, d.y, sample_weight=d.weight)
    C = d.C * d.weight
    slack = certificates.of_svc(machine, d.kernel_matrix(), d.y, C).rounding
    assert machine.solution_.duality_gap <= machine.solution_.kkt_violation * C.sum() + slack


def fit_both(name, d, target):
    """Ours and scikit-learn's, without rows of weight zero, which shift its `support_`."""
    present = d.weight > 0
    fitted = []
    for module in (softmargin, sklearn.svm):
        machine = getattr(module, name)(C=d.C, max_iter=50_000, **d.settings())
        fitted.append(machine.fit(d.X[present], target[present], sample_weight=d.weight[present]))
    return *fitted, d.kernel_matrix()[np.ix_(present, present)], d.C * d.weight[present], present


# The dual is concave, so from a point that violates the optimality conditions by at most tol, no
# feasible point is better by more than tol for each unit that has to be moved to get there.


@given(data())
def test_svc_is_not_worse_than_scikit_learns(d):
    ours, theirs, K, C, present = fit_both("SVC", d, d.y)
    our, their = (certificates.of_svc(m, K, d.y[present], C) for m in (ours, theirs))
    one, other = (certificates.coefficients(m, len(C)) for m in (ours, theirs))
    moved = 0.5 * np.abs(one - other).sum()
    assert our.dual >= their.dual - ours.solution_.kkt_violation * moved - our.rounding


@given(data())
def test_svr_is_not_worse_than_scikit_learns(d):
    ours, theirs, K, C, present = fit_both("SVR", d, d.z)
    our, their = (certificates.of_svr(m, K, d.z[present], C, 0.1) for m in (ours, theirs))
    one, other = (certificates.coefficients(m, len(C)) for m in (ours, theirs))
    moved = 0.5 * (np.abs(one) + np.abs(other)).sum()  # in alpha and alpha*
    assert our.dual >= their.dual - ours.solution_.kkt_violation * moved - our.rounding


MACHINES = [SVC, NuSVC, SVR, NuSVR, OneClassSVM]


@pytest.mark.parametrize("machine_class", MACHINES)
@given(d=data(whole_weights=True))
def test_weights_are_repetitions(machine_class, d):
    """Both certificates enclose the same optimum."""
    target = {SVR: d.z, NuSVR: d.z, OneClassSVM: None}.get(machine_class, d.y)
    machine = machine_class(max_iter=20_000, **d.settings())
    if hasattr(machine, "C"):
        machine.set_params(C=min(d.C, 1e4))
    if machine_class is NuSVC:
        machine.set_params(nu=0.9 * largest_nu(d.y, d.weight))
    copies = d.weight.astype(int)
    repeated = [None if rows is None else np.repeat(rows, copies, axis=0) for rows in (d.X, target)]
    try:
        one = machine.fit(d.X, target, sample_weight=d.weight).solution_
        other = machine.fit(*repeated).solution_
    except ValueError as error:
        assert "cannot be told apart" in str(error)  # noqa: PT017
        return
    size = max(abs(one.primal_objective), abs(other.primal_objective), 1)
    assert one.dual_objective <= other.primal_objective + 1e-9 * size
    assert other.dual_objective <= one.primal_objective + 1e-9 * size


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
@pytest.mark.parametrize("machine_class", MACHINES)
def test_weights_are_repetitions_in_every_decision_value(machine_class, kernel):
    rng = np.random.default_rng(0)
    X, new = rng.normal(size=(40, 2)), rng.normal(size=(30, 2))
    X[:, 0] += 2
    z = X[:, 0] + 0.5 * rng.normal(size=40)
    labels = z > np.median(z)
    weight = rng.integers(0, 4, 40)
    target = {SVR: z, NuSVR: z, OneClassSVM: None}.get(machine_class, labels)
    machine = machine_class(kernel=kernel, tol=1e-9)  # gamma="scale" counts repetitions, too
    if machine_class is NuSVC:
        machine.set_params(nu=0.3)
    values = machine.decision_function if hasattr(machine, "decision_function") else machine.predict
    machine.fit(X, target, sample_weight=weight)
    weighted = values(new)
    machine.fit(X.repeat(weight, axis=0), None if target is None else target.repeat(weight))
    np.testing.assert_allclose(weighted, values(new), rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize(
    "names",
    [[0, 1, 2], [7, -3, 5], ["b", "a", "c"], [2.0, -1.0, 0.0], [False, True]],
    ids=["codes", "ints", "strings", "floats", "bools"],
)
def test_labels_of_any_type_and_order(names):
    rng = np.random.default_rng(1)
    codes = rng.integers(0, len(names), 60)
    X = np.eye(3)[codes] + 0.4 * rng.normal(size=(60, 3))
    labels = np.array(names)[codes]
    machine = SVC().fit(X, labels)
    np.testing.assert_array_equal(machine.classes_, np.unique(labels))
    assert machine.predict(X).dtype == labels.dtype
    assert machine.score(X, labels) > 0.8
    pairs = len(names) * (len(names) - 1) // 2
    assert len(machine.intercept_) == len(machine.n_iter_) == pairs
    assert len(machine.solution_.problems) == (0 if pairs == 1 else pairs)
    shuffled = rng.permutation(60)
    again = SVC().fit(X[shuffled], labels[shuffled])
    assert again.solution_.dual_objective == pytest.approx(
        machine.solution_.dual_objective, rel=1e-3
    )


def test_certificate_of_several_classes_sums_up_its_pairs():
    rng = np.random.default_rng(2)
    labels = np.repeat([0, 1, 2, 3], 15)
    X = rng.normal(size=(60, 2)) + labels[:, None]
    whole = SVC().fit(X, labels).solution_
    assert len(whole.problems) == 6
    for name in ("dual_objective", "primal_objective", "iterations", "kernel_rows", "cache_hits"):
        assert getattr(whole, name) == sum(getattr(part, name) for part in whole.problems)
    assert whole.kkt_violation == max(part.kkt_violation for part in whole.problems)
    pair = np.isin(labels, [0, 1])
    alone = SVC(gamma=1 / (2 * X.var())).fit(X[pair], labels[pair]).solution_
    assert alone.dual_objective == pytest.approx(whole.problems[0].dual_objective, rel=1e-12)
    with pytest.raises(AttributeError):
        whole.iterations = 0
