"""AA-kNN: the mean label distribution of the nearest training rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ldl._distances import squared_norms
from ldl.base import LDLEstimator

_BLOCK_BYTES = 32 * 2**20
_SPARE = 8
"""Candidates beyond k whose distance is recomputed from differences."""


@dataclass(eq=False, repr=False)
class AAKNN(LDLEstimator):
    """Mean label distribution of the nearest training rows (AA-kNN).

    Algorithm adaptation: the prediction is the mean of D over the ``n_neighbors`` training rows
    nearest in Euclidean distance. Of rows at the same distance those that come first in the
    training data are taken. Features on large scales dominate the distance; scale them if they
    should not.

    Parameters
    ----------
    n_neighbors : int, default=5
        Number of neighbours, at most the number of training rows. More of them smooth the
        prediction.

    Attributes
    ----------
    X_ : ndarray or CSR matrix of shape (rows, n_features_in_)
        Copy of the training features.
    D_ : ndarray of shape (rows, n_labels_)
        Label distributions of the training rows.
    squares_ : ndarray of shape (rows,)
        Squared lengths of the training rows.
    n_features_in_ : int
        Number of features seen by ``fit``.
    n_labels_ : int
        Number of labels.
    renormalised_ : int
        Number of rows of D whose sum was mended.

    References
    ----------
    X. Geng, "Label distribution learning", IEEE Transactions on Knowledge and Data Engineering
    28(7), 1734-1748, 2016.

    Examples
    --------
    >>> import numpy as np
    >>> from ldl import AAKNN
    >>> generator = np.random.default_rng(0)
    >>> X, D = generator.random((60, 5)), generator.dirichlet(np.ones(3), size=60)
    >>> model = AAKNN(n_neighbors=10).fit(X[:40], D[:40])
    >>> model.predict(X[40:]).shape
    (20, 3)
    >>> model.kneighbors(X[:3])[:, 0]
    array([0, 1, 2])
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
        self.squares_ = squared_norms(X)

    def _predict(self, X: Any) -> np.ndarray:
        return self.D_[self._neighbours(X)].mean(axis=1)

    def kneighbors(self, X: Any) -> np.ndarray:
        """Return the places of the nearest training rows.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (rows, features)
            Features, in the order that ``fit`` saw.

        Returns
        -------
        ndarray of int of shape (rows, n_neighbors)
            Places in the training data, nearest first.
        """
        return self._neighbours(self._checked(X))

    def _neighbours(self, X: Any) -> np.ndarray:
        """Search block by block, as many rows at a time as fit into ``_BLOCK_BYTES``."""
        n, q = self.X_.shape
        found = np.empty((X.shape[0], self.n_neighbors), dtype=np.intp)
        step = max(1, _BLOCK_BYTES // (8 * max(n, q * (self.n_neighbors + _SPARE))))
        for start in range(0, X.shape[0], step):
            block = X[start : start + step]
            found[start : start + step] = self._nearest(block)
        return found

    def _nearest(self, block: Any) -> np.ndarray:
        """Order rows by |b|^2 - 2ab, which is fast, and settle near ties exactly."""
        k = self.n_neighbors
        n, q = self.X_.shape
        rough = _product(-2.0 * block, self.X_)
        rough += self.squares_
        # Twice the worst rounding error of `rough`, from both ends of a comparison.
        sizes = squared_norms(block) + self.squares_.max()
        slack = 8 * (q + 4) * np.finfo(np.float64).eps * sizes

        count = min(k + _SPARE, n)
        nominated = np.argpartition(rough, count - 1, axis=1)[:, :count]
        nominated_rough = np.take_along_axis(rough, nominated, axis=1)
        order = np.argsort(nominated_rough, axis=1)
        nominated = np.take_along_axis(nominated, order, axis=1)
        nominated_rough = np.take_along_axis(nominated_rough, order, axis=1)
        # Differences round as well: their order is surely the same where gaps are twice as wide.
        gaps = np.diff(nominated_rough[:, : k + 1], axis=1)
        chosen = nominated[:, :k].copy()
        for row in np.flatnonzero((gaps <= 2.0 * slack[:, None]).any(axis=1)):
            candidates = nominated[row]
            limit = nominated_rough[row, k - 1] + slack[row]
            if count < n and nominated_rough[row, -1] <= limit:
                candidates = np.flatnonzero(rough[row] <= limit)
            chosen[row] = self._closest(block[row : row + 1], np.sort(candidates)[None, :])[0]
        return chosen

    def _closest(self, block: Any, nominated: np.ndarray) -> np.ndarray:
        """Return the nearest of the nominated rows (ascending places), by differences."""
        rows, count = nominated.shape
        apart = _dense(self.X_[nominated.ravel()]).reshape(rows, count, -1)
        apart -= _dense(block)[:, None, :]
        apart *= apart
        order = np.argsort(apart.sum(axis=2), axis=1, kind="stable")[:, : self.n_neighbors]
        return np.take_along_axis(nominated, order, axis=1)


def _dense(X: Any) -> np.ndarray:
    return X.toarray() if hasattr(X, "tocsr") else X


def _product(A: Any, B: Any) -> np.ndarray:
    return _dense(A @ B.T)
