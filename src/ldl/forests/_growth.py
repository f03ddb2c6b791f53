# mypy: disable-error-code="no-untyped-def,assignment"
"""The growth of one tree of StructRF or RF*, compiled (Algorithm 1 of the StructRF paper)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from ldl.forests import _columns, _compiled, _split_search, _two_means
from ldl.forests._columns import NEW_VALUE, ROW, between
from ldl.forests._compiled import cached, compiled, source_digest
from ldl.forests._split_search import (
    LANES,
    NO_GAIN,
    ONE,
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


class Grown(NamedTuple):
    """A tree as compiled code returns it, whose splits lie between two rows."""

    feature: np.ndarray
    last_left: np.ndarray
    """Row with the greatest value on the left of a split."""
    first_right: np.ndarray
    """Row with the least value on its right."""
    child: np.ndarray
    gain: np.ndarray
    leaves: np.ndarray
    leaf_rows: np.ndarray
    deepest: int
    tried: np.ndarray
    kernels: int
    """Digest of the source that the tree was grown by."""


@compiled
def _drawn_words(columns, active, weight, m):
    """Copy the sorted columns without the rows that were not drawn; one place is to spare."""
    words = np.empty((len(columns.words), m + 1), np.uint32)
    for f in active:
        line = columns.line[f]
        if line >= 0:
            k, passed = 0, np.uint32(0)
            for word in columns.words[line]:
                passed |= word & NEW_VALUE
                words[line, k] = word & ROW | passed
                if weight[word & ROW] > 0:
                    k += 1
                    passed = np.uint32(0)
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
        np.zeros(n if clusters else 0, np.uint64),
        np.empty(drawn + 1),
        np.empty(drawn + 1),
        np.empty(drawn + 1),
        np.zeros(classes, np.int64),
        np.zeros(classes, np.int64),
        np.zeros(upper_values if clusters else 0, np.uint64),
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
    """Mark the rows above the chosen split in ``right``; return a row from either side of it."""
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
def _partition_words(sorted_features, lines, source, target, begin, end, n_left, right):
    """Divide the sorted columns of a node into those of its children."""
    for f in sorted_features:
        here, there = source[lines[f], begin:end], target[lines[f], begin:end]
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
    last_left, first_right = np.zeros(2 * m, np.int32), np.zeros(2 * m, np.int32)
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
                prepare_clusters(node, here, z, weight, table)
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
        last_left[number], first_right[number] = _divide(
            columns, f, at, source, begin, end, here, right
        )
        child[number] = nodes
        n_left = _partition_rows(here, right, spare)
        weight_left = _drawn(here[:n_left], weight)
        larger = max(weight_left, total - weight_left)
        if larger >= rules.min_split and depth < rules.max_depth:
            _partition_words(
                sorted_features, columns.line, source, target, begin, end, n_left, right
            )
        stack[height] = (nodes + 1, begin + n_left, end, depth + 1, 1 - in_spare)
        stack[height + 1] = (nodes, begin, begin + n_left, depth + 1, 1 - in_spare)
        height += 2
        nodes += 2
    return Grown(
        feature[:nodes].copy(),
        last_left[:nodes].copy(),
        first_right[:nodes].copy(),
        child[:nodes].copy(),
        gain[:nodes].copy(),
        leaves[:n_leaves].copy(),
        leaf_rows[:n_leaves].copy(),
        deepest,
        node.tried,
        kernels,
    )


def _keyed_by(kernels: int) -> Callable[..., Grown]:
    """Make ``grow`` with a closure variable, for numba's key holds no more of other files."""

    @cached
    def grow(columns, D, label, weight, active, rules, step, curve, table, seed):
        return _grow(columns, D, label, weight, active, rules, step, curve, table, seed, kernels)

    return grow


_compiled_grow = _keyed_by(source_digest(_columns, _compiled, _split_search, _two_means))


def grow(X: Any, columns: _columns.Columns, *details: Any) -> Tree:
    """Grow one tree on rows of X that were drawn ``weight`` times each.

    ``details`` are those of ``_grow`` up to the seed; ``table[m]`` is m ln m.
    """
    grown = _compiled_grow(columns, *details)
    threshold = np.zeros(len(grown.feature))
    splits = np.flatnonzero(grown.feature >= 0)
    if len(splits):
        features = grown.feature[splits]
        low, high = X[grown.last_left[splits], features], X[grown.first_right[splits], features]
        threshold[splits] = between(np.asarray(low).ravel(), np.asarray(high).ravel())
    return Tree(
        grown.feature,
        threshold,
        grown.child,
        grown.gain,
        grown.leaves,
        grown.leaf_rows,
        grown.deepest,
        grown.tried,
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
