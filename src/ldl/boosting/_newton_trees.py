# mypy: disable-error-code="no-untyped-def,assignment"
"""Trees for one label, compiled: histograms, the search for splits, best-first growth.

Every row brings a gradient g and a curvature h, and a set of rows is judged by their sums.

The histograms of all features lie side by side, bin by bin, and are searched so: the first sweep
computes the best score of each feature, all of them abreast, and only features that beat those
before them are looked at again, cut by cut. Where features have many bins, small nodes keep their
rows sorted by every feature, for most bins would be empty.

All compiled code stands in this file, for numba does not notice a change in another.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ldl.boosting._tree import LEAF, BoostedTree
from ldl.forests._compiled import cached, compiled

BIN_SHIFT, ROW_BITS = np.uint32(24), np.uint32(2**24 - 1)
"""Words of sorted rows hold the bin above this bit, and the row below it."""
_ROUNDING = 1e-10
"""Gains that differ by a smaller share count as equal."""
_SMALLEST = 1e-12
"""Least gain of a split."""
_A_LITTLE_LESS = 1.0 - 1e-12
"""Factor that keeps what rounding alone puts below a bar."""


class Rules(NamedTuple):
    """The settings by which a tree grows."""

    max_leaves: int
    min_leaf: int
    """Least number of rows in a leaf."""
    floor: float
    """Least curvature per row."""
    histogram_bytes: int
    """Memory that the histograms of all leaves may take."""


class Room(NamedTuple):
    """Working memory of the search; by place of the feature, or by row of a small node."""

    left: np.ndarray
    """On the left: the sum of g, the sum of h, and the number of rows, a line each."""
    best: np.ndarray
    """Best score of both sides; features with many values in their places."""
    counts: np.ndarray
    """Rows in each bin, and where they start."""


@compiled
def score(g, h, rows, rules):
    """Return twice what the Newton step of a node gains to second order."""
    return g * g / max(h, rules.floor * rows)


# ---------------------------------------------------------------------- histograms


@compiled
def _fill(bins, stats, rows, sums, by_rows):
    """Fill histograms: the sums of g, of h, and the number of rows.

    Those of two-valued features are always needed, the others not where a node goes by its rows.
    """
    sums[:, bins.bin_start[-1] if by_rows else 0 :] = 0.0
    for k in range(3):
        here = sums[k]
        for row in rows:
            value = stats[row, k] if k < 2 else 1.0
            if not by_rows:
                _add(bins.row_bins[row], value, here)
            for i in range(bins.row_start[row], bins.row_start[row + 1]):
                here[bins.upper_slot[bins.row_features[i]]] += value


@compiled
def _add(slots, value, sums):
    """Add a row's value to its bin of every feature."""
    for slot in slots:
        sums[slot] += value


@compiled
def _take_away(sums, part):
    """Subtract the histograms of one child, which leaves those of the other."""
    for k in range(len(sums)):
        here, there = sums[k], part[k]
        for slot in range(len(here)):
            here[slot] -= there[slot]


# ---------------------------------------------------------------------- scores of all features


@compiled
def _score_bins(bin_start, sums, g, h, rows, rules, room):
    """Walk through the bins of all features abreast, and keep the best score of each."""
    least, floor = np.float64(rules.min_leaf), rules.floor
    most = rows - least
    room.left[:] = 0.0
    room.best[:] = 0.0
    left_g, left_h, left_rows, best = room.left[0], room.left[1], room.left[2], room.best
    for b in range(len(bin_start) - 2):
        # The last bin ends no cut; and features with fewer bins stand behind those with more.
        first, places = bin_start[b], bin_start[b + 2] - bin_start[b + 1]
        g_here, h_here = sums[0, first : first + places], sums[1, first : first + places]
        rows_here = sums[2, first : first + places]
        for place in range(places):
            left_g[place] += g_here[place]
            left_h[place] += h_here[place]
            left_rows[place] += rows_here[place]
        for place in range(places):
            h_left, h_right = left_h[place], h - left_h[place]
            h_left = h_left if h_left > floor else floor
            h_right = h_right if h_right > floor else floor
            g_left, g_right = left_g[place], g - left_g[place]
            # g^2 / h of both sides in one division.
            both = (g_left * g_left * h_right + g_right * g_right * h_left) / (h_left * h_right)
            fits = (left_rows[place] >= least) & (left_rows[place] <= most)
            both = both if fits else 0.0
            best[place] = both if both > best[place] else best[place]


