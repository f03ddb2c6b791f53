"""LDL-LDM: predictions keep to the manifold of the labels, that of all rows and that of clusters.

Wang and Geng (IEEE TNNLS 2023). The manifold says how each label is an affine mixture of all
others: P (I - Z) is small if the predicted degrees mix in the same way.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from ldl.linear._softmax import (
    SoftmaxModel,
    SoftmaxObjective,
    slopes_of_scores,
    softmax_columns,
    with_intercept,
)

_GRAM_RIDGE = 1e-3
_RESTARTS = 10
_LLOYD_STEPS, _LLOYD_ROUNDS = 10, 30


class ManifoldObjective(SoftmaxObjective):
    """Cross entropy plus, for each block of rows, the sum of P_g M_g P_g'."""

    def __init__(
        self,
        X: Any,
        D: np.ndarray,
        blocks: list[tuple[slice, np.ndarray]],
        l2: float = 0.0,
    ) -> None:
        super().__init__(X, D, l2)
        self.blocks = blocks

    def loss(self, Z: np.ndarray) -> float:
        fit = np.vdot(self.D, Z)
        value = softmax_columns(Z).sum() - fit
        P = Z
        slopes = np.zeros_like(P)
        for rows, M in self.blocks:
            slopes[:, rows] = 2.0 * (M @ P[:, rows])
        value += 0.5 * np.vdot(P, slopes)
        slopes = slopes_of_scores(P, slopes)
        Z -= self.D
        Z += slopes
        return float(value)


@dataclass(eq=False, repr=False)
class LDLLDM(SoftmaxModel):
    """LDL-LDM; ``ridge``, ``global_weight`` and ``local_weight`` are the release's l1, l2, l3.

    Clusters are k-means of the label distributions; a single one switches the local term off.
    """

    ridge: float = 1e-3
    global_weight: float = 1.0
    local_weight: float = 1.0
    n_clusters: int = 10
    max_iter: int = 300
    tol: float = 2.22e-9
    init: str = "identity"
    random_state: int | None = None

    def _fit(self, X: Any, D: np.ndarray) -> None:
        self._check(("ridge", "global_weight", "local_weight"))
        if self.n_clusters < 1:
            raise ValueError(f"n_clusters must be at least 1, got {self.n_clusters}")
        cluster = np.zeros(len(D), dtype=int)
        if self.n_clusters > 1 and self.local_weight > 0:
            cluster = cluster_rows(D, self.n_clusters, self.random_state)
        # Rows of a cluster stand together, so that its block is a view and not a copy.
        order = np.argsort(cluster, kind="stable")
        X, D, cluster = with_intercept(X)[order], D[order], cluster[order]
        objective = ManifoldObjective(X, D, self._blocks(D, cluster), self.ridge)
        self._minimise(objective)
        self.diagnostics_["clusters"] = len(objective.blocks)

    def _blocks(self, D: np.ndarray, cluster: np.ndarray) -> list[tuple[slice, np.ndarray]]:
        """Each cluster's rows and the weighted penalty matrix that all its terms add up to."""
        everywhere = self.global_weight * penalty(label_manifold(D))
        bounds = np.flatnonzero(np.diff(cluster, prepend=-1, append=cluster[-1] + 1))
        blocks = []
        for start, stop in pairwise(bounds.tolist()):
            rows, M = slice(start, stop), everywhere
            if self.n_clusters > 1 and self.local_weight > 0:
                M = everywhere + self.local_weight * penalty(label_manifold(D[rows]))
            blocks.append((rows, M))
        return blocks


def label_manifold(D: np.ndarray) -> np.ndarray:
    """Z (c x c): column j holds the weights, summing to one, that mix label j from all others."""
    from scipy.linalg import solve

    c = D.shape[1]
    Z = np.zeros((c, c))
    for j in range(c):
        others = np.delete(np.arange(c), j)
        apart = D[:, others] - D[:, [j]]
        gram = apart.T @ apart
        trace = np.trace(gram)
        gram.flat[::c] += _GRAM_RIDGE * trace if trace > 0 else _GRAM_RIDGE
        weights = solve(gram, np.ones(c - 1), assume_a="pos")
        Z[others, j] = weights / weights.sum()
    return Z


def penalty(Z: np.ndarray) -> np.ndarray:
    """M with ||P (I - Z)||^2 = sum of P M P' over rows."""
    rest = np.eye(len(Z)) - Z
    return rest @ rest.T


def cluster_rows(D: np.ndarray, count: int, random_state: int | None) -> np.ndarray:
    """The best of ten runs of k-means; at most as many clusters as there are different rows."""
    count = min(count, len(np.unique(D, axis=0)))
    rng = np.random.default_rng(random_state)
    best, least = np.zeros(len(D), dtype=int), np.inf
    for _ in range(_RESTARTS):
        centres, labels = _k_means(D, count, rng)
        scatter = float(((D - centres[labels]) ** 2).sum())
        if scatter < least:
            best, least = labels, scatter
    return best


def _k_means(D: np.ndarray, count: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Centres and labels; SciPy's steps have no stopping rule of their own."""
    from scipy.cluster.vq import kmeans2

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # an empty cluster stays empty, which does no harm
        centres, labels = kmeans2(D, count, 1, minit="++", rng=rng)
        for _ in range(_LLOYD_ROUNDS):
            before = labels
            centres, labels = kmeans2(D, centres, _LLOYD_STEPS, minit="matrix")
            if np.array_equal(before, labels):
                break
    return centres, labels
