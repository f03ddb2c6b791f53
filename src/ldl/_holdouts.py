"""Choices among candidates on rows held out of the training rows."""

from __future__ import annotations

import math

import numpy as np

_EQUAL = 1e-12
"""Scores that differ by less than this share of the largest count as equal."""


def holdouts(
    n: int, share: float, rows: int, random_state: int | None
) -> list[tuple[np.ndarray, np.ndarray]]:
    """Draw random splits of ``n`` rows into rows to fit and rows to score.

    There are as many splits as it takes to score ``rows`` rows in all.
    """
    generator = np.random.default_rng(random_state)
    held = min(max(1, round(n * share)), n - 1)
    orders = [generator.permutation(n) for _ in range(math.ceil(rows / held))]
    return [(np.sort(order[held:]), np.sort(order[:held])) for order in orders]


def split(n: int, share: float, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Draw rows to fit and rows held out, the share's worth of them, but one where it is not 0."""
    count = max(1, round(share * n)) if share else 0
    order = np.random.default_rng(seed).permutation(n)
    return np.sort(order[count:]), np.sort(order[:count])


def first_best(scores: np.ndarray, lower_is_better: bool) -> int:
    """Return the place of the best score, the first where others differ in the last digits only."""
    losses = scores if lower_is_better else -scores
    return int(np.argmax(losses <= losses.min() + _EQUAL * np.abs(losses).max()))
