"""LDL-HR: a softmax model that learns the highest label, a margin below it, and the other degrees.

Absolute errors and hinges have kinks, so the gradient is a subgradient and L-BFGS ends where it
finds no further descent.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal

import numpy as np

from ldl._parameters import Auto, Count, NotNegative
from ldl._scale import Scale
from ldl._self_tuned import Grid
from ldl._tempered import AUTO
from ldl.linear._bfgs import Patience
from ldl.linear._penalised import PenalisedModel
from ldl.linear._softmax import SoftmaxObjective, softmax_columns, standardised, with_ones


class HighestAndRest(SoftmaxObjective):
    """The loss ``sum |P - T| + rest sum |P - R| + margin sum max(0, rho - (P_t - P_j))``.

    Here t is the highest label of a row. T is one at t and zero elsewhere, R (``others``) is D with
    zero at t; the last sum runs over the labels j other than t. In the released form
    the second sum includes t; in the printed one margin is the weight divided by rho.
    """

    def __init__(self, X: Any, D: np.ndarray, model: LDLHR) -> None:
        super().__init__(X, D, model.alpha)
        self.rest, self.rho = model.rest_weight, model.rho
        self.top_rests = model.form == "released"
        self.margin = model.margin_weight / (1.0 if self.top_rests else model.rho)
        self.at_top = (D.argmax(axis=1), np.arange(len(D)))
        self.others = self.D.copy()
        self.others[self.at_top] = 0.0
        self._slopes = np.empty_like(self.D)
        self._spare = np.empty_like(self.D)

    def loss(self, Z: np.ndarray) -> float:
        softmax_columns(Z)
        P, slopes = Z, self._slopes
        highest = P[self.at_top]
        # The errors of the other labels sum to 1 - P_top, so the first term is 2 (1 - P_top).
        value = 2.0 * self.summed(1.0 - highest)
        slopes[:] = 0.0
        if self.rest:
            value += self._add_rest(P, slopes)
        if self.margin:
            value += self._add_margin(P, highest, slopes)
        slopes[self.at_top] -= 2.0
        slopes *= P
        P *= slopes.sum(axis=0)
        np.subtract(slopes, P, out=Z)
        if self.weight is not None:
            Z *= self.weight
        return value

    # Both terms are part of every evaluation and work in a buffer: new arrays, and picking by
    # conditions, made up half of its time where labels are many.

    def _add_rest(self, P: np.ndarray, slopes: np.ndarray) -> float:
        """Return the errors of the other degrees; their slopes replace ``slopes``."""
        apart = np.subtract(P, self.others, out=self._spare)
        if not self.top_rests:
            apart[self.at_top] = 0.0
        np.sign(apart, out=slopes)
        slopes *= self.rest
        return self.rest * self.summed(np.abs(apart, out=apart))

    def _add_margin(self, P: np.ndarray, highest: np.ndarray, slopes: np.ndarray) -> float:
        """Return the hinges; their slopes are added to ``slopes``."""
        lacking = np.add(P, self.rho - highest, out=self._spare)
        lacking[self.at_top] = 0.0
        violated = lacking > 0
        value = self.margin * self.summed(np.maximum(lacking, 0.0, out=lacking))
        slopes += np.multiply(violated, self.margin, out=lacking)
        slopes[self.at_top] -= self.margin * violated.sum(axis=0)
        return value


@dataclass(eq=False, repr=False)
class LDLHR(PenalisedModel):
    """Softmax model that learns the highest label and the degrees of the rest (LDL-HR).

    With t the highest label of a row, P = softmax(X W + b) minimises::

        sum_ij |P_ij - T_ij| + rest_weight sum_ij |P_ij - R_ij|
            + margin_weight sum_i sum_{j != t} max(0, rho - (P_it - P_ij))
            + alpha / 2 (||W||^2 + ||b||^2)

    where T is one at t and zero elsewhere, and R is D with zero at t. The loss is that of the
    authors' release. The paper divides the last sum by rho and leaves t out of the second
    (``form='printed'``), and has other weights. The release has raw features and other weights as
    well: ``LDLHR(alpha=1e-4, margin_weight=1e4, max_iter=1000, standardise=False,
    mean_share=None)``.

    Parameters
    ----------
    alpha : float or 'auto', default='auto'
        Penalty on squared weights, the release's l1 of 0.0001. ``'auto'`` chooses from 10 to 1000
        on held-out rows, which suits standardised features.
    margin_weight : float, default=1.0
        Weight of the margin, the release's l2 of 10000. It keeps the highest label above the
        others; the larger, the further predictions move away from the other degrees.
    rest_weight : float, default=1.0
        Weight of the other labels' degrees, the release's l3.
    rho : float, default=0.01
        Margin by which the highest label should exceed all others.
    pairs : int, default=10
        Steps that L-BFGS remembers. More of them, such as 50, lead further down where the loss has
        kinks.
    n_iter_no_change : int or None, default=None
        Number of iterations that together must lower the loss by the share ``min_gain``; otherwise
        the fit ends. With None it never ends this way.
    min_gain : float, default=0.01
        Share of the loss that ``n_iter_no_change`` asks for.
    form : {'released', 'printed'}, default='released'
        Loss of the release, or that of the paper, whose margin term is
        ``max(0, 1 - (P_it - P_ij) / rho)`` and whose second sum runs over j other than t.
    max_iter : int, default=50
        Largest number of iterations; the release has 1000.
    tol : float, default=2.22e-9
        Relative decrease of the loss below which an iteration is the last one. Larger values may
        end the fit on a plateau.
    standardise : bool, default=True
        Fits to features with mean zero and deviation one, as penalty and first weights then see
        them. Sparse features stay sparse.

    Attributes
    ----------
    intercept_ : ndarray of shape (n_labels_,)
        The intercept b.

    References
    ----------
    J. Wang and X. Geng, "Learn the highest label and rest label description degrees",
    International Joint Conference on Artificial Intelligence, 2021.

    Examples
    --------
    >>> import numpy as np
    >>> from ldl import LDLHR
    >>> rng = np.random.default_rng(0)
    >>> X, D = rng.normal(size=(60, 4)), rng.dirichlet(np.ones(3), size=60)
    >>> model = LDLHR(max_iter=50, margin_weight=10.0).fit(X[:40], D[:40])
    >>> model.predict(X[40:]).shape
    (20, 3)
    """

    alpha: NotNegative | Auto = AUTO
    margin_weight: NotNegative = 1.0
    rest_weight: NotNegative = 1.0
    rho: NotNegative = 0.01
    pairs: Count = 10
    n_iter_no_change: Count | None = None
    min_gain: NotNegative = 0.01
    form: Literal["released", "printed"] = "released"
    max_iter: int = field(default=50, kw_only=True)
    standardise: bool = field(default=True, kw_only=True)

    candidates: ClassVar[Grid] = {"alpha": (100.0, 10.0, 1000.0)}
    scales_itself = True

    def _fit(self, X: Any, D: np.ndarray) -> None:
        if self.form == "printed" and not self.rho > 0:
            raise ValueError(f"rho must be above 0 where form is 'printed', got {self.rho}")
        weight = self._weight(len(D))
        scale = Scale(X, weight) if self.standardise else None
        X, offset = standardised(X, scale) if scale else (X, None)
        objective = HighestAndRest(with_ones(X), D, self)
        objective.offset, objective.weight = offset, weight
        rounds = self.n_iter_no_change
        patience = Patience(rounds, self.min_gain) if rounds else None
        self._minimise(objective, self.pairs, patience, scale)
