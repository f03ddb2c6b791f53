"""What the compiled parts of a tree hand to each other."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

NO_GAIN = 1e-9
"""Gains, or differences of gains, below this are rounding."""
STEP_BINS = 1024
"""Resolution of the curve of steps."""
SMALL_NODE = 48
"""With fewer rows the adaptive search looks at every gain first."""
LANES = 4
"""Features that the adaptive search walks through side by side."""
FLOOR, NEAREST, CEIL = 0, 1, 2
CONSTANT, TWO_VALUED = -2, -1


class Columns(NamedTuple):
    """Training features."""

    words: np.ndarray
    """Sorted columns with more than two values, one per line."""
    shift: int
    values: np.ndarray
    first_value: np.ndarray
    """``values[first_value[f] + rank]`` is a value of feature f."""
    line: np.ndarray
    """Line of feature f in ``words``, or CONSTANT or TWO_VALUED."""
    row_start: np.ndarray
    row_features: np.ndarray
    """Two-valued features that have their upper value, row by row."""
    feature_start: np.ndarray
    feature_rows: np.ndarray
    """Rows with the upper value, by feature."""


class Step(NamedTuple):
    """Adaptive step: alpha rows / (1 + exp(beta (r - 1/2))) after a gain of r times the best."""

    adaptive: bool
    alpha: float
    beta: float
    of_tree: bool
    per_feature: bool
    first_ratio: float
    """Taken as the ratio before there is a gain."""
    rounding: int
    by_midpoint: bool
    carry: bool


class Lanes(NamedTuple):
    """Features laid out side by side; the first index is the lane."""

    feature: np.ndarray
    ends: np.ndarray
    """A bit for each number of drawn rows after which the value changes."""
    one_left: np.ndarray
    """Rows of cluster one, by the number of drawn rows on the left."""
    target: np.ndarray
    tried: np.ndarray
    greatest: np.ndarray


class Node(NamedTuple):
    """What one node's search reads and writes; allocated once per tree."""

    packed: np.ndarray
    """By row: weight in the upper bits, weight of cluster one in the lower ones."""
    ones: np.ndarray
    zeros: np.ndarray
    both: np.ndarray
    """Sums over both sides of m ln m, by the count on the left."""
    totals: np.ndarray
    """Rows of each fixed class; empty with clusters."""
    left: np.ndarray
    upper: np.ndarray
    """Rows at the upper value of a two-valued feature, packed."""
    above: np.ndarray
    """With classes: rows at the upper value of a two-valued feature, all and by class."""
    lanes: Lanes
    tried: np.ndarray
    """Gains evaluated, by feature."""
    best: np.ndarray
    """Gain that a better split must exceed; the one that steps compare with; the node's own sum."""
    place: np.ndarray
    """Feature and end of the left side of the best split; next position to try."""
    deck: np.ndarray
    chosen: np.ndarray
    sorted_columns: np.ndarray
    present: np.ndarray
    """Bits by feature: has a sorted column; the same, or has the upper value in the node."""
    queue: np.ndarray
    """Features to search, in their order."""


class Rules(NamedTuple):
    """How a tree grows."""

    min_split: int
    max_depth: int
    root_depth: int
    per_node: int
    """Features drawn at each node; 0 for all."""
    classes: int
    """Classes of the fixed labels; 0 for two-means at each node."""
    start: int
    restarts: int


class Tree(NamedTuple):
    """Flat nodes: ``child`` is the left child (the right one follows), or the line of the leaf."""

    feature: np.ndarray
    threshold: np.ndarray
    child: np.ndarray
    gain: np.ndarray
    """Information gain of the split in nats; 0 in a leaf."""
    leaves: np.ndarray
    leaf_rows: np.ndarray
    deepest: int
    tried: np.ndarray
    """Gains evaluated, by feature."""
    kernels: int
    """Digest of the source that the tree was grown by."""
