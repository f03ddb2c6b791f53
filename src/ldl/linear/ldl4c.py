"""LDL4C: a softmax model made for classification, with entropies as weights and a margin.

Absolute errors, hinges and a change of the runner-up are kinks, as in LDL-HR: the gradient is a
subgradient, and L-BFGS ends where it finds no further descent.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal

import numpy as np

from ldl._parameters import Auto, NotNegative, Positive
from ldl._self_tuned import Grid
from ldl._tempered import AUTO
from ldl.linear._penalised import PenalisedModel
from ldl.linear._softmax import SoftmaxObjective, slopes_of_scores, softmax_columns, with_ones
from ldl.linear.maxent import drawn_weights


class WeightedErrors(SoftmaxObjective):
    """Errors of rows with weights, plus ``margin sum max(0, 1 - (P_t - P_r) / rho)``.

    Here t is the highest label of a row; r is the highest predicted one of the others. The error of
    a row is ``sum_j |P_j - D_j|``, or the divergence of P from D. The model says which, the weights
    of rows, of the margin and of the penalty, and rho.
    """

    def __init__(self, X: Any, D: np.ndarray, model: LDL4C) -> None:
        super().__init__(X, D, model.alpha)
        self.margin, self.rho = model.margin_weight, model.rho
        self.kl = model.error == "kl"
        self.weight = model._weight(len(D))
        self.counts = np.ones(len(D)) if self.weight is None else self.weight
        self.weights = self.counts * (entropies(D) if model.weights == "entropy" else 1.0)
        self.at_top = (D.argmax(axis=1), np.arange(len(D)))
        self.weighted_entropy = float(self.weights @ entropies(D))
        self._slopes = np.empty_like(self.D)
        self._spare = np.empty_like(self.D)

    def loss(self, Z: np.ndarray) -> float:
        slopes = self._slopes
        if self.kl:
            scores = np.multiply(self.D, Z, out=self._spare).sum(axis=0)
            value = float(self.weights @ (softmax_columns(Z) - scores)) - self.weighted_entropy
            slopes[:] = 0.0
        else:
            softmax_columns(Z)
            value = self._add_absolute(Z, slopes)
        if self.margin:
            value += self._add_margin(Z, slopes)
        P, slopes = Z, slopes_of_scores(Z, slopes)
        if self.kl:
            P -= self.D
            P *= self.weights
            P += slopes
        else:
            P[:] = slopes
        return value

    def _add_absolute(self, P: np.ndarray, slopes: np.ndarray) -> float:
        """Return the weighted absolute errors; their slopes replace ``slopes``."""
        apart = np.subtract(P, self.D, out=self._spare)
        np.sign(apart, out=slopes)
        slopes *= self.weights
        return float(np.abs(apart, out=apart).sum(axis=0) @ self.weights)

    def _add_margin(self, P: np.ndarray, slopes: np.ndarray) -> float:
        """Return the hinges; their slopes are added to ``slopes``."""
        others = self._spare
        others[:] = P
        others[self.at_top] = -1.0
        highest = others.max(axis=0)
        lacking = np.maximum(1.0 - (P[self.at_top] - highest) / self.rho, 0.0)
        slope = np.where(lacking > 0, self.margin / self.rho, 0.0) * self.counts
        slopes[self.at_top] -= slope
        # Equally high runners-up share the slope, so that no order of the labels decides.
        equal = others == highest
        slopes += np.multiply(equal, slope / equal.sum(axis=0), out=others)
        return self.margin * self.summed(lacking)


@dataclass(eq=False, repr=False)
class LDL4C(PenalisedModel):
    """Softmax model of label distributions made for classification (LDL4C).

    With t the highest label of a row and r the highest predicted one of the others,
    P = softmax(X W) minimises::

        sum_i E_i sum_j |P_ij - D_ij| + margin_weight sum_i max(0, 1 - (P_it - P_ir) / rho)
            + alpha / 2 ||W||^2

    E_i is the entropy of a row's distribution, in nats: rows whose distribution is more even count
    more. The paper chooses ``margin_weight``, ``alpha`` and ``rho`` in a grid. ``weights='equal'``
    and ``error='kl'`` give the parts that its ablation compares.

    Parameters
    ----------
    margin_weight : float, default=0.1
        Weight of the margin, C1 in the paper.
    alpha : float or 'auto', default='auto'
        Penalty on squared weights, C2 in the paper. The errors are sums over rows. ``'auto'``
        chooses from 0.01 to 100 on held-out rows.
    rho : float, default=0.1
        Margin by which the highest label should exceed all others.
    weights : {'entropy', 'equal'}, default='entropy'
        Weights of the rows' errors: E_i, or 1. The margin has no weights.
    error : {'absolute', 'kl'}, default='absolute'
        Error of a row: the sum of absolute differences, or the divergence KL(D || P).
    max_iter : int, default=100
        Largest number of iterations; the paper's records have 1000.
    random_state : int or None, default=None
        Seed of the first weights, which are drawn from [-0.1, 0.1]: at zeros all degrees are equal,
        and a fit with a heavy margin may not get away from there.
    fit_intercept : bool, default=True
        Adds a feature of ones, under the penalty as well. The paper has none.

    Attributes
    ----------
    coef_ : ndarray of shape (n_features_in_, n_labels_)
        The weights W.
    intercept_ : ndarray of shape (n_labels_,)
        The intercept; zeros without one.

    References
    ----------
    J. Wang and X. Geng, "Classification with label distribution learning", International Joint
    Conference on Artificial Intelligence, 2019.

    Examples
    --------
    >>> import numpy as np
    >>> from ldl import LDL4C
    >>> generator = np.random.default_rng(0)
    >>> X = generator.normal(size=(60, 4))
    >>> D = np.exp(X[:, :3])
    >>> D /= D.sum(axis=1, keepdims=True)
    >>> model = LDL4C(max_iter=50, random_state=0).fit(X[:40], D[:40])
    >>> bool((model.predict(X[40:]).argmax(axis=1) == D[40:].argmax(axis=1)).mean() > 0.8)
    True
    """

    margin_weight: NotNegative = 0.1
    alpha: NotNegative | Auto = AUTO
    rho: Positive = 0.1
    weights: Literal["entropy", "equal"] = "entropy"
    error: Literal["absolute", "kl"] = "absolute"
    max_iter: int = field(default=100, kw_only=True)
    random_state: int | None = field(default=None, kw_only=True)
    fit_intercept: bool = field(default=True, kw_only=True)

    candidates: ClassVar[Grid] = {"alpha": (1.0, 0.01, 10.0, 100.0)}

    def _fit(self, X: Any, D: np.ndarray) -> None:
        self._minimise(WeightedErrors(with_ones(X) if self.fit_intercept else X, D, self))

    def _start(self, features: int, labels: int) -> np.ndarray:
        return drawn_weights((features, labels), self.random_state)


def entropies(D: np.ndarray) -> np.ndarray:
    """Return the entropy of every row in nats; a degree of zero adds nothing."""
    return -(D * np.log(np.where(D > 0, D, 1.0))).sum(axis=1)
