# mypy: disable-error-code="no-untyped-def"
"""Boosting by squared error as xgboost does it, compiled for small nodes: the same bits, sooner.

xgboost's histogram method looks at every bin of every feature in every node, one after the other.
Here the gains of all features are computed side by side, and nodes of few rows are searched by
their rows. Gains are rounded where xgboost rounds them, and of equal ones the lower feature wins,
then the lower bin. Each label has a tree of its own in a round, lambda is 1, and no value is
missing.

Histograms hold whole numbers: the gradient of a row, in units so small that it is one, in the lower
bits, and the number of rows in the upper ones. Half as many additions fill them, and their sums
are exact. Only with a hundred thousand rows, or degrees that differ by many orders of magnitude,
are gradients rounded, and rounding may decide between splits that are nearly equal.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from ldl._compiled import cached, compiled
from ldl.forests._compiled import partition
from ldl.forests._prediction import Forest, add_predictions

LEAF = -1
LEAST_GAIN = np.float32(1e-6)
"""A split must improve by more than this."""
FEW_ROWS = 7
"""Nodes up to this size are searched without histograms."""


class Room(NamedTuple):
    """Working memory that all trees of a fit share."""

    histograms: np.ndarray
    """Packed sums, one line for each node under way; bin by bin, features side by side."""
    words: np.ndarray
    """Packed gradients of the rows."""
    moved: np.ndarray
    """By feature: packed sum of rows that move to the left."""
    left: np.ndarray
    """By feature: packed sum of the rows on the left of the present split."""
    highest: np.ndarray
    """By feature: highest gain so far, before that of the node itself is taken off."""
    rows: np.ndarray
    """Rows of the nodes, side by side."""
    right: np.ndarray
    """By row: whether it goes to the right."""
    spare: np.ndarray
    """Room for the rows of one side of a split."""
    stack: np.ndarray
    """Nodes to grow: number, first row, row behind the last, depth, histogram, packed sum."""
    nodes: np.ndarray
    slot: np.ndarray
    leaves: np.ndarray
    """The tree, as ``SquaresTree`` has it, with room for more nodes than it has."""


class SquaresTree(NamedTuple):
    """A grown tree as flat arrays; the first node is the root."""

    nodes: np.ndarray
    """Feature and left child of each node (the right child follows), or -1 and the leaf."""
    slot: np.ndarray
    """By node: the last histogram slot of its feature that goes to the left."""
    leaves: np.ndarray
    """Output of each leaf."""


@compiled
def _pack(gradients, words):
    """Pack a row's gradient and the number 1 into one whole number, so that one addition adds both.

    The gradient stands in the lower bits, the number of rows from bit ``shift`` on; sums of all
    rows fit too. Return ``shift``, and the gradient that the lowest bit stands for.
    """
    n, largest = len(gradients), 0.0
    for gradient in gradients:
        largest = max(largest, abs(gradient))
    shift = 63
    while n >> (63 - shift):
        shift -= 1
    # No sum exceeds 2^exponent; one bit more is for the sign, and one for what rounding adds.
    _, exponent = math.frexp(n * largest)
    units = math.ldexp(1.0, shift - 2 - exponent)
    for i in range(n):
        words[i] = np.int64(np.rint(units * gradients[i])) + (1 << shift)
    return shift, 1.0 / units


@compiled
def _unpacked(packed, shift, unit):
    """Return the sum of gradients, and the number of rows."""
    gradients = (packed << (64 - shift)) >> (64 - shift)
    return np.float64(gradients) * unit, np.int32((packed - gradients) >> shift)


@compiled
def _gain(total, n):
    """Return the gain of a node as it is: squared in double precision, divided in single."""
    return np.float32(total * total) / np.float32(n + 1)


@compiled
def _improvement(left, whole, before, shift, unit):
    """Return what a split gains over the node's own gain, ``before``."""
    here, n_left = _unpacked(left, shift, unit)
    there, n_right = _unpacked(whole - left, shift, unit)
    return _gain(here, n_left) + _gain(there, n_right) - before


