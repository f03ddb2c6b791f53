"""Coordinates (features, principal axes, axes of a kernel) and generalised eigenproblems."""

from __future__ import annotations

from typing import Protocol

import numpy as np

from ldl._distances import mean_distance, rbf

_SMALLEST_SHARE = 1e-10
"""Eigenvalues below this share of the largest count as zero."""


class Coordinates(Protocol):
    """A map of feature rows, fitted on training rows."""

    def transform(self, X: np.ndarray) -> np.ndarray: ...


class RawFeatures:
    """The features as they are."""

    def transform(self, X: np.ndarray) -> np.ndarray:
        return X


class PrincipalAxes:
    """Centred rows along their principal axes, largest variance first; distances are kept."""

    def __init__(self, X: np.ndarray) -> None:
        self.mean = X.mean(axis=0)
        singular, axes = _axes(X - self.mean)
        kept = singular**2 > max(_SMALLEST_SHARE * singular[0] ** 2, _rounding(X))
        self.axes = axes[kept].T
        self.variances = singular[kept] ** 2 / len(X)

    def transform(self, X: np.ndarray) -> np.ndarray:
        return (X - self.mean) @ self.axes


class KernelAxes:
    """Principal axes in the space of an rbf kernel, whose width is the mean distance of the rows.

    Inner products of these coordinates make up the centred Gram matrix. A method that is linear in
    the coordinates is thereby extended to its kernel version.
    """

    def __init__(self, X: np.ndarray) -> None:
        self.X = X.copy()
        self.width = mean_distance(X)
        gram = self._similarities(X)
        self.column_means = gram.mean(axis=0)
        self.mean = self.column_means.mean()
        centred = gram - self.column_means - self.column_means[:, None] + self.mean
        values, vectors = np.linalg.eigh(centred)
        values, vectors = values[::-1], vectors[:, ::-1]
        kept = values > max(_SMALLEST_SHARE * values[0], _rounding(gram))
        self.axes = vectors[:, kept] / np.sqrt(values[kept])
        self.variances = values[kept] / len(X)

    def transform(self, X: np.ndarray) -> np.ndarray:
        similarities = self._similarities(X)
        own_means = similarities.mean(axis=1, keepdims=True)
        return (similarities - own_means - self.column_means + self.mean) @ self.axes

    def _similarities(self, X: np.ndarray) -> np.ndarray:
        return rbf(X, self.X, self.width)


class Metric:
    """The right side of A v = eta B v, prepared once for many A.

    B is often singular, as with fewer rows than features: problems are solved on its range, of
    which ``basis`` is T with T' B T = I.
    """

    def __init__(self, B: np.ndarray) -> None:
        values, vectors = np.linalg.eigh(B)
        kept = values > max(_SMALLEST_SHARE * values.max(initial=0.0), 0.0)
        self.basis = vectors[:, kept] / np.sqrt(values[kept])
        self.unit: np.ndarray = np.diag(1.0 / values[kept])
        """T' T, the unit matrix in this basis."""

    @property
    def rank(self) -> int:
        """Number of eigenvalues of B that do not count as zero."""
        return int(self.basis.shape[1])

    def project(self, A: np.ndarray) -> np.ndarray:
        """Return T' A T."""
        return self.basis.T @ A @ self.basis

    def smallest_first(self, projected: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return all eta, ascending, and their v as columns; A is given as T' A T."""
        if self.rank == 0:
            return np.zeros(0), np.zeros((len(self.basis), 0))
        values, vectors = np.linalg.eigh((projected + projected.T) / 2)
        return values, self.basis @ vectors


def scaled_directions(V: np.ndarray, normalisation: str) -> np.ndarray:
    """Leave V' B V = I (``'metric'``), or divide every column by its length (``'unit'``)."""
    if normalisation == "metric":
        return V
    return V / np.linalg.norm(V, axis=0)


def enough_axes(Z: np.ndarray, keep: float) -> int:
    """Count the leading columns that hold at least the share ``keep`` of the squares of Z."""
    held = np.cumsum(np.einsum("ij,ij->j", Z, Z))
    if keep >= 1 or len(held) == 0:
        return len(held)
    return int(np.searchsorted(held, keep * held[-1]) + 1)


def _axes(rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return singular values, and the axes of the features as rows.

    Where there are many rows LAPACK triangulates them first. Done here, that spares the axes of the
    rows, which are half of the work, and moves no bit.
    """
    n, q = rows.shape
    if n >= int(q * 11 / 6):
        rows = np.asarray(np.linalg.qr(rows, mode="r"))
    _, singular, axes = np.linalg.svd(rows, full_matrices=False)
    return singular, axes


def _rounding(values: np.ndarray) -> float:
    """Return the sum of squares up to which there is nothing but rounding errors of ``values``."""
    largest = max(float(values.max()), -float(values.min()))
    return float(values.size * (np.finfo(float).eps * largest) ** 2)
