"""EDL-LRL: a softmax model whose predictions have a low rank in each cluster of rows.

The sum of singular values has kinks, so each cluster's predictions get a copy that takes the rank,
and multipliers draw both together: the alternating direction method of multipliers.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Annotated, Any, ClassVar, Literal

import numpy as np

from ldl._parameters import Auto, Count, Interval, NotNegative, Positive
from ldl._self_tuned import Grid
from ldl._tempered import AUTO
from ldl.base import dense
from ldl.linear._bfgs import minimise_lbfgs
from ldl.linear._softmax import SoftmaxObjective, slopes_of_scores, softmax_columns, with_ones
from ldl.linear.ldl_ldm import cluster_rows
from ldl.linear.maxent import MaximumEntropy

_GRADIENT_TOLERANCE = 1e-3
_LOSS_TOLERANCE = 2.22e-9


class LowRankCopies(SoftmaxObjective):
    """The loss of the weights while the copies C and the multipliers M stand still.

    It is ``1/2 ||P - D||^2 + <M, P - C> + rho / 2 ||P - C||^2 + l2 / 2 ||W||^2``. Rows of a cluster
    stand together, in one of ``blocks``. In the released form the slope of a score leaves out
    what it moves in the degrees of the other labels.
    """

    def __init__(
        self,
        X: Any,
        D: np.ndarray,
        blocks: list[slice],
        model: EDLLRL,
        weight: np.ndarray | None = None,
    ) -> None:
        super().__init__(X, D, 2.0 * model.alpha)
        self.blocks, self.rho = blocks, model.rho
        self.diagonal = model.form == "released"
        self.weight = weight
        self.roots = 1.0 if weight is None else np.sqrt(weight)
        self.copies = np.zeros_like(self.D)
        self.multipliers = np.zeros_like(self.D)

    def loss(self, Z: np.ndarray) -> float:
        softmax_columns(Z)
        P = Z
        errors, apart = P - self.D, P - self.copies
        value = 0.5 * np.vdot(self.counted(errors), errors)
        value += np.vdot(self.counted(self.multipliers), apart)
        value += 0.5 * self.rho * np.vdot(self.counted(apart), apart)
        apart *= self.rho
        slopes = self.counted(errors + self.multipliers + apart)
        Z[:] = slopes * P * (1.0 - P) if self.diagonal else slopes_of_scores(P, slopes)
        return float(value)

    def predictions(self, flat: np.ndarray) -> np.ndarray:
        """Return the distributions of all rows, label by row."""
        labels = len(self.D)
        self._weights[:labels] = flat.reshape(labels, -1)
        self._multiply_weights()
        P = self._products[:labels].copy()
        softmax_columns(P)
        return P

    def move_copies(self, P: np.ndarray, low_rank: float, shrink: bool) -> float:
        """Lower the ranks of the copies, then move the multipliers.

        Singular values up to ``low_rank / rho`` become zero. With ``shrink`` the others lose as
        much, which minimises over the copies. Returns the sum of the copies' singular values.
        """
        limit = low_rank / self.rho
        wanted = (P + self.multipliers / self.rho) * self.roots
        total = 0.0
        for rows in self.blocks:
            U, s, V = np.linalg.svd(wanted[:, rows], full_matrices=False)
            s = np.where(s > limit, s - limit if shrink else s, 0.0)
            self.copies[:, rows] = (U * s) @ V
            total += float(s.sum())
        self.copies /= self.roots
        self.multipliers += self.rho * (P - self.copies)
        return total


@dataclass(eq=False, repr=False)
class EDLLRL(MaximumEntropy):
    """Softmax model with local low-rank label correlations (EDL-LRL).

    Rows are clustered by k-means of their features, for which all count alike. With P_g the
    predictions of cluster g, P = softmax(X W) minimises::

        1/2 ||P - D||^2 + alpha ||W||^2 + low_rank sum_g ||P_g||_*

    where the last norm is the sum of singular values. A round takes some steps of L-BFGS, then
    moves copies of the P_g and their multipliers. The weights are those of the released code, which
    differs in three ways. The slope of a score leaves out the degrees of the other labels, and
    singular values above the limit ``low_rank / rho`` stay as they are; ``form='released'`` does
    so. And its ``rho`` of a millionth puts that limit above every singular value for most rounds,
    so that the low rank hardly matters.

    Parameters
    ----------
    alpha : float or 'auto', default='auto'
        Penalty on squared weights, lambda 1. ``'auto'`` chooses from 0.001 to 1 on held-out rows;
        the release has 0.001.
    low_rank : float, default=0.01
        Weight of the singular values, lambda 2.
    n_clusters : int, default=5
        Number of clusters; there are never more than different rows of X.
    rho : float, default=1.0
        Weight of the distance between predictions and copies in the first round.
    growth : float, default=1.1
        Factor by which ``rho`` grows after each round, up to a million.
    steps : int, default=10
        Largest number of iterations of L-BFGS in a round.
    form : {'exact', 'released'}, default='exact'
        Slopes and singular values of the loss above, or of the released code.
    max_iter : int, default=50
        Largest number of rounds.
    tol : float, default=1e-8
        Decrease of the loss below which a round is the last one; so is one after which the loss is
        higher.
    random_state : int or None, default=None
        Seed of k-means and of the first weights, which are drawn from [0, 1).
    fit_intercept : bool, default=True
        Adds a feature of ones, under the penalty as well. The release has none.

    Attributes
    ----------
    coef_ : ndarray of shape (n_features_in_, n_labels_)
        The weights W.
    intercept_ : ndarray of shape (n_labels_,)
        The intercept; zeros without one.
    n_iter_ : int
        Rounds done.
    loss_ : float
        Loss at the end.
    diagnostics_ : dict
        Rounds, evaluations of the loss, the loss, the largest slope, why it stopped ('tol', 'rise'
        or 'max_iter'), the number of clusters, and the sum of the clusters' ranks.

    References
    ----------
    X. Jia, X. Zheng, W. Li, C. Zhang and Z. Li, "Facial emotion distribution learning by exploiting
    low-rank label correlations locally", IEEE Conference on Computer Vision and Pattern
    Recognition, 9841-9850, 2019.

    Examples
    --------
    >>> import numpy as np
    >>> from ldl import EDLLRL
    >>> generator = np.random.default_rng(0)
    >>> X, D = generator.random((60, 5)), generator.dirichlet(np.ones(3), size=60)
    >>> model = EDLLRL(n_clusters=3, random_state=0).fit(X[:40], D[:40])
    >>> model.predict(X[40:]).shape, model.diagnostics_["clusters"]
    ((20, 3), 3)
    """

    alpha: NotNegative | Auto = AUTO
    low_rank: NotNegative = 0.01
    n_clusters: Count = 5
    rho: Positive = 1.0
    growth: Annotated[float, Interval(1)] = 1.1
    steps: Count = 10
    form: Literal["exact", "released"] = "exact"
    max_iter: int = 50
    tol: float = 1e-8
    random_state: int | None = field(default=None, kw_only=True)
    fit_intercept: bool = field(default=True, kw_only=True)

    candidates: ClassVar[Grid] = {"alpha": (0.1, 0.001, 0.01, 1.0)}

    def _fit(self, X: Any, D: np.ndarray) -> None:
        features = dense(X)
        cluster = cluster_rows(features, self.n_clusters, self.random_state)
        # Rows of a cluster stand together, so that its block is a view and not a copy.
        order = np.argsort(cluster, kind="stable")
        bounds = np.flatnonzero(np.diff(cluster[order], prepend=-1, append=len(D)))
        blocks = [slice(*ends) for ends in pairwise(bounds.tolist())]
        X = with_ones(X) if self.fit_intercept else X
        weight = self._weight(len(D))
        weight = None if weight is None else weight[order]
        self._alternate(LowRankCopies(X[order], D[order], blocks, self, weight))

    def _alternate(self, objective: LowRankCopies) -> None:
        generator = np.random.default_rng(self.random_state)
        weights = generator.random((objective.X.shape[1], len(objective.D))).T.ravel()
        loss = self._loss(objective, weights, objective.predictions(weights), 0.0)
        rounds, evaluations, stopped = 0, 0, "max_iter"
        while rounds < self.max_iter:
            rounds += 1
            found = minimise_lbfgs(
                objective, weights, self.steps, _GRADIENT_TOLERANCE, _LOSS_TOLERANCE
            )
            weights = found.x
            evaluations += found.evaluations
            P = objective.predictions(weights)
            singular = objective.move_copies(P, self.low_rank, shrink=self.form == "exact")
            before, loss = loss, self._loss(objective, weights, P, singular)
            if loss > before or before - loss < self.tol:
                stopped = "rise" if loss > before else "tol"
                break
            objective.rho = min(objective.rho * self.growth, 1e6)
        self._keep(
            replace(found, value=loss, iterations=rounds, evaluations=evaluations, stopped=stopped)
        )
        self.diagnostics_["clusters"] = len(objective.blocks)
        self.diagnostics_["ranks"] = sum(
            int(np.linalg.matrix_rank(objective.copies[:, rows])) for rows in objective.blocks
        )

    def _loss(
        self, objective: LowRankCopies, weights: np.ndarray, P: np.ndarray, singular: float
    ) -> float:
        errors = P - objective.D
        squares = 0.5 * np.vdot(objective.counted(errors), errors)
        squares += self.alpha * np.vdot(weights, weights)
        return float(squares) + self.low_rank * singular