@compiled
def _move(moved, left, highest, total, n, shift, unit):
    """Move rows to the left, for each feature by itself, and raise its highest gain if need be."""
    one, all_and_one = np.float32(1.0), np.float32(n + 1)
    for f in range(len(highest)):
        left[f] += moved[f]
        here, n_left = _unpacked(left[f], shift, unit)
        there, below = total - here, np.float32(n_left)
        gain = np.float32(here * here) / (below + one)
        gain += np.float32(there * there) / (all_and_one - below)
        highest[f] = max(highest[f], gain)


@compiled
def _first_of_the_best(highest, before):
    """Return the feature of the best split, and its improvement; -1 where no split is worth it."""
    top = np.float32(0.0)
    for gain in highest:
        top = max(top, gain)
    best = top - before
    if best <= LEAST_GAIN:
        return LEAF, best
    for f in range(len(highest)):
        if highest[f] - before == best:
            break
    return f, best


@compiled
def _search_histogram(histogram, whole, before, shift, unit, room):
    """Find the last slot that goes to the left, and the sum there; -1 where the node is a leaf."""
    left, highest, features = room.left, room.highest, len(room.highest)
    total, n = _unpacked(whole, shift, unit)
    left[:] = 0
    highest[:] = 0.0
    for start in range(0, len(histogram), features):
        of_bin = histogram[start : start + features]
        _move(of_bin, left, highest, total, n, shift, unit)
    f, best = _first_of_the_best(highest, before)
    sum_there, slot = np.int64(0), LEAF
    if f != LEAF:
        for slot in range(f, len(histogram), features):
            sum_there += histogram[slot]
            if _improvement(sum_there, whole, before, shift, unit) == best:
                break
    return slot, sum_there


@compiled
def _search_rows(slots, rows, whole, before, shift, unit, room):
    """Find the same without a histogram: the bin of every row is a split of every feature."""
    words, moved, left, highest = room.words, room.moved, room.left, room.highest
    features = len(highest)
    total, n = _unpacked(whole, shift, unit)
    highest[:] = 0.0
    for row in rows:
        of_row = slots[row]
        left[:] = 0
        moved[:] = 0
        for other in rows:
            word, of_other = words[other], slots[other]
            for f in range(features):
                moved[f] += word if of_other[f] <= of_row[f] else 0
        _move(moved, left, highest, total, n, shift, unit)
    f, best = _first_of_the_best(highest, before)
    where, sum_there = LEAF, np.int64(0)
    if f != LEAF:
        for row in rows:
            slot = int(slots[row, f])
            found = np.int64(0)
            for other in rows:
                if slots[other, f] <= slot:
                    found += words[other]
            as_good = _improvement(found, whole, before, shift, unit) == best
            if as_good and (where == LEAF or slot < where):
                where, sum_there = slot, found
    return where, sum_there


@compiled
def _search(slots, rows, histogram, whole, shift, unit, room):
    """Return the slot of the best split and the packed sum up to it; LEAF where none gains."""
    before = _gain(*_unpacked(whole, shift, unit))
    if len(rows) > FEW_ROWS:
        return _search_histogram(histogram, whole, before, shift, unit, room)
    return _search_rows(slots, rows, whole, before, shift, unit, room)


@compiled
def _count(slots, words, rows, histogram):
    """Put rows into a histogram."""
    for row in rows:
        word = words[row]
        for slot in slots[row]:
            histogram[slot] += word


@compiled
def _divide(slots, rows, f, slot, right, spare):
    """Put rows that go to the left first, each side in its order; return how many those are."""
    for row in rows:
        right[row] = slots[row, f] > slot
    return partition(rows, right, spare)


@compiled
def _hand_down(slots, words, larger, smaller, mine, next_one):
    """Turn the parent's histogram into the larger child's; the smaller child gets the next one."""
    if len(larger) <= FEW_ROWS:
        return
    if len(smaller) <= FEW_ROWS:
        for row in smaller:
            word = words[row]
            for slot in slots[row]:
                mine[slot] -= word
        return
    next_one[:] = 0
    _count(slots, words, smaller, next_one)
    for slot in range(len(mine)):
        mine[slot] -= next_one[slot]


