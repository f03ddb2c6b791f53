"""TLRLDL: a linear model beside an auxiliary one of logical labels, which has low rank."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from ldl._parameters import Auto, Count, Factor, NotNegative, Positive
from ldl._self_tuned import Grid
from ldl._tempered import AUTO
from ldl._weighted import rooted
from ldl.linear._projected import ProjectedModel
from ldl.linear.ldl_lclr import with_smaller_values

_GROWTH = 1.1
"""Factor of ``rho`` from round to round."""


@dataclass(eq=False, repr=False)
class TLRLDL(ProjectedModel):
    """Linear model with a low-rank auxiliary task, by a threshold (TLRLDL).

    The logical labels L of a row are its highest ones, as many as it takes to add up to
    ``threshold``. A matrix O mixes the outputs X W of all rows, so that they resemble L and have
    low rank::

        1/2 ||X W - D||^2 + 1/2 ||O' X W - L||^2 + rank_weight ||O' X W||_*
            + alpha (||W||^2 + ||O||^2)

    where ||.||_* is the sum of singular values. Rounds of ADMM with a growing penalty minimise
    over W, O and the low-rank part in turn, each in closed form. O starts as the identity; as a
    product of narrow matrices it is never written out. New rows get X W, projected onto the
    simplex.

    Of the paper only abstract and introduction were at hand: the steps are those of the public
    toolbox python-ldl, whose O starts with random numbers. A penalty as small as its 0.001 does not
    suit standardised features.

    Parameters
    ----------
    rank_weight : float, default=0.001
        Weight of the singular values.
    alpha : float or 'auto', default='auto'
        Penalty on the squares of W and O. ``'auto'`` chooses from 1 to 1000 on held-out rows.
    threshold : float, default=0.5
        Sum of degrees that the logical labels of a row reach.
    rho : float, default=0.001
        First penalty of ADMM on what the constraint misses; it grows by a tenth in each round.
    max_iter : int, default=50
        Largest number of rounds.
    tol : float, default=1e-4
        Largest change of the weights at which the rounds end.

    Attributes
    ----------
    n_iter_ : int
        Rounds done.

    References
    ----------
    Z. Kou, J. Wang, Y. Jia and X. Geng, "Exploiting multi-label correlation in label distribution
    learning", International Joint Conference on Artificial Intelligence, 2024.

    Examples
    --------
    >>> import numpy as np
    >>> from ldl import TLRLDL
    >>> rng = np.random.default_rng(0)
    >>> X, D = rng.normal(size=(60, 4)), rng.dirichlet(np.ones(3), size=60)
    >>> model = TLRLDL(alpha=1.0).fit(X[:40], D[:40])
    >>> model.predict(X[40:]).shape
    (20, 3)
    """

    rank_weight: NotNegative = 0.001
    alpha: Positive | Auto = AUTO
    threshold: Factor = 0.5
    rho: Positive = 0.001
    max_iter: Count = 50
    tol: NotNegative = 1e-4

    candidates: ClassVar[Grid] = {"alpha": (10.0, 1.0, 100.0, 1000.0)}

    def _fit(self, X: np.ndarray, D: np.ndarray) -> None:
        logical = logical_labels(D, self.threshold)
        weight = self._weight(len(D))
        mean = np.average(logical, axis=0, weights=weight) * self.fit_intercept
        self._logical = rooted(logical - mean, weight)
        super()._fit(X, D)
        del self._logical

    def _weights(self, X: np.ndarray, D: np.ndarray) -> np.ndarray:
        from scipy.linalg import cho_factor, cho_solve

        c, L = D.shape[1], self._logical
        gram, pull, even = X.T @ X, X.T @ D, 2.0 * self.alpha * np.eye(X.shape[1])
        own = cho_factor(gram + even)
        alone = cho_solve(own, pull, check_finite=False)
        rho, target = self.rho, L + self.rho * L
        multiplier, before = np.zeros_like(L), np.zeros_like(pull)
        # While O is the identity, logical labels are degrees once more.
        W = np.linalg.solve((2.0 + rho) * gram + even, pull + X.T @ target)
        self.n_iter_ = 1
        while True:
            # Neither O, outputs times K times target', nor outputs are needed by themselves.
            products = W.T @ gram @ W
            K = np.linalg.inv((1.0 + rho) * products + 2.0 * self.alpha * np.eye(c))
            auxiliary = target @ (K @ products)
            low_rank = with_smaller_values(auxiliary + multiplier / rho, self.rank_weight / rho)
            multiplier += rho * (auxiliary - low_rank)
            change = float(np.abs(W - before).max())
            if self.n_iter_ == self.max_iter or change <= self.tol:
                return W
            self.n_iter_ += 1
            rho *= _GROWTH
            # By Woodbury's identity: the part of O has the rank of the labels.
            mixed, mixing = gram @ W @ K, (1.0 + rho) * target.T @ target
            before, last, target = W, target, L + rho * low_rank - multiplier
            solved = cho_solve(own, mixed, check_finite=False)
            whole = alone + solved @ (last.T @ target)
            inner = np.eye(c) + mixed.T @ solved @ mixing
            W = whole - solved @ mixing @ np.linalg.solve(inner, mixed.T @ whole)


def logical_labels(D: np.ndarray, threshold: float) -> np.ndarray:
    """Return one for the highest labels of each row, until their degrees add up to a threshold."""
    order = np.argsort(-D, axis=1, kind="stable")
    ordered = np.take_along_axis(D, order, axis=1)
    before = np.cumsum(ordered, axis=1) - ordered
    L = np.zeros_like(D)
    np.put_along_axis(L, order, 1.0 * (before < threshold - 1e-12), axis=1)
    return L
