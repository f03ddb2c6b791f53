"""An age as a distribution over all ages."""

from __future__ import annotations

import numpy as np

FLOOR = 1e-12
"""Lower degrees are lifted to this, so that no logarithm meets a zero."""


def age_grid(first: int, last: int) -> np.ndarray:
    return np.arange(first, last + 1, dtype=float)


def age_distributions(ages: np.ndarray, grid: np.ndarray, width: float) -> np.ndarray:
    """Return a normal density around each age; a ``width`` of 0 means only the nearest age."""
    distance = grid[None, :] - np.asarray(ages, dtype=float)[:, None]
    if width == 0:
        D = np.zeros(distance.shape)
        D[np.arange(len(D)), np.argmin(np.abs(distance), axis=1)] = 1.0
        return D
    logs = -(distance**2) / (2 * width**2)
    # The nearest age gets exp(0), so that an age far outside the grid does not underflow.
    D = np.maximum(np.exp(logs - logs.max(axis=1, keepdims=True)), FLOOR)
    return D / D.sum(axis=1, keepdims=True)
