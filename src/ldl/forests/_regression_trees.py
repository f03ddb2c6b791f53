# mypy: disable-error-code="no-untyped-def,assignment"
"""Trees that reduce the squared error of all labels at once, compiled.

Of a node's rows, each as often as it was drawn, only the sum over the labels counts: a split is the
better the greater |L|^2 / l + |R|^2 / r, where L and R are the sums of the distributions of the l
and r rows on either side. While rows go over from right to left, |L|^2 and the product of L with
the sum of the node are kept up to date, so each row costs one product of two distributions.

Features are whole numbers, the ranks of their values. A node puts its rows in the order of a
feature by counting where there are few ranks, by insertion where there are few rows, and in two
passes over the digits of the rank else. Features with two values need no order: a node sums up the
rows that have the upper one, which of compressed data are few.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ldl._compiled import cached, compiled
from ldl.forests._compiled import START, partition, random_below

LEAF = -1
NOWHERE, IN_KEYS, IN_SPARE = range(3)
"""Where the rows of a node are in the order of a feature."""
FEW_ROWS = 40
"""Nodes up to this size are sorted by insertion."""
ONE_PASS_BITS = 8
"""Ranks of so many bits are counted in one pass."""
_ROUNDING = 1e-13
"""Splits that are better by a smaller share count as equal."""
_PURE = 1e-15
"""A node whose rows differ less, in mean squared distance, is a leaf."""


class Rules(NamedTuple):
    """The settings by which a tree grows."""

    per_node: int
    """Features that a node looks at; more where none of them varies."""
    min_split: int
    """A node with fewer rows is a leaf."""
    max_depth: int
    """A node this deep is a leaf; the root has depth 0."""


class Features(NamedTuple):
    """Training features as whole numbers."""

    ranks: np.ndarray
    """By feature: the rank of each row's value."""
    two_valued: np.ndarray
    """By feature: whether it has two values."""
    row_start: np.ndarray
    """Start of each row's list in ``row_features``."""
    row_features: np.ndarray
    """Two-valued features that have their upper value, row by row."""


class Room(NamedTuple):
    """Working memory of a tree: its rows, notes about those of a node, and room to sort them."""

    rows: np.ndarray
    """Drawn rows, node by node."""
    right: np.ndarray
    """By row: whether it goes to the right."""
    moving: np.ndarray
    """Room for rows that do."""
    stack: np.ndarray
    """Nodes to grow: number, first row, end, depth."""
    deck: np.ndarray
    """The features, in a random order."""
    state: np.ndarray
    """State of the random numbers."""
    total: np.ndarray
    """Sum of the node's distributions."""

    weight: np.ndarray
    """Times that a row was drawn."""
    weighted: np.ndarray
    """Its distribution, as often."""
    squares: np.ndarray
    """Squared lengths of these."""
    with_total: np.ndarray
    """Their products with the sum of the node."""
    keys: np.ndarray
    """Rank of a row in the upper half of the bits, its place in the node in the lower one."""
    spare: np.ndarray
    counts: np.ndarray
    left: np.ndarray
    """Sum of the distributions on the left."""
    upper_weight: np.ndarray
    """By two-valued feature: weight of the node's rows that have the upper value."""
    upper: np.ndarray
    """Sum of their distributions."""


class RegressionTree(NamedTuple):
    """A grown tree as flat arrays; the first node is the root."""

    feature: np.ndarray
    """Feature by which a node is split, or -1 in a leaf."""
    rank: np.ndarray
    """Rows up to this rank go to the left."""
    next_rank: np.ndarray
    """The least rank of the node's rows on the right."""
    child: np.ndarray
    """The left child (the right one follows), or the line of the leaf."""
    leaves: np.ndarray
    """Mean distribution of each leaf."""
    leaf_rows: np.ndarray
    """Drawn rows of each leaf."""
    deepest: int
    """Depth of the deepest node."""
    threshold: np.ndarray = np.empty(0)
    """Rows with a value up to this go to the left; the forest fills it in."""


# ---------------------------------------------------------------------- order


@compiled
def _insert(keys):
    """Sort a few keys."""
    for i in range(1, len(keys)):
        key, j = keys[i], i
        while j > 0 and keys[j - 1] > key:
            keys[j] = keys[j - 1]
            j -= 1
        keys[j] = key


@compiled
def _deal(keys, spare, counts, half, low, shift, bits):
    """Put keys into ``spare`` in the order of some bits of their ranks, equal ones as they come.

    Ranks count from ``low``.
    """
    digits = 1 << bits
    counts[: digits + 1] = 0
    for key in keys:
        counts[((((np.int64(key) >> half) - low) >> shift) & (digits - 1)) + 1] += 1
    for digit in range(1, digits):
        counts[digit] += counts[digit - 1]
    for key in keys:
        digit = (((np.int64(key) >> half) - low) >> shift) & (digits - 1)
        spare[counts[digit]] = key
        counts[digit] += 1


