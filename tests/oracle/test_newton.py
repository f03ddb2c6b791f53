"""Newton's steps for softmax models: the matrix, its inverse, and the optimum they end at."""

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.sparse import csr_matrix

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


def test_intercept_has_no_penalty_or_a_small_one_where_rows_are_few():
    X, D = softmax_problem(n=40, q=10, c=5)
    X = with_ones(X)
    curvature = Curvature(X, D, 1)
    written = curvature.factor * X.T @ X + np.diag([2.0] * 10 + [0.0])
    np.testing.assert_allclose(
        columns_of(curvature.inverse(2.0), 11), np.linalg.inv(written), rtol=1e-6, atol=1e-9
    )
    few = Curvature(X[:8], D[:8], 1)
    written = few.factor * X[:8].T @ X[:8] + np.diag([2.0] * 10 + [1e-3 * few.factor * 8])
    np.testing.assert_allclose(
        columns_of(few.inverse(2.0), 11), np.linalg.inv(written), rtol=1e-6, atol=1e-9
    )


def test_curvature_of_equal_distributions_is_exact_where_labels_are_alike():
    """With P uniform, diag(p) - p p' is 1 / c on every direction that changes a prediction."""
    X, _ = softmax_problem(n=30, q=3, c=4)
    D = np.full((30, 4), 0.25)
    objective, zero, step = CrossEntropy(X, D, 0.5), np.zeros(12), 1e-5
    change = np.outer([1.0, -1.0, 0.0, 0.0], [0.3, -1.0, 2.0]).ravel()
    slopes = (objective(zero + step * change)[1] - objective(zero - step * change)[1]) / (2 * step)
    np.testing.assert_allclose(Curvature(X, D).inverse(0.5)(slopes), change, atol=1e-6)


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


def test_it_takes_far_fewer_passes_than_lbfgs():
    generator = np.random.default_rng(0)
    X = generator.normal(size=(300, 20)) @ generator.normal(size=(20, 20))
    D = softmax_problem(n=300)[1]
    newton = SABFGS(alpha=0.3, mean_share=None).fit(X, D)
    lbfgs = SABFGS(alpha=0.3, mean_share=None, solver="lbfgs").fit(X, D)
    assert newton.loss_ <= lbfgs.loss_ * (1 + 1e-9)
    assert 5 * newton.diagnostics_["evaluations"] < lbfgs.diagnostics_["evaluations"]


def test_penalties_that_are_tried_are_those_of_fits_one_by_one():
    X, D = softmax_problem(n=60)
    model = SABFGS()
    model.n_features_in_, model.n_labels_ = 4, 5
    for candidate, P in model._tried(X[:40], D[:40], X[40:], {"alpha": (3.0, 30.0)}):
        alone = SABFGS(**candidate, mean_share=None).fit(X[:40], D[:40])
        np.testing.assert_allclose(P, alone.predict(X[40:]), atol=1e-12)


def test_newton_is_for_penalties_and_dense_features_of_few_weights():
    X, D = softmax_problem(n=60)
    sparse = csr_matrix(X)
    for model, data, same in (
        (SABFGS(alpha=1.0, mean_share=None), X, "newton"),
        (SABFGS(alpha=0.0, mean_share=None), X, "lbfgs"),
        (SABFGS(alpha=1.0, mean_share=None), sparse, "lbfgs"),
    ):
        given = type(model)(alpha=model.alpha, mean_share=None, solver=same)
        np.testing.assert_array_equal(model.fit(data, D).coef_, given.fit(data, D).coef_)
    with pytest.raises(ValueError, match="needs dense features"):
        SABFGS(solver="newton").fit(sparse, D)
