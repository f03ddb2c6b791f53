# mypy: disable-error-code="no-untyped-def"
"""Trees boosted by squared error as xgboost grows them, compiled for small nodes: the same bits.

xgboost's histogram method looks at every bin of every feature in every node, one after the other.
Here the gains of all features are computed side by side, and nodes with fewer rows than a feature
has bins are searched by their rows. Gains are rounded where xgboost rounds them, and of equal ones
the lower feature wins, then the lower bin. One tree per label and round, lambda 1, no missing
values.

Sums of gradients are exact in double precision unless degrees differ by many orders of magnitude;
then the order in which they are added may decide between equals.

All compiled code stands in this file, because numba looks at the time stamp of a cached function's
own file only.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

compiled = njit(nogil=True, error_model="numpy")

LEAF = -1
LEAST_GAIN = np.float32(1e-6)
FEW_ROWS = 12
"""Nodes up to this size are searched without histograms."""


class Room(NamedTuple):
    """Memory that all trees of a fit use."""

    sums: np.ndarray
    """Histograms of gradients, one for each node under way; bin by bin, features side by side."""
    counts: np.ndarray
    all_counts: np.ndarray
    """Of all rows, which is the same in every tree."""
    left: np.ndarray
    below: np.ndarray
    highest: np.ndarray
    rows: np.ndarray
    spare: np.ndarray


class Tree(NamedTuple):
    """Flat nodes: a feature and the left child (the right one follows), or -1 and the leaf."""

    nodes: np.ndarray
    slot: np.ndarray
    """Of a split: the last histogram slot of its feature that goes to the left."""
    leaves: np.ndarray


@compiled
def _weight(total, n):
    return np.float32(-total / (n + 1.0))


@compiled
def _gain(total, n):
    """Of a node as it is: squared in double precision, divided in single."""
    return np.float32(total * total) / np.float32(n + 1)


@compiled
def _improvement(left, n_left, total, n, before):
    return _gain(left, n_left) + _gain(total - left, n - n_left) - before


@compiled
def _raise_highest(room, total, n):
    """Takes in the present splits, one of each feature."""
    left, below, highest = room.left, room.below, room.highest
    one, all_and_one = np.float32(1.0), np.float32(n + 1)
    for f in range(len(highest)):
        here, there = left[f], total - left[f]
        gain = np.float32(here * here) / (below[f] + one)
        gain += np.float32(there * there) / (all_and_one - below[f])
        highest[f] = max(highest[f], gain)


@compiled
def _first_of_the_best(room, before):
    """The feature of the best split, and what it improves; -1 where no split is worth it."""
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
    """The last slot that goes to the left, and the sum there; -1 where the node is a leaf."""
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
    left, n_left = 0.0, 0
    for row in rows:
        if slots[row, f] <= slot:
            left += gradients[row]
            n_left += 1
    return left, n_left


@compiled
def _search_rows(slots, gradients, rows, total, before, room):
    """The same; the bin of every row is a split of every feature."""
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
    """Puts rows into a histogram, or takes them out where ``sign`` is -1."""
    one = np.float32(sign)
    for row in rows:
        gradient = sign * gradients[row]
        for f in range(slots.shape[1]):
            slot = slots[row, f]
            sums[slot] += gradient
            counts[slot] += one


@compiled
def _start(slots, gradients, room):
    """The histogram of all rows."""
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
    """Rows that go to the left come first; each side keeps its order. How many those are."""
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
    """Makes the parent's histogram, number ``h``, the larger child's; the smaller gets the next."""
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


@njit(cache=True, nogil=True, error_model="numpy")
def grow(slots, gradients, max_depth, learning_rate, room, outputs):
    """One tree; its leaves are added to ``outputs``, the single-precision ones of the rows.

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
    return Tree(nodes[:count].copy(), slot_of[:count].copy(), leaves[:n_leaves].copy())