# ---------------------------------------------------------------------- cuts of one feature


@compiled
def _best_bin(bins, sums, place, g, h, rows, bar, rules):
    """Find the best cut of a feature above ``bar``: its score, and the last bin on the left.

    A later cut must be better by more than rounding, so ties go to the first.
    """
    left_g, left_h, best, at, seen = 0.0, 0.0, 0.0, 0, 0
    for b in range(bins.bins_at[place] - 1):
        slot = bins.bin_start[b] + place
        if sums[2, slot] == 0.0:
            continue
        left_g += sums[0, slot]
        left_h += sums[1, slot]
        seen += np.int64(sums[2, slot])
        if rows - seen < rules.min_leaf:
            break
        if seen >= rules.min_leaf:
            both = score(left_g, left_h, seen, rules)
            both += score(g - left_g, h - left_h, rows - seen, rules)
            if both > bar:
                bar = both * (1.0 + _ROUNDING)
                best, at = both, b
    return best, at


@compiled
def _best_row(words, stats, g, h, bar, rules, room):
    """Find the same by the sorted rows of a node."""
    first, last = rules.min_leaf - 1, len(words) - rules.min_leaf
    left_g, left_h, over = room.left[0], room.left[1], room.best
    so_far_g, so_far_h = 0.0, 0.0
    for i in range(last):
        row = words[i] & ROW_BITS
        so_far_g += stats[row, 0]
        so_far_h += stats[row, 1]
        left_g[i], left_h[i] = so_far_g, so_far_h
    best, at = 0.0, 0
    if not _any_above(left_g[first:last], left_h[first:last], over, g, h, bar, rules):
        return best, at
    for i in range(first, last):
        if words[i] ^ words[i + 1] > ROW_BITS:
            both = score(left_g[i], left_h[i], i + 1, rules)
            both += score(g - left_g[i], h - left_h[i], len(words) - i - 1, rules)
            if both > bar:
                bar = both * (1.0 + _ROUNDING)
                best, at = both, np.int64(words[i] >> BIN_SHIFT)
    return best, at


@compiled
def _any_above(left_g, left_h, over, g, h, bar, rules):
    """Tell whether a cut may score more than ``bar``; one that does is never missed.

    All cuts are looked at abreast, those within a bin too, and g^2 / h of both sides are added
    without the divisions, which are slow.
    """
    floor = rules.floor
    bar *= _A_LITTLE_LESS
    for i in range(len(left_g)):
        h_left, g_right, h_right = left_h[i], g - left_g[i], h - left_h[i]
        h_left = h_left if h_left > floor else floor
        h_right = h_right if h_right > floor else floor
        both = left_g[i] * left_g[i] * h_right + g_right * g_right * h_left
        over[i] = both - bar * (h_left * h_right)
    found = False
    for i in range(len(left_g)):
        found |= over[i] > 0.0
    return found


@compiled
def _search(bins, sums, words, first_word, stats, g, h, rows, by_rows, rules, room):
    """Find the best split: its gain, feature and bin; the gain is 0 where no split gains.

    A later split must be better by more than rounding, so ties go to the first.
    """
    own = score(g, h, rows, rules)
    bar = own * (1.0 + _ROUNDING) + _SMALLEST
    gain, feature, cut = 0.0, 0, 0
    if not by_rows:
        _score_bins(bins.bin_start, sums, g, h, rows, rules, room)
    for f in range(len(bins.place)):
        place, both, at = bins.place[f], 0.0, 0
        if place >= 0 and by_rows:
            here = words[place, first_word : first_word + rows]
            both, at = _best_row(here, stats, g, h, bar, rules, room)
        elif place >= 0:
            if room.best[place] > bar * _A_LITTLE_LESS:
                both, at = _best_bin(bins, sums, place, g, h, rows, bar, rules)
        elif bins.upper_slot[f] >= 0:
            slot = bins.upper_slot[f]
            upper_g, upper_h, upper = sums[0, slot], sums[1, slot], sums[2, slot]
            if min(upper, rows - upper) >= rules.min_leaf:
                both = score(upper_g, upper_h, upper, rules)
                both += score(g - upper_g, h - upper_h, rows - upper, rules)
        if both > bar:
            bar = both * (1.0 + _ROUNDING)
            gain, feature, cut = both - own, f, at
    return gain, feature, cut