@compiled
def _in_order(ranks, rows, half, keys, spare, counts):
    """Put the keys of rows in ascending order, and return where they are.

    They are NOWHERE if all rows have the same rank.
    """
    n = len(rows)
    low = high = np.int64(ranks[rows[0]])
    for i in range(n):
        rank = np.int64(ranks[rows[i]])
        keys[i] = rank << half | i
        low, high = min(low, rank), max(high, rank)
    if low == high:
        return NOWHERE
    if n <= FEW_ROWS:
        _insert(keys)
        return IN_KEYS
    bits = 1
    while (high - low) >> bits:
        bits += 1
    if bits <= ONE_PASS_BITS or 1 << bits <= n:
        _deal(keys, spare, counts, half, low, START, bits)
        return IN_SPARE
    lower = (bits + 1) // 2
    _deal(keys, spare, counts, half, low, START, lower)
    _deal(spare, keys, counts, half, low, lower, bits - lower)
    return IN_KEYS


# ---------------------------------------------------------------------- splits


@compiled
def _square(vector):
    """Return the squared length of a vector."""
    square = 0.0
    for value in vector:
        square += value * value
    return square


@compiled
def _describe(D, rows, weight, room):
    """Write down a node's rows and their sum; return their number and mean squared distance."""
    n, squares, total = 0.0, 0.0, room.total
    total[:] = 0.0
    for i, row in enumerate(rows):
        w, square = np.float64(weight[row]), 0.0
        for k in range(len(total)):
            value = w * D[row, k]
            room.weighted[i, k] = value
            total[k] += value
            square += value * value
        room.weight[i] = w
        room.squares[i] = square
        squares += square / w
        n += w
    for i in range(len(rows)):
        product = 0.0
        for k in range(len(total)):
            product += total[k] * room.weighted[i, k]
        room.with_total[i] = product
    return n, squares / n - _square(total) / (n * n)


@compiled
def _best_cut(keys, half, n, square, bar, room):
    """Find the best place to cut rows in their order: what it scores, and the rows on the left.

    The score is |L|^2 / l + |R|^2 / r; where none is above ``bar``, no row is on the left.
    """
    left, weighted, weight = room.left, room.weighted, room.weight
    squares, with_total = room.squares, room.with_total
    at, mask = 0, (1 << half) - 1
    left[:] = 0.0
    n_left, left_square, product_left = 0.0, 0.0, 0.0
    for i in range(len(keys) - 1):
        place = np.int64(keys[i]) & mask
        row, product = weighted[place], 0.0
        for k in range(len(left)):
            product += left[k] * row[k]
            left[k] += row[k]
        left_square += 2.0 * product + squares[place]
        product_left += with_total[place]
        n_left += weight[place]
        if (np.int64(keys[i]) ^ np.int64(keys[i + 1])) > mask:
            n_right = n - n_left
            right_square = square - 2.0 * product_left + left_square
            # Both sides in one fraction, which is divided only if it is worth it.
            score = left_square * n_right + right_square * n_left
            if score > bar * (n_left * n_right):
                bar = score / (n_left * n_right) * (1.0 + _ROUNDING)
                at = i + 1
    return bar, at


@compiled
def _sum_uppers(features, rows, room):
    """Sum up the rows that have the upper value of each two-valued feature."""
    room.upper_weight[:] = 0.0
    room.upper[:] = 0.0
    for i, row in enumerate(rows):
        for at in range(features.row_start[row], features.row_start[row + 1]):
            f = features.row_features[at]
            room.upper_weight[f] += room.weight[i]
            for k in range(room.upper.shape[1]):
                room.upper[f, k] += room.weighted[i, k]


@compiled
def _cut_in_two(upper, n_right, n, total, bar):
    """Score the only cut of a two-valued feature, as ``_best_cut`` does; return the higher bar."""
    left_square = right_square = 0.0
    for k in range(len(total)):
        left_square += (total[k] - upper[k]) * (total[k] - upper[k])
        right_square += upper[k] * upper[k]
    n_left = n - n_right
    score = left_square * n_right + right_square * n_left
    if score > bar * (n_left * n_right):
        return score / (n_left * n_right) * (1.0 + _ROUNDING), True
    return bar, False


