"""Errors in years, for methods whose labels are ages."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ldl import metrics

MEAN = "mean"


def grid_of(labels: Sequence[str]) -> np.ndarray | None:
    """Return the ages of the labels; None where labels are not ages."""
    try:
        ages = np.array([float(label) for label in labels])
    except ValueError:
        return None
    return ages if len(ages) and (np.diff(ages) > 0).all() else None


def predicted(P: np.ndarray, grid: np.ndarray, rule: str) -> np.ndarray:
    """Return the age of each distribution: the likeliest, or the mean."""
    return P @ grid if rule == MEAN else grid[P.argmax(axis=1)]


def errors(P: np.ndarray, grid: np.ndarray, true: np.ndarray, rule: str) -> dict[str, float]:
    """Return MAE and CS(5), by the rule in the method's file."""
    return metrics.age_errors(true, predicted(P, grid, rule))
