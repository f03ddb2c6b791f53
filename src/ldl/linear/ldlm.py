"""LDLM: a softmax model with margins around the highest label and between the other degrees."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from ldl._parameters import Auto, NotNegative
from ldl._self_tuned import Grid
from ldl._tempered import AUTO
from ldl.linear._penalised import PenalisedModel
from ldl.linear._softmax import SoftmaxObjective, softmax_columns, with_ones


class MarginObjective(SoftmaxObjective):
    """The three sums of LDLM and its ridge penalty; slopes at kinks are one-sided."""

    def __init__(self, X: Any, D: np.ndarray, model: LDLM) -> None:
        super().__init__(X, D, model.alpha)
        self.rho = model.rho
        self.margin, self.rest = model.margin_weight, model.rest_weight
        self.top = D.argmax(axis=1)
        self.others = self.D.copy()
        self.others[self.top, np.arange(len(D))] = 0.0
        highest = np.sort(self.others, axis=0)
        self.free = highest[-1] - highest[-2]
        """Error of the other degrees that costs nothing: how far the second label is ahead."""
        self._values, self._slopes = np.empty(len(D)), np.empty(D.shape[1])

    def loss(self, Z: np.ndarray) -> float:
        from ldl.linear._margins import hinges

        softmax_columns(Z)
        weights = self.rho, self.margin, self.rest
        hinges(Z, self.others, self.top, self.free, *weights, self._values, self._slopes)
        if self.weight is not None:
            Z *= self.weight
        return self.summed(self._values)


@dataclass(eq=False, repr=False)
class LDLM(PenalisedModel):
    """Softmax model with large margins, for the highest label (LDLM).

    The label distribution learning machine. With t the highest label of a row, T one at t and zero
    elsewhere, and m_i how far the second highest degree is above the third, P = softmax(X W + b)
    minimises::

        sum_i max(0, sum_j |P_ij - T_ij| - rho)
            + margin_weight sum_i sum_{j != t} max(0, rho - (P_it - P_ij))
            + rest_weight sum_i max(0, sum_{j != t} |P_ij - D_ij| - m_i)
            + alpha / 2 (||W||^2 + ||b||^2)

    It is the loss of the authors' release, which has raw features and an ``alpha`` of 0.001. It is
    made to find the highest label; the degrees are better learned by other methods.

    Parameters
    ----------
    alpha : float or 'auto', default='auto'
        Penalty on squared weights, the release's l1. ``'auto'`` chooses from 0.1 to 100 on held-out
        rows.
    margin_weight : float, default=0.1
        Weight of the margins below the highest label, the release's l2.
    rest_weight : float, default=0.1
        Weight of the other degrees, the release's l3.
    rho : float, default=0.01
        Margin by which the highest label should exceed all others, and error of it that costs
        nothing.

    Attributes
    ----------
    coef_ : ndarray of shape (n_features_in_, n_labels_)
        The weights W.
    intercept_ : ndarray of shape (n_labels_,)
        The intercept b.

    References
    ----------
    J. Wang and X. Geng, "Label distribution learning machine", International Conference on Machine
    Learning, 2021.

    Examples
    --------
    >>> import numpy as np
    >>> from ldl import LDLM
    >>> rng = np.random.default_rng(0)
    >>> X, D = rng.normal(size=(60, 4)), rng.dirichlet(np.ones(3), size=60)
    >>> model = LDLM(alpha=1.0).fit(X[:40], D[:40])
    >>> model.predict(X[40:]).shape
    (20, 3)
    """

    alpha: NotNegative | Auto = AUTO
    margin_weight: NotNegative = 0.1
    rest_weight: NotNegative = 0.1
    rho: NotNegative = 0.01

    candidates: ClassVar[Grid] = {"alpha": (1.0, 0.1, 10.0, 100.0)}

    def _fit(self, X: Any, D: np.ndarray) -> None:
        objective = MarginObjective(with_ones(X), D, self)
        objective.weight = self._weight(len(D))
        self._minimise(objective)