@compiled
def _best_split(features, rows, n, rules, room):
    """Find the best split by features drawn for the node: feature, rank on the left, on the right.

    Features that do not vary among the rows are drawn like others; only where none of those drawn
    varies, more are drawn.
    """
    total, deck = room.total, room.deck
    square = _square(total)
    bar = square / n * (1.0 + _ROUNDING)
    feature, last, following = LEAF, 0, 0
    used, varied = 0, False
    half = 4 * room.keys.itemsize
    while used < len(deck) and (used < rules.per_node or not varied):
        other = used + random_below(room.state, len(deck) - used)
        f = deck[other]
        deck[other], deck[used] = deck[used], f
        used += 1
        if features.two_valued[f]:
            n_right = room.upper_weight[f]
            if 0.0 < n_right < n:
                varied = True
                bar, better = _cut_in_two(room.upper[f], n_right, n, total, bar)
                if better:
                    feature, last, following = f, 0, 1
            continue
        keys, spare = room.keys[: len(rows)], room.spare[: len(rows)]
        where = _in_order(features.ranks[f], rows, half, keys, spare, room.counts)
        if where == NOWHERE:
            continue
        varied = True
        keys = spare if where == IN_SPARE else keys
        bar, at = _best_cut(keys, half, n, square, bar, room)
        if at > 0:
            feature = f
            last, following = np.int64(keys[at - 1]) >> half, np.int64(keys[at]) >> half
    return feature, last, following


@cached
def _grow(features, D, weight, rules, room, splits, leaves):
    """Grow a tree; return the numbers of its nodes and leaves, and its depth.

    ``splits`` has a line for each node, with the numbers that ``RegressionTree`` has in columns.
    """
    rows, right, stack = room.rows, room.right, room.stack
    uppers = len(features.row_features) > 0
    height, nodes, n_leaves, deepest = 1, 1, 0, 0
    stack[0, 0], stack[0, 1], stack[0, 2], stack[0, 3] = 0, 0, len(rows), 0
    while height:
        height -= 1
        number, begin = stack[height, 0], stack[height, 1]
        end, depth = stack[height, 2], stack[height, 3]
        deepest = max(deepest, depth)
        here = rows[begin:end]
        n, distance = _describe(D, here, weight, room)
        f, last, following = LEAF, 0, 0
        if n >= rules.min_split and depth < rules.max_depth and distance > _PURE:
            if uppers:
                _sum_uppers(features, here, room)
            f, last, following = _best_split(features, here, n, rules, room)
        splits[number, 0], splits[number, 1], splits[number, 2] = f, last, following
        splits[number, 3] = n_leaves if f == LEAF else nodes
        if f == LEAF:
            splits[number, 1] = n  # a leaf has no rank
            for k in range(leaves.shape[1]):
                leaves[n_leaves, k] = room.total[k] / n
            n_leaves += 1
            continue
        for i in range(len(here)):
            right[here[i]] = features.ranks[f, here[i]] > last
        middle = begin + partition(here, right, room.moving)
        stack[height, 0], stack[height, 1] = nodes + 1, middle
        stack[height, 2], stack[height, 3] = end, depth + 1
        stack[height + 1, 0], stack[height + 1, 1] = nodes, begin
        stack[height + 1, 2], stack[height + 1, 3] = middle, depth + 1
        height += 2
        nodes += 2
    return nodes, n_leaves, deepest


def grow(
    features: Features, D: np.ndarray, weight: np.ndarray, rules: Rules, seed: int, key: type
) -> RegressionTree:
    """Grow a tree on rows that were drawn ``weight`` times.

    A ``key`` holds the rank of a value and the place of a row, each in half of its bits.
    """
    q, (n, c) = len(features.ranks), D.shape
    rows = np.flatnonzero(weight)
    m = len(rows)
    uppers = q if len(features.row_features) else 0
    keys: np.ndarray = np.empty((2, m), key)
    room = Room(
        rows=rows,
        right=np.zeros(n, np.uint8),
        moving=np.empty(m, np.int64),
        stack=np.empty((m + 1, 4), np.int64),
        deck=np.arange(q),
        state=np.array([seed], np.uint64),
        total=np.empty(c),
        weight=np.empty(m),
        weighted=np.empty((m, c)),
        squares=np.empty(m),
        with_total=np.empty(m),
        keys=keys[0],
        spare=keys[1],
        counts=np.empty(2 * max(m, 1 << 16) + 1, np.int64),
        left=np.empty(c),
        upper_weight=np.empty(uppers),
        upper=np.empty((uppers, c)),
    )
    # Every split leaves a row on both sides, so there are fewer than 2 m nodes.
    splits, leaves = np.empty((2 * m, 4), np.int64), np.empty((m, c))
    nodes, n_leaves, deepest = _grow(features, D, weight, rules, room, splits, leaves)
    feature, rank, next_rank, child = np.ascontiguousarray(splits[:nodes].T)
    ends = feature == LEAF
    leaf_rows = np.empty(n_leaves, np.int64)
    leaf_rows[child[ends]] = rank[ends]
    rank[ends] = 0
    return RegressionTree(
        feature.astype(np.int32),
        rank,
        next_rank,
        child.astype(np.int32),
        leaves[:n_leaves].copy(),
        leaf_rows,
        deepest,
    )