# ---------------------------------------------------------------------- growth


@compiled
def _sum_rows(stats, rows, total):
    """Write the sums of g and h over ``rows`` into ``total``."""
    g, h = 0.0, 0.0
    for row in rows:
        g += stats[row, 0]
        h += stats[row, 1]
    total[0], total[1] = g, h


@compiled
def _sort_rows(bins, rows, words, first, counts):
    """Sort a node's rows by every feature with many values; of one bin the lower row is first."""
    for place in range(len(words)):
        codes, n_bins = bins.codes[place], bins.bins_at[place]
        counts[: n_bins + 1] = 0
        for row in rows:
            counts[np.int64(codes[row]) + 1] += 1
        counts[0] = first
        for b in range(1, n_bins):
            counts[b] += counts[b - 1]
        for row in rows:
            b = codes[row]
            words[place, counts[b]] = np.uint32(b) << BIN_SHIFT | np.uint32(row)
            counts[b] += 1


@compiled
def _divide_sorted(words, begin, end, right, spare):
    """Put words of rows that go to the left first, each side in its order."""
    for place in range(len(words)):
        column = words[place, begin:end]
        b = 0
        for i in range(len(column)):
            word = column[i]
            column[i - b] = word
            spare[b] = word
            b += right[word & ROW_BITS]
        column[len(column) - b :] = spare[:b]


@compiled
def _divide(bins, f, cut, rows, right, spare):
    """Put rows that go to the left first, each side in its order; return how many those are."""
    place = bins.place[f]
    for row in rows:
        right[row] = place >= 0 and bins.row_bins[row, place] > bins.bin_start[cut] + place
    if place < 0:
        for i in range(bins.feature_start[f], bins.feature_start[f + 1]):
            right[bins.feature_rows[i]] = 1
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
def _best_leaf(gains):
    """Return the leaf with the greatest gain; of equal ones the first."""
    best = 0
    for i in range(1, len(gains)):
        if gains[i] > gains[best] * (1.0 + _ROUNDING):
            best = i
    return best


@compiled
def room_for(bins, rules):
    """Return the size of a tree's histograms: one for each leaf, or one where that is too much."""
    size = bins.slots * 3
    return size * (rules.max_leaves if rules.max_leaves * size * 8 <= rules.histogram_bytes else 1)


