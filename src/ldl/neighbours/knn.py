"""AA-kNN: the mean label distribution of the nearest training rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ldl.base import LDLEstimator

_BLOCK_BYTES = 32 * 2**20
_SPARE = 8
"""Candidates beyond k whose distance is recomputed from differences."""


@dataclass(eq=False, repr=False)
class AAKNN(LDLEstimator):
    """Mean of the labels of the ``n_neighbors`` rows nearest in Euclidean distance.

    Rows at the same distance are taken in the order of the training data.
    """

    accepts_sparse = True

    n_neighbors: int = 5

    def _fit(self, X: Any, D: np.ndarray) -> None:
        if not 1 <= self.n_neighbors <= X.shape[0]:
            raise ValueError(
                f"n_neighbors must lie between 1 and the {X.shape[0]} training rows, "
                f"got {self.n_neighbors}"
            )
        # A copy, so that writing into the caller's array later does not move the neighbours.
        self.X_ = X.copy()
        self.D_ = D
        self.squares_ = _squared_norms(X)

    def _predict(self, X: Any) -> np.ndarray:
        return self.D_[self.kneighbors(X)].mean(axis=1)

    def kneighbors(self, X: Any) -> np.ndarray:
        """Indices of the nearest training rows, nearest first."""
        n, q = self.X_.shape
        found = np.empty((X.shape[0], self.n_neighbors), dtype=np.intp)
        step = max(1, _BLOCK_BYTES // (8 * max(n, q * (self.n_neighbors + _SPARE))))
        for start in range(0, X.shape[0], step):
            block = X[start : start + step]
            found[start : start + step] = self._nearest(block)
        return found

    def _nearest(self, block: Any) -> np.ndarray:
        """|a|^2 + |b|^2 - 2ab is fast but loses the order of near ties: it only nominates."""
        k = self.n_neighbors
        n, q = self.X_.shape
        squares = _squared_norms(block)
        rough = _product(block, self.X_)
        rough *= -2.0
        rough += self.squares_
        rough += squares[:, None]
        # Twice the worst rounding error of `rough`, from both ends of a comparison.
        slack = 8 * (q + 4) * np.finfo(np.float64).eps * (squares + self.squares_.max())

        count = min(k + _SPARE, n)
        nominated = np.sort(np.argpartition(rough, count - 1, axis=1)[:, :count], axis=1)
        nominated_rough = np.sort(np.take_along_axis(rough, nominated, axis=1), axis=1)
        limit = nominated_rough[:, k - 1] + slack
        chosen = self._closest(block, nominated)
        if count < n:
            for row in np.flatnonzero(nominated_rough[:, -1] <= limit):
                everyone = np.flatnonzero(rough[row] <= limit[row])
                chosen[row] = self._closest(block[row : row + 1], everyone[None, :])[0]
        return chosen

    def _closest(self, block: Any, nominated: np.ndarray) -> np.ndarray:
        """The k nearest of the nominated rows (ascending indices), by differences."""
        rows, count = nominated.shape
        apart = _dense(self.X_[nominated.ravel()]).reshape(rows, count, -1)
        apart -= _dense(block)[:, None, :]
        apart *= apart
        order = np.argsort(apart.sum(axis=2), axis=1, kind="stable")[:, : self.n_neighbors]
        return np.take_along_axis(nominated, order, axis=1)


def _dense(X: Any) -> np.ndarray:
    return X.toarray() if hasattr(X, "tocsr") else X


def _squared_norms(X: Any) -> np.ndarray:
    if hasattr(X, "tocsr"):
        return np.asarray(X.multiply(X).sum(axis=1)).ravel()
    return np.einsum("ij,ij->i", X, X)


def _product(A: Any, B: Any) -> np.ndarray:
    return _dense(A @ B.T)
