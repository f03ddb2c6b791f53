"""Coordinates (principal axes, rbf kernel) and generalised eigenproblems of the embeddings."""

from __future__ import annotations

from typing import Protocol

import numpy as np

_SMALLEST_SHARE = 1e-10
"""Eigenvalues below this share of the largest count as zero."""
_BLOCK_ROWS = 512


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
        _, singular, axes = np.linalg.svd(X - self.mean, full_matrices=False)
        kept = singular**2 > max(_SMALLEST_SHARE * singular[0] ** 2, _rounding(X))
        self.axes = axes[kept].T
        self.variances = singular[kept] ** 2 / len(X)

    def transform(self, X: np.ndarray) -> np.ndarray:
        return (X - self.mean) @ self.axes


class KernelAxes:
    """The same in the space of an rbf kernel, whose width is the mean distance of the rows.

    Inner products of these coordinates are the centred Gram matrix, so that a method that is
    linear in them is its own kernel version.
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


def rbf(A: np.ndarray, B: np.ndarray, width: float) -> np.ndarray:
    """exp(-distance^2 / (2 width^2)); ones where the width is zero, for then all rows are equal."""
    if width == 0:
        return np.ones((len(A), len(B)))
    return np.exp(squared_distances(A, B) / (-2.0 * width**2))


def mean_distance(X: np.ndarray) -> float:
    """Mean Euclidean distance over the pairs of different rows."""
    n = len(X)
    if n < 2:
        return 0.0
    total = 0.0
    for start in range(0, n, _BLOCK_ROWS):
        apart = np.sqrt(squared_distances(X[start : start + _BLOCK_ROWS], X))
        # A row's distance to itself is 0, not the root of a rounding error.
        rows = np.arange(len(apart))
        apart[rows, start + rows] = 0.0
        total += float(apart.sum())
    return total / (n * (n - 1))


def squared_distances(A: np.ndarray, B: np.ndarray) -> np.ndarray:
    """Of every row of A to every row of B, up to rounding."""
    squares = A @ B.T
    squares *= -2.0
    squares += np.einsum("ij,ij->i", A, A)[:, None]
    squares += np.einsum("ij,ij->i", B, B)
    return np.maximum(squares, 0.0, out=squares)


class Metric:
    """``B`` of A v = eta B v, made ready once for many ``A``.

    B is often singular (fewer rows than features). ``project`` solves on the range of B, ``ridge``
    adds a millionth of its mean eigenvalue. ``basis`` is T with T' B T = I.
    """

    def __init__(self, B: np.ndarray, singular: str = "project") -> None:
        values, vectors = np.linalg.eigh(B)
        if singular == "ridge":
            values = np.maximum(values, 0.0) + 1e-6 * float(np.trace(B)) / len(B)
        kept = values > max(_SMALLEST_SHARE * values.max(initial=0.0), 0.0)
        self.basis = vectors[:, kept] / np.sqrt(values[kept])
        self.unit: np.ndarray = np.diag(1.0 / values[kept])
        """T' T: what the unit matrix is in this basis."""

    @property
    def rank(self) -> int:
        return int(self.basis.shape[1])

    def project(self, A: np.ndarray) -> np.ndarray:
        """T' A T."""
        return self.basis.T @ A @ self.basis

    def smallest_first(self, projected: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """All eta, ascending, and their v as columns, for an A given as T' A T."""
        if self.rank == 0:
            return np.zeros(0), np.zeros((len(self.basis), 0))
        values, vectors = np.linalg.eigh((projected + projected.T) / 2)
        return values, self.basis @ vectors


def scaled_directions(V: np.ndarray, normalisation: str) -> np.ndarray:
    """``metric`` leaves V' B V = I, ``unit`` makes every column one long."""
    if normalisation == "metric":
        return V
    return V / np.linalg.norm(V, axis=0)


def enough_axes(Z: np.ndarray, keep: float) -> int:
    """Number of leading columns that hold at least the share ``keep`` of the squares of Z."""
    held = np.cumsum(np.einsum("ij,ij->j", Z, Z))
    if keep >= 1 or len(held) == 0:
        return len(held)
    return int(np.searchsorted(held, keep * held[-1]) + 1)


def _rounding(values: np.ndarray) -> float:
    """Below this a sum of squares is nothing but rounding errors of ``values``."""
    return float(values.size * (np.finfo(float).eps * np.abs(values).max()) ** 2)
