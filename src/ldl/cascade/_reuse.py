"""Layer feature reuse: the choice of a row's outputs that the next layer of a cascade sees.

Training rows choose by their labels. Rows whose labels nobody knows take every new output, or
choose as training rows with similar features did.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ldl.cascade._layers import mean_of
from ldl.metrics import zero_convention

TEST_REUSE = ("none", "nearest", "gate")
_GATE_TREES = 100


@dataclass(frozen=True)
class Reuse:
    """The choice of each row between a layer's outputs L and the best of the layers before, Z."""

    by: str
    """'per_learner', 'joint' (all learners of a row together, by their mean) or 'off'."""
    at_test: str = "none"
    """Choice of new rows: 'none' takes every L, 'nearest' does as the nearest training row did,
    and 'gate' asks a forest that has learned the training rows' choices."""

    def distance(self, L: np.ndarray, D: np.ndarray) -> np.ndarray:
        """Return the divergence that decides, of shape (learners, rows), or (1, rows) if joint."""
        P = [mean_of(L)] if self.by == "joint" else [mean_of(one[None]) for one in L]
        kl = zero_convention("clip64").kl
        return np.array([kl(p, D) for p in P])

    def nearer(self, L: np.ndarray, Z: np.ndarray | None, D: np.ndarray) -> np.ndarray:
        """Tell where the new outputs are nearer to the labels: a row of flags per decision."""
        decisions = 1 if self.by == "joint" else len(L)
        if Z is None or self.by == "off":
            return np.ones((decisions, len(D)), dtype=bool)
        return self.distance(L, D) < self.distance(Z, D)

    def learn_choice(self, X: Any, taken: np.ndarray, seed: int) -> Choice | None:
        """Learn the choice that new rows make; None if they take every new output."""
        if self.at_test == "none" or taken.all():
            return None
        return Choice(self.at_test, X, taken, seed)


def choose(taken: np.ndarray, L: np.ndarray, Z: np.ndarray | None) -> np.ndarray:
    """Return L where it is taken, Z elsewhere."""
    return L if Z is None else np.where(taken[:, :, None], L, Z)


class Choice:
    """The choices of training rows, learned from their features alone."""

    def __init__(self, way: str, X: Any, taken: np.ndarray, seed: int) -> None:
        flags = taken.T if len(taken) > 1 else taken[0]
        self.model = _classifier(way, seed).fit(X, flags)

    def of(self, X: Any) -> np.ndarray:
        """Predict the choices of new rows."""
        return np.asarray(self.model.predict(X), dtype=bool).reshape(X.shape[0], -1).T


def _classifier(way: str, seed: int) -> Any:
    if way == "nearest":
        from sklearn.neighbors import KNeighborsClassifier

        return KNeighborsClassifier(n_neighbors=1)
    from sklearn.ensemble import RandomForestClassifier

    return RandomForestClassifier(n_estimators=_GATE_TREES, min_samples_leaf=5, random_state=seed)
