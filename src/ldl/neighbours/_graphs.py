"""Neighbour graphs on training rows, and weights that rebuild rows from their neighbours.

Graphs are sparse and symmetric, with zero diagonals.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ldl.neighbours.knn import AAKNN

_BLOCK_BYTES = 32 * 2**20
_NPE_RIDGE = 1e-3
"""Share of a Gram matrix's trace that is added to its diagonal."""


def nearest_others(X: np.ndarray, count: int) -> np.ndarray:
    """Return the places of the ``count`` nearest other rows, nearest first, ties by place."""
    n = len(X)
    count = min(count, n - 1)
    anyone = np.zeros((n, 2))
    anyone[:, 0] = 1.0  # labels play no part in the search
    search = AAKNN(n_neighbors=count + 1, standardise=False, mean_share=None)
    found = search.fit(X, anyone).kneighbors(X)
    other = found != np.arange(n)[:, None]
    # A row with many duplicates may not be in its own list; then the last entry is left out.
    other[other.all(axis=1), -1] = False
    return found[other].reshape(n, count)


def squared_lengths(points: np.ndarray, rows: np.ndarray, columns: np.ndarray) -> np.ndarray:
    """Return the squared distance of each pair of points, by differences."""
    lengths = np.empty(len(rows))
    step = max(1, _BLOCK_BYTES // (8 * points.shape[1]))
    for start in range(0, len(rows), step):
        part = slice(start, start + step)
        apart = points[rows[part]] - points[columns[part]]
        lengths[part] = np.einsum("ij,ij->i", apart, apart)
    return lengths


def either_way(n: int, rows: np.ndarray, columns: np.ndarray) -> Any:
    """Return ones at the pairs (i, j) where i is chosen by j or j by i."""
    from scipy.sparse import csr_matrix

    chosen = csr_matrix((np.ones(len(rows)), (rows, columns)), shape=(n, n))
    pattern = (chosen + chosen.T).tocsr()
    pattern.data[:] = 1.0
    pattern.sort_indices()
    return pattern


def heat_weights(pattern: Any, points: np.ndarray) -> Any:
    """Return exp(-distance^2 / width) at the pairs, width being their mean squared distance.

    Where all pairs coincide each weighs 1. In the MSLP paper this is Eq. (2).
    """
    weights = pattern.copy()
    pairs = weights.tocoo()
    lengths = squared_lengths(points, pairs.row, pairs.col)
    width = lengths.mean() if len(lengths) else 0.0
    weights.data = np.exp(-lengths / width) if width > 0 else np.ones(len(lengths))
    return weights


def degrees(weights: Any) -> np.ndarray:
    """Sum the weights of each row."""
    return np.asarray(weights.sum(axis=1)).ravel()


def neighbour_graph(order: np.ndarray, points: np.ndarray) -> Any:
    """Return heat weights between rows of which either has the other in its list ``order``."""
    rows = np.repeat(np.arange(len(order)), order.shape[1])
    return heat_weights(either_way(len(order), rows, order.ravel()), points)


# ---------------------------------------------------------------------- label neighbours of MSLP


@dataclass(frozen=True)
class Neighbourhoods:
    """Neighbours of each row in the features, nearest first, and label distances to them."""

    order: np.ndarray
    label_lengths: np.ndarray


def neighbourhoods(X: np.ndarray, D: np.ndarray, count: int) -> Neighbourhoods:
    """Find the ``count`` nearest other rows in the features, with their label distances."""
    order = nearest_others(X, count)
    rows = np.repeat(np.arange(len(order)), order.shape[1])
    lengths = squared_lengths(D, rows, order.ravel())
    return Neighbourhoods(order, lengths.reshape(order.shape))


def label_neighbours(
    near: Neighbourhoods, k_plus: int, alpha: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the places in ``near.order`` that attract each row, and pairs (row, place) that repel.

    Among the ``alpha * k_plus`` rows nearest in features the ``k_plus`` nearest in labels attract,
    Eq. (5) of the MSLP paper. Those that are among the ``k_plus`` nearest in features and among the
    ``k_plus`` farthest in labels repel, Eq. (6). Of equal label distances that of the row nearer in
    features counts as smaller.
    """
    count = min(alpha * k_plus, near.order.shape[1])
    by_label = np.argsort(near.label_lengths[:, :count], axis=1, kind="stable")
    k = min(k_plus, count)
    farthest = by_label[:, count - k :]
    rows, columns = np.nonzero(farthest < k)
    return by_label[:, :k], rows, farthest[rows, columns]


def multi_scale_graphs(
    near: Neighbourhoods, D: np.ndarray, k_plus: int, alpha: int
) -> tuple[Any, Any]:
    """Return MSLP's graphs W+, heat weights of attraction, and W-, ones where rows repel."""
    attracted, rows, positions = label_neighbours(near, k_plus, alpha)
    n = len(D)
    friends = np.take_along_axis(near.order, attracted, axis=1)
    pattern = either_way(n, np.repeat(np.arange(n), friends.shape[1]), friends.ravel())
    return heat_weights(pattern, D), either_way(n, rows, near.order[rows, positions])


# ---------------------------------------------------------------------- reconstruction (NPE)


def reconstruction_weights(X: np.ndarray, order: np.ndarray) -> Any:
    """Return the weights that rebuild each row best from its neighbours; they sum to 1.

    The Gram matrix of the differences gets a thousandth of its trace on the diagonal.
    """
    from scipy.sparse import csr_matrix

    n, k = order.shape
    weights = np.empty((n, k))
    step = max(1, _BLOCK_BYTES // (8 * max(1, k) * X.shape[1]))
    for start in range(0, n, step):
        part = slice(start, start + step)
        apart = X[order[part]] - X[part, None, :]
        gram = apart @ apart.transpose(0, 2, 1)
        ridge = _NPE_RIDGE * np.trace(gram, axis1=1, axis2=2)
        ridge[ridge == 0] = 1.0
        gram += ridge[:, None, None] * np.eye(k)
        found = np.linalg.solve(gram, np.ones((len(gram), k, 1)))[:, :, 0]
        weights[part] = found / found.sum(axis=1, keepdims=True)
    rows = np.repeat(np.arange(n), k)
    return csr_matrix((weights.ravel(), (rows, order.ravel())), shape=(n, n))
