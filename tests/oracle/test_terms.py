"""LDL-LRR, LDLLC and LDL-DPA: their losses in words, their slopes, their optima."""

import numpy as np
import pytest
from scipy.optimize import minimize

from ldl import LDLDPA, LDLLC, LDLLRR, SABFGS
from ldl.linear._softmax import with_ones
from ldl.linear._terms import TermObjective
from tests.oracle.examples import check_gradient, softmax_problem

MODELS = {
    "LDLLRR": LDLLRR(alpha=0.5, rank_weight=20.0, sharpness=3.0, tol=1e-13, mean_share=None),
    "LDLLC": LDLLC(alpha=0.5, correlation_weight=0.3, tol=1e-13, mean_share=None),
    "LDLDPA": LDLDPA(alpha=0.5, rank_weight=0.2, variance_weight=5.0, tol=1e-13, mean_share=None),
}


def softmax(Z: np.ndarray) -> np.ndarray:
    P = np.exp(Z - Z.max(axis=1, keepdims=True))
    return P / P.sum(axis=1, keepdims=True)


def written(name: str, W: np.ndarray, P: np.ndarray, D: np.ndarray) -> float:
    """The term of each model in loops, for weights (q, c) and predictions (n, c)."""
    n, c = D.shape
    total = 0.0
    if name == "LDLLRR":
        for d, p in zip(D, P, strict=True):
            for j in range(c):
                for k in range(c):
                    if d[j] > d[k]:
                        total += (d[j] - d[k]) ** 2 * np.log1p(np.exp(-3.0 * (p[j] - p[k])))
        return 20.0 / n * total
    if name == "LDLLC":
        for j in range(c):
            for k in range(j + 1, c):
                sign = np.sign(np.corrcoef(W[:, j], W[:, k])[0, 1])
                total += sign * np.linalg.norm(W[:, j] - W[:, k])
        return 0.3 * total
    for d, p in zip(D, P, strict=True):
        ranks = [1 + sum(d < own) + 0.5 * (sum(d == own) - 1) for own in d]
        total += 5.0 * (np.var(d) - np.var(p)) ** 2 - 0.2 / c * float(np.dot(ranks, p))
    return total


def objective_of(name: str, X: np.ndarray, D: np.ndarray) -> TermObjective:
    model = MODELS[name]
    return TermObjective(with_ones(X), D, model.alpha, 1, model._terms(D, 1.0))


def settled(name: str, X: np.ndarray, D: np.ndarray, W: np.ndarray) -> TermObjective:
    objective = objective_of(name, X, D)
    for term in objective.terms:
        term.settle(W)
    return objective


@pytest.mark.parametrize("name", MODELS)
def test_loss_is_the_sum_of_its_terms(name):
    X, D = softmax_problem(n=20)
    D[3, :2] = D[3, :2].mean()  # two equal degrees
    W = np.random.default_rng(3).normal(size=(5, 5))
    P = softmax(with_ones(X) @ W)
    expected = -(D * np.log(P)).sum() + 0.25 * (W[:4] ** 2).sum() + written(name, W[:4], P, D)
    assert settled(name, X, D, W[:4].T)(W.T.ravel())[0] == pytest.approx(expected, rel=1e-7)


@pytest.mark.parametrize("name", MODELS)
def test_slopes_equal_central_differences(name):
    X, D = softmax_problem(n=20)
    at = np.random.default_rng(2).normal(size=25)
    check_gradient(settled(name, X, D, at.reshape(5, 5)[:, :4]), at, step=1e-6)


@pytest.mark.parametrize("name", ["LDLLRR", "LDLDPA"])
def test_fit_ends_at_the_optimum_of_another_solver(name):
    X, D = softmax_problem(n=50)
    model = MODELS[name]
    Z = (X - X.mean(axis=0)) / X.std(axis=0)
    other = minimize(objective_of(name, Z, D), np.zeros(25), jac=True, method="BFGS", tol=1e-9)
    fitted = model.fit(X, D)
    assert fitted.loss_ == pytest.approx(other.fun, rel=1e-10)
    P = softmax(with_ones(Z) @ other.x.reshape(5, 5).T)
    np.testing.assert_allclose(fitted.predict(X), P, atol=1e-5)


def test_signs_are_settled_where_the_fit_with_correlations_ends():
    X, D = softmax_problem(n=50)
    Z = (X - X.mean(axis=0)) / X.std(axis=0)
    fitted = MODELS["LDLLC"].fit(X, D)
    W = fitted.coef_.T * X.std(axis=0)
    objective = objective_of("LDLLC", Z, D)
    (term,) = objective.terms
    assert term.settle(W)
    assert not term.settle(W)
    other = minimize(objective, np.zeros(25), jac=True, method="BFGS", tol=1e-9)
    np.testing.assert_allclose(W, other.x.reshape(5, 5)[:, :4], atol=1e-4)


@pytest.mark.parametrize("kind", [LDLLRR, LDLLC, LDLDPA])
def test_without_its_term_each_is_sa_bfgs_with_the_same_penalty(kind):
    X, D = softmax_problem(n=50)
    weights = {name: 0.0 for name in kind._get_param_names() if name.endswith("_weight")}
    model = kind(**weights, alpha=2.0, tol=1e-12, mean_share=None).fit(X, D)
    plain = SABFGS(alpha=2.0, tol=1e-12, mean_share=None).fit(X, D)
    np.testing.assert_allclose(model.predict(X), plain.predict(X), atol=1e-7)
