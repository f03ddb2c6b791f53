"""LDLLC: a softmax model that draws the weights of correlated labels together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ldl._parameters import NotNegative
from ldl.linear._terms import Term, TermModel

_SMOOTH = 1e-7
"""Added to squared distances, whose root has no slope at zero."""


class DistanceTerm(Term):
    """``weight`` times the sum over pairs of labels of sign times distance of their weights.

    The signs are those of the correlations of weights that were settled last, none at first.
    """

    def __init__(self, weight: float, labels: int) -> None:
        self.weight = weight
        self.signs = np.zeros((labels, labels))

    def of_weights(self, W: np.ndarray, slopes: np.ndarray) -> float:
        lengths = (W * W).sum(axis=1)
        squares = np.maximum(lengths[:, None] + lengths - 2.0 * W @ W.T, 0.0)
        distances = np.sqrt(squares + _SMOOTH)
        pull = self.signs / distances
        slopes += self.weight * (pull.sum(axis=1)[:, None] * W - pull @ W)
        return 0.5 * self.weight * float(np.vdot(self.signs, distances))

    def settle(self, W: np.ndarray) -> bool:
        before = self.signs
        centred = W - W.mean(axis=1, keepdims=True)
        self.signs = np.sign(centred @ centred.T)
        np.fill_diagonal(self.signs, 0.0)
        return self.weight > 0 and not np.array_equal(before, self.signs)


@dataclass(eq=False, repr=False)
class LDLLC(TermModel):
    """Softmax model that exploits correlations of labels (LDLLC).

    P = softmax(X W + b) minimises, with w_j the weights of label j and rho their Pearson
    correlation::

        -sum_ij D_ij ln P_ij + alpha / 2 ||W||^2
            + correlation_weight sum_{j<k} sgn(rho(w_j, w_k)) ||w_j - w_k||

    Correlated labels are drawn together and labels that exclude one another apart. The loss jumps
    where a correlation changes its sign. So signs are those of the fit before, the first one
    without the term, until they stay or ten fits are done. The text of the paper was not at hand:
    the formula is that of the public toolbox python-ldl, with an intercept.

    Parameters
    ----------
    correlation_weight : float, default=0.1
        Weight of the distances.

    References
    ----------
    X. Jia, W. Li, J. Liu and Y. Zhang, "Label distribution learning by exploiting label
    correlations", AAAI Conference on Artificial Intelligence, 2018.

    Examples
    --------
    >>> import numpy as np
    >>> from ldl import LDLLC
    >>> rng = np.random.default_rng(0)
    >>> X, D = rng.normal(size=(60, 4)), rng.dirichlet(np.ones(3), size=60)
    >>> model = LDLLC(alpha=1.0).fit(X[:40], D[:40])
    >>> model.predict(X[40:]).shape
    (20, 3)
    """

    correlation_weight: NotNegative = 0.1

    def _terms(self, D: np.ndarray, weight: np.ndarray | float) -> Sequence[Term]:
        return (DistanceTerm(self.correlation_weight, D.shape[1]),)
