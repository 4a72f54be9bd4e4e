"""Sigmoids, curves, agreement and intervals: against other solvers, and by what defines them."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize

from softmargin.calibration import class_scores
from softmargin.calibration.agreement import agreeing
from softmargin.calibration.residuals import half_width, laplace_scale, sorted_residuals
from softmargin.calibration.sigmoid import fit_sigmoids, sigmoid, soft_targets
from softmargin.calibration.signed_curve import KNOTS, STIFFNESS, curve_probabilities, fit_curve


def noisy(seed, count=200):
    rng = np.random.default_rng(seed)
    values = rng.normal(size=count) * 2
    return (
        values,
        rng.random(count) < 1 / (1 + np.exp(-1.5 * values - 0.4)),
        rng.integers(1, 4, count),
    )


def weights(positive, weight):
    return weight[positive].sum(), weight[~positive].sum()


@given(st.integers(0, 2**32 - 1))
def test_sigmoid_is_the_optimum_of_another_solver(seed):
    values, positive, weight = noisy(seed)
    targets, weight = soft_targets(positive, *weights(positive, weight)), weight.astype(float)

    def loss(point):
        z = point[0] * values + point[1]
        return weight @ (np.logaddexp(0, z) - (1 - targets) * z)

    found = loss(fit_sigmoids(values, positive, weight))
    best = minimize(loss, [0.0, 0.0], method="Nelder-Mead", options={"xatol": 1e-9, "fatol": 1e-11})
    assert found <= best.fun + 1e-8


def test_sigmoids_of_many_problems_are_those_of_each():
    problems = [noisy(seed, count) for seed, count in enumerate((200, 1, 17, 60))]
    starts = np.cumsum([0, 200, 1, 17, 60])
    together = fit_sigmoids(*map(np.concatenate, zip(*problems, strict=True)), starts)
    alone = [np.concatenate(fit_sigmoids(*problem)) for problem in problems]
    np.testing.assert_allclose(np.transpose(together), alone, rtol=1e-9)


@pytest.mark.parametrize("fit", [fit_sigmoids, fit_curve])
def test_weights_are_repetitions(fit):
    values, positive, weight = noisy(0)
    repeated = [np.repeat(a, weight) for a in (values, positive)]
    ours = fit(values, positive, weight.astype(float))
    np.testing.assert_allclose(ours, fit(*repeated, np.ones(weight.sum())), rtol=1e-4, atol=1e-6)


@given(st.integers(0, 2**32 - 1))
def test_curve_is_the_optimum_of_its_side(seed):
    """The optimality conditions of a convex problem with slopes of at least zero."""
    values, second, weight = noisy(seed)
    weight, slopes = weight.astype(float), fit_curve(values, second, weight.astype(float))
    targets = soft_targets(second, *weights(second, weight))
    changes = np.diff(np.eye(len(KNOTS)), axis=0)
    for side, share, own in ((values < 0, 1 - targets, 0), (values >= 0, targets, 1)):
        ends = np.append(KNOTS[1:], np.inf)
        pieces = np.clip(np.abs(values[side])[:, None] - KNOTS, 0, ends - KNOTS)
        wrong = weight[side] * (sigmoid(-(pieces @ slopes[own])) - share[side])
        gradient = pieces.T @ wrong + STIFFNESS * changes.T @ (changes @ slopes[own])
        assert (slopes[own] >= 0).all()
        assert (gradient >= -1e-3).all()
        assert np.abs(gradient[slopes[own] > 0]).max(initial=0) < 1e-3


def test_curve_is_monotone_and_keeps_the_sign():
    values, second, weight = noisy(3)
    slopes = fit_curve(values, second, weight.astype(float))
    at = np.linspace(-4, 4, 1001)
    p = curve_probabilities(at, slopes)
    assert (np.diff(p[:, 1]) >= 0).all()
    assert (p[at > 0, 1] >= 0.5).all()
    assert (p[at < 0, 1] <= 0.5).all()
    assert curve_probabilities(np.zeros(1), slopes)[0, 1] == 0.5


@pytest.mark.parametrize("values", [np.full(20, 0.7), np.full(20, -0.7), np.zeros(20)])
@pytest.mark.parametrize("positives", [0, 1, 10, 20])
def test_one_sided_decision_values(values, positives):
    second = np.arange(20) < positives
    slopes = fit_curve(values, second, np.ones(20))
    assert np.isfinite(slopes).all()
    assert np.isfinite(curve_probabilities(np.array([-1e300, 0.0, 1e300]), slopes)).all()
    assert np.isfinite(fit_sigmoids(values, second, np.ones(20))).all()


@given(
    st.integers(2, 6).flatmap(
        lambda k: st.tuples(
            st.lists(st.integers(0, 4), min_size=k, max_size=k).filter(any), st.integers(0, k - 1)
        )
    )
)
def test_agreement(case):
    """The predicted class has the largest probability, and nothing else is nearer."""
    counts, winner = case
    p = np.array(counts, dtype=float) / sum(counts)
    found = agreeing(p[None].copy(), np.array([winner]))[0]
    assert found.argmax() == winner
    assert found.sum() == pytest.approx(1, abs=1e-12)
    if p.argmax() == winner:
        np.testing.assert_array_equal(found, p)
    used = p > 0

    def divergence(q):
        return np.sum(p[used] * np.log(p[used] / np.maximum(q[used], 1e-300)))

    rng = np.random.default_rng(0)
    for other in rng.dirichlet(np.ones(len(p)), 200):
        if other.argmax() == winner:
            assert divergence(found) <= divergence(other) + 1e-9


def test_half_width_is_the_quantile_with_one_more_example():
    table = sorted_residuals(np.array([-3.0, 1.0, 2.0, -4.0]), np.ones(4))
    assert half_width(table, 0.2) == 1.0
    assert half_width(table, 0.21) == 2.0
    assert half_width(table, 0.8) == 4.0
    assert half_width(table, 0.81) == np.inf


def test_laplace_scale_leaves_out_outliers():
    residuals = np.append(np.full(100, 1.0), -1e3)
    assert laplace_scale(residuals, np.ones(101)) == 1.0


@pytest.mark.parametrize("most_mixed", [100, 2])
def test_scores_are_fitted_to_the_optimum(monkeypatch, most_mixed):
    """No step lowers the penalised log loss, computed here in its own way."""
    monkeypatch.setattr(class_scores, "MOST_MIXED", most_mixed)
    monkeypatch.setattr(class_scores, "BLOCK_NUMBERS", 100)  # several blocks
    random = np.random.default_rng(0)
    codes = random.integers(0, 3, 200)
    scores = random.normal(size=(200, 3)) + 2 * np.eye(3)[codes]
    weight = random.uniform(0, 2, 200)
    slopes, mixing = class_scores.fit_scores(scores, codes, weight)
    assert (slopes >= 0).all()
    assert mixing.shape == (3, 4 if most_mixed > 2 else 0)
    count = np.array([weight[codes == c].sum() for c in range(3)])[codes]
    targets = np.where(
        np.eye(3)[codes] == 1, ((count + 1) / (count + 2))[:, None], (0.5 / (count + 2))[:, None]
    )

    def loss(slopes, mixing):
        p = class_scores.score_probabilities(scores, slopes, mixing)
        value = -weight @ (targets * np.log(p)).sum(axis=1)
        value += class_scores.STIFFNESS / 2 * (np.diff(slopes) ** 2).sum()
        return value + class_scores.RIDGE / 2 * (mixing**2).sum()

    best = loss(slopes, mixing)
    for _ in range(100):
        other = np.maximum(slopes + 1e-3 * random.normal(size=slopes.shape), 0)
        assert loss(other, mixing + 1e-3 * random.normal(size=mixing.shape)) >= best - 1e-9
