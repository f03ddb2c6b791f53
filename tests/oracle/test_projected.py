"""BD-LDL and LDLSF: normal equations, conditions of an optimum, cases by hand."""

import numpy as np
import pytest
from scipy.linalg import solve_sylvester

from ldl import BDLDL, LDLSF
from ldl.linear.ldlcl import project_to_simplex
from ldl.linear.ldlsf import laplacian, shrunk, shrunk_rows
from tests.oracle.examples import softmax_problem


def centred(n: int = 50) -> tuple[np.ndarray, np.ndarray]:
    X, D = softmax_problem(n=n)
    return X - X.mean(axis=0), D - D.mean(axis=0)


@pytest.mark.parametrize("rows", [50, 3], ids=["many rows", "fewer rows than features"])
def test_bd_ldl_solves_sylvesters_equation(rows):
    X, D = centred(rows)
    W = BDLDL(back_weight=0.3, alpha=2.0)._weights(X, D)
    expected = solve_sylvester(X.T @ X + 2.0 * np.eye(4), 0.3 * D.T @ D, 1.3 * X.T @ D)
    np.testing.assert_allclose(W, expected, atol=1e-10)


@pytest.mark.parametrize("rows", [50, 6], ids=["many rows", "fewer rows than features"])
def test_without_penalty_dependent_features_have_least_squares(rows):
    X, D = centred(rows)
    X = np.hstack([X, X])
    W = BDLDL(back_weight=0.0, alpha=0.0)._weights(X, D)
    expected = X @ np.linalg.lstsq(X, D, rcond=None)[0]
    np.testing.assert_allclose(X @ W, expected, atol=1e-7)


def test_without_the_way_back_it_is_ridge_regression_on_the_simplex():
    from sklearn.linear_model import Ridge

    X, D = softmax_problem(n=50)
    model = BDLDL(back_weight=0.0, alpha=3.0, mean_share=None).fit(X, D)
    Z = (X - X.mean(axis=0)) / X.std(axis=0)
    expected = project_to_simplex(Ridge(3.0).fit(Z, D).predict(Z))
    np.testing.assert_allclose(model.predict(X), expected, atol=1e-10)


def test_ldlsf_meets_the_conditions_of_its_optimum():
    X, D = centred()
    model = LDLSF(0.8, 2.5, correlation_weight=0.02, max_iter=20_000, tol=1e-12)
    at = model._solve(X, D)
    np.testing.assert_allclose(at.weights, at.specific + at.common, atol=1e-9)
    np.testing.assert_allclose((X @ at.weights).sum(axis=1), 0.0, atol=1e-8)
    slopes = X.T @ (X @ at.weights - D) + 2 * 0.02 * X.T @ X @ at.weights @ laplacian(D)
    slopes += at.of_sums[:, None] + at.of_parts
    np.testing.assert_allclose(slopes, 0.0, atol=1e-7)
    # The multiplier is a subgradient of both penalties.
    inside = at.specific == 0
    assert np.abs(at.of_parts[inside]).max() <= 0.8 + 1e-7
    np.testing.assert_allclose(at.of_parts[~inside], 0.8 * np.sign(at.specific[~inside]), atol=1e-6)
    lengths = np.linalg.norm(at.common, axis=1)
    for row, length, own in zip(at.common, lengths, at.of_parts, strict=True):
        if length > 0:
            np.testing.assert_allclose(own, 2.5 * row / length, atol=1e-6)
        else:
            assert np.linalg.norm(own) <= 2.5 + 1e-7


def test_ldlsf_without_penalties_is_least_squares():
    X, D = centred()
    at = LDLSF(0.0, 0.0, correlation_weight=0.0, max_iter=5000, tol=1e-12)._solve(X, D)
    np.testing.assert_allclose(at.weights, np.linalg.lstsq(X, D, rcond=None)[0], atol=1e-8)


def test_shrinking_by_hand():
    np.testing.assert_allclose(shrunk(np.array([[3.0, -0.5, -2.0]]), 1.0), [[2.0, 0.0, -1.0]])
    np.testing.assert_allclose(
        shrunk_rows(np.array([[3.0, 4.0], [0.3, 0.4], [0.0, 0.0]]), 1.0),
        [[2.4, 3.2], [0.0, 0.0], [0.0, 0.0]],
    )
