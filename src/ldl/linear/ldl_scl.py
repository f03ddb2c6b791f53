"""LDL-SCL: a softmax model with a code for each row, which tells how near it is to clusters."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np

from ldl._parameters import Auto, Count, NotNegative, Positive
from ldl._self_tuned import Grid, SelfTuned
from ldl._tempered import AUTO
from ldl._weighted import counted, rooted
from ldl.linear._softmax import softmax_rows
from ldl.linear.ldl_ldm import cluster_rows

_FIRST_CODE = 1e-6
"""Code of a cluster that a row does not belong to."""
_BARRIER_FACTOR = 0.1
_DECAY = (0.9, 0.999)
_SMALLEST_STEP = 1e-8


@dataclass(frozen=True)
class Unknowns:
    """Weights of the features (q, c), weights of the codes (m, c) and codes (n, m), or slopes."""

    weights: np.ndarray
    code_weights: np.ndarray
    codes: np.ndarray

    def arrays(self) -> tuple[np.ndarray, ...]:
        return self.weights, self.code_weights, self.codes


@dataclass(frozen=True)
class CodedObjective:
    """The loss of LDL-SCL and its slopes."""

    X: np.ndarray
    D: np.ndarray
    centres: np.ndarray
    """Mean distribution of each cluster."""
    model: LDLSCL
    weight: np.ndarray | None = None

    def __call__(self, at: Unknowns, barrier: float) -> tuple[float, Unknowns]:
        X, D, p, C, V = self.X, self.D, self.centres, at.codes, at.code_weights
        P = softmax_rows(X @ at.weights + C @ V)
        length = np.einsum("ij,ij->i", P, P)
        apart = np.maximum(length[:, None] - 2.0 * P @ p.T + (p * p).sum(axis=1), 0.0)
        value = (
            _divergence(counted(D, self.weight), D, P)
            + self.model.alpha * float(np.vdot(at.weights, at.weights))
            + self.model.code_alpha * float(np.vdot(V, V))
            + self.model.cluster_weight * float(np.vdot(counted(C, self.weight), apart))
            + barrier * float(counted(1.0 / C, self.weight).sum())
        )
        pull = 2.0 * self.model.cluster_weight * (C.sum(axis=1)[:, None] * P - C @ p)
        slopes = P - D + P * (pull - (pull * P).sum(axis=1, keepdims=True))
        released = self.model.code_slopes == "as_released"
        of_codes = self._released(P, C, V, length) if released else slopes @ V.T
        # Steps of Adam do not depend on the scale of slopes: those of a code need no weight.
        slopes = counted(slopes, self.weight)
        return value, Unknowns(
            X.T @ slopes + 2.0 * self.model.alpha * at.weights,
            C.T @ slopes + 2.0 * self.model.code_alpha * V,
            of_codes + self.model.cluster_weight * apart - barrier / C**2,
        )

    def _released(
        self, P: np.ndarray, C: np.ndarray, V: np.ndarray, length: np.ndarray
    ) -> np.ndarray:
        """Return slopes in which a code moves the distance to its own cluster only."""
        p = self.centres
        mean = P @ V.T
        own = (P * P) @ V.T - P @ (p * V).T - (length[:, None] - P @ p.T) * mean
        return (P - self.D) @ V.T + 2.0 * self.model.cluster_weight * C * own


@dataclass(eq=False, repr=False)
class LDLSCL(SelfTuned):
    """Softmax model with codes of local correlation (LDL-SCL).

    The training distributions are clustered by k-means, for which all rows count alike, into m
    clusters with mean distributions p_k.
    With a code c_i of length m for every row, P = softmax(X W + C V) minimises::

        sum_i KL(D_i || P_i) + alpha ||W||^2 + code_alpha ||V||^2
            + cluster_weight sum_ik C_ik ||P_i - p_k||^2 + barrier sum_ik 1 / C_ik

    over W, V and C by Adam on all rows; the barrier is divided by ten after each iteration. Codes
    of new rows come from a linear regression of the codes on the features.

    Parameters
    ----------
    alpha : float or 'auto', default='auto'
        Penalty on squared weights of the features, lambda 1. ``'auto'`` chooses from 0.01 to 1000
        on held-out rows; the release has 0.001.
    code_alpha : float, default=0.001
        Penalty on squared weights of the codes, lambda 2.
    cluster_weight : float, default=0.001
        Weight of the distances to the clusters, lambda 3.
    n_clusters : int, default=6
        Number of clusters, m; there are never more than different rows of D.
    barrier : float, default=1.0
        Weight of the barrier in the first iteration.
    max_iter : int, default=300
        Largest number of iterations. The release has 100.
    learning_rate : float, default=0.01
        Length of the steps of Adam. The release has 0.001, which leaves the weights near the ones
        from which they start.
    tol : float, default=0.0001
        Change of the loss below which an iteration is the last one; so is one after which the loss
        is higher.
    code_slopes : {'exact', 'as_released'}, default='exact'
        Slopes of the codes: derivatives of the loss, or those of the released code, where a code
        moves the distance to its own cluster only.
    smallest_code : float or None, default=1e-06
        Limit below which no code falls; None, as in the release, lets codes become negative, where
        the barrier rewards them.
    random_state : int or None, default=None
        Seed of k-means.

    Attributes
    ----------
    coef_ : ndarray of shape (n_features_in_, n_labels_)
        The weights W.
    code_coef_ : ndarray of shape (clusters, n_labels_)
        The weights V.
    codes_ : ndarray of shape (rows, clusters)
        Codes C of the training rows.
    centres_ : ndarray of shape (clusters, n_labels_)
        Mean distribution of each cluster.
    regression_ : ndarray of shape (n_features_in_, clusters)
        Weights of the regression of the codes.
    regression_intercept_ : ndarray of shape (clusters,)
        Its intercept.
    n_iter_ : int
        Iterations done.
    loss_ : float
        Loss at the end.
    diagnostics_ : dict
        Iterations, loss, number of clusters, and why it stopped: 'tol', 'rise' or 'max_iter'.

    References
    ----------
    X. Zheng, X. Jia and W. Li, "Label distribution learning by exploiting sample correlations
    locally", AAAI Conference on Artificial Intelligence, 2018.

    Examples
    --------
    >>> import numpy as np
    >>> from ldl import LDLSCL
    >>> generator = np.random.default_rng(0)
    >>> X, D = generator.random((60, 5)), generator.dirichlet(np.ones(3), size=60)
    >>> model = LDLSCL(n_clusters=3, random_state=0).fit(X[:40], D[:40])
    >>> model.predict(X[40:]).shape, model.codes_.shape
    ((20, 3), (40, 3))
    """

    alpha: NotNegative | Auto = AUTO
    code_alpha: NotNegative = 0.001
    cluster_weight: NotNegative = 0.001
    n_clusters: Count = 6
    barrier: NotNegative = 1.0
    max_iter: Count = 300
    learning_rate: Positive = 0.01
    tol: NotNegative = 0.0001
    code_slopes: Literal["exact", "as_released"] = "exact"
    smallest_code: Positive | None = 1e-6
    random_state: int | None = None

    candidates: ClassVar[Grid] = {"alpha": (1.0, 0.01, 10.0, 100.0, 1000.0)}

    def _fit(self, X: np.ndarray, D: np.ndarray) -> None:
        cluster = np.unique(
            cluster_rows(D, self.n_clusters, self.random_state), return_inverse=True
        )[1]
        member, weight = np.eye(cluster.max() + 1)[cluster], self._weight(len(D))
        counts = counted(member, weight)
        self.centres_ = counts.T @ D / counts.sum(axis=0)[:, None]
        m, (_, q), c = member.shape[1], X.shape, D.shape[1]
        objective = CodedObjective(X, D, self.centres_, self, weight)
        start = Unknowns(np.ones((q, c)), np.ones((m, c)), np.where(member > 0, 1.0, _FIRST_CODE))
        found, stopped = self._descend(objective, start)
        self.coef_, self.code_coef_, self.codes_ = found.arrays()
        means = [np.average(array, axis=0, weights=weight) for array in (X, self.codes_)]
        centred = rooted(X - means[0], weight), rooted(self.codes_ - means[1], weight)
        self.regression_ = np.linalg.lstsq(*centred, rcond=None)[0]
        self.regression_intercept_ = means[1] - means[0] @ self.regression_
        self.diagnostics_ = {
            "iterations": self.n_iter_,
            "loss": self.loss_,
            "clusters": m,
            "stopped": stopped,
        }

    def _descend(self, objective: CodedObjective, start: Unknowns) -> tuple[Unknowns, str]:
        """Take steps of Adam; return where they end and why."""
        values = [array.copy() for array in start.arrays()]
        first = [np.zeros_like(value) for value in values]
        second = [np.zeros_like(value) for value in values]
        barrier = self.barrier
        self.loss_, slopes = objective(start, barrier)
        self.n_iter_ = 0
        while self.n_iter_ < self.max_iter:
            self.n_iter_ += 1
            unbiased = [1.0 - decay**self.n_iter_ for decay in _DECAY]
            for value, slope, m, v in zip(values, slopes.arrays(), first, second, strict=True):
                m += (1.0 - _DECAY[0]) * (slope - m)
                v += (1.0 - _DECAY[1]) * (slope**2 - v)
                step = m / unbiased[0] / (np.sqrt(v / unbiased[1]) + _SMALLEST_STEP)
                value -= self.learning_rate * step
            if self.smallest_code is not None:
                np.maximum(values[2], self.smallest_code, out=values[2])
            barrier *= _BARRIER_FACTOR
            before = self.loss_
            self.loss_, slopes = objective(Unknowns(*values), barrier)
            if self.loss_ > before:
                return Unknowns(*values), "rise"
            if before - self.loss_ < self.tol:
                return Unknowns(*values), "tol"
        return Unknowns(*values), "max_iter"

    def _predict(self, X: np.ndarray) -> np.ndarray:
        codes = X @ self.regression_ + self.regression_intercept_
        return softmax_rows(X @ self.coef_ + codes @ self.code_coef_)


def _divergence(counts: np.ndarray, D: np.ndarray, P: np.ndarray) -> float:
    """Return the sum of KL(D || P) over rows as often as each counts; degrees of 0 add nothing."""
    tiny = np.finfo(np.float64).tiny
    ratio = np.where(D > 0, D, 1.0) / np.where(D > 0, np.maximum(P, tiny), 1.0)
    return float(np.vdot(counts, np.log(ratio)))