@cached
def grow(bins, stats, rules, memory):
    """Grow one tree: split the leaf with the greatest gain until there are ``max_leaves``.

    A leaf keeps its histograms until it is split: those of the larger child are then the parent's
    less the smaller child's. Where that takes too much memory both are counted. A leaf that goes by
    its rows keeps them sorted, and its children divide them. The histograms lie in ``memory``,
    which trees that grow one after the other share.
    """
    n, most, slots, places = len(stats), rules.max_leaves, bins.slots, len(bins.codes)
    many, few, buffers = bins.bin_start[-1], bins.few, room_for(bins, rules) // (slots * 3)
    stored = buffers > 1
    sums = memory[: buffers * 3 * slots].reshape(buffers, 3, slots)
    words = np.empty((places, min(n, most * few)), np.uint32)
    spare_words = np.empty(few, np.uint32)
    words_of, free_word = np.zeros(most, np.int64), 0
    wide = max(bins.bin_start[1], few)
    room = Room(np.empty((3, wide)), np.empty(wide), np.empty(257, np.int64))
    totals = np.empty((most, 2))
    gains, splits = np.zeros(most), np.zeros((most, 2), np.int64)
    begins, ends = np.zeros(most, np.int64), np.zeros(most, np.int64)
    nodes_of = np.zeros(most, np.int64)
    rows, spare, right = np.arange(n), np.empty(n, np.int64), np.zeros(n, np.uint8)

    feature = np.full(2 * most - 1, LEAF, np.int32)
    threshold = np.zeros(2 * most - 1)
    child = np.zeros(2 * most - 1, np.int64)

    ends[0] = n
    _sum_rows(stats, rows, totals[0])
    leaves, nodes = 1, 1
    if most > 1 and n >= 2 * rules.min_leaf:
        if n <= few:
            _sort_rows(bins, rows, words, 0, room.counts)
            free_word = n
        _fill(bins, stats, rows, sums[0], n <= few)
        gains[0], splits[0, 0], splits[0, 1] = _search(
            bins, sums[0], words, 0, stats, totals[0, 0], totals[0, 1], n, n <= few, rules, room
        )
    while leaves < most:
        a = _best_leaf(gains[:leaves])
        if gains[a] <= 0.0:
            break
        b = leaves
        f, cut = splits[a]
        here = rows[begins[a] : ends[a]]
        size, on_left = len(here), _divide(bins, f, cut, here, right, spare)
        middle = begins[a] + on_left
        feature[nodes_of[a]] = f
        threshold[nodes_of[a]] = bins.edges[bins.first_edge[f] + cut]
        child[nodes_of[a]] = nodes
        # The smaller child moves to the new place, for the larger inherits the histograms.
        left_is_smaller = on_left <= size - on_left
        first_word = words_of[a]
        if left_is_smaller:
            begins[b], ends[b], begins[a] = begins[a], middle, middle
            words_of[a], words_of[b] = first_word + on_left, first_word
        else:
            begins[b], ends[b], ends[a] = middle, ends[a], middle
            words_of[b] = first_word + on_left
        nodes_of[b] = nodes if left_is_smaller else nodes + 1
        nodes_of[a] = nodes + 1 if left_is_smaller else nodes
        nodes += 2
        leaves += 1
        _sum_rows(stats, rows[begins[a] : ends[a]], totals[a])
        _sum_rows(stats, rows[begins[b] : ends[b]], totals[b])
        gains[a], gains[b] = 0.0, 0.0
        larger = ends[a] - begins[a]
        if leaves == most:
            break
        if larger < 2 * rules.min_leaf:
            continue
        if size <= few:
            _divide_sorted(words, first_word, first_word + size, right, spare_words)
        for i in (b, a):
            here = rows[begins[i] : ends[i]]
            by_rows = len(here) <= few
            at = i if stored else 0
            if not stored:
                _fill(bins, stats, here, sums[0], by_rows)
            elif i == b:
                # The larger child's are what these leave of the parent's.
                _fill(bins, stats, here, sums[b], larger <= few)
            else:
                first = many if by_rows else 0
                _take_away(sums[a, :, first:], sums[b, :, first:])
            if len(here) < 2 * rules.min_leaf:
                continue
            if by_rows and size > few:
                words_of[i] = free_word
                free_word += len(here)
                _sort_rows(bins, here, words, words_of[i], room.counts)
            gains[i], splits[i, 0], splits[i, 1] = _search(
                bins,
                sums[at],
                words,
                words_of[i],
                stats,
                totals[i, 0],
                totals[i, 1],
                len(here),
                by_rows,
                rules,
                room,
            )

    values = np.empty((leaves, 1))
    leaf_of = np.empty(n, np.int64)
    for i in range(leaves):
        child[nodes_of[i]] = i
        values[i, 0] = totals[i, 0] / max(totals[i, 1], rules.floor * (ends[i] - begins[i]))
        for row in rows[begins[i] : ends[i]]:
            leaf_of[row] = i
    return BoostedTree(
        feature[:nodes].copy(), threshold[:nodes].copy(), child[:nodes].copy(), values, leaf_of
    )
