"""A tree of a boosting round, of either kind."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

LEAF = -1


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
