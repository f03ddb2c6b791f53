# mypy: disable-error-code="no-untyped-def"
"""Boosting by squared error as xgboost does it, compiled for small nodes: the same bits, sooner.

xgboost's histogram method looks at every bin of every feature in every node, one after the other.
Here the gains of all features are computed side by side, and nodes of few rows are searched by
their rows. Gains are rounded where xgboost rounds them, and of equal ones the lower feature wins,
then the lower bin. Each label has a tree of its own in a round, lambda is 1, and no value is
missing.

Sums of gradients are exact in double precision unless degrees differ by many orders of magnitude;
then the order in which they are added may decide between equals.

The compiled code that grows trees stands in this file, for numba does not notice a change in
another.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from ldl.forests._compiled import cached, compiled
from ldl.forests._prediction import Forest, add_predictions

LEAF = -1
LEAST_GAIN = np.float32(1e-6)
"""A split must improve by more than this."""
FEW_ROWS = 12
"""Nodes up to this size are searched without histograms."""


class Room(NamedTuple):
    """Working memory that all trees of a fit share."""

    sums: np.ndarray
    """Histograms of gradients, one for each node under way; bin by bin, features side by side."""
    counts: np.ndarray
    """Histograms of rows."""
    all_counts: np.ndarray
    """Histogram of all rows, which is the same in every tree."""
    left: np.ndarray
    """By feature: sum of the gradients on the left of the present split."""
    below: np.ndarray
    """By feature: number of rows there."""
    highest: np.ndarray
    """By feature: highest gain so far, before that of the node itself is taken off."""
    rows: np.ndarray
    """Rows of the nodes, side by side."""
    spare: np.ndarray
    """Room for the rows of one side of a split."""


class SquaresTree(NamedTuple):
    """A grown tree as flat arrays; the first node is the root."""

    nodes: np.ndarray
    """Feature and left child of each node (the right child follows), or -1 and the leaf."""
    slot: np.ndarray
    """By node: the last histogram slot of its feature that goes to the left."""
    leaves: np.ndarray
    """Output of each leaf."""


@compiled
def _weight(total, n):
    """Return the Newton step of a node of n rows whose gradients sum to ``total``."""
    return np.float32(-total / (n + 1.0))


@compiled
def _gain(total, n):
    """Return the gain of a node as it is: squared in double precision, divided in single."""
    return np.float32(total * total) / np.float32(n + 1)


@compiled
def _improvement(left, n_left, total, n, before):
    """Return what a split gains over the node's own gain, ``before``."""
    return _gain(left, n_left) + _gain(total - left, n - n_left) - before


@compiled
def _raise_highest(room, total, n):
    """Raise the highest gains where the present splits, one of each feature, have higher ones."""
    left, below, highest = room.left, room.below, room.highest
    one, all_and_one = np.float32(1.0), np.float32(n + 1)
    for f in range(len(highest)):
        here, there = left[f], total - left[f]
        gain = np.float32(here * here) / (below[f] + one)
        gain += np.float32(there * there) / (all_and_one - below[f])
        highest[f] = max(highest[f], gain)


@compiled
def _first_of_the_best(room, before):
    """Return the feature of the best split, and its improvement; -1 where no split is worth it."""
    top = np.float32(0.0)
    for gain in room.highest:
        top = max(top, gain)
    best = top - before
    if best <= LEAST_GAIN:
        return LEAF, best
    for f in range(len(room.highest)):
        if room.highest[f] - before == best:
            break
    return f, best


@compiled
def _search_histogram(sums, counts, total, n, before, room):
    """Find the last slot that goes to the left, and the sum there; -1 where the node is a leaf."""
    features = len(room.highest)
    room.left[:] = 0.0
    room.below[:] = 0.0
    room.highest[:] = 0.0
    for start in range(0, len(sums), features):
        for f in range(features):
            room.left[f] += sums[start + f]
            room.below[f] += counts[start + f]
        _raise_highest(room, total, n)
    f, best = _first_of_the_best(room, before)
    left, n_left, slot = 0.0, 0, LEAF
    if f != LEAF:
        for slot in range(f, len(sums), features):
            left += sums[slot]
            n_left += int(counts[slot])
            if _improvement(left, n_left, total, n, before) == best:
                break
    return slot, left


