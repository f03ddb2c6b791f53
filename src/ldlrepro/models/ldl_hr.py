"""LDL-HR: learn the highest label, a margin below it, and the degrees of the rest.

Wang and Geng (IJCAI 2021). Absolute errors and hinges have kinks, so the gradient is a subgradient
and L-BFGS ends where it finds no further descent.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ldlrepro.models._softmax import (
    SoftmaxModel,
    SoftmaxObjective,
    slopes_of_scores,
    softmax_columns,
    with_intercept,
)


class HighestAndRest(SoftmaxObjective):
    """``sum |P - top| + rest sum |P - others| + margin sum max(0, rho - (P_top - P_j))``.

    ``top`` is one-hot at the highest label, ``others`` is D with that entry set to zero.
    """

    def __init__(
        self,
        X: Any,
        D: np.ndarray,
        top: np.ndarray,
        margin: float = 0.0,
        rest: float = 0.0,
        rho: float = 0.01,
        l2: float = 0.0,
    ) -> None:
        super().__init__(X, D, l2)
        self.margin = margin
        self.rest = rest
        self.rho = rho
        self.at_top = (top, np.arange(len(top)))
        self.others = self.D.copy()
        self.others[self.at_top] = 0.0

    def loss(self, Z: np.ndarray) -> float:
        softmax_columns(Z)
        P = Z
        highest = P[self.at_top]
        # The errors of the other labels sum to 1 - P_top, so the first term is 2 (1 - P_top).
        value = 2.0 * (1.0 - highest).sum()
        slopes = np.zeros_like(P)
        if self.rest:
            apart = P - self.others
            value += self.rest * np.abs(apart).sum()
            slopes += self.rest * np.sign(apart)
        if self.margin:
            lacking = P + (self.rho - highest)
            lacking[self.at_top] = 0.0
            violated = lacking > 0
            value += self.margin * lacking[violated].sum()
            slopes += self.margin * violated
            slopes[self.at_top] -= self.margin * violated.sum(axis=0)
        slopes[self.at_top] -= 2.0
        Z[:] = slopes_of_scores(P, slopes)
        return float(value)


class LDLHR(SoftmaxModel):
    """LDL-HR; ``ridge``, ``margin_weight`` and ``rest_weight`` are the release's l1, l2 and l3.

    ``tie`` says which of equally high labels is the highest: the ``first`` or the ``last``.
    """

    def __init__(
        self,
        ridge: float = 1e-4,
        margin_weight: float = 1e4,
        rest_weight: float = 1.0,
        rho: float = 0.01,
        max_iter: int = 1000,
        tol: float = 2.22e-9,
        init: str = "zeros",
        tie: str = "first",
    ) -> None:
        self.ridge = ridge
        self.margin_weight = margin_weight
        self.rest_weight = rest_weight
        self.rho = rho
        self.max_iter = max_iter
        self.tol = tol
        self.init = init
        self.tie = tie

    def _fit(self, X: Any, D: np.ndarray) -> None:
        self._check(("ridge", "margin_weight", "rest_weight", "rho"))
        objective = HighestAndRest(
            with_intercept(X),
            D,
            highest_labels(D, self.tie),
            self.margin_weight,
            self.rest_weight,
            self.rho,
            self.ridge,
        )
        self._minimise(objective)


def highest_labels(D: np.ndarray, tie: str) -> np.ndarray:
    """The label of the highest degree of every row."""
    if tie == "first":
        return D.argmax(axis=1)
    if tie == "last":
        return D.shape[1] - 1 - D[:, ::-1].argmax(axis=1)
    raise ValueError(f"tie must be one of first, last, got '{tie}'")
