"""LDL-HR: learn the highest label, a margin below it, and the degrees of the rest.

Wang and Geng (IJCAI 2021). Absolute errors and hinges have kinks, so the gradient is a subgradient
and L-BFGS ends where it finds no further descent.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ldl.linear._softmax import (
    Patience,
    SoftmaxModel,
    SoftmaxObjective,
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
        self._slopes = np.empty_like(self.D)
        self._spare = np.empty_like(self.D)

    def loss(self, Z: np.ndarray) -> float:
        softmax_columns(Z)
        P, slopes = Z, self._slopes
        highest = P[self.at_top]
        # The errors of the other labels sum to 1 - P_top, so the first term is 2 (1 - P_top).
        value = 2.0 * (1.0 - highest).sum()
        slopes[:] = 0.0
        if self.rest:
            value += self._add_rest(P, slopes)
        if self.margin:
            value += self._add_margin(P, highest, slopes)
        slopes[self.at_top] -= 2.0
        slopes *= P
        P *= slopes.sum(axis=0)
        np.subtract(slopes, P, out=Z)
        return float(value)

    # Both terms are part of every evaluation and work in a buffer: new arrays, and picking by
    # conditions, made up half of its time where labels are many.

    def _add_rest(self, P: np.ndarray, slopes: np.ndarray) -> float:
        apart = np.subtract(P, self.others, out=self._spare)
        np.sign(apart, out=slopes)
        slopes *= self.rest
        return self.rest * float(np.abs(apart, out=apart).sum())

    def _add_margin(self, P: np.ndarray, highest: np.ndarray, slopes: np.ndarray) -> float:
        lacking = np.add(P, self.rho - highest, out=self._spare)
        lacking[self.at_top] = 0.0
        violated = lacking > 0
        value = self.margin * float(np.maximum(lacking, 0.0, out=lacking).sum())
        slopes += np.multiply(violated, self.margin, out=lacking)
        slopes[self.at_top] -= self.margin * violated.sum(axis=0)
        return value


@dataclass(eq=False, repr=False)
class LDLHR(SoftmaxModel):
    """LDL-HR; ``ridge``, ``margin_weight`` and ``rest_weight`` are the release's l1, l2 and l3.

    ``tie`` says which of equally high labels is the highest: the ``first`` or the ``last``.
    L-BFGS keeps ``pairs`` steps; at kinks, more of them lead further down. With ``patience`` it
    also ends once that many iterations gained less than the share ``min_gain`` of the loss.
    """

    ridge: float = 1e-4
    margin_weight: float = 1e4
    rest_weight: float = 1.0
    rho: float = 0.01
    max_iter: int = 1000
    tol: float = 2.22e-9
    init: str = "zeros"
    tie: str = "first"
    pairs: int = 10
    patience: int | None = None
    min_gain: float = 0.01

    def _fit(self, X: Any, D: np.ndarray) -> None:
        self._check(("ridge", "margin_weight", "rest_weight", "rho", "min_gain"))
        if self.pairs < 1:
            raise ValueError(f"pairs must be at least 1, got {self.pairs}")
        if self.patience is not None and self.patience < 1:
            raise ValueError(f"patience must be at least 1, got {self.patience}")
        objective = HighestAndRest(
            with_intercept(X),
            D,
            highest_labels(D, self.tie),
            self.margin_weight,
            self.rest_weight,
            self.rho,
            self.ridge,
        )
        patience = Patience(self.patience, self.min_gain) if self.patience else None
        self._minimise(objective, self.pairs, patience)


def highest_labels(D: np.ndarray, tie: str) -> np.ndarray:
    """The label of the highest degree of every row."""
    if tie == "first":
        return D.argmax(axis=1)
    if tie == "last":
        return D.shape[1] - 1 - D[:, ::-1].argmax(axis=1)
    raise ValueError(f"tie must be one of first, last, got '{tie}'")
