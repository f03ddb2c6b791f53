"""LDSVR: its equations, its limits, and what must hold at the optimum."""

import numpy as np
import pytest
from scipy.spatial.distance import cdist, pdist
from scipy.special import expit

from ldl.kernels.ldsvr import LDSVR, _Problem, _State, logits
from ldl.linear.maxent import softmax_rows
from tests.oracle.examples import means_of_ten_folds
from tests.oracle.formulas import ldsvr
from tests.oracle.settings import as_stated


def data(seed: int = 0, n: int = 50, q: int = 4, c: int = 3) -> tuple[np.ndarray, np.ndarray]:
    generator = np.random.default_rng(seed)
    X = generator.normal(size=(n, q))
    return X, softmax_rows(2.0 * X[:, :c] + generator.normal(size=(n, c)))


def problem(C: float = 1.0, epsilon: float = 0.1, weights: str = "exact") -> _Problem:
    X, D = data()
    K = np.exp(-0.5 * cdist(X, X, "sqeuclidean") / pdist(X).mean() ** 2)
    return _Problem(K, logits(D), C, epsilon, weights)


@pytest.mark.parametrize("C", [0.1, 1.0, 100.0])
def test_solution_is_stationary(C):
    """A row's coefficients are its weight times its error; those of a label add up to zero."""
    p = problem(C)
    state, _, stopped = p.solve()
    assert stopped == "converged"
    errors = p.Z - p.K @ state.B - state.b
    u = np.linalg.norm(errors, axis=1) / 4
    a = np.where(u > p.epsilon, p.C * (u - p.epsilon) / (8 * u), 0.0)
    scale = np.abs(state.B).max()
    np.testing.assert_allclose(state.B, a[:, None] * errors, atol=2e-3 * scale)
    np.testing.assert_allclose(state.B.sum(axis=0), 0.0, atol=1e-8 * scale)


def test_equal_weights_are_kernel_ridge_regression_with_an_intercept():
    p = problem(epsilon=0.0)  # without a zone every weight is C / 8
    B, b = p._solved(_State(p, np.zeros((50, 3)), np.zeros(3)), np.arange(50))
    ridge = p.K + np.eye(50) / (p.C / 8)
    np.testing.assert_allclose(B, np.linalg.solve(ridge, p.Z - b), atol=1e-10)
    bordered = np.block([[ridge, np.ones((50, 1))], [np.ones((1, 50)), np.zeros((1, 1))]])
    both = np.linalg.solve(bordered, np.vstack([p.Z, np.zeros((1, 3))]))
    np.testing.assert_allclose(np.vstack([B, b]), both, atol=1e-10)


def test_linear_kernel_is_ridge_regression_of_the_logits_where_all_weights_are_equal():
    """Far outside the zone the fit is stationary for explicit weights W as well."""
    X, D = data()
    model = as_stated(LDSVR, C=3.0, epsilon=0.05, kernel="linear").fit(X, D)
    W = model.support_vectors_.T @ model.dual_coef_
    missing = logits(D) - X @ W - model.intercept_
    u = np.linalg.norm(missing, axis=1) / 4
    excess = np.maximum(u - 0.05, 0.0)
    assert model.objective_ == pytest.approx(0.5 * (W**2).sum() + 3.0 * excess @ excess)
    pull = (2 * 3.0 * excess / (16 * u))[:, None] * missing
    np.testing.assert_allclose(W, X.T @ pull, atol=2e-3 * np.abs(W).max())
    expected = expit(X @ W + model.intercept_)
    np.testing.assert_allclose(model.predict(X), expected / expected.sum(axis=1, keepdims=True))
    assert not hasattr(model, "bandwidth_")


def test_targets_are_logits_and_zeros_get_a_tenth_of_an_equal_share():
    D = np.array([[0.5, 0.25, 0.25], [0.7, 0.3, 0.0], [1.0, 0.0, 0.0]])
    Z = logits(D)
    np.testing.assert_allclose(expit(Z[0]), D[0])
    np.testing.assert_allclose(expit(Z[1]), np.array([0.7, 0.3, 1 / 30]) / (31 / 30))
    np.testing.assert_allclose(expit(Z[2]), np.array([1.0, 1 / 30, 1 / 30]) / (32 / 30))
    assert np.isfinite(logits(np.array([[1.0, 1e-300]]))).all()


def test_released_weights_solve_the_bordered_system_too():
    p = problem(epsilon=0.1, weights="as_released")
    state = _State(p, np.zeros((50, 3)), np.zeros(3))
    a = p.weight(state.u)
    assert (a < 0).any()
    bordered = np.block(
        [[p.K + np.diag(1 / a), np.ones((50, 1))], [(a @ p.K)[None, :], a.sum()[None, None]]]
    )
    both = np.linalg.solve(bordered, np.vstack([p.Z, (a @ p.Z)[None, :]]))
    np.testing.assert_allclose(np.vstack(p._solved(state, np.arange(50))), both, atol=1e-8)


@pytest.mark.realdata
def test_sjaffe_raw_features_give_the_printed_row(real_data):
    assert 0.064 < means_of_ten_folds(real_data("sjaffe"), ldsvr().fit)["kl"] < 0.071
