"""LDL-DPA: a softmax model that weighs degrees by their ranks and keeps their variance."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ldl._parameters import NotNegative
from ldl.linear._terms import Term, TermModel


class PercentileTerm(Term):
    """Minus ``weight`` times the mean over labels of rank times predicted degree, over all rows.

    The weight is a number, or one for each row.
    """

    def __init__(self, D: np.ndarray, weight: np.ndarray | float) -> None:
        from scipy.stats import rankdata

        self.pull = weight / D.shape[1] * np.ascontiguousarray(rankdata(D, axis=1).T)

    def of_predictions(self, P: np.ndarray, slopes: np.ndarray) -> float:
        slopes -= self.pull
        return -float(np.vdot(self.pull, P))


class VarianceTerm(Term):
    """``weight`` times the squared differences of true and predicted variances of a row.

    ``rows`` says how often a row counts.
    """

    def __init__(self, D: np.ndarray, weight: float, rows: np.ndarray | float = 1.0) -> None:
        self.weight, self.rows = weight, rows
        self.true = D.var(axis=1)

    def of_predictions(self, P: np.ndarray, slopes: np.ndarray) -> float:
        centred = P - P.mean(axis=0)
        apart = (centred * centred).mean(axis=0) - self.true
        counted = apart * self.rows
        slopes += (4.0 * self.weight / len(P)) * counted * centred
        return self.weight * float(apart @ counted)


@dataclass(eq=False, repr=False)
class LDLDPA(TermModel):
    """Softmax model with the percentile average of its degrees (LDL-DPA).

    With R_ij the rank of the degree D_ij in its row, the lowest 1 and equal ones their mean, P =
    softmax(X W + b) minimises, over c labels::

        -sum_ij D_ij ln P_ij + alpha / 2 ||W||^2 - rank_weight / c sum_ij R_ij P_ij
            + variance_weight sum_i (var(D_i) - var(P_i))^2

    The text of the paper was not at hand: the formula is that of the public toolbox python-ldl,
    with an intercept.

    Parameters
    ----------
    rank_weight : float, default=0.01
        Weight of the ranks, which raise degrees that are high in their row.
    variance_weight : float, default=1.0
        Weight of the variances.

    References
    ----------
    X. Jia, T. Qin, Y. Lu and W. Li, "Adaptive weighted ranking-oriented label distribution
    learning", IEEE Transactions on Neural Networks and Learning Systems, 2023.

    Examples
    --------
    >>> import numpy as np
    >>> from ldl import LDLDPA
    >>> rng = np.random.default_rng(0)
    >>> X, D = rng.normal(size=(60, 4)), rng.dirichlet(np.ones(3), size=60)
    >>> model = LDLDPA(alpha=1.0).fit(X[:40], D[:40])
    >>> model.predict(X[40:]).shape
    (20, 3)
    """

    rank_weight: NotNegative = 0.01
    variance_weight: NotNegative = 1.0

    def _terms(self, D: np.ndarray, weight: np.ndarray | float) -> Sequence[Term]:
        ranks = PercentileTerm(D, self.rank_weight * weight)
        return ranks, VarianceTerm(D, self.variance_weight, weight)
