"""LDL-LDM: the label manifold, the gradient, and its limits."""

import numpy as np
import pytest
from scipy.sparse import csr_matrix

from ldl.linear.ldl_ldm import (
    LDLLDM,
    ManifoldObjective,
    cluster_rows,
    label_manifold,
    penalty,
)
from tests.oracle.examples import check_gradient, softmax_problem
from tests.oracle.formulas import sa_bfgs
from tests.oracle.settings import as_stated

problem = softmax_problem


def two_blocks(D: np.ndarray) -> list[tuple[slice, np.ndarray]]:
    half = len(D) // 2
    parts = [slice(0, half), slice(half, len(D))]
    return [(rows, 3.0 * penalty(label_manifold(D[rows]))) for rows in parts]


@pytest.mark.parametrize("sparse", [False, True])
def test_gradient_equals_central_differences(sparse):
    X, D = problem()
    objective = ManifoldObjective(csr_matrix(X) if sparse else X, D, two_blocks(D), l2=0.3)
    check_gradient(objective, np.random.default_rng(2).normal(size=20))


def test_loss_is_cross_entropy_plus_squared_distances_from_both_manifolds():
    X, D = problem()
    model = as_stated(LDLLDM, 0.4, 2.0, 3.0, n_clusters=3, max_iter=20, random_state=5).fit(X, D)
    P = model.predict(X)
    weights = (model.coef_**2).sum() + (model.intercept_**2).sum()
    expected = -(D * np.log(P)).sum() + 0.2 * weights
    expected += 2.0 * ((P - P @ label_manifold(D)) ** 2).sum()
    cluster = cluster_rows(D, 3, 5)
    for g in range(3):
        rows = cluster == g
        expected += 3.0 * ((P[rows] - P[rows] @ label_manifold(D[rows])) ** 2).sum()
    assert model.loss_ == pytest.approx(expected, rel=1e-9)
    assert model.diagnostics_["clusters"] == 3


def test_without_manifolds_it_is_sa_bfgs_with_an_intercept():
    X, D = problem()
    plain = sa_bfgs(2000, fit_intercept=True, init="zeros").fit(X, D)
    model = as_stated(LDLLDM, 0.0, 0.0, 0.0, max_iter=2000, tol=0.0).fit(X, D)
    assert model.loss_ == pytest.approx(plain.loss_, rel=1e-9)
    np.testing.assert_allclose(model.predict(X), plain.predict(X), atol=1e-5)


def test_weights_minimise_the_penalised_distance_under_their_constraint():
    D = problem()[1]
    Z = label_manifold(D)
    others = [0, 1, 3, 4]
    apart = D[:, others] - D[:, [2]]
    gram = apart.T @ apart
    gram += 1e-3 * np.trace(gram) * np.eye(4)
    slopes = gram @ Z[others, 2]
    np.testing.assert_allclose(slopes, slopes[0], rtol=1e-9)  # equal: a multiplier of the sum
