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


class Growing(NamedTuple):
    """A tree that grows at the leaf with the greatest gain, with room for all its nodes."""

    rows: np.ndarray
    """Rows, leaf by leaf."""
    right: np.ndarray
    """By row: whether it goes to the right."""
    spare: np.ndarray
    gains: np.ndarray
    """By leaf: gain of its best split, 0 where none gains."""
    splits: np.ndarray
    """By leaf: feature and bin of that split."""
    begins: np.ndarray
    ends: np.ndarray
    """By leaf: its part of the rows."""
    nodes_of: np.ndarray
    """By leaf: its node."""
    feature: np.ndarray
    threshold: np.ndarray
    child: np.ndarray
    leaf_of: np.ndarray

    def cut_off(self, nodes: int, leaves: np.ndarray) -> BoostedTree:
        """Return the tree, without the room that it has not used."""
        feature, threshold = self.feature[:nodes].copy(), self.threshold[:nodes].copy()
        return BoostedTree(feature, threshold, self.child[:nodes].copy(), leaves, self.leaf_of)


def growing(rows: int, leaves: int) -> Growing:
    """Return a tree whose root has all rows."""
    ends = np.zeros(leaves, np.int64)
    ends[0] = rows
    return Growing(
        rows=np.arange(rows),
        right=np.zeros(rows, np.uint8),
        spare=np.empty(rows, np.int64),
        gains=np.zeros(leaves),
        splits=np.zeros((leaves, 2), np.int64),
        begins=np.zeros(leaves, np.int64),
        ends=ends,
        nodes_of=np.zeros(leaves, np.int64),
        feature=np.full(2 * leaves - 1, LEAF, np.int32),
        threshold=np.zeros(2 * leaves - 1),
        child=np.zeros(2 * leaves - 1, np.int64),
        leaf_of=np.empty(rows, np.int64),
    )


@compiled
def _divide(bins, f, cut, rows, right, spare):
    """Put rows that go to the left first, each side in its order; return how many those are."""
    place = bins.place[f]
    for row in rows:
        right[row] = place >= 0 and bins.codes[place, row] > cut
    if place < 0:
        for i in range(bins.feature_start[f], bins.feature_start[f + 1]):
            right[bins.feature_rows[i]] = 1
    return partition(rows, right, spare)


@compiled
def split_leaf(bins, tree, a, b, nodes):
    """Split leaf a, whose smaller child becomes leaf b and whose larger one stays leaf a.

    So the larger child inherits the histograms. Return how many rows went to the left, and whether
    these are the smaller child.
    """
    f, cut = tree.splits[a, 0], tree.splits[a, 1]
    begin, end = tree.begins[a], tree.ends[a]
    on_left = _divide(bins, f, cut, tree.rows[begin:end], tree.right, tree.spare)
    middle, number = begin + on_left, tree.nodes_of[a]
    tree.feature[number], tree.child[number] = f, nodes
    tree.threshold[number] = bins.edges[bins.first_edge[f] + cut]
    left_is_smaller = on_left <= end - middle
    if left_is_smaller:
        tree.begins[b], tree.ends[b], tree.begins[a] = begin, middle, middle
        tree.nodes_of[b], tree.nodes_of[a] = nodes, nodes + 1
    else:
        tree.begins[b], tree.ends[b], tree.ends[a] = middle, end, middle
        tree.nodes_of[b], tree.nodes_of[a] = nodes + 1, nodes
    tree.gains[a], tree.gains[b] = 0.0, 0.0
    return on_left, left_is_smaller


@compiled
def best_leaf(gains):
    """Return the leaf with the greatest gain; of equal ones the first."""
    best = 0
    for i in range(1, len(gains)):
        if gains[i] > gains[best] * (1.0 + ROUNDING):
            best = i
    return best


@compiled
def name_leaves(tree, leaves):
    """Write down which leaf each node and each row belongs to."""
    for i in range(leaves):
        tree.child[tree.nodes_of[i]] = i
        for k in range(tree.begins[i], tree.ends[i]):
            tree.leaf_of[tree.rows[k]] = i
