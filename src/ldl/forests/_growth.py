# mypy: disable-error-code="no-untyped-def,assignment"
"""Whole trees in compiled code, and the prediction of a forest of them.

numba keeps compiled code on disk and looks at the time stamp of a function's own file only. These
two functions are what it keeps; ``grow`` has a digest of the files that it calls into among its
closure variables, which numba's key holds, so a change there compiles it again. Where many
processes start at once on a shared disk, point NUMBA_CACHE_DIR at a local folder.
"""

from __future__ import annotations

import hashlib
import inspect
from collections.abc import Callable

import numpy as np
from numba import njit

from ldl.forests import _split_search, _split_steps, _split_two_valued, _two_means
from ldl.forests import _types as _tree_types
from ldl.forests._split_search import prepare_classes, prepare_clusters, search
from ldl.forests._two_means import compiled, two_means
from ldl.forests._types import LANES, NO_GAIN, Lanes, Node, Tree

LEAF = -1


def _sources() -> int:
    modules = (_split_search, _split_steps, _split_two_valued, _tree_types, _two_means)
    text = "".join(inspect.getsource(module) for module in modules)
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:7], "big")


@compiled
def _drawn_words(columns, active, weight, m):
    """The sorted columns without the rows that were not drawn; one place to spare at the end."""
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
    """Threshold of the chosen split; ``right`` gets 1 for rows above it, 0 for the others."""
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
    """Sorted columns of a node into sorted columns of its children."""
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
    """Rows that go left before those that go right, each in their order; number of the former."""
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
    mean[:] = 0.0
    total = 0
    for row in rows:
        total += weight[row]
        for j in range(D.shape[1]):
            mean[j] += weight[row] * D[row, j]
    mean /= total


@compiled
def _drawn(rows, weight):
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
    E, C, vectors = np.empty((m, c)), np.empty((c, c)), np.empty((3, c))
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
                D, here, weight, rules.start, rules.restarts, state, E, C, vectors, z, kept
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
    @njit(cache=True, nogil=True, error_model="numpy")
    def grow(columns, D, label, weight, active, rules, step, curve, table, seed):
        return _grow(columns, D, label, weight, active, rules, step, curve, table, seed, kernels)

    return grow


grow = _keyed_by(_sources())
"""One tree on rows drawn ``weight`` times each. ``table[m]`` is m ln m."""


@njit(cache=True, nogil=True, error_model="numpy")
def add_predictions(X, nodes, threshold, roots, leaves, total):
    """Add the leaf of each row in each tree to ``total``, tree by tree.

    A node is its feature and its left child, or -1 and its leaf. Four rows go down together, so
    that the processor need not wait for one node before it asks for the next.
    """
    last = len(X) - 1
    for root in roots:
        for i in range(0, len(X), 4):
            # Past the end the last row goes down again, and is not added.
            i1, i2, i3 = min(i + 1, last), min(i + 2, last), min(i + 3, last)
            a = b = c = d = root
            fa = fb = fc = fd = nodes[root, 0]
            while fa >= 0 or fb >= 0 or fc >= 0 or fd >= 0:
                if fa >= 0:
                    a = nodes[a, 1] + (X[i, fa] > threshold[a])
                    fa = nodes[a, 0]
                if fb >= 0:
                    b = nodes[b, 1] + (X[i1, fb] > threshold[b])
                    fb = nodes[b, 0]
                if fc >= 0:
                    c = nodes[c, 1] + (X[i2, fc] > threshold[c])
                    fc = nodes[c, 0]
                if fd >= 0:
                    d = nodes[d, 1] + (X[i3, fd] > threshold[d])
                    fd = nodes[d, 0]
            ends = (a, b, c, d)
            for k in range(min(4, len(X) - i)):
                for j in range(leaves.shape[1]):
                    total[i + k, j] += leaves[nodes[ends[k], 1], j]
