"""AA-kNN: the mean label distribution of the nearest training rows."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from ldl._distances import squared_norms
from ldl._parameters import Auto, Count
from ldl._self_tuned import Candidate, Grid, SelfTuned
from ldl._tempered import AUTO

_BLOCK_BYTES = 2 * 2**20
"""Size of a block of products, unless fewer than ``_FEWEST_ROWS`` rows would fit."""
_FEWEST_ROWS = 64
_STRIPS = 64
"""The number of strips is a multiple of this, and at least twice the number of neighbours."""
_PAIR_BYTES = 256 * 2**10
"""Size of the differences that are made at a time; they stay in the processor's cache."""
_UNDERFLOW = 1e-37
"""More than a product loses, in single precision, where it is nearly zero."""


@dataclass(eq=False, repr=False)
class AAKNN(SelfTuned):
    """Mean label distribution of the nearest training rows (AA-kNN).

    Algorithm adaptation: the prediction is the mean of D over the ``n_neighbors`` training rows
    nearest in Euclidean distance. Of rows at the same distance those that come first in the
    training data are taken. Where rows have weights, the mean of the neighbours has them, and rows
    of weight zero are no neighbours.

    Parameters
    ----------
    n_neighbors : int or 'auto', default='auto'
        Number of neighbours, at most the number of training rows. More of them smooth the
        prediction. ``'auto'`` chooses from 5 to 80 on held-out rows.

    Attributes
    ----------
    X_ : ndarray or CSR matrix of shape (rows, n_features_in_)
        Copy of the training features, of rows that count.
    D_ : ndarray of shape (rows, n_labels_)
        Label distributions of these rows.
    weight_ : ndarray of shape (rows,) or None
        Their weights; None where all count alike.
    rough_ : RoughRows
        Training rows in single precision, from which the search takes bounds of distances.

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

    n_neighbors: Count | Auto = AUTO

    candidates: ClassVar[Grid] = {"n_neighbors": (5, 10, 20, 40, 80)}

    def _open(self, rows: int) -> Grid:
        return {
            name: sorted({min(k, rows) for k in values})
            for name, values in super()._open(rows).items()
        }

    def _tried(
        self, X: Any, D: np.ndarray, T: Any, grid: Grid
    ) -> Iterator[tuple[Candidate, np.ndarray]]:
        counts = grid["n_neighbors"] if grid else [min(self._k(), len(D))]
        found = self._copy({"n_neighbors": max(counts)})._fitted(X, D).kneighbors(T)
        for k in counts:
            yield {"n_neighbors": k}, D[found[:, :k]].mean(axis=1)

    def _k(self) -> int:
        """Return the number of neighbours."""
        return int(self._setting("n_neighbors"))

    def _fit(self, X: Any, D: np.ndarray) -> None:
        if (k := self.n_neighbors) > len(D):
            raise ValueError(f"n_neighbors must be at most the {len(D)} training rows, got {k}")
        # A copy, so that writing into the caller's array later does not move the neighbours.
        self.X_ = X.copy()
        if hasattr(X, "tocsr"):
            self.X_.sum_duplicates()
        self.D_, self.weight_ = D, self._weight(len(D))
        self.rough_ = RoughRows(self.X_)

    def _predict(self, X: Any) -> np.ndarray:
        found = self._neighbours(X)
        if self.weight_ is None:
            return self.D_[found].mean(axis=1)
        shares = self.weight_[found]
        shares /= shares.sum(axis=1, keepdims=True)
        return np.einsum("ik,ikj->ij", shares, self.D_[found])

    def kneighbors(self, X: Any) -> np.ndarray:
        """Return the places of the nearest training rows.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (rows, features)
            Features, in the order that ``fit`` saw.

        Returns
        -------
        ndarray of int of shape (rows, n_neighbors)
            Places among the training rows that count, which are ``X_``, nearest first.
        """
        return self._neighbours(self._checked(X))

    def _neighbours(self, X: Any) -> np.ndarray:
        """Find few candidates for each row by bounds, and order these by their differences."""
        k = self._k()
        found = np.empty((X.shape[0], k), dtype=np.intp)
        step = max(_FEWEST_ROWS, _BLOCK_BYTES // (4 * self.X_.shape[0]))
        for start in range(0, X.shape[0], step):
            block = X[start : start + step]
            rows, places = self.rough_.candidates(block, k)
            lengths = squared_lengths(block, rows, self.X_, places)
            # Stable, so that of rows as near the first comes first.
            order = np.lexsort((lengths, rows))
            begins = np.searchsorted(rows, np.arange(block.shape[0]))
            found[start : start + step] = places[order[begins[:, None] + np.arange(k)]]
        return found


def squared_lengths(A: Any, rows: np.ndarray, B: Any, places: np.ndarray) -> np.ndarray:
    """Return the squared distance of each row of A to one of B, by differences.

    They are added up in double precision, so no order depends on how products were rounded.
    """
    lengths = np.empty(len(rows))
    step = max(1, _PAIR_BYTES // (8 * A.shape[1]))
    for start in range(0, len(rows), step):
        part = slice(start, start + step)
        if hasattr(A, "tocsr"):
            apart = (A[rows[part]] - B[places[part]]).toarray()
        else:
            apart = A[rows[part]]
            apart -= B[places[part]]
        with np.errstate(over="ignore"):  # of rows that are too far away to matter
            np.square(apart, out=apart)
            lengths[part] = apart.sum(axis=1)
    return lengths


class RoughRows:
    """Rows in single precision, which is twice as fast, and bounds of what that rounds away.

    Squared distances are ``|a|^2 - 2 ab + |b|^2``. Rows are centred first, if they are dense, and
    scaled by a power of two, so that they keep most digits and overflow nowhere. In single
    precision a sum of q products is then off by less than ``(q + 6) u (|a|^2 + |b|^2)`` with
    u = 2^-24. That is less than half of ``share`` times the squared lengths.
    """

    def __init__(self, X: Any) -> None:
        sparse = hasattr(X, "tocsr")
        self.centre = 0.0 if sparse else X.mean(axis=0)
        rows = X.copy() if sparse else X - self.centre
        values = rows.data if sparse else rows
        largest = max(values.max(initial=0.0), -values.min(initial=0.0))
        self.scale = np.ldexp(1.0, -np.frexp(largest)[1])
        rows *= self.scale
        self.squares = squared_norms(rows).astype(np.float32)
        self.share = np.float32((X.shape[1] + 8) * np.finfo(np.float32).eps)
        self.transposed = rows.T.tocsr() if sparse else rows.astype(np.float32).T

    def candidates(self, block: Any, k: int) -> tuple[np.ndarray, np.ndarray]:
        """Return pairs of a row of the block and a place that may be among its k nearest.

        ``products[i, j] + squares[j]``, a squared distance without the part that all places have in
        common, is wrong by at most ``share * squares[j]`` and half of ``margins[i]``. So none of
        the k nearest is above the k-th least of the upper bounds, or of the least ones of strips.
        """
        bounds, margins = self.products(block)
        slack = self.share * self.squares
        strips = _STRIPS * -(-2 * k // _STRIPS)
        whole = len(slack) - len(slack) % strips
        with np.errstate(over="ignore", invalid="ignore"):
            bounds += self.squares + slack
            least = bounds
            if whole:  # places are dealt out to strips in turn
                least = bounds[:, :whole].reshape(len(bounds), -1, strips).min(axis=1)
            limits = np.partition(least, k - 1, axis=1)[:, k - 1] + margins
            # What is no number, after an overflow, is looked at as well.
            pairs = np.flatnonzero(~(bounds > (limits + 2 * slack.max())[:, None]))
            rows, places = np.divmod(pairs, len(slack))
            near = ~(bounds.ravel()[pairs] - 2 * slack[places] > limits[rows])
        return rows[near], places[near]

    def products(self, block: Any) -> tuple[np.ndarray, np.ndarray]:
        """Return -2 ab for every row b of the block, and twice the error that b causes."""
        with np.errstate(over="ignore", invalid="ignore"):  # of rows far away from all others
            if hasattr(block, "tocsr"):
                rows = block * (-2.0 * self.scale)
                products = (rows @ self.transposed).toarray().astype(np.float32)
            else:
                rows = block - self.centre
                rows *= -2.0 * self.scale
                rows = rows.astype(np.float32)
                products = rows @ self.transposed
            margins = 0.5 * self.share * squared_norms(rows) + _UNDERFLOW * block.shape[1]
            return products, margins.astype(np.float32)
