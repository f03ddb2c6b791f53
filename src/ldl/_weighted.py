"""Rows that count differently: in sums, in squares, and in the fits of other estimators."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils.validation import has_fit_parameter


def counted(A: np.ndarray, weight: np.ndarray | None) -> np.ndarray:
    """Return rows as often as each counts."""
    return A if weight is None else A * weight[:, None]


def rooted(A: np.ndarray, weight: np.ndarray | None) -> np.ndarray:
    """Return rows times the square roots of their weights, so that squares count by these."""
    return A if weight is None else A * np.sqrt(weight)[:, None]


def weights_for(estimator: Any, weight: np.ndarray | None) -> dict[str, np.ndarray]:
    """Return what else the fit of somebody's estimator gets; refuse what it cannot take."""
    if weight is None:
        return {}
    if not has_fit_parameter(estimator, "sample_weight"):
        kind = type(estimator).__name__
        raise ValueError(f"sample_weight must be None: the fit of {kind} takes no weights")
    return {"sample_weight": weight}
