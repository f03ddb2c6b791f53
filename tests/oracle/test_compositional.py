"""Dirichlet and log-ratio regression against closed forms, and coverage that is as promised."""

import numpy as np
import pytest
from scipy.linalg import helmert
from scipy.optimize import check_grad
from scipy.special import digamma, polygamma
from scipy.stats import dirichlet

from ldl import ConformalBall, DirichletRegression, LogRatioRegression, TrainMean
from ldl.checks import sample
from ldl.compositional.dirichlet import DirichletLoss
from ldl.datasets import make_distributions
from tests.oracle.settings import as_stated

# ---------------------------------------------------------------------- Dirichlet regression


def test_the_loss_is_minus_scipys_log_density_and_its_gradient_the_numeric_one():
    X, D = sample(n=12, q=3, c=4)
    weight = np.arange(12.0)
    objective = DirichletLoss(np.column_stack([X, np.ones(12)]), D, 0.7, weight)
    flat = 0.1 * np.random.default_rng(0).normal(size=16)
    W = flat.reshape(4, 4).T
    parameters = np.exp(X @ W[:3] + W[3])
    density = [dirichlet.logpdf(d, a) for d, a in zip(D, parameters, strict=True)]
    wanted = -weight @ density + 0.35 * (W[:3] ** 2).sum()
    assert objective(flat)[0] == pytest.approx(wanted, rel=1e-12)
    apart = check_grad(lambda x: objective(x)[0], lambda x: objective(x)[1].copy(), flat)
    assert apart < 1e-4


def test_without_features_it_is_the_maximum_likelihood_that_newton_steps_find():
    D = np.random.default_rng(0).dirichlet([2.0, 5.0, 1.0], size=200)
    logs, a = np.log(D).mean(axis=0), np.ones(3)
    for _ in range(100):  # Minka, Estimating a Dirichlet distribution, 2000
        slope = digamma(a.sum()) - digamma(a) + logs
        diagonal, common = -polygamma(1, a), polygamma(1, a.sum())
        shift = (slope / diagonal).sum() / (1 / common + (1 / diagonal).sum())
        a -= (slope - shift) / diagonal
    model = as_stated(DirichletRegression, lowest=1e-9, tol=0.0).fit(np.ones((200, 1)), D)
    np.testing.assert_allclose(np.exp(model.intercept_), a, rtol=1e-6)
    np.testing.assert_allclose(model.predict([[7.0]])[0], a / a.sum(), rtol=1e-6)
    np.testing.assert_allclose(model.precision([[7.0]]), a.sum(), rtol=1e-6)


# ---------------------------------------------------------------------- log-ratio regression


@pytest.mark.parametrize("alpha", [0.0, 5.0])
def test_it_is_ridge_regression_of_isometric_log_ratios(alpha):
    X, D = sample(n=60)
    weight = np.random.default_rng(0).random(60)
    basis = helmert(D.shape[1])  # orthonormal, and orthogonal to a row of ones
    Y = np.log(D) @ basis.T
    mean = np.average(X, axis=0, weights=weight)
    scaled = (X - mean) / np.sqrt(np.average((X - mean) ** 2, axis=0, weights=weight))
    centre = np.average(Y, axis=0, weights=weight)
    gram = scaled.T @ (weight[:, None] * scaled) + alpha * np.eye(X.shape[1])
    B = np.linalg.solve(gram, scaled.T @ (weight[:, None] * (Y - centre)))
    back = np.exp((scaled @ B + centre) @ basis)
    model = as_stated(LogRatioRegression, alpha=alpha, lowest=1e-9).fit(X, D, sample_weight=weight)
    np.testing.assert_allclose(model.predict(X), back / back.sum(axis=1, keepdims=True), rtol=1e-8)


@pytest.mark.parametrize("kind", [DirichletRegression, LogRatioRegression])
def test_defaults_heed_weights_in_the_fit_and_in_the_mean(kind):
    X, D = sample(n=60)
    weight = np.random.default_rng(0).random(60)
    model = kind().fit(X, D, sample_weight=weight)
    settled = {name: value for name, value in model.auto_.items() if name != "mean_share"}
    plain = kind(**settled, mean_share=None).fit(X, D, sample_weight=weight).predict(X)
    share = model.auto_["mean_share"]
    mean = np.average(D, axis=0, weights=weight)
    np.testing.assert_allclose(model.predict(X), (1 - share) * plain + share * mean)
    with pytest.raises(ValueError, match="sample_weight must have shape"):
        kind().fit(X, D, sample_weight=weight[:50])


# ---------------------------------------------------------------------- conformal sets


@pytest.mark.parametrize(("distance", "coverage"), [("tv", 0.9), ("kl", 0.8)])
def test_coverage_is_nominal_whatever_the_estimator(distance, coverage):
    X, D = make_distributions(60 * 600, 4, 3, concentration=10.0, random_state=3)
    covered = []
    for part in range(60):
        rows = slice(600 * part, 600 * part + 200), slice(600 * part + 200, 600 * part + 600)
        model = ConformalBall(
            TrainMean(), coverage=coverage, distance=distance, held_out=0.5, random_state=part
        ).fit(X[rows[0]], D[rows[0]])
        covered.append(model.covers(X[rows[1]], D[rows[1]]).mean())
        assert len(model.scores_) == 100
    assert np.mean(covered) == pytest.approx(coverage, abs=0.02)


@pytest.mark.parametrize("distance", ["tv", "kl"])
def test_bounds_hold_every_distribution_of_the_ball(distance):
    X, D = make_distributions(400, 4, 3, random_state=0)
    model = ConformalBall(distance=distance, random_state=0).fit(X[:300], D[:300])
    low, high = model.bounds(X[300:])
    inside = ((D[300:] >= low) & (D[300:] <= high)).all(axis=1)
    assert inside[model.covers(X[300:], D[300:])].all()
    assert (high - low).max() < 1
