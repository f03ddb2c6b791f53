"""The softmax model P = softmax(X W): its predictions, and losses of it with their gradients."""

from __future__ import annotations

from typing import Any

import numpy as np

from ldl._scale import Scale
from ldl.base import SHORT, sums_of_rows


def softmax_rows(Z: np.ndarray) -> np.ndarray:
    """Return distributions proportional to exp(Z), one per row."""
    # NumPy takes long for the maxima of short rows.
    largest = np.ascontiguousarray(Z.T).max(axis=0) if Z.shape[1] < SHORT else Z.max(axis=1)
    P = Z - largest[:, None]
    np.exp(P, out=P)
    P /= sums_of_rows(P)[:, None]
    return P


def softmax_columns(Z: np.ndarray) -> np.ndarray:
    """Overwrite Z with its softmax over labels (c, n); return the logarithms of the divisors."""
    largest = Z.max(axis=0)
    Z -= largest
    np.exp(Z, out=Z)
    totals = Z.sum(axis=0)
    Z /= totals
    return largest + np.log(totals)


def slopes_of_scores(P: np.ndarray, slopes: np.ndarray) -> np.ndarray:
    """Turn dL/dP into dL/dZ; all are (c, n)."""
    weighted = P * slopes
    weighted -= P * weighted.sum(axis=0)
    return weighted


def with_ones(X: Any) -> Any:
    """Append a column of ones, whose weights are the intercept; sparse X stays sparse."""
    if hasattr(X, "tocsr"):
        from scipy.sparse import csr_array, hstack

        return hstack([X, csr_array(np.ones((X.shape[0], 1)))], format="csr")
    return np.column_stack([X, np.ones(len(X))])


def standardised(X: Any, scale: Scale) -> tuple[Any, np.ndarray | None]:
    """Return standardised features, and the offset that sparse ones still have.

    Sparse features are only divided, and stay sparse: their offset is the same in all rows and is
    taken off the scores instead.
    """
    if not hasattr(X, "tocsr"):
        return scale.applied(X), None
    X = X.tocsr(copy=True)
    X.data *= scale.factor[X.indices]
    return X, scale.shift * scale.factor


class SoftmaxObjective:
    """A loss of softmax(X W) plus ``l2 / 2 ||W||^2``, and the gradient, as optimisers ask for them.

    A subclass writes ``loss``. Weights come as one flat vector, label by label. Everything is kept
    label by row, (c, n), in buffers used again and again: the maxima and sums of the softmax then
    run along memory instead of across short rows.
    """

    offset: np.ndarray | None = None
    """Stands for the same row less in all rows of sparse X; columns beyond it have none."""
    weight: np.ndarray | None = None
    """How often each row counts; None for once each."""

    def __init__(self, X: Any, D: np.ndarray, l2: float = 0.0, unpenalised: int = 0) -> None:
        self.X = X
        self.D = np.ascontiguousarray(D.T)
        self.l2 = l2
        self.penalised = X.shape[1] - unpenalised
        """Columns under the penalty; the last ``unpenalised`` ones, an intercept, are not."""
        self.sparse = hasattr(X, "tocsr")
        labels = len(self.D)
        rows = labels if self.sparse else _rows_for_products(labels)
        self._weights = np.zeros((rows, X.shape[1]))
        self._products = np.zeros((rows, X.shape[0]))
        if self.sparse:
            self.X_transposed = X.T.tocsr()

    def loss(self, Z: np.ndarray) -> float:
        """Return the loss of the scores Z, which are overwritten with its slopes."""
        raise NotImplementedError

    def summed(self, losses: np.ndarray) -> float:
        """Return the sum of losses, whose last axis is that of rows, each as often as it counts."""
        return float(losses.sum() if self.weight is None else (losses @ self.weight).sum())

    def counted(self, Z: np.ndarray) -> np.ndarray:
        """Return numbers, whose last axis is that of rows, as often as each row counts."""
        return Z if self.weight is None else Z * self.weight

    def __call__(self, flat: np.ndarray) -> tuple[float, np.ndarray]:
        labels = len(self.D)
        W = self._weights[:labels]
        W[:] = flat.reshape(labels, -1)
        self._multiply_weights()
        value = self.loss(self._products[:labels])
        gradient = self._multiply_residuals()[:labels]
        if self.l2:
            penalised = W[:, : self.penalised]
            value += 0.5 * self.l2 * self._sum_of_squares(penalised)
            gradient[:, : self.penalised] += self.l2 * penalised
        return value, gradient.ravel()

    def _sum_of_squares(self, W: np.ndarray) -> float:
        return float(np.vdot(W, W))

    def _multiply_weights(self) -> None:
        """Write the scores of all rows into the buffer of products."""
        if self.sparse:
            self._products[:] = (self.X @ np.ascontiguousarray(self._weights.T)).T
            if self.offset is not None:
                shifts = self._weights[:, : len(self.offset)] @ self.offset
                self._products -= shifts[:, None]
        else:
            np.matmul(self._weights, self.X.T, out=self._products)

    def _multiply_residuals(self) -> np.ndarray:
        """Return the gradient of the weights from the slopes in the buffer of products."""
        if self.sparse:
            gradient = np.ascontiguousarray(
                (self.X_transposed @ np.ascontiguousarray(self._products.T)).T
            )
            if self.offset is not None:
                gradient[:, : len(self.offset)] -= np.outer(self._products.sum(axis=1), self.offset)
            return gradient
        return self._products @ self.X


def _rows_for_products(labels: int) -> int:
    """Add one or two rows of zeros where that fills the last block of eight.

    BLAS multiplies blocks of eight rows: with six labels the products take 22 % less time so.
    """
    missing = -labels % 8
    return labels + missing if missing <= 2 else labels
