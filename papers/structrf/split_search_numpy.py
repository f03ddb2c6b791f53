"""The split search and the two-means in plain NumPy: slow, short, the model of the compiled code.

Rows drawn twice stand here twice. Tests use it, and so does what wants every gain along a feature.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

NO_GAIN = 1e-9


@dataclass(frozen=True)
class Trace:
    """The cuts of one feature that were evaluated, in their order."""

    rows_left: np.ndarray
    thresholds: np.ndarray
    gains: np.ndarray
    """In nats."""


@dataclass(frozen=True)
class Split:
    """The best split of a node; feature -1 if none has a gain."""

    feature: int
    threshold: float
    gain: float
    """In nats."""
    features: list[Trace]

    @property
    def tried(self) -> np.ndarray:
        """Return the number of gains evaluated, by feature."""
        return np.array([len(trace.gains) for trace in self.features])


@dataclass(frozen=True)
class AdaptiveStep:
    """The paper's adaptive step, which skips cuts after low gains."""

    alpha: float = 0.25
    beta: float = 8.0

    def length(self, ratio: float, rows: int) -> int:
        """Return how many rows to go on after a gain that is ``ratio`` of the greatest."""
        return max(1, int(self.alpha * rows / (1 + np.exp(self.beta * (ratio - 0.5)))))


def entropy(counts: np.ndarray) -> np.ndarray:
    """Return the Shannon entropy in nats of the last axis."""
    shares = counts / np.maximum(counts.sum(axis=-1, keepdims=True), 1)
    return -(shares * np.log(np.where(shares > 0, shares, 1.0))).sum(axis=-1)


def gain_curve(x: np.ndarray, labels: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return rows on the left, threshold and information gain of every cut of one feature."""
    order = np.argsort(x, kind="stable")
    values, onehot = x[order], np.eye(int(labels.max()) + 1)[labels[order]]
    left = np.cumsum(onehot, axis=0)[:-1]
    total = onehot.sum(axis=0)
    at = np.flatnonzero(values[1:] > values[:-1])
    rows, n = at + 1, len(x)
    gain = entropy(total) - (
        rows / n * entropy(left[at]) + (n - rows) / n * entropy(total - left[at])
    )
    low, high = values[at], values[at + 1]
    middle = 0.5 * low + 0.5 * high
    return rows, np.where((low <= middle) & (middle < high), middle, low), gain


def visited(
    gain: np.ndarray, rows: np.ndarray, n: int, step: AdaptiveStep, greatest: float
) -> tuple[np.ndarray, float]:
    """Return the cuts that the adaptive step evaluates, and the greatest gain after them."""
    chosen, target = [], 1
    for k in range(len(rows)):
        if rows[k] < target:
            continue
        chosen.append(k)
        here = gain[k] if gain[k] * n > NO_GAIN else 0.0
        greatest = max(greatest, here)
        target = rows[k] + step.length(here / greatest if greatest > 0 else 1.0, n)
    return np.array(chosen, dtype=int), greatest


def best_split(X: np.ndarray, labels: np.ndarray, step: AdaptiveStep | None = None) -> Split:
    """Find the first best cut over all features among all cuts, or those that ``step`` visits."""
    n = len(X)
    best, feature, threshold, greatest = 0.0, -1, np.nan, 0.0
    traces = []
    for f, x in enumerate(X.T):
        rows, thresholds, gain = gain_curve(x, labels)
        if step is not None:
            chosen, greatest = visited(gain, rows, n, step, greatest)
            rows, thresholds, gain = rows[chosen], thresholds[chosen], gain[chosen]
        traces.append(Trace(rows, thresholds, gain))
        # Gains that differ by rounding are equal, and the first of equals wins.
        for t, g in zip(thresholds, gain, strict=True):
            if g > best + NO_GAIN / n:
                best, feature, threshold = g, f, t
    return Split(feature, float(threshold), float(best), traces)


def two_means(D: np.ndarray, steps: int = 50) -> np.ndarray | None:
    """Return Lloyd's clusters, from the sign of the first component; None if rows are equal."""
    if (D[0] == D).all():
        return None
    centred = D - D.mean(axis=0)
    z = centred @ np.linalg.eigh(centred.T @ centred)[1][:, -1] > 0
    for _ in range(steps):
        if z.all() or not z.any():
            return None
        a, b = D[z].mean(axis=0), D[~z].mean(axis=0)
        moved = ((D - a) ** 2).sum(axis=1) < ((D - b) ** 2).sum(axis=1)
        if (moved == z).all():
            break
        z = moved
    return z.astype(int)
