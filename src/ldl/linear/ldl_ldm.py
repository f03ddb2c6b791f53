"""LDL-LDM: a softmax model that keeps to the manifolds of the labels, of all rows and of clusters.

A manifold says how each label is an affine mixture of all others: P (I - Z) is small if the
predicted degrees mix in the same way.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, ClassVar

import numpy as np

from ldl._parameters import Auto, Count, NotNegative
from ldl._self_tuned import Grid
from ldl._tempered import AUTO
from ldl._weighted import counted, rooted
from ldl.linear._penalised import PenalisedModel
from ldl.linear._softmax import (
    SoftmaxObjective,
    slopes_of_scores,
    softmax_columns,
    with_ones,
)

_GRAM_RIDGE = 1e-3
_RESTARTS = 10
_LLOYD_STEPS, _LLOYD_ROUNDS = 10, 30


class ManifoldObjective(SoftmaxObjective):
    """Cross entropy plus, for each block of rows, the sum of P_i M_g P_i' over its rows i."""

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
        value = self.summed(softmax_columns(Z)) - fit
        P = Z
        slopes = np.zeros_like(P)
        for rows, M in self.blocks:
            slopes[:, rows] = 2.0 * (M @ P[:, rows])
        value += 0.5 * np.vdot(self.counted(P), slopes)
        slopes = slopes_of_scores(P, slopes)
        if self.weight is not None:
            Z *= self.weight
        Z -= self.D
        Z += self.counted(slopes)
        return float(value)


@dataclass(eq=False, repr=False)
class LDLLDM(PenalisedModel):
    """Softmax model drawn to the label manifolds of all rows and of clusters (LDL-LDM).

    Column j of Z holds the weights, summing to one, that mix label j from all other labels. The
    model P = softmax(X W + b) minimises::

        -sum_ij D_ij ln P_ij + global_weight ||P (I - Z)||^2
            + local_weight sum_g ||P_g (I - Z_g)||^2 + alpha / 2 (||W||^2 + ||b||^2)

    where Z is learned from all rows of D and Z_g from those of cluster g; the clusters are k-means
    of the label distributions, for which all rows count alike. The authors' release has raw
    features and an ``alpha`` of 0.001.

    Parameters
    ----------
    alpha : float or 'auto', default='auto'
        Penalty on squared weights, the release's l1. ``'auto'`` chooses from 0.1 to 100 on held-out
        rows.
    global_weight : float or 'auto', default='auto'
        Weight of the manifold of all rows, the release's l2. ``'auto'`` chooses 0.01 or 1 on
        held-out rows.
    local_weight : float or 'auto', default='auto'
        Weight of the clusters' manifolds, the release's l3. ``'auto'`` chooses 0.01 or 1.
    n_clusters : int, default=10
        Largest number of clusters; there are never more than different rows of D. With 1 the local
        term is off.
    random_state : int or None, default=None
        Seed of k-means.

    Attributes
    ----------
    coef_ : ndarray of shape (n_features_in_, n_labels_)
        The weights W.
    intercept_ : ndarray of shape (n_labels_,)
        The intercept b.
    diagnostics_ : dict
        Iterations, evaluations of the loss, the loss, the largest slope, why it stopped, and the
        number of clusters.

    References
    ----------
    J. Wang and X. Geng, "Label distribution learning by exploiting label distribution manifold",
    IEEE Transactions on Neural Networks and Learning Systems 34(2), 839-852, 2023.

    Examples
    --------
    >>> import numpy as np
    >>> from ldl import LDLLDM
    >>> rng = np.random.default_rng(0)
    >>> X, D = rng.random((60, 4)), rng.dirichlet(np.ones(3), size=60)
    >>> model = LDLLDM(alpha=1.0, n_clusters=3, random_state=0).fit(X[:40], D[:40])
    >>> model.predict(X[40:]).shape, model.diagnostics_["clusters"]
    ((20, 3), 3)
    """

    alpha: NotNegative | Auto = AUTO
    global_weight: NotNegative | Auto = AUTO
    local_weight: NotNegative | Auto = AUTO
    n_clusters: Count = 10
    random_state: int | None = None

    candidates: ClassVar[Grid] = {
        "alpha": (1.0, 0.1, 10.0, 100.0),
        "global_weight": (0.01, 1.0),
        "local_weight": (0.01, 1.0),
    }

    def _fit(self, X: Any, D: np.ndarray) -> None:
        cluster = np.zeros(len(D), dtype=int)
        if self.n_clusters > 1 and self.local_weight > 0:
            cluster = cluster_rows(D, self.n_clusters, self.random_state)
        # Rows of a cluster stand together, so that its block is a view and not a copy.
        order = np.argsort(cluster, kind="stable")
        X, D, cluster = with_ones(X)[order], D[order], cluster[order]
        weight = self._weight(len(D))
        weight = None if weight is None else weight[order]
        blocks = self._blocks(rooted(D, weight), cluster)
        objective = ManifoldObjective(X, counted(D, weight), blocks, self.alpha)
        objective.weight = weight
        self._minimise(objective)
        self.diagnostics_["clusters"] = len(objective.blocks)

    def _start(self, features: int, labels: int) -> np.ndarray:
        return np.eye(features, labels)

    def _blocks(self, D: np.ndarray, cluster: np.ndarray) -> list[tuple[slice, np.ndarray]]:
        """Return the rows of each cluster, and one matrix that holds all penalties on them."""
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
    """Return Z (c x c): column j mixes label j from all others, with weights that sum to one."""
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
    """Return M such that ||P (I - Z)||^2 is the sum of P_i M P_i' over rows i."""
    rest = np.eye(len(Z)) - Z
    return rest @ rest.T


def cluster_rows(D: np.ndarray, count: int, random_state: int | None) -> np.ndarray:
    """Number the cluster of each row by the best of ten runs of k-means.

    There are never more clusters than different rows.
    """
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
    """Return centres and labels of one run; SciPy's steps have no stopping rule of their own."""
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
