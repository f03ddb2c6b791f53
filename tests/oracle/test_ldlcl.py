"""LDLCL: the sparse reconstruction, the gradient, and its limits."""

import numpy as np
import pytest
from scipy.sparse import csr_matrix

from ldl.linear.ldlcl import (
    LDLCL,
    CollaborationObjective,
    project_to_simplex,
    sparse_reconstruction,
)
from tests.oracle.examples import check_gradient, softmax_problem
from tests.oracle.formulas import sa_bfgs
from tests.oracle.settings import as_stated

problem = softmax_problem


def lasso_loss(D: np.ndarray, S: np.ndarray, penalties: np.ndarray) -> np.ndarray:
    return 0.5 * ((D - D @ S) ** 2).sum(axis=0) + penalties * np.abs(S).sum(axis=0)


def reconstruct_by_admm(D: np.ndarray, j: int, penalty: float) -> np.ndarray:
    """Another algorithm for one label: splitting with a ridge step and a shrinkage step."""
    others = np.delete(np.arange(D.shape[1]), j)
    A, b, rho = D[:, others], D[:, j], 1.0
    inverse = np.linalg.inv(A.T @ A + rho * np.eye(len(others)))
    z = u = np.zeros(len(others))
    for _ in range(20_000):
        s = inverse @ (A.T @ b + rho * (z - u))
        z = np.sign(s + u) * np.maximum(np.abs(s + u) - penalty / rho, 0.0)
        u = u + s - z
    return np.insert(z, j, 0.0)


@pytest.mark.parametrize("sparsity", [0.02, 0.3])
def test_coordinate_descent_and_admm_reach_the_same_objective(sparsity):
    D = problem()[1]
    gram = D.T @ D
    penalties = sparsity * (gram - np.diag(np.diag(gram))).max(axis=0)
    S = sparse_reconstruction(D, sparsity)
    other = np.column_stack([reconstruct_by_admm(D, j, penalties[j]) for j in range(5)])
    np.testing.assert_allclose(
        lasso_loss(D, S, penalties), lasso_loss(D, other, penalties), atol=1e-8
    )


@pytest.mark.parametrize("sparse", [False, True])
def test_gradient_equals_central_differences(sparse):
    X, D = problem()
    A = 0.5 * np.eye(5) + 0.5 * np.abs(sparse_reconstruction(D, 0.1))
    objective = CollaborationObjective(csr_matrix(X) if sparse else X, D, A, l2=0.3)
    check_gradient(objective, np.random.default_rng(2).normal(size=20))


def test_without_collaboration_it_is_penalised_sa_bfgs():
    X, D = problem()
    ones = np.column_stack([X, np.ones(len(X))])
    plain = sa_bfgs(2000, alpha=0.8, init="zeros").fit(ones, D)
    model = as_stated(LDLCL, 0.0, alpha=0.8, max_iter=2000, tol=0.0).fit(X, D)
    assert model.loss_ == pytest.approx(plain.loss_, rel=1e-9)
    np.testing.assert_allclose(model.predict(X), plain.predict(ones), atol=1e-6)


def test_regression_ends_where_both_closed_forms_hold():
    X, D = problem()
    model = as_stated(LDLCL, 0.3, alpha=0.5, model="regression").fit(X, D)
    ones, A = np.column_stack([X, np.ones(len(X))]), model.mixing_
    W = np.vstack([model.coef_, model.intercept_])
    Z = (D @ A.T + ones @ W) @ np.linalg.inv(A @ A.T + np.eye(5))
    np.testing.assert_allclose(ones.T @ (ones @ W - Z) + 0.5 * W, 0.0, atol=1e-5)


def test_projection_finds_the_nearest_distribution():
    generator = np.random.default_rng(6)
    V = generator.normal(size=(50, 4))
    P = project_to_simplex(V)
    np.testing.assert_allclose(P.sum(axis=1), 1.0, atol=1e-12)
    for Q in generator.dirichlet(np.ones(4), size=200):
        # The angle at the projection towards any distribution is not acute.
        assert (((V - P) * (Q - P)).sum(axis=1) <= 1e-12).all()
