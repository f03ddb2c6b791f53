# mypy: disable-error-code="no-untyped-def,assignment"
"""Trees for all labels, compiled: histograms, the search for splits, best-first growth.

Every row brings a line of statistics, the gradients of all labels and a curvature for each pair. A
set of rows is judged by their sum, and by its best pair of labels alone. Lines are long, so they
stay in one piece, and bins without rows are passed over.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ldl._compiled import cached, compiled
from ldl.boosting._tree import (
    ROUNDING,
    SMALLEST,
    BoostedTree,
    best_leaf,
    growing,
    name_leaves,
    split_leaf,
)
from ldl.forests._compiled import START

if TYPE_CHECKING:
    from ldl.boosting._bins import Bins

EXACT_PAIR, SMO_PAIR = 0, 1
"""Pairs that a node tries: all of them, or those with the label of the largest gradient."""


class Rules(NamedTuple):
    """The settings by which a tree grows."""

    kind: int
    """EXACT_PAIR or SMO_PAIR."""
    labels: int
    max_leaves: int
    min_leaf: int
    """Least number of rows in a leaf."""
    floor: float
    """Least curvature per row."""
    histogram_bytes: int
    """Memory that the histograms of all leaves may take."""


@compiled
def best_pair(total, rows, rules):
    """Find the best pair of labels: twice its gain a^2 / (2 h), the pair, its Newton step a / h.

    ``EXACT_PAIR`` tries all pairs, ``SMO_PAIR`` those with the label of the largest gradient.
    """
    c, least = rules.labels, rules.floor * rows
    r, s, square, curvature, step = 0, 1, 0.0, 1.0, 0.0
    low, high = 0, c
    if rules.kind == SMO_PAIR:
        for i in range(1, c):
            if total[i] > total[low]:
                low = i
        high = low + 1
    for i in range(low, high):
        for j in range(0 if rules.kind == SMO_PAIR else i + 1, c):
            if i == j:
                continue
            first, second = min(i, j), max(i, j)
            a = total[i] - total[j]
            h = max(total[c + first * (2 * c - first - 1) // 2 + second - first - 1], least)
            # a^2 / h without the division, which is slow.
            if a * a * curvature > square * h:
                r, s, square, curvature, step = i, j, a * a, h, a / h
    return square / curvature, r, s, step


@compiled
def score(total, rows, rules):
    """Return twice what the best step of a node gains to second order."""
    return best_pair(total, rows, rules)[0]


@compiled
def _sum_rows(stats, rows, total):
    """Write the sum of the statistics of ``rows`` into ``total``."""
    total[:] = 0.0
    for row in rows:
        for k in range(len(total)):
            total[k] += stats[row, k]


@compiled
def _add_row(stats, row, sums, counts, slot):
    """Add a row to a slot of the histogram."""
    # Most slots of a small node stay empty, so each is cleared when it is first needed.
    if counts[slot] == 0:
        sums[slot] = 0.0
    counts[slot] += 1
    for k in range(stats.shape[1]):
        sums[slot, k] += stats[row, k]


@compiled
def _fill(bins, stats, rows, sums, counts):
    """Fill the histograms of all features: rows, and where there are rows, sums of statistics."""
    counts[:] = 0
    for row in rows:
        for i in range(bins.row_start[row], bins.row_start[row + 1]):
            _add_row(stats, row, sums, counts, bins.first_slot[bins.row_features[i]])
    for f in range(len(bins.place)):
        place = bins.place[f]
        if place >= 0:
            first = bins.first_slot[f]
            for row in rows:
                _add_row(stats, row, sums, counts, first + bins.codes[place, row])


@compiled
def _take_away(sums, counts, part_sums, part_counts):
    """Subtract the histograms of one child, which leaves those of the other."""
    for slot in range(len(counts)):
        if part_counts[slot] > 0:
            counts[slot] -= part_counts[slot]
            for k in range(sums.shape[1]):
                sums[slot, k] -= part_sums[slot, k]


@compiled
def search(bins, sums, counts, total, rows, rules, left, right):
    """Find the best split: its gain, feature and bin; the gain is 0 where no split gains.

    A later split must be better by more than rounding, so ties go to the first. ``left`` and
    ``right`` are room for the sums on either side.
    """
    own = score(total, rows, rules)
    bar = own * (1.0 + ROUNDING) + SMALLEST
    gain, feature, cut = 0.0, 0, 0
    width = len(total)
    for f in range(len(bins.place)):
        first, last = bins.first_slot[f], bins.first_slot[f + 1]
        upper_only = bins.place[f] < 0
        seen = 0
        left[:] = 0.0
        for slot in range(first, last if upper_only else last - 1):
            if counts[slot] == 0:
                continue
            seen += counts[slot]
            for k in range(width):
                left[k] += sums[slot, k]
            if rows - seen < rules.min_leaf:
                break
            if seen < rules.min_leaf:
                continue
            for k in range(width):
                right[k] = total[k] - left[k]
            # The only slot of a two-valued feature holds the upper value, so the sides change
            # places; the sum of the scores stays the same.
            both = score(left, seen, rules) + score(right, rows - seen, rules)
            if both > bar:
                bar = both * (1.0 + ROUNDING)
                gain, feature, cut = both - own, f, slot - first
    return gain, feature, cut


@compiled
def _leaf_value(total, rows, rules, value):
    """Write the Newton step of a leaf into ``value``."""
    value[:] = 0.0
    _, r, s, step = best_pair(total, rows, rules)
    value[r] = step
    value[s] = -step


class Room(NamedTuple):
    """Working memory of the search."""

    sums: np.ndarray
    """Histograms: a line for each leaf, or one for all."""
    counts: np.ndarray
    """Rows in each slot of these."""
    totals: np.ndarray
    """By leaf: the sum of its statistics."""
    left: np.ndarray
    right: np.ndarray
    """Sums on either side of a split."""


@compiled
def _search_leaf(bins, tree, room, i, at, rules):
    """Find the best split of leaf i, whose histograms are those at ``at``."""
    rows = tree.ends[i] - tree.begins[i]
    tree.gains[i], tree.splits[i, 0], tree.splits[i, 1] = search(
        bins, room.sums[at], room.counts[at], room.totals[i], rows, rules, room.left, room.right
    )


@cached
def _grow(bins, stats, rules, tree, room, values):
    """Grow a tree; return the number of its nodes and of its leaves, whose ``values`` it writes."""
    n, most, rows, sums, counts = len(stats), rules.max_leaves, tree.rows, room.sums, room.counts
    begins, ends, stored = tree.begins, tree.ends, len(sums) > 1
    _sum_rows(stats, rows, room.totals[0])
    leaves, nodes = START + 1, START + 1
    if most > 1 and n >= 2 * rules.min_leaf:
        _fill(bins, stats, rows, sums[0], counts[0])
        _search_leaf(bins, tree, room, START, START, rules)
    while leaves < most:
        a, b = best_leaf(tree.gains[:leaves]), leaves
        if tree.gains[a] <= 0.0:
            break
        split_leaf(bins, tree, a, b, nodes)
        nodes += 2
        leaves += 1
        _sum_rows(stats, rows[begins[a] : ends[a]], room.totals[a])
        _sum_rows(stats, rows[begins[b] : ends[b]], room.totals[b])
        if leaves == most:
            break
        if ends[a] - begins[a] < 2 * rules.min_leaf:
            continue
        for i in (b, a):
            at = i if stored else START
            # The histograms of the larger child come from those of the smaller one.
            if stored and i == a:
                _take_away(sums[a], counts[a], sums[b], counts[b])
            else:
                _fill(bins, stats, rows[begins[i] : ends[i]], sums[at], counts[at])
            if ends[i] - begins[i] >= 2 * rules.min_leaf:
                _search_leaf(bins, tree, room, i, at, rules)
    for i in range(leaves):
        _leaf_value(room.totals[i], ends[i] - begins[i], rules, values[i])
    name_leaves(tree, leaves)
    return nodes, leaves


def grow(bins: Bins, stats: np.ndarray, rules: Rules) -> BoostedTree:
    """Grow one tree: split the leaf with the greatest gain until there are ``max_leaves``.

    A leaf keeps its histograms until it is split: those of the larger child are then the parent's
    less the smaller child's. Where that takes too much memory both are counted.
    """
    (n, width), most, slots = stats.shape, rules.max_leaves, int(bins.first_slot[-1])
    lines = most if most * slots * (width + 1) * 8 <= rules.histogram_bytes else 1
    room = Room(
        sums=np.empty((lines, slots, width)),
        counts=np.empty((lines, slots), np.int64),
        totals=np.empty((most, width)),
        left=np.empty(width),
        right=np.empty(width),
    )
    tree, values = growing(n, most), np.empty((most, rules.labels))
    nodes, leaves = _grow(bins, stats, rules, tree, room, values)
    return tree.cut_off(nodes, values[:leaves].copy())