@compiled
def _up_to(slots, gradients, rows, f, slot):
    """Sum and count the gradients of rows up to a slot of feature f."""
    left, n_left = 0.0, 0
    for row in rows:
        if slots[row, f] <= slot:
            left += gradients[row]
            n_left += 1
    return left, n_left


@compiled
def _search_rows(slots, gradients, rows, total, before, room):
    """Find the same without a histogram: the bin of every row is a split of every feature."""
    features, n = len(room.highest), len(rows)
    left, below = room.left, room.below
    room.highest[:] = 0.0
    for row in rows:
        left[:] = 0.0
        below[:] = 0.0
        for other in rows:
            gradient = gradients[other]
            for f in range(features):
                if slots[other, f] <= slots[row, f]:
                    left[f] += gradient
                    below[f] += np.float32(1.0)
        _raise_highest(room, total, n)
    f, best = _first_of_the_best(room, before)
    where, sum_there = LEAF, 0.0
    if f != LEAF:
        for row in rows:
            slot = int(slots[row, f])
            found, n_left = _up_to(slots, gradients, rows, f, slot)
            as_good = _improvement(found, n_left, total, n, before) == best
            if as_good and (where == LEAF or slot < where):
                where, sum_there = slot, found
    return where, sum_there


@compiled
def _count(slots, gradients, rows, sign, sums, counts):
    """Put rows into a histogram, or take them out where ``sign`` is -1."""
    one = np.float32(sign)
    for row in rows:
        gradient = sign * gradients[row]
        for f in range(slots.shape[1]):
            slot = slots[row, f]
            sums[slot] += gradient
            counts[slot] += one


@compiled
def _start(slots, gradients, room):
    """Fill the histogram of all rows."""
    features = slots.shape[1]
    sums = room.sums[0]
    sums[:] = 0.0
    room.counts[0][:] = room.all_counts
    for row in range(len(slots)):
        gradient = gradients[row]
        for f in range(features):
            sums[slots[row, f]] += gradient


@compiled
def _divide(slots, rows, f, slot, spare):
    """Put rows that go to the left first, each side in its order; return how many those are."""
    a = b = 0
    for row in rows:
        if slots[row, f] <= slot:
            rows[a] = row
            a += 1
        else:
            spare[b] = row
            b += 1
    rows[a:] = spare[:b]
    return a


@compiled
def _hand_down(slots, gradients, larger, smaller, h, room):
    """Turn the parent's histogram, number ``h``, into the larger child's.

    The smaller child gets the next one.
    """
    sums, counts = room.sums, room.counts
    if len(larger) <= FEW_ROWS:
        return
    if len(smaller) <= FEW_ROWS:
        _count(slots, gradients, smaller, -1.0, sums[h], counts[h])
        return
    sums[h + 1][:] = 0.0
    counts[h + 1][:] = 0.0
    _count(slots, gradients, smaller, 1.0, sums[h + 1], counts[h + 1])
    for slot in range(sums.shape[1]):
        sums[h, slot] -= sums[h + 1, slot]
        counts[h, slot] -= counts[h + 1, slot]


