"""Split-conformal sets: balls around predictions that hold the truth as often as promised."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np

from ldl._parameters import Part
from ldl._weighted import weights_for
from ldl.base import LDLEstimator, child_seeds
from ldl.metrics import zero_convention
from ldl.wrappers._base import Wrapper


@dataclass(eq=False, repr=False)
class ConformalBall(Wrapper):
    """Ball around each predicted distribution that holds the true one with a stated probability.

    Some training rows are held out. The estimator learns from the others, and the radius is the
    distance within which the share ``coverage`` of the held-out truths lie, rounded up by one row.
    For rows drawn as the training rows were, a ball then holds the truth with at least this
    probability, whatever the estimator; it says nothing of a single kind of row. Weights of rows
    are heeded by the estimator, while all that are held out count alike.

    Parameters
    ----------
    estimator : LDLEstimator, str or None, default=None
        Estimator whose predictions are the centres, or the dotted path of its class; None for
        ``LogRatioRegression``.
    settings : dict or None, default=None
        Arguments of an estimator that is given by its path.
    coverage : float, default=0.9
        Probability with which a ball holds the truth.
    distance : {'tv', 'kl'}, default='tv'
        Total variation, half the sum of absolute differences, or the Kullback-Leibler divergence of
        the truth from the prediction, with zeros raised as ``ldl.metrics.kl`` does by default.
    held_out : float, default=0.3
        Share of the training rows that are held out.
    random_state : int or None, default=None
        Seed of the hold-out, and of the estimator unless it has one.

    Attributes
    ----------
    estimator_ : LDLEstimator
        The fitted estimator.
    radius_ : float
        Radius of the balls; infinite where too few rows are held out for the coverage.
    scores_ : ndarray of shape (rows held out,)
        Their distances in ascending order.

    References
    ----------
    J. Lei et al., "Distribution-free predictive inference for regression", Journal of the American
    Statistical Association 113(523), 1094-1111, 2018.

    Examples
    --------
    >>> from ldl import ConformalBall
    >>> from ldl.datasets import make_distributions
    >>> X, D = make_distributions(600, 5, 3, random_state=0)
    >>> model = ConformalBall(random_state=0).fit(X[:400], D[:400])
    >>> bool(0.8 < model.covers(X[400:], D[400:]).mean() < 1)
    True
    """

    coverage: Part = field(default=0.9, kw_only=True)
    distance: Literal["tv", "kl"] = field(default="tv", kw_only=True)
    held_out: Part = field(default=0.3, kw_only=True)
    random_state: int | None = field(default=None, kw_only=True)

    def _default_estimator(self) -> LDLEstimator:
        from ldl.compositional.log_ratio import LogRatioRegression

        return LogRatioRegression()

    def _fit(self, X: Any, D: np.ndarray) -> None:
        draw, seed = child_seeds(self.random_state, 2)
        order = np.random.default_rng(draw).permutation(len(D))
        # An estimator needs two rows.
        held = order[: min(max(1, round(self.held_out * len(D))), len(D) - 2)]
        rest = np.sort(order[len(held) :])
        weight, estimator = self._weight(len(D)), self._new_estimator(seed)
        more = weights_for(estimator, None if weight is None else weight[rest])
        self.estimator_ = estimator.fit(X[rest], D[rest], **more)
        predicted = self.estimator_.predict(X[held]) if len(held) else D[held]
        self.scores_ = np.sort(self._distances(D[held], predicted))
        place = int(np.ceil(self.coverage * (len(held) + 1)))
        self.radius_ = float(self.scores_[place - 1]) if place <= len(held) else np.inf

    def _predict(self, X: Any) -> np.ndarray:
        return self.estimator_.predict(X)

    def _distances(self, D: np.ndarray, P: np.ndarray) -> np.ndarray:
        if self.distance == "tv":
            return 0.5 * np.abs(D - P).sum(axis=1)
        return zero_convention("clip64").kl(D, P)

    def covers(self, X: Any, D: Any) -> np.ndarray:
        """Tell which distributions lie in the balls around the predictions.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (rows, features)
            Features.
        D : array-like of shape (rows, labels)
            Label distributions.

        Returns
        -------
        ndarray of bool of shape (rows,)
            Whether each lies in its ball.
        """
        P = np.asarray(self.predict(X))
        return self._distances(np.asarray(D, dtype=np.float64), P) <= self.radius_

    def bounds(self, X: Any) -> tuple[np.ndarray, np.ndarray]:
        """Return the lowest and the highest degree that each label has in the ball.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (rows, features)
            Features.

        Returns
        -------
        lowest, highest : ndarray of shape (rows, labels)
            Exact for total variation. A ball of the divergence lies in that of total variation
            with the radius sqrt(radius / 2), by Pinsker's inequality, whose bounds these are.
        """
        P = np.asarray(self.predict(X))
        reach = self.radius_ if self.distance == "tv" else np.sqrt(self.radius_ / 2)
        return np.maximum(P - reach, 0.0), np.minimum(P + reach, 1.0)
