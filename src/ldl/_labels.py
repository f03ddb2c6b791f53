"""The highest label of label distributions."""

from __future__ import annotations

import numpy as np

from ldl._values import check_choice


def highest_labels(D: np.ndarray, tie: str) -> np.ndarray:
    """Return the label of the highest degree of every row."""
    check_choice("tie", tie, ("first", "last"))
    if tie == "first":
        return D.argmax(axis=1)
    return D.shape[1] - 1 - D[:, ::-1].argmax(axis=1)
