# mypy: disable-error-code="no-untyped-def,assignment"
"""The growth of one tree of StructRF or RF*, compiled (Algorithm 1 of the StructRF paper)."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from ldl.forests import _columns, _compiled, _split_search, _two_means
from ldl.forests._compiled import cached, compiled, source_digest
from ldl.forests._split_search import (
    LANES,
    NO_GAIN,
    Lanes,
    Node,
    prepare_classes,
    prepare_clusters,
    search,
)
from ldl.forests._two_means import two_means

LEAF = -1


class Rules(NamedTuple):
    """The settings by which a tree grows, beside those of the adaptive step."""

    min_split: int
    """A node with fewer rows is a leaf."""
    max_depth: int
    """A node deeper than this is a leaf."""
    root_depth: int
    """Depth of the root."""
    per_node: int
    """Features drawn at each node; 0 for all."""
    classes: int
    """Classes of the fixed labels; 0 for two-means at each node."""
    start: int
    """Start of the two-means."""
    restarts: int
    """Random starts of the two-means."""


class Tree(NamedTuple):
    """A grown tree as flat arrays; the first node is the root."""

    feature: np.ndarray
    """Feature by which a node is split, or -1 in a leaf."""
    threshold: np.ndarray
    """Rows with a value up to this go to the left."""
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
    """Gains evaluated, by feature."""
    kernels: int
    """Digest of the source that the tree was grown by."""


@compiled
def _drawn_words(columns, active, weight, m):
    """Copy the sorted columns without the rows that were not drawn; one place is to spare."""
    words = np.empty((len(columns.words), m + 1), columns.words.dtype)
    mask = (np.uint64(1) << np.uint64(columns.shift)) - np.uint64(1)
    for f in active:
        line = columns.line[f]
        if line >= 0:
            k = 0
            for word in columns.words[line]:
                words[line, k] = word
                k += weight[np.uint64(word) & mask] > 0
    return words


@compiled
def new_node(columns, n, q, drawn, classes, active):
    """Allocate the memory of a tree's searches; ``drawn`` is the number of rows with weights."""
    clusters = classes == 0
    upper_values = q if len(columns.feature_rows) else 0
    chosen = np.zeros(q, np.bool_)
    chosen[active] = True
    sorted_columns = np.zeros(q // 64 + 1, np.uint64)
    for f in range(q):
        if columns.line[f] >= 0:
            sorted_columns[f >> 6] |= np.uint64(1) << np.uint64(f & 63)
    return Node(
        np.zeros(n if clusters else 0, columns.words.dtype),
        np.empty(drawn + 1),
        np.empty(drawn + 1),
        np.empty(drawn + 1),
        np.zeros(classes, np.int64),
        np.zeros(classes, np.int64),
        np.zeros(upper_values if clusters else 0, columns.words.dtype),
        np.zeros((0 if clusters else upper_values, classes + 1), np.int64),
        Lanes(
            np.zeros(LANES, np.int64),
            np.zeros((LANES, drawn // 64 + 2), np.uint64),
            np.zeros((LANES, drawn + 1), np.int32),
            np.zeros(LANES, np.int64),
            np.zeros(LANES, np.int64),
            np.zeros(LANES),
        ),
        np.zeros(q, np.int64),
        np.zeros(3),
        np.zeros(3, np.int64),
        active.copy(),
        chosen,
        sorted_columns,
        sorted_columns.copy(),
        np.zeros(q, np.int64),
    )


@compiled
def _divide(columns, f, at, words, begin, end, rows, right):
    """Return the threshold of the chosen split, and mark the rows above it in ``right``."""
    line = columns.line[f]
    first = columns.first_value[f]
    if line < 0:
        for row in rows:
            right[row] = 0
        for k in range(columns.feature_start[f], columns.feature_start[f + 1]):
            right[columns.feature_rows[k]] = 1
        low, high = columns.values[first], columns.values[first + 1]
    else:
        shift = np.uint64(columns.shift)
        mask = (np.uint64(1) << shift) - np.uint64(1)
        for k in range(begin, end):
            right[np.uint64(words[line, k]) & mask] = k >= at
        low = columns.values[first + np.int64(np.uint64(words[line, at - 1]) >> shift)]
        high = columns.values[first + np.int64(np.uint64(words[line, at]) >> shift)]
    middle = 0.5 * low + 0.5 * high
    # Rounding may put the middle onto the upper value, which belongs to the right.
    return middle if low <= middle < high else low


@compiled
def _partition_words(columns, sorted_features, source, target, begin, end, n_left, right):
    """Divide the sorted columns of a node into those of its children."""
    mask = (np.uint64(1) << np.uint64(columns.shift)) - np.uint64(1)
    lines = columns.line
    for f in sorted_features:
        line = lines[f]
        a, b = begin, begin + n_left
        for i in range(begin, end):
            word = source[line, i]
            side = np.int64(right[np.uint64(word) & mask])
            target[line, b if side else a] = word
            a += 1 - side
            b += side


@compiled
def _partition_rows(rows, right, spare):
    """Put rows that go to the left first, each side in its order; return how many those are."""
    a, b = 0, 0
    for row in rows:
        if right[row]:
            spare[b] = row
            b += 1
        else:
            rows[a] = row
            a += 1
    rows[a:] = spare[:b]
    return a


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
def _grow(columns, D, label, weight, active, rules, step, curve, table, seed, kernels):
    (n, c), q = D.shape, len(columns.line)
    rows = np.flatnonzero(weight)
    m, everyone = len(rows), weight.sum()
    sorted_features = active[columns.line[active] >= 0]
    words = _drawn_words(columns, active, weight, m)
    spare_words = np.empty_like(words)
    node = new_node(columns, n, q, everyone, rules.classes, active)
    state = np.array([seed], np.uint64)
    E, T, C = np.empty((m, c)), np.empty((c, m)), np.empty((c, c))
    vectors, scores = np.empty((3, c)), np.empty(m)
    z, kept = np.empty(m, np.uint8), np.empty(m, np.uint8)
    right, spare = np.zeros(n, np.uint8), np.empty(m, np.int64)

    # Every split leaves a row on both sides, so there are fewer than 2 m nodes.
    feature = np.full(2 * m, LEAF, np.int32)
    threshold = np.zeros(2 * m)
    child = np.zeros(2 * m, np.int32)
    gain = np.zeros(2 * m)
    leaves, leaf_rows = np.empty((m, c)), np.empty(m, np.int64)
    nodes, n_leaves, deepest = 1, 0, 0
    # Number, first row, end, depth, and whether the spare words hold the node.
    stack = np.empty((m + 1, 5), np.int64)
    stack[0] = (0, 0, m, rules.root_depth, 0)
    height = 1
    while height > 0:
        height -= 1
        number, begin, end, depth, in_spare = stack[height]
        source, target = (spare_words, words) if in_spare else (words, spare_words)
        here = rows[begin:end]
        total = _drawn(here, weight)
        deepest = max(deepest, depth)
        splits = total >= rules.min_split and depth <= rules.max_depth
        if splits and rules.classes == 0:
            splits = two_means(
                D,
                here,
                weight,
                rules.start,
                rules.restarts,
                state,
                E,
                T,
                C,
                vectors,
                scores,
                z,
                kept,
            )
            if splits:
                prepare_clusters(node, here, z, weight, columns.shift, table)
        elif splits:
            splits = prepare_classes(node, here, label, weight, table)
        if splits:
            splits = search(
                node,
                columns,
                source,
                begin,
                end,
                here,
                label,
                weight,
                active,
                rules.per_node,
                step,
                curve,
                everyone if step.of_tree else total,
                total,
                table,
                state,
            )
        if not splits:
            _mean(D, here, weight, leaves[n_leaves])
            leaf_rows[n_leaves] = total
            child[number] = n_leaves
            n_leaves += 1
            continue
        f, at = node.place[0], node.place[1]
        feature[number] = f
        gain[number] = (node.best[0] - NO_GAIN) / total
        threshold[number] = _divide(columns, f, at, source, begin, end, here, right)
        child[number] = nodes
        n_left = _partition_rows(here, right, spare)
        weight_left = _drawn(here[:n_left], weight)
        larger = max(weight_left, total - weight_left)
        if larger >= rules.min_split and depth < rules.max_depth:
            _partition_words(columns, sorted_features, source, target, begin, end, n_left, right)
        stack[height] = (nodes + 1, begin + n_left, end, depth + 1, 1 - in_spare)
        stack[height + 1] = (nodes, begin, begin + n_left, depth + 1, 1 - in_spare)
        height += 2
        nodes += 2
    return Tree(
        feature[:nodes].copy(),
        threshold[:nodes].copy(),
        child[:nodes].copy(),
        gain[:nodes].copy(),
        leaves[:n_leaves].copy(),
        leaf_rows[:n_leaves].copy(),
        deepest,
        node.tried,
        kernels,
    )


def _keyed_by(kernels: int) -> Callable[..., Tree]:
    """Make ``grow`` with a closure variable, for numba's key holds no more of other files."""

    @cached
    def grow(columns, D, label, weight, active, rules, step, curve, table, seed):
        return _grow(columns, D, label, weight, active, rules, step, curve, table, seed, kernels)

    return grow


grow = _keyed_by(source_digest(_columns, _compiled, _split_search, _two_means))
"""Grow one tree on rows that were drawn ``weight`` times each. ``table[m]`` is m ln m."""