@compiled
def _value(gradients, rows, learning_rate):
    """Return the output of a leaf: a part of its Newton step."""
    total = 0.0
    for row in rows:
        total += gradients[row]
    return np.float32(learning_rate * np.float32(-total / (len(rows) + 1.0)))


@cached
def _grow(slots, gradients, max_depth, learning_rate, room, outputs):
    """Grow one tree into the room, and return the numbers of its nodes and leaves.

    Its leaves are added to ``outputs``, which the rows have in single precision. ``slots[i, f]`` is
    the histogram slot of row i: its bin times the number of features, plus f. The smaller child is
    grown first, so that there are never more histograms than halvings.
    """
    n, features = slots.shape
    rows, histograms, words = room.rows, room.histograms, room.words
    shift, unit = _pack(gradients, words)
    for i in range(n):
        rows[i] = i
    if n > FEW_ROWS:
        histograms[0][:] = 0
        _count(slots, words, rows, histograms[0])
    nodes, slot_of, leaves, stack = room.nodes, room.slot, room.leaves, room.stack
    stack[0, 0], stack[0, 1], stack[0, 2] = 0, 0, n
    stack[0, 3], stack[0, 4], stack[0, 5] = 0, 0, words.sum()
    height, count, n_leaves = 1, 1, 0
    while height:
        height -= 1
        number, begin, end, depth, h, whole = stack[height]
        here = rows[begin:end]
        where, left = LEAF, np.int64(0)
        if depth < max_depth and len(here) > 1:
            where, left = _search(slots, here, histograms[h], whole, shift, unit, room)
        if where == LEAF:
            value = _value(gradients, here, learning_rate)
            for row in here:
                outputs[row] += value
            nodes[number, 0], nodes[number, 1], slot_of[number] = LEAF, n_leaves, 0
            leaves[n_leaves, 0] = value
            n_leaves += 1
            continue
        f = where % features
        nodes[number, 0], nodes[number, 1] = f, count
        slot_of[number] = where
        middle = begin + _divide(slots, here, f, where, room.right, room.spare)
        sides = ((count, begin, middle, left), (count + 1, middle, end, whole - left))
        count += 2
        larger, smaller = sides if middle - begin >= end - middle else (sides[1], sides[0])
        if depth + 1 < max_depth:
            more, fewer = rows[larger[1] : larger[2]], rows[smaller[1] : smaller[2]]
            _hand_down(slots, words, more, fewer, histograms[h], histograms[h + 1])
        for place, (child, first, last, sum_of) in enumerate((larger, smaller)):
            stack[height, 0], stack[height, 1], stack[height, 2] = child, first, last
            stack[height, 3], stack[height, 4], stack[height, 5] = depth + 1, h + place, sum_of
            height += 1
    return count, n_leaves


def grow(
    slots: np.ndarray,
    gradients: np.ndarray,
    max_depth: int,
    learning_rate: np.float32,
    room: Room,
    outputs: np.ndarray,
) -> SquaresTree:
    """Grow one tree, and add its leaves to ``outputs``."""
    nodes, leaves = _grow(slots, gradients, max_depth, learning_rate, room, outputs)
    return SquaresTree(
        room.nodes[:nodes].copy(), room.slot[:nodes].copy(), room.leaves[:leaves].copy()
    )


# ---------------------------------------------------------------------- many trees


