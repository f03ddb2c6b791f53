"""TLRLDL: its rounds with every matrix written out, and logical labels by hand."""

import numpy as np

from ldl import TLRLDL
from ldl.linear.tlrldl import logical_labels
from tests.oracle.examples import softmax_problem
from tests.oracle.settings import as_stated


def written_out(X, D, L, alpha: float, rank_weight: float, rho: float, rounds: int):
    """Alternate with mixing as a matrix of all rows by all rows, and plain inverses."""
    n, q = X.shape
    mixing, G, Y = np.eye(n), L.copy(), np.zeros_like(L)
    for _ in range(rounds):
        M = X.T @ mixing
        left = X.T @ X + 2 * alpha * np.eye(q) + (1 + rho) * M @ M.T
        W = np.linalg.inv(left) @ (X.T @ D + M @ (L + rho * G - Y))
        A = X @ W
        inner = np.linalg.inv((1 + rho) * A @ A.T + 2 * alpha * np.eye(n))
        mixing = inner @ A @ (L + rho * G - Y).T
        U, s, V = np.linalg.svd(mixing.T @ A + Y / rho, full_matrices=False)
        G = U @ np.diag(np.maximum(s - rank_weight / rho, 0)) @ V
        Y = Y + rho * (mixing.T @ A - G)
        rho *= 1.1
    return W


def test_rounds_equal_those_with_every_matrix_written_out():
    X, D = softmax_problem(n=30)
    settings = {"alpha": 0.7, "rank_weight": 0.05, "rho": 0.2}
    model = as_stated(TLRLDL, **settings, fit_intercept=False, max_iter=6, tol=0.0).fit(X, D)
    expected = written_out(X, D, logical_labels(D, 0.5), **settings, rounds=6)
    np.testing.assert_allclose(model.coef_, expected, atol=1e-9)


def test_with_an_intercept_features_degrees_and_logical_labels_are_centred():
    X, D = softmax_problem(n=30)
    settings = {"alpha": 0.7, "rank_weight": 0.05, "rho": 0.2}
    model = as_stated(TLRLDL, **settings, max_iter=4, tol=0.0).fit(X, D)
    L = logical_labels(D, 0.5)
    parts = [part - part.mean(axis=0) for part in (X, D, L)]
    np.testing.assert_allclose(model.coef_, written_out(*parts, **settings, rounds=4), atol=1e-9)


def test_logical_labels_by_hand():
    """.4 and .3 reach .6; .7 does alone; .5 reaches .5 exactly; of equal ones the first count."""
    D = np.array([[0.2, 0.4, 0.3, 0.1], [0.7, 0.1, 0.1, 0.1], [0.25, 0.25, 0.25, 0.25]])
    np.testing.assert_array_equal(
        logical_labels(D, 0.6), [[0, 1, 1, 0], [1, 0, 0, 0], [1, 1, 1, 0]]
    )
    np.testing.assert_array_equal(logical_labels(D, 0.5)[2], [1, 1, 0, 0])
