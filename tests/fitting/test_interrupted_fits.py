"""A fit that Ctrl-C stops with on_interrupt="keep": its certificate is that of the model it leaves,
recomputed from the model's attributes and kernel values by code of its own."""

from __future__ import annotations

import os
import signal

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics.pairwise import rbf_kernel

from softmargin import SVC, SVR, LinearSVC, NuSVC, NuSVR, OneClassSVM, StopReason
from softmargin.fitting import slices
from tests.oracles import certificates

pytestmark = pytest.mark.skipif(os.name != "posix", reason="a signal that Python handles at once")

GAMMA = 0.1
MACHINES = {
    "SVC": SVC(C=100.0),
    "NuSVC": NuSVC(nu=0.3),
    "SVR": SVR(C=100.0, epsilon=0.1),
    "NuSVR": NuSVR(C=10.0, nu=0.5),
    "OneClassSVM": OneClassSVM(nu=0.5, tol=1e-12),
}
RULES = ["second-order", "block"]


def make_data(count):
    rng = np.random.default_rng(2)
    X = rng.normal(size=(count, 8))
    return X, np.sin(2 * X[:, 0]) + 0.3 * rng.normal(size=count)


def interrupted(machine, X, y, monkeypatch, looks=20):
    """Fits; the signal comes at one of the first looks at the fit."""
    monkeypatch.setattr(slices, "FIRST_SLICE", 0.0)
    monkeypatch.setattr(slices, "LONGEST_SLICE", 0.0)
    seen = []

    def press(status):
        seen.append(status)
        if len(seen) == looks:
            signal.raise_signal(signal.SIGINT)

    machine.set_params(on_interrupt="keep", callbacks=[press])
    with pytest.warns(ConvergenceWarning, match=r"interrupted.*the objective is within"):
        machine.fit(X, y)
    assert machine.solution_.stop_reason is StopReason.INTERRUPTED
    return machine


def certificate(name, machine, X, z):
    K, one = rbf_kernel(X, gamma=GAMMA), np.ones(len(z))
    sign = np.where(z > 0, 1.0, -1.0)
    return {
        "SVC": lambda: certificates.of_svc(machine, K, sign, machine.C * one),
        "NuSVC": lambda: certificates.of_nu_svc(machine, K, sign, one, machine.nu),
        "SVR": lambda: certificates.of_svr(machine, K, z, machine.C * one, machine.epsilon),
        "NuSVR": lambda: certificates.of_nu_svr(machine, K, z, machine.C * one, machine.nu),
        "OneClassSVM": lambda: certificates.of_one_class(machine, K, one, machine.nu),
    }[name]()


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("name", MACHINES)
def test_kernel_machines(name, rule, monkeypatch):
    looks = 40 if rule == "second-order" else 3
    X, z = make_data(700 if rule == "second-order" else 2500)
    y = {"SVR": z, "NuSVR": z, "OneClassSVM": None}.get(name, z > 0)
    machine = clone(MACHINES[name]).set_params(gamma=GAMMA, precision="float64", working_set=rule)
    interrupted(machine, X, y, monkeypatch, looks)
    expected, solution = certificate(name, machine, X, z), machine.solution_
    assert expected.bounds_hold
    assert solution.duality_gap > 0
    assert solution.duality_gap == pytest.approx(
        expected.primal - expected.dual, abs=2 * expected.rounding
    )
    assert expected.rounding < 1e-3 * solution.duality_gap


@pytest.mark.parametrize("name", ["SVC", "SVR"])
def test_rounded_rows_do_not_make_a_gap_look_small(name):
    """Stopped where float32 rows allow no further progress, but before the fit has converged."""
    X, z = make_data(1500)
    y = z if name == "SVR" else z > 0
    machine = clone(MACHINES[name]).set_params(C=1000.0, gamma=GAMMA, tol=1e-9, working_set="block")
    rounded = clone(machine).set_params(precision="float32", tol=1e-6).fit(X, y)
    machine.set_params(max_iter=rounded.n_iter_ if name == "SVR" else int(rounded.n_iter_[0]))
    with pytest.warns(ConvergenceWarning):
        machine.fit(X, y)
    expected, solution = certificate(name, machine, X, z), machine.solution_
    assert solution.precision == "float64"
    assert solution.duality_gap == pytest.approx(
        expected.primal - expected.dual, abs=2 * expected.rounding
    )


@pytest.mark.parametrize("loss", ["weston_watkins", "crammer_singer", "ovr"])
def test_linear_machines(loss, monkeypatch):
    """The dual variables give W and, with it, the dual objective.  (Newton's method, of "ovr", has
    weights of its own.)"""
    X, z = make_data(500)
    y = np.digitize(z, [-0.3, 0.3])
    machine = LinearSVC(
        multi_class=loss, loss="hinge", C=10.0, tol=1e-12, max_iter=10**6, fit_intercept=False
    )
    interrupted(machine, X, y, monkeypatch)
    beta = np.zeros((len(y), 3))
    kept = machine._kept
    beta[np.repeat(np.arange(len(y)), np.diff(kept.starts)), kept.cls] = machine.C * kept.share
    own = np.eye(3, dtype=bool)[y]
    if loss == "ovr":
        push = np.where(own, beta, -beta)
    else:
        push = np.where(own, beta.sum(axis=1, keepdims=True), -beta)
    W = push.T @ X
    if loss != "ovr":
        np.testing.assert_allclose(machine.coef_, W, rtol=1e-9, atol=1e-9)
    limit = beta.sum(axis=1) if loss == "crammer_singer" else beta
    assert (beta >= 0).all()
    assert (limit <= machine.C * (1 + 1e-12)).all()
    scores = X @ machine.coef_.T
    if loss == "ovr":
        losses = np.maximum(0, 1 - np.where(own, scores, -scores))
    else:
        losses = np.where(own, 0, np.maximum(0, 1 + scores - scores[own][:, None]))
    total = losses.max(axis=1).sum() if loss == "crammer_singer" else losses.sum()
    primal = 0.5 * (machine.coef_**2).sum() + machine.C * total
    dual = beta.sum() - 0.5 * (W**2).sum()
    assert machine.solution_.primal_objective == pytest.approx(primal, rel=1e-10)
    assert machine.solution_.duality_gap == pytest.approx(primal - dual, abs=1e-10 * primal)
    assert primal - dual > 1e-6 * primal
