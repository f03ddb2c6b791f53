"""Base of estimators that choose values themselves and whose rows may count differently."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from sklearn.utils.validation import has_fit_parameter

from ldl._scale import Scale
from ldl._self_tuned import Candidate, SelfTuned
from ldl._tempered import Tempered, mean_distribution
from ldl.base import Weighted, dense


@dataclass(eq=False, repr=False, kw_only=True)
class WeightedSelfTuned(Weighted, SelfTuned):
    """Base of estimators with weights of rows and values that held-out rows choose.

    The fit and the mean distribution heed the weights. Values that are ``'auto'`` are chosen on
    held-out rows that all count alike.
    """

    def _learn(self, X: Any, D: np.ndarray) -> None:
        weight = self._weight(len(D))
        super()._learn(X, D)
        self.mean_ = mean_distribution(D, weight)

    def _copy(self, settled: Candidate) -> Self:
        made = super()._copy(settled)
        made._sample_weight = self._sample_weight
        return made

    def _weight(self, rows: int) -> np.ndarray | None:
        """Return the checked weight of each row; None where all count alike, as in a trial."""
        trial = "renormalised_" not in vars(self) and np.shape(self._sample_weight) != (rows,)
        return None if trial else super()._weight(rows)


@dataclass(eq=False, repr=False, kw_only=True)
class RowsThatCount(Weighted, Tempered):
    """Base of estimators that leave rows of weight zero out before anything looks at them."""

    def _learn(self, X: Any, D: np.ndarray) -> None:
        weight = self._weight(len(D))
        if weight is not None:
            kept = rows_that_count(weight)
            X, D, weight = X[kept], D[kept], weight[kept]
            self._sample_weight = weight = None if (weight == 1).all() else weight
        super()._learn(X, D)
        self.mean_ = mean_distribution(D, weight)


@dataclass(eq=False, repr=False, kw_only=True)
class WeightedRows(RowsThatCount, WeightedSelfTuned):
    """Base of estimators for which a weight is a number of copies of a row.

    Features are standardised by weighted means and deviations.
    """

    def _scaled(self, X: Any) -> Any:
        # In a fit this is asked for once, for the rows of training.
        weight = self._weight(X.shape[0])
        if self._scale is not None and weight is not None:
            self._scale = WeightedScale(dense(X), weight)
        return super()._scaled(X)


def rows_that_count(weight: np.ndarray) -> np.ndarray:
    """Return which rows have a weight above zero; refuse a single one."""
    kept = weight > 0
    if kept.sum() < 2:
        raise ValueError("sample_weight must be above zero for two rows at least")
    return kept


def weights_for(estimator: Any, weight: np.ndarray | None) -> dict[str, np.ndarray]:
    """Return what else the fit of somebody's estimator gets; refuse what it cannot take."""
    if weight is None:
        return {}
    if not has_fit_parameter(estimator, "sample_weight"):
        kind = type(estimator).__name__
        raise ValueError(f"sample_weight must be None: the fit of {kind} takes no weights")
    return {"sample_weight": weight}


def rooted(A: np.ndarray, weight: np.ndarray | None) -> np.ndarray:
    """Return rows times the square roots of their weights, so that squares count by these."""
    return A if weight is None else A * np.sqrt(weight)[:, None]


class WeightedScale(Scale):
    """Standardised features, by weighted means and deviations; flat ones become zero."""

    def __init__(self, X: Any, weight: np.ndarray | None) -> None:
        super().__init__(X)
        if weight is None:
            return
        share = weight / weight.sum()
        self.shift = np.asarray(X.T @ share)
        if hasattr(X, "tocsr"):
            # The stored entries, then the zeros, each of which lies a mean away.
            shares = np.repeat(share, np.diff(X.indptr))
            squares = shares * (X.data - self.shift[X.indices]) ** 2
            there = np.bincount(X.indices, shares, X.shape[1])
            variance = np.bincount(X.indices, squares, X.shape[1]) + (1 - there) * self.shift**2
        else:
            variance = share @ (X - self.shift) ** 2
        # Flat features have a factor of zero already.
        varies = self.factor > 0
        self.factor = np.where(varies, 1.0 / np.sqrt(np.where(varies, variance, 1.0)), 0.0)

    def applied(self, X: np.ndarray) -> np.ndarray:
        """Return standardised features."""
        return (X - self.shift) * self.factor
