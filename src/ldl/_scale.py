"""Standardised features, dense or sparse."""

from __future__ import annotations

from typing import Any

import numpy as np


class Scale:
    """Mean and inverse deviation of every feature; a feature without spread gets a factor of 0."""

    def __init__(self, X: Any, weight: np.ndarray | None = None) -> None:
        n = X.shape[0]
        self.shift = np.asarray(X.mean(axis=0)).ravel()
        if hasattr(X, "tocsr"):
            sums = self._squares(X, None)
            largest = np.asarray(abs(X).max(axis=0).todense()).ravel()
        else:
            sums = ((X - self.shift) ** 2).sum(axis=0)
            largest = np.abs(X).max(axis=0)
        spread = np.sqrt(sums / n)
        flat = spread <= 1e-12 * largest
        if weight is not None:
            share = weight / weight.sum()
            self.shift = np.asarray(X.T @ share)
            sparse = hasattr(X, "tocsr")
            squares = self._squares(X, share) if sparse else share @ (X - self.shift) ** 2
            spread = np.sqrt(squares)
        self.factor = np.where(flat, 0.0, 1.0 / np.where(flat, 1.0, spread))

    def _squares(self, X: Any, share: np.ndarray | None) -> np.ndarray:
        """Return the sums of squares about the means of sparse features, by each row's share."""
        # The stored entries, then the zeros, each of which lies a mean away.
        shares = None if share is None else np.repeat(share, np.diff(X.indptr))
        squares = (X.data - self.shift[X.indices]) ** 2
        there = np.bincount(X.indices, shares, X.shape[1])
        whole = X.shape[0] if shares is None else 1.0
        squares = squares if shares is None else shares * squares
        return np.bincount(X.indices, squares, X.shape[1]) + (whole - there) * self.shift**2

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
