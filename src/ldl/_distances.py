"""Euclidean distances between rows, and the rbf kernel made of them."""

from __future__ import annotations

from typing import Any

import numpy as np

_BLOCK_ROWS = 512
_BLOCK_BYTES = 64 * 2**20


def squared_norms(X: Any) -> np.ndarray:
    """Return the squared length of each row of a dense or sparse matrix."""
    if hasattr(X, "tocsr"):
        return np.asarray(X.multiply(X).sum(axis=1)).ravel()
    return np.einsum("ij,ij->i", X, X)


def squared_distances(A: Any, B: Any) -> np.ndarray:
    """Return the squared distance of every row of A to every row of B, up to rounding.

    A and B are both dense or both sparse.
    """
    squares = _sparse_products(A, B) if hasattr(A, "tocsr") else A @ B.T
    squares *= -2.0
    squares += squared_norms(A)[:, None]
    squares += squared_norms(B)
    return np.maximum(squares, 0.0, out=squares)


def _sparse_products(A: Any, B: Any) -> np.ndarray:
    """Compute A B' in blocks: a product of sparse rows has more bytes of indices than of values."""
    products = np.empty((A.shape[0], B.shape[0]))
    step = max(1, _BLOCK_BYTES // (16 * B.shape[0]))
    transposed = B.T.tocsr()
    for start in range(0, A.shape[0], step):
        products[start : start + step] = (A[start : start + step] @ transposed).toarray()
    return products


def mean_distance(X: np.ndarray) -> float:
    """Return the mean Euclidean distance over all pairs of different rows."""
    n = len(X)
    if n < 2:
        return 0.0
    total = 0.0
    for start in range(0, n, _BLOCK_ROWS):
        apart = np.sqrt(squared_distances(X[start : start + _BLOCK_ROWS], X))
        # A row's distance to itself is 0, not the root of a rounding error.
        rows = np.arange(len(apart))
        apart[rows, start + rows] = 0.0
        total += float(apart.sum())
    return total / (n * (n - 1))


def rbf(A: np.ndarray, B: np.ndarray, width: float) -> np.ndarray:
    """Return exp(-distance^2 / (2 width^2)) for every row of A and every row of B.

    A width of zero means that all training rows are equal; then every similarity is 1.
    """
    if width == 0:
        return np.ones((len(A), len(B)))
    squares = squared_distances(A, B)
    squares /= -2.0 * width**2
    return np.exp(squares, out=squares)
