"""Traits of a data set's features: spectrum, correlation, and how the file was prepared.

Whoever standardised or rotated features over all rows looked at test rows, and features that are
nearly copies of each other behave unlike what a reader expects.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

FIRST = 5
"""Principal components whose shares are shown."""
MOST_COLUMNS = 2000
"""Columns beyond which a seeded choice of them stands for all correlations."""
SAME = 1e-3
"""Difference up to which a mean, a deviation, a length or a correlation is what it looks like."""


@dataclass(frozen=True)
class Traits:
    """Traits of the features of all rows."""

    spectrum: tuple[float, ...]
    """Shares of the variance of the first principal components."""
    correlation: float
    """Median size of the correlation of two columns."""
    constant: int
    """Columns that are the same in all rows."""
    prepared: tuple[str, ...]
    """Preparations of the file that its numbers show."""

    @property
    def facts(self) -> dict[str, Any]:
        """Return them for readers."""
        return {
            "variance of the first components": " ".join(f"{one:.2%}" for one in self.spectrum),
            "median correlation of columns": f"{self.correlation:.3f}",
            "constant columns": self.constant,
            "the file shows": "; ".join(self.prepared) or "no preparation",
        }


def traits_of(X: Any) -> Traits:
    """Return what features reveal; a sparse matrix is the same as the dense one."""
    X = np.asarray(X.toarray() if hasattr(X, "toarray") else X, dtype=np.float64)
    varies = X.std(axis=0) > 0
    used = X[:, varies]
    if not used.size:
        return Traits((), 0.0, X.shape[1], ())
    centred = used - used.mean(axis=0)
    wide = centred.shape[1] > len(centred)
    power = np.linalg.eigvalsh(centred @ centred.T if wide else centred.T @ centred)
    spectrum = tuple(float(share) for share in power[: -FIRST - 1 : -1] / power.sum())
    correlations = _correlations(centred)
    median = float(np.median(correlations)) if correlations.size else 0.0
    prepared = tuple(_prepared(X, used, correlations))
    return Traits(spectrum, median, int((~varies).sum()), prepared)


def _correlations(centred: np.ndarray) -> np.ndarray:
    """Return the sizes of the correlations of all pairs of columns."""
    if centred.shape[1] > MOST_COLUMNS:
        chosen = np.random.default_rng(0).choice(centred.shape[1], MOST_COLUMNS, replace=False)
        centred = centred[:, np.sort(chosen)]
    scaled = centred / np.linalg.norm(centred, axis=0)
    above = np.triu_indices(scaled.shape[1], 1)
    return np.asarray(np.abs(scaled.T @ scaled)[above])


def _prepared(X: np.ndarray, used: np.ndarray, correlations: np.ndarray) -> Iterator[str]:
    deviations = used.std(axis=0)
    centred = bool((np.abs(used.mean(axis=0)) <= SAME * deviations).all())
    # With n or n - 1 in the denominator.
    if centred and (np.abs(deviations - 1) <= SAME + 1 / len(X)).all():
        yield "every column is standardised over all rows"
    elif centred:
        yield "every column is centred over all rows"
    if np.allclose(used.min(axis=0), 0) and np.allclose(used.max(axis=0), 1):
        yield "every column is scaled to 0 to 1 over all rows"
    if correlations.size and correlations.max() <= SAME:
        yield "the columns are principal components of all rows"
    if np.allclose(np.linalg.norm(X, axis=1), 1, atol=SAME):
        yield "every row has unit length"
    if (X >= 0).all() and np.allclose(X.sum(axis=1), 1, atol=SAME):
        yield "every row sums to one"
    if (X >= 0).all() and (np.round(X) == X).all():
        yield "all values are whole numbers, as counts are"
