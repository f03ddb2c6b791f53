"""Newton's steps for softmax models: the matrix, its inverse, and the optimum they end at."""

import numpy as np
import pytest
from scipy.optimize import minimize

from ldl import SABFGS
from ldl.linear._newton import Curvature, minimise_newton
from ldl.linear._softmax import with_ones
from ldl.linear.maxent import CrossEntropy
from tests.oracle.examples import softmax_problem


def columns_of(solve, size: int) -> np.ndarray:
    return np.column_stack([solve(e) for e in np.eye(size)])


@pytest.mark.parametrize("n", [40, 8], ids=["many rows", "fewer rows than features"])
def test_inverse_is_that_of_the_curvature_written_out(n):
    X, D = softmax_problem(n=n, q=10, c=5)
    mean = D.mean(axis=0)
    factor = (1.0 - (mean**2).sum()) / 4.0
    written = factor * X.T @ X + 2.0 * np.eye(10)
    np.testing.assert_allclose(
        columns_of(Curvature(X, D).inverse(2.0), 10), np.linalg.inv(written), rtol=1e-6, atol=1e-9
    )


@pytest.mark.parametrize("n", [90, 12], ids=["many rows", "fewer rows than features"])
@pytest.mark.parametrize("alpha", [0.01, 1.0, 100.0])
def test_it_ends_at_the_optimum_of_another_solver(n, alpha):
    X, D = softmax_problem(n=n, q=15, c=6)
    objective = CrossEntropy(with_ones(X), D, alpha, 1)
    other = minimize(objective, np.zeros(96), jac=True, tol=1e-14, options={"maxiter": 5000})
    solve = Curvature(with_ones(X), D, 1).inverse(alpha)
    found = minimise_newton(objective, np.zeros(96), solve, 300, 1e-14)
    assert found.value == pytest.approx(other.fun, rel=1e-11)
    assert np.abs(found.gradient).max() < 1e-4
    assert found.stopped in ("tol", "descent")


def test_penalties_that_are_tried_are_those_of_fits_one_by_one():
    X, D = softmax_problem(n=60)
    model = SABFGS()
    model.n_features_in_, model.n_labels_ = 4, 5
    for candidate, P in model._tried(X[:40], D[:40], X[40:], {"alpha": (3.0, 30.0)}):
        alone = SABFGS(**candidate, mean_share=None).fit(X[:40], D[:40])
        np.testing.assert_allclose(P, alone.predict(X[40:]), atol=1e-12)
