"""LDL-LRR: a softmax model that keeps the order of the labels of every row."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, ClassVar

import numpy as np

from ldl._parameters import Auto, Interval, NotNegative
from ldl._self_tuned import Grid
from ldl._tempered import AUTO
from ldl.linear._terms import Term, TermModel


class RankingTerm(Term):
    """Logistic loss of all pairs of labels, weighted by the squared distance of their degrees.

    For degrees ``d_j > d_k`` it is ``weight (d_j - d_k)^2 ln(1 + exp(-sharpness (p_j - p_k)))``.
    The weight is a number, or one for each row.
    """

    def __init__(self, D: np.ndarray, weight: np.ndarray | float, sharpness: float) -> None:
        self.degrees, self.sharpness = np.ascontiguousarray(D.T), sharpness
        self.weight = np.ascontiguousarray(np.broadcast_to(weight, len(D)), dtype=np.float64)

    def of_predictions(self, P: np.ndarray, slopes: np.ndarray) -> float:
        from ldl.linear._pairs import pairs_of_label

        # The exponential of a difference is a quotient; so exponentials are one for each degree.
        behind = np.exp(self.sharpness * (0.5 - P))
        value = 0.0
        for j in range(len(P) - 1):
            odds, weights = np.empty((2, len(P) - j - 1, P.shape[1]))
            pairs_of_label(
                j, behind, self.degrees, self.weight, self.sharpness, slopes, odds, weights
            )
            value += float(np.vdot(weights, np.log(odds)))
        return value


@dataclass(eq=False, repr=False)
class LDLLRR(TermModel):
    """Softmax model that maintains the ranking of the labels (LDL-LRR).

    P = softmax(X W + b) minimises, over n rows::

        -sum_ij D_ij ln P_ij + alpha / 2 ||W||^2
            + rank_weight / n sum_i sum_{jk: D_ij > D_ik} (D_ij - D_ik)^2
                ln(1 + exp(-sharpness (P_ij - P_ik)))

    It is the loss of the authors' release, which adds up both orders of a pair and divides by 2 n.
    The release penalises the intercept as well, stretches features to [0, 1] and has an ``alpha``
    of 1. Without a sharpness, differences of degrees are too small to tell orders apart.

    Parameters
    ----------
    rank_weight : float or 'auto', default='auto'
        Weight of the order, the release's lam of 0.001. It is divided by the number of rows, where
        the cross entropy is a sum. ``'auto'`` chooses 1 or 100 on held-out rows.
    sharpness : float, default=100.0
        Factor of the differences between predicted degrees, at most 700.

    References
    ----------
    X. Jia, X. Shen, W. Li, Y. Lu and J. Zhu, "Label distribution learning by maintaining label
    ranking relation", IEEE Transactions on Knowledge and Data Engineering 35(2), 1695-1707, 2023.

    Examples
    --------
    >>> import numpy as np
    >>> from ldl import LDLLRR
    >>> rng = np.random.default_rng(0)
    >>> X, D = rng.normal(size=(60, 4)), rng.dirichlet(np.ones(3), size=60)
    >>> model = LDLLRR(rank_weight=10.0, alpha=1.0).fit(X[:40], D[:40])
    >>> model.predict(X[40:]).shape
    (20, 3)
    """

    rank_weight: NotNegative | Auto = AUTO
    sharpness: Annotated[float, Interval(0, 700, open_low=True)] = 100.0

    candidates: ClassVar[Grid] = {**TermModel.candidates, "rank_weight": (1.0, 100.0)}

    def _terms(self, D: np.ndarray, weight: np.ndarray | float) -> Sequence[Term]:
        rows = len(D) if np.isscalar(weight) else np.sum(weight)
        return (RankingTerm(D, self.rank_weight / rows * weight, self.sharpness),)
