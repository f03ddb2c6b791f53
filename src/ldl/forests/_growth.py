# mypy: disable-error-code="no-untyped-def,assignment"
"""The growth of one tree of StructRF or RF*, compiled (Algorithm 1 of the StructRF paper)."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ldl._compiled import cached, compiled
from ldl.forests._columns import NEW_VALUE, ROW, between
from ldl.forests._compiled import START, partition
from ldl.forests._split_search import (
    BAR,
    NO_GAIN,
    ONE,
    Node,
    Rules,
    Sample,
    make_node,
    prepare_classes,
    prepare_clusters,
    search,
)
from ldl.forests._two_means import make_clusters, two_means

LEAF = -1
FEATURE, LAST_LEFT, FIRST_RIGHT, CHILD = range(4)
"""Columns of ``Grown.nodes``; those in the middle are the rows on either side of a split."""


class Tree(NamedTuple):
    """A grown tree as flat arrays; the first node is the root."""

    feature: np.ndarray
    """Feature by which a node is split, or -1 in a leaf."""
    threshold: np.ndarray
    """Rows with a value up to this go to the left; 0 in a leaf."""
    child: np.ndarray
    """The left child (the right one follows), or the line of the leaf."""
    gain: np.ndarray
    """Information gain of the split in nats; 0 in a leaf."""
    leaves: np.ndarray
    """Mean distribution of each leaf."""
    leaf_rows: np.ndarray
    """Drawn rows of each leaf."""
    deepest: int
    """Depth of the deepest node."""
    tried: np.ndarray
    """Thresholds tried, by feature; those that a bound rules out count as well."""


class Room(NamedTuple):
    """Working memory of a tree."""

    node: Node
    words: np.ndarray
    """Sorted columns of the drawn rows, and room for those of the next depth."""
    rows: np.ndarray
    """Drawn rows, node by node."""
    right: np.ndarray
    """By row: whether it goes to the right."""
    spare: np.ndarray
    stack: np.ndarray
    """Nodes to grow: number, first row, end, depth, and which words hold the node."""
    state: np.ndarray
    """State of the random numbers."""


class Grown(NamedTuple):
    """A tree as compiled code writes it down, with room for more nodes than it has."""

    nodes: np.ndarray
    """The columns FEATURE, LAST_LEFT, FIRST_RIGHT and CHILD."""
    gain: np.ndarray
    leaves: np.ndarray
    leaf_rows: np.ndarray


@compiled
def _take_drawn_words(columns, weight, words):
    """Copy the sorted columns without the rows that were not drawn; one place is to spare."""
    for line in range(len(words)):
        k, passed = 0, np.uint32(0)
        for word in columns.words[line]:
            passed |= word & NEW_VALUE
            words[line, k] = word & ROW | passed
            if weight[word & ROW] > 0:
                k += 1
                passed = np.uint32(0)


@compiled
def _find_split(sample, label, room, clusters, rules, begin, end, total, depth, words):
    """Find the best split of a node; return false where it is to be a leaf."""
    if total < rules.min_split or depth > rules.max_depth:
        return False
    node, here, weight = room.node, room.rows[begin:end], sample.weight
    if label is not None and not prepare_classes(node, here, label, weight, sample.table):
        return False
    if clusters is not None:
        if not two_means(sample.D, here, weight, rules.start, room.state, clusters):
            return False
        prepare_clusters(node, here, clusters.z, weight, sample.table)
    return search(sample, label, node, rules, words, begin, end, here, total, room.state)


@compiled
def _divide(columns, node, words, begin, end, rows, right):
    """Mark the rows above the chosen split in ``right``; return a row from either side of it."""
    f, at = node.place[0], node.place[1]
    line = columns.line[f]
    if line < 0:
        for row in rows:
            right[row] = 0
        for k in range(columns.feature_start[f], columns.feature_start[f + 1]):
            right[columns.feature_rows[k]] = 1
        low, high = 0, 0
        for row in rows:
            if right[row]:
                high = row
            else:
                low = row
        return low, high
    for k in range(begin, end):
        right[words[line, k] & ROW] = k >= at
    return np.int64(words[line, at - 1] & ROW), np.int64(words[line, at] & ROW)


@compiled
def _partition_words(source, target, begin, end, n_left, right):
    """Divide the sorted columns of a node into those of its children."""
    for line in range(len(source)):
        here, there = source[line, begin:end], target[line, begin:end]
        a, b = np.uint64(0), np.uint64(n_left)
        # Their highest bits say whether a value began since the last row of that side.
        since_left, since_right = np.uint32(0), np.uint32(0)
        for i in range(np.uint64(len(here))):
            word = here[i]
            since_left |= word
            since_right |= word
            side = np.uint64(right[word & ROW])
            since = since_right if side else since_left
            there[b if side else a] = word | since & NEW_VALUE
            since_left = since_left if side else np.uint32(0)
            since_right = np.uint32(0) if side else since_right
            a += ONE - side
            b += side


@compiled
def _mean(D, rows, weight, mean):
    """Write the weighted mean of the distributions of ``rows`` into ``mean``."""
    mean[:] = 0.0
    total = 0
    for row in rows:
        total += weight[row]
        for j in range(D.shape[1]):
            mean[j] += weight[row] * D[row, j]
    mean /= total


@compiled
def _drawn(rows, weight):
    """Count ``rows`` as often as they were drawn."""
    total = 0
    for row in rows:
        total += weight[row]
    return total


@compiled
def _put(stack, height, number, begin, end, depth, at_hand):
    """Put a node on the stack."""
    stack[height, 0], stack[height, 1], stack[height, 2] = number, begin, end
    stack[height, 3], stack[height, 4] = depth, at_hand


@cached
def _grow(sample, label, room, clusters, rules, grown):
    """Grow a tree into ``grown``; return the numbers of its nodes and leaves, and its depth.

    Either ``label``, the class of each row, or ``clusters``, memory for two-means at each node, is
    None: what is not needed is not compiled.
    """
    rows, right, weight, stack, written = (
        room.rows,
        room.right,
        sample.weight,
        room.stack,
        grown.nodes,
    )
    _take_drawn_words(sample.columns, weight, room.words[0])
    nodes, leaves, deepest, height = START + 1, START, START, START + 1
    _put(stack, START, START, START, len(rows), rules.root_depth, START)
    while height > 0:
        height -= 1
        number, begin, end = stack[height, 0], stack[height, 1], stack[height, 2]
        depth, at_hand = stack[height, 3], stack[height, 4]
        words, here = room.words[at_hand], rows[begin:end]
        total = _drawn(here, weight)
        deepest = max(deepest, depth)
        if not _find_split(sample, label, room, clusters, rules, begin, end, total, depth, words):
            _mean(sample.D, here, weight, grown.leaves[leaves])
            grown.leaf_rows[leaves] = total
            written[number, FEATURE], written[number, CHILD] = LEAF, leaves
            leaves += 1
            continue
        low, high = _divide(sample.columns, room.node, words, begin, end, here, right)
        written[number, FEATURE], written[number, CHILD] = room.node.place[0], nodes
        written[number, LAST_LEFT], written[number, FIRST_RIGHT] = low, high
        grown.gain[number] = (room.node.best[BAR] - NO_GAIN) / total
        n_left = partition(here, right, room.spare)
        weight_left = _drawn(here[:n_left], weight)
        larger = max(weight_left, total - weight_left)
        if larger >= rules.min_split and depth < rules.max_depth:
            _partition_words(words, room.words[1 - at_hand], begin, end, n_left, right)
        _put(stack, height, nodes + 1, begin + n_left, end, depth + 1, 1 - at_hand)
        _put(stack, height + 1, nodes, begin, begin + n_left, depth + 1, 1 - at_hand)
        height += 2
        nodes += 2
    return nodes, leaves, deepest


def grow(X: Any, sample: Sample, label: np.ndarray | None, rules: Rules, seed: int) -> Tree:
    """Grow one tree on the rows of X that were drawn, by their classes or by two-means."""
    (n, c), q = sample.D.shape, X.shape[1]
    columns, drawn = sample.columns, len(sample.table) - 1
    rows = np.flatnonzero(sample.weight)
    m = len(rows)
    two_valued = len(columns.feature_rows) > 0
    room = Room(
        node=make_node(n, q, drawn, rules.classes, two_valued),
        words=np.empty((2, len(columns.words), m + 1), np.uint32),
        rows=rows,
        right=np.zeros(n, np.uint8),
        spare=np.empty(m, np.int64),
        stack=np.empty((m + 1, 5), np.int64),
        state=np.array([seed], np.uint64),
    )
    # Every split leaves a row on both sides, so there are fewer than 2 m nodes.
    grown = Grown(
        nodes=np.zeros((2 * m, 4), np.int32),
        gain=np.zeros(2 * m),
        leaves=np.empty((m, c)),
        leaf_rows=np.empty(m, np.int64),
    )
    clusters = make_clusters(m, c) if label is None else None
    nodes, leaves, deepest = _grow(sample, label, room, clusters, rules, grown)
    feature, low, high, child = np.ascontiguousarray(grown.nodes[:nodes].T)
    threshold = np.zeros(nodes)
    splits = np.flatnonzero(feature >= 0)
    if len(splits):
        low, high = X[low[splits], feature[splits]], X[high[splits], feature[splits]]
        threshold[splits] = between(np.asarray(low).ravel(), np.asarray(high).ravel())
    return Tree(
        feature=feature,
        threshold=threshold,
        child=child,
        gain=grown.gain[:nodes].copy(),
        leaves=grown.leaves[:leaves].copy(),
        leaf_rows=grown.leaf_rows[:leaves].copy(),
        deepest=deepest,
        tried=room.node.tried,
    )


def share_leaves(trees: list[Tree]) -> np.ndarray:
    """Move the leaves of all trees to one array, of which each tree keeps a part.

    One tree after the other, so that they take memory once.
    """
    leaves = np.empty((sum(len(tree.leaves) for tree in trees), trees[0].leaves.shape[1]))
    end = 0
    for k, tree in enumerate(trees):
        part = leaves[end : end + len(tree.leaves)]
        part[:] = tree.leaves
        trees[k] = tree._replace(leaves=part)
        end += len(part)
    return leaves
