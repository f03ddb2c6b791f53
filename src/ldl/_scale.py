"""Standardised features, dense or sparse."""

from __future__ import annotations

from typing import Any

import numpy as np

from ldl._weighted import counted


class Scale:
    """Mean and inverse deviation of every feature; a feature without spread gets a factor of 0."""

    def __init__(self, X: Any, weight: np.ndarray | None = None) -> None:
        total = X.shape[0] if weight is None else weight.sum()
        if hasattr(X, "tocsr"):
            weight = np.ones(X.shape[0]) if weight is None else weight
            self.shift = np.asarray(X.multiply(weight[:, None] / total).sum(axis=0)).ravel()
            # The stored entries, then the zeros, each of which lies a mean away.
            of_entry = np.repeat(weight, np.diff(X.indptr))
            squares = of_entry * (X.data - self.shift[X.indices]) ** 2
            stored = np.bincount(X.indices, of_entry, X.shape[1])
            sums = np.bincount(X.indices, squares, X.shape[1]) + (total - stored) * self.shift**2
            largest = np.asarray(abs(X).max(axis=0).todense()).ravel()
        else:
            self.shift = counted(X, weight).sum(axis=0) / total
            sums = counted((X - self.shift) ** 2, weight).sum(axis=0)
            largest = np.abs(X).max(axis=0)
        spread = np.sqrt(sums / total)
        flat = spread <= 1e-12 * largest
        self.factor = np.where(flat, 0.0, 1.0 / np.where(flat, 1.0, spread))

    def applied(self, X: np.ndarray) -> np.ndarray:
        """Return standardised features."""
        return (X - self.shift) * self.factor

    def back(self, Z: np.ndarray) -> np.ndarray:
        """Return raw features from standardised ones."""
        return Z / np.where(self.factor > 0, self.factor, 1.0) + self.shift

    def fold(self, W: np.ndarray, b: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the map that does to raw features what W and b do to standardised ones."""
        W = W * self.factor[:, None]
        return W, b - self.shift @ W
