# mypy: disable-error-code="no-untyped-def"
"""A tree of a boosting round, of either kind, and what both need to grow."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ldl._compiled import compiled
from ldl.forests._compiled import partition

LEAF = -1
ROUNDING = 1e-10
"""Gains that differ by a smaller share count as equal."""
SMALLEST = 1e-12
"""Least gain of a split."""


class BoostedTree(NamedTuple):
    """A grown tree as flat arrays; the first node is the root."""

    feature: np.ndarray
    """Feature by which a node is split, or -1 in a leaf."""
    threshold: np.ndarray
    """Rows with a value up to this go to the left."""
    child: np.ndarray
    """The left child (the right one follows), or the line of the leaf."""
    leaves: np.ndarray
    """Output of each leaf: one number, or one for each label."""
    leaf_of: np.ndarray
    """Line of the leaf of each training row."""


@compiled
def divide(bins, f, cut, rows, right, spare):
    """Put rows that go to the left first, each side in its order; return how many those are."""
    place = bins.place[f]
    for row in rows:
        right[row] = place >= 0 and bins.codes[place, row] > cut
    if place < 0:
        for i in range(bins.feature_start[f], bins.feature_start[f + 1]):
            right[bins.feature_rows[i]] = 1
    return partition(rows, right, spare)


@compiled
def best_leaf(gains):
    """Return the leaf with the greatest gain; of equal ones the first."""
    best = 0
    for i in range(1, len(gains)):
        if gains[i] > gains[best] * (1.0 + ROUNDING):
            best = i
    return best