class SquaresForest:
    """Trees boosted by squared error on bins that are cut as xgboost cuts them.

    ``edges`` holds the upper ends of each feature's bins, in single precision as in xgboost;
    boosting starts at ``start``, or at each label's mean where that is None.
    """

    def __init__(self, edges: Sequence[np.ndarray], start: float | None) -> None:
        self.edges = edges
        self.start = start

    def fit(
        self, X: np.ndarray, D: np.ndarray, rounds: int, max_depth: int, learning_rate: float
    ) -> SquaresForest:
        """Grow ``rounds`` trees for each label."""
        slots = self._slots(X)
        room = _room(slots, max(map(len, self.edges)))
        Y = np.ascontiguousarray(D.T, dtype=np.float32)
        if self.start is None:
            self.starts_ = Y.mean(axis=1, dtype=np.float64).astype(np.float32)
        else:
            self.starts_ = np.full(len(Y), self.start, np.float32)
        outputs = np.repeat(self.starts_[:, None], Y.shape[1], axis=1)
        trees: list[list[SquaresTree]] = [[] for _ in Y]
        for _ in range(rounds):
            gradients = (outputs - Y).astype(np.float64)
            for label, of_label in enumerate(trees):
                of_label.append(
                    grow(
                        slots,
                        gradients[label],
                        max_depth,
                        np.float32(learning_rate),
                        room,
                        outputs[label],
                    )
                )
        self.forests_ = [self._join(of_label) for of_label in trees]
        return self

    def predict(self, X: np.ndarray) -> np.ndarray:
        """Predict in single precision, as xgboost does."""
        X = np.ascontiguousarray(X, np.float32).astype(np.float64)
        P = np.empty((len(X), len(self.forests_)), np.float32)
        for label, forest in enumerate(self.forests_):
            total = np.full((len(X), 1), self.starts_[label], np.float64)
            add_predictions(X, *forest, total, True)
            P[:, label] = total[:, 0]
        return P

    def _slots(self, X: np.ndarray) -> np.ndarray:
        """Return the histogram slot of each row for each feature."""
        X = X.astype(np.float32)
        features, most = X.shape[1], max(map(len, self.edges))
        slots = np.empty(X.shape, np.uint16 if most * features <= 2**16 else np.uint32)
        for f, edges in enumerate(self.edges):
            # The first bin whose upper end is above the value; beyond all, the last one.
            bins = np.searchsorted(edges[:-1], X[:, f], side="right")
            slots[:, f] = bins * features + f
        return slots

    def _join(self, trees: Sequence[SquaresTree]) -> Forest:
        """Join all trees of a label."""
        nodes = np.concatenate([tree.nodes for tree in trees])
        roots = np.cumsum([0, *(len(tree.nodes) for tree in trees)])
        leaf_starts = np.cumsum([0, *(len(tree.leaves) for tree in trees)])
        tree_of = np.repeat(np.arange(len(trees)), np.diff(roots))
        split = nodes[:, 0] >= 0
        nodes[:, 1] += np.where(split, roots[tree_of], leaf_starts[tree_of])
        bins = np.concatenate([tree.slot for tree in trees]) // len(self.edges)
        starts = np.cumsum([0, *map(len, self.edges)])
        edges = np.concatenate(self.edges)[np.where(split, starts[nodes[:, 0]] + bins, 0)]
        # Rows below the edge go to the left; `add_predictions` sends rows up to a value there.
        threshold = np.nextafter(edges, np.float32(-np.inf))
        leaves = np.concatenate([tree.leaves for tree in trees])
        return Forest(nodes, threshold.astype(np.float64), roots[:-1], leaves.astype(np.float64))


def _room(slots: np.ndarray, bins: int) -> Room:
    """Allocate working memory for features of at most so many bins."""
    rows, features = slots.shape
    histograms = int(np.log2(rows)) + 2
    return Room(
        histograms=np.empty((histograms, bins * features), np.int64),
        words=np.empty(rows, np.int64),
        moved=np.empty(features, np.int64),
        left=np.empty(features, np.int64),
        highest=np.empty(features, np.float32),
        rows=np.empty(rows, np.int64),
        right=np.empty(rows, np.uint8),
        spare=np.empty(rows, np.int64),
        stack=np.empty((rows + 1, 6), np.int64),
        nodes=np.empty((2 * rows, 2), np.int32),
        slot=np.empty(2 * rows, np.int32),
        leaves=np.empty((rows, 1), np.float32),
    )