@cached
def grow(slots, gradients, max_depth, learning_rate, room, outputs):
    """Grow one tree, and add its leaves to ``outputs``, which the rows have in single precision.

    ``slots[i, f]`` is the histogram slot of row i: its bin times the number of features, plus f.
    The smaller child is grown first, so that there are never more histograms than halvings.
    """
    n, features = slots.shape
    rows = room.rows
    total = 0.0
    for i in range(n):
        rows[i] = i
        total += gradients[i]
    if n > FEW_ROWS:
        _start(slots, gradients, room)
    nodes = np.empty((2 * n, 2), np.int32)
    slot_of = np.zeros(2 * n, np.int32)
    leaves = np.empty((n, 1), np.float32)
    # Number, first row, row behind the last, depth, histogram; and the sum of the gradients.
    stack = np.zeros((n + 1, 5), np.int64)
    sums_of = np.zeros(n + 1)
    stack[0, 2], sums_of[0] = n, total
    height, count, n_leaves = 1, 1, 0
    while height:
        height -= 1
        number, begin, end, depth, h = stack[height]
        total, here = sums_of[height], rows[begin:end]
        where, left = LEAF, 0.0
        if depth < max_depth and len(here) > 1:
            before = _gain(total, len(here))
            if len(here) > FEW_ROWS:
                where, left = _search_histogram(
                    room.sums[h], room.counts[h], total, len(here), before, room
                )
            else:
                where, left = _search_rows(slots, gradients, here, total, before, room)
        if where == LEAF:
            value = np.float32(learning_rate * _weight(total, len(here)))
            for row in here:
                outputs[row] += value
            nodes[number, 0], nodes[number, 1] = LEAF, n_leaves
            leaves[n_leaves, 0] = value
            n_leaves += 1
            continue
        f = where % features
        nodes[number, 0], nodes[number, 1] = f, count
        slot_of[number] = where
        middle = begin + _divide(slots, here, f, where, room.spare)
        sides = ((count, begin, middle, left), (count + 1, middle, end, total - left))
        count += 2
        larger, smaller = sides if middle - begin >= end - middle else (sides[1], sides[0])
        if depth + 1 < max_depth:
            _hand_down(
                slots,
                gradients,
                rows[larger[1] : larger[2]],
                rows[smaller[1] : smaller[2]],
                h,
                room,
            )
        for place, (child, first, last, sum_of) in enumerate((larger, smaller)):
            stack[height, 0], stack[height, 1], stack[height, 2] = child, first, last
            stack[height, 3], stack[height, 4] = depth + 1, h + place
            sums_of[height] = sum_of
            height += 1
    return SquaresTree(nodes[:count].copy(), slot_of[:count].copy(), leaves[:n_leaves].copy())


# ---------------------------------------------------------------------- many trees


class SquaresForest:
    """Trees boosted by squared error on bins that xgboost has made.

    ``edges`` holds the upper ends of each feature's bins, in single precision as in xgboost;
    boosting starts at ``start``.
    """

    def __init__(self, edges: Sequence[np.ndarray], start: float) -> None:
        self.edges = edges
        self.start = np.float32(start)

    def fit(
        self, X: np.ndarray, D: np.ndarray, rounds: int, max_depth: int, learning_rate: float
    ) -> SquaresForest:
        """Grow ``rounds`` trees for each label."""
        slots = self._slots(X)
        room = _room(slots, max(map(len, self.edges)))
        Y = np.ascontiguousarray(D.T, dtype=np.float32)
        outputs = np.full_like(Y, self.start)
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
        X = np.ascontiguousarray(X, dtype=np.float32)
        P = np.empty((len(X), len(self.forests_)), np.float32)
        for label, forest in enumerate(self.forests_):
            total = np.full((len(X), 1), self.start)
            add_predictions(X, *forest, total)
            P[:, label] = total[:, 0]
        return P

    def _slots(self, X: np.ndarray) -> np.ndarray:
        """Return the histogram slot of each row for each feature."""
        X = X.astype(np.float32)
        features, most = X.shape[1], max(map(len, self.edges))
        slots = np.empty(X.shape, np.uint16 if most * features <= 2**16 else np.uint32)
        for f, edges in enumerate(self.edges):
            bins = np.minimum(np.searchsorted(edges, X[:, f], side="right"), len(edges) - 1)
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
        return Forest(nodes, threshold, roots[:-1], leaves)


def _room(slots: np.ndarray, bins: int) -> Room:
    """Allocate working memory for features of at most so many bins."""
    rows, features = slots.shape
    histograms = int(np.log2(rows)) + 2
    return Room(
        sums=np.empty((histograms, bins * features)),
        counts=np.empty((histograms, bins * features), np.float32),
        all_counts=np.bincount(slots.ravel(), minlength=bins * features).astype(np.float32),
        left=np.empty(features),
        below=np.empty(features, np.float32),
        highest=np.empty(features, np.float32),
        rows=np.empty(rows, np.int64),
        spare=np.empty(rows, np.int64),
    )
