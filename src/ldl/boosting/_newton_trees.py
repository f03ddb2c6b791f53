# mypy: disable-error-code="no-untyped-def,assignment"
"""Trees for one label, compiled: histograms, the search for splits, best-first growth.

Every row brings a gradient g and a curvature h, and a set of rows is judged by their sums. A search
takes two steps. First all features are looked at abreast, by whole numbers: a row's g, its h and
the number 1 share one word, so that one addition adds all three, and sums give each feature a
bound that its best split cannot exceed. Then the few features whose bound is high enough are
looked at by the exact sums of the node's rows, so rounding to whole numbers decides nothing.

Histograms lie side by side, bin by bin. Where features have many bins, small nodes keep their rows
sorted by every feature, for most bins would be empty.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ldl._compiled import cached, compiled
from ldl.boosting._bins import ABREAST, Bins
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

BIN_SHIFT, ROW_BITS = np.uint32(24), np.uint32(2**24 - 1)
"""Words of sorted rows hold the bin above this bit, and the row below it."""
_BEHIND = 1.0 - 1e-9
"""Factor of a score below which another cannot win, whatever counts as equal."""
_SINGLE = 1.0 + 1e-5
"""Factor that covers the rounding of bounds, which are computed in single precision."""
_LOST = 2.0**-21
"""Share of a node's curvature that single precision may lose."""
_TINY = 1e-300
"""Sums below this are not divided by."""


class Rules(NamedTuple):
    """The settings by which a tree grows."""

    max_leaves: int
    min_leaf: int
    """Least number of rows in a leaf."""
    floor: float
    """Least curvature per row."""
    histogram_bytes: int
    """Memory that the histograms of all leaves may take."""


class Packing(NamedTuple):
    """The places of g, h and the number of rows in a word, from the upper bits to the lower."""

    count_bits: int
    h_bits: int
    g_unit: float
    """Gradient that the lowest bit of g stands for."""
    h_unit: float
    """Curvature that the lowest bit of h stands for."""


class Limits(NamedTuple):
    """Limits that the bounds of a node's features share, in units of the halves of packed sums."""

    least: np.int32
    """Least number of rows on the left."""
    most: np.int32
    """Largest number of rows on the left."""
    count_mask: np.int32
    """Bits of the number of rows in the lower half."""
    h_mask: np.int32
    """Bits of h in the upper half."""
    g_all: np.int32
    """Upper half of the node's sum."""
    g_slack: np.float32
    """Most by which g may be greater than its bits."""
    h_all: np.float32
    """Curvature of the node."""
    h_slack: np.float32
    """Most by which h may be less than its bits."""
    floor: np.float32
    """Least curvature of a side."""


class Room(NamedTuple):
    """Working memory of the search."""

    cuts: np.ndarray
    """Packed sums on the left of each cut of a block: a line for each, by place."""
    bounds: np.ndarray
    """By place of the feature: bound of the scores, in units of the packed sums."""
    bin_sums: np.ndarray
    """Bin by bin of one feature: the sums of g, of h, and the number of rows."""
    counts: np.ndarray
    """Rows in each bin, and where they start."""
    words: np.ndarray
    """Packed g, h and 1 of every row."""
    sums: np.ndarray
    """Histograms of features with many values: a line for each leaf, or one for all."""
    upper_sums: np.ndarray
    """By the same: sums of the rows that have the upper value of a two-valued feature."""
    totals: np.ndarray
    """By leaf: sums of g and h."""
    wholes: np.ndarray
    """By leaf: packed sum."""
    sorted_rows: np.ndarray
    """By place of the feature: rows of small leaves with their bins, in the order of these."""
    sorted_at: np.ndarray
    """By leaf: where its sorted rows begin."""
    spare_words: np.ndarray


@compiled
def score(g, h, rows, rules):
    """Return twice what the Newton step of a node gains to second order."""
    return g * g / max(h, rules.floor * rows)


# ---------------------------------------------------------------------- packed sums


@compiled
def pack(stats, words):
    """Pack g, h and the number 1 of every row into one whole number; return where they stand.

    Numbers are cut off, never rounded up: sums of all rows fit, and a sum of h is never too large.
    """
    n, g_sum, h_sum = len(stats), 0.0, 0.0
    for row in range(n):
        g_sum += abs(stats[row, 0])
        h_sum += stats[row, 1]
    count_bits = 1
    while n >> count_bits:
        count_bits += 1
    h_bits = (64 - count_bits) // 2
    g_bits = 64 - count_bits - h_bits
    # One bit of g is for the sign; sums stay two below the limit, for these are rounded.
    g_units = (2.0 ** (g_bits - 1) - 2.0) / g_sum if g_sum > _TINY else 1.0
    h_units = (2.0 ** min(h_bits, 31) - 2.0) / h_sum if h_sum > _TINY else 1.0
    for row in range(n):
        g, h = np.int64(stats[row, 0] * g_units), np.int64(stats[row, 1] * h_units)
        words[row] = (((g << h_bits) + h) << count_bits) + 1
    return Packing(count_bits, h_bits, 1.0 / g_units, 1.0 / h_units)


@compiled
def unpacked(word, packing):
    """Return the sums of g and h, in their units, and the number of rows."""
    h = (word >> packing.count_bits) & ((1 << packing.h_bits) - 1)
    return word >> (packing.count_bits + packing.h_bits), h, word & ((1 << packing.count_bits) - 1)


@compiled
def _fill(bins, words, rows, sums):
    """Fill the histograms of features with many values."""
    sums[:] = 0
    _add(bins, words, rows, 1, sums)


@compiled
def _add(bins, words, rows, sign, sums):
    """Add rows to the histograms, or take them away, block by block."""
    for block in range(len(bins.row_slots)):
        here = sums[bins.block_start[block] : bins.block_start[block + 1]]
        for row in rows:
            word, slots = sign * words[row], bins.row_slots[block, row]
            for lane in range(ABREAST):
                here[slots[lane]] += word


@compiled
def _fill_upper(bins, stats, rows, sums):
    """Sum g, h and the number of rows with the upper value, for each two-valued feature."""
    sums[:] = 0.0
    for row in rows:
        for i in range(bins.row_start[row], bins.row_start[row + 1]):
            slot = bins.upper_slot[bins.row_features[i]]
            sums[0, slot] += stats[row, 0]
            sums[1, slot] += stats[row, 1]
            sums[2, slot] += 1.0


@compiled
def _hand_down(bins, words, rows_of_smaller, larger, smaller, larger_needs_them, smaller_does):
    """Turn the parent's histograms, in ``larger``, into the larger child's, and fill the other's.

    Children that go by their rows need none.
    """
    if smaller_does:
        _fill(bins, words, rows_of_smaller, smaller)
        _take_away(larger, smaller)
    elif larger_needs_them:
        _add(bins, words, rows_of_smaller, -1, larger)


@compiled
def _take_away(sums, part):
    """Subtract the sums of one child, which leaves those of the other."""
    for i in range(len(sums)):
        sums[i] -= part[i]


# ---------------------------------------------------------------------- bounds of all features


@compiled
def unit_of_bounds(packing):
    """Return the score that a bound of 1 stands for."""
    g_bit = packing.g_unit / 2.0 ** (packing.count_bits + packing.h_bits - 32)
    return g_bit * g_bit / (packing.h_unit / 2.0**packing.count_bits)


@compiled
def limits_of(whole, packing, rules):
    """Return the limits that the bounds of a node share."""
    g_above = 2.0 ** (packing.count_bits + packing.h_bits - 32)
    h_bit = 2.0**packing.count_bits
    _, h, rows = unpacked(whole, packing)
    h_slack = h_bit + h * h_bit * _LOST
    return Limits(
        least=np.int32(rules.min_leaf),
        most=np.int32(rows - rules.min_leaf),
        count_mask=np.int32((1 << packing.count_bits) - 1),
        h_mask=np.int32(g_above - 1.0),
        g_all=np.int32(whole >> 32),
        g_slack=np.float32((rows + 1) * g_above),
        h_all=np.float32(h * h_bit),
        h_slack=np.float32(h_slack),
        floor=np.float32(rules.floor / packing.h_unit * h_bit),
    )


@compiled
def _raise_bounds(cuts, limits, bounds):
    """Raise the bound of each feature of a block to that of its best cut.

    All features are looked at abreast, in single precision. In the sum on the left, g is the upper
    half, and h the lower one and the bits that reach into the upper; the slack covers all that is
    cut off.
    """
    high, none, halves = np.float32(2.0**32), np.float32(0.0), cuts.view(np.int32)
    for i in range(len(halves)):
        for lane in range(ABREAST):
            lower, upper = halves[i, 2 * lane], halves[i, 2 * lane + 1]
            count = np.int32(lower & limits.count_mask)
            h_left = np.float32(np.int32(upper & limits.h_mask)) * high + np.float32(lower)
            h_left += high if lower < 0 else none
            h_right = max(limits.h_all - h_left - limits.h_slack, limits.floor)
            h_left = max(h_left - limits.h_slack, limits.floor)
            g_left = abs(np.float32(upper)) + limits.g_slack
            g_right = abs(np.float32(np.int32(limits.g_all - upper))) + limits.g_slack
            # g^2 / h of both sides in one division.
            both = (g_left * g_left * h_right + g_right * g_right * h_left) / (h_left * h_right)
            both = both if (count >= limits.least) & (count <= limits.most) else none
            bounds[lane] = both if both > bounds[lane] else bounds[lane]


@compiled
def _bound_bins(bins, sums, limits, cuts, bounds):
    """Bound all features by their histograms."""
    bounds[:] = np.float32(0.0)
    for block in range(len(bins.row_slots)):
        first, last = bins.block_start[block], bins.block_start[block + 1]
        # The last bin ends no cut.
        lines = (last - first) // ABREAST - 1
        of_bins = sums[first:last].reshape(lines + 1, ABREAST)
        for lane in range(ABREAST):
            cuts[0, lane] = of_bins[0, lane]
        for i in range(1, lines):
            before, here, of_bin = cuts[i - 1], cuts[i], of_bins[i]
            for lane in range(len(here)):  # a constant would be unrolled, not vectorised
                here[lane] = before[lane] + of_bin[lane]
        _raise_bounds(cuts[:lines], limits, bounds[block * ABREAST : (block + 1) * ABREAST])


@compiled
def _bound_rows(sorted_rows, first, size, words, least, limits, cuts, bounds):
    """Bound all features by the sorted rows of a small node, of which each side has ``least``."""
    before = least - 1
    lines = size - before - least
    bounds[:] = np.float32(0.0)
    for start in range(0, len(sorted_rows), ABREAST):
        lanes = min(ABREAST, len(sorted_rows) - start)
        for i in range(lines):
            for lane in range(lanes, ABREAST):
                cuts[i, lane] = 0
        for lane in range(lanes):
            of_feature, left = sorted_rows[start + lane, first : first + size], np.int64(0)
            for i in range(before):
                left += words[of_feature[i] & ROW_BITS]
            here = of_feature[before]
            for i in range(lines):
                following = of_feature[before + i + 1]
                left += words[here & ROW_BITS]
                # There is no cut within a bin, and none without rows on the left.
                cuts[i, lane] = left if here ^ following > ROW_BITS else 0
                here = following
        _raise_bounds(cuts[:lines], limits, bounds[start : start + ABREAST])


# ---------------------------------------------------------------------- exact search


@compiled
def _best_cut(bins, place, stats, rows, g, h, bar, rules, sums):
    """Find the best cut of a feature above ``bar``: its score, and the last bin on the left.

    A later cut must be better by more than rounding, so ties go to the first.
    """
    n_bins = bins.bins_at[place]
    for b in range(n_bins):
        sums[b, 0], sums[b, 1], sums[b, 2] = 0.0, 0.0, 0.0
    for row in rows:
        b = bins.codes[place, row]
        sums[b, 0] += stats[row, 0]
        sums[b, 1] += stats[row, 1]
        sums[b, 2] += 1.0
    left_g, left_h, best, at, seen = 0.0, 0.0, 0.0, 0, 0
    for b in range(n_bins - 1):
        if sums[b, 2] == 0.0:
            continue
        left_g += sums[b, 0]
        left_h += sums[b, 1]
        seen += np.int64(sums[b, 2])
        if len(rows) - seen < rules.min_leaf:
            break
        if seen >= rules.min_leaf:
            both = score(left_g, left_h, seen, rules)
            both += score(g - left_g, h - left_h, len(rows) - seen, rules)
            if both > bar:
                bar = both * (1.0 + ROUNDING)
                best, at = both, b
    return best, at


@compiled
def _search(bins, upper_sums, stats, rows, total, packing, rules, room):
    """Find the best split: its gain, feature and bin; the gain is 0 where no split gains.

    A later split must be better by more than rounding, so ties go to the first.
    """
    g, h = total
    own = score(g, h, len(rows), rules)
    bar = own * (1.0 + ROUNDING) + SMALLEST
    gain, feature, cut = 0.0, 0, 0
    bounds, worth = room.bounds, 0.0
    unit = unit_of_bounds(packing) * _SINGLE
    if len(bounds) > 0:
        # The feature with the highest bound is likely to win, and rules most others out.
        likely = np.argmax(bounds)
        if bounds[likely] * unit > bar:
            both, at = _best_cut(bins, likely, stats, rows, g, h, bar, rules, room.bin_sums)
            worth = both * _BEHIND
    for f in range(len(bins.place)):
        place, both, at = bins.place[f], 0.0, 0
        if place >= 0:
            if bounds[place] * unit > max(bar, worth):
                both, at = _best_cut(bins, place, stats, rows, g, h, bar, rules, room.bin_sums)
        elif bins.upper_slot[f] >= 0:
            slot = bins.upper_slot[f]
            upper_g, upper_h, upper = upper_sums[0, slot], upper_sums[1, slot], upper_sums[2, slot]
            if min(upper, len(rows) - upper) >= rules.min_leaf:
                both = score(upper_g, upper_h, upper, rules)
                both += score(g - upper_g, h - upper_h, len(rows) - upper, rules)
        if both > bar:
            bar = both * (1.0 + ROUNDING)
            gain, feature, cut = both - own, f, at
    return gain, feature, cut


# ---------------------------------------------------------------------- growth


@compiled
def _sum_rows(stats, words, rows, total):
    """Write the sums of g and h over ``rows`` into ``total``; return their packed sum."""
    g, h, whole = 0.0, 0.0, np.int64(0)
    for row in rows:
        g += stats[row, 0]
        h += stats[row, 1]
        whole += words[row]
    total[0], total[1] = g, h
    return whole


@compiled
def _sort_rows(bins, rows, sorted_rows, first, counts):
    """Sort a node's rows by every feature with many values; of one bin the lower row is first."""
    for place in range(len(sorted_rows)):
        codes, n_bins = bins.codes[place], bins.bins_at[place]
        counts[: n_bins + 1] = 0
        for row in rows:
            counts[np.int64(codes[row]) + 1] += 1
        counts[0] = first
        for b in range(1, n_bins):
            counts[b] += counts[b - 1]
        for row in rows:
            b = codes[row]
            sorted_rows[place, counts[b]] = np.uint32(b) << BIN_SHIFT | np.uint32(row)
            counts[b] += 1


@compiled
def _divide_sorted(sorted_rows, begin, end, right, spare):
    """Put rows that go to the left first, each side in its order."""
    for place in range(len(sorted_rows)):
        column = sorted_rows[place, begin:end]
        b = 0
        for i in range(len(column)):
            word = column[i]
            column[i - b] = word
            spare[b] = word
            b += right[word & ROW_BITS]
        for i in range(b):
            column[len(column) - b + i] = spare[i]


@compiled
def _search_leaf(bins, stats, rules, packing, tree, room, i, at, is_sorted):
    """Find the best split of leaf i, whose histograms are those at ``at``."""
    here, bounds = tree.rows[tree.begins[i] : tree.ends[i]], room.bounds
    limits = limits_of(room.wholes[i], packing, rules)
    if is_sorted:
        first, least, words = room.sorted_at[i], rules.min_leaf, room.words
        _bound_rows(room.sorted_rows, first, len(here), words, least, limits, room.cuts, bounds)
    else:
        _bound_bins(bins, room.sums[at], limits, room.cuts, bounds)
    tree.gains[i], tree.splits[i, 0], tree.splits[i, 1] = _search(
        bins, room.upper_sums[at], stats, here, room.totals[i], packing, rules, room
    )


@compiled
def _hand_down_sums(bins, stats, rules, tree, room, a, b):
    """Turn the histograms of the split leaf a into those of both children."""
    smaller, larger = tree.ends[b] - tree.begins[b], tree.ends[a] - tree.begins[a]
    rows, few = tree.rows[tree.begins[b] : tree.ends[b]], bins.few
    smaller_does = smaller > few and smaller >= 2 * rules.min_leaf
    _hand_down(bins, room.words, rows, room.sums[a], room.sums[b], larger > few, smaller_does)
    _fill_upper(bins, stats, rows, room.upper_sums[b])
    for k in range(3):
        _take_away(room.upper_sums[a, k], room.upper_sums[b, k])


@compiled
def _search_children(bins, stats, rules, packing, tree, room, a, b, free_word):
    """Find the best splits of the children of a leaf; return where sorted rows may go."""
    stored, few, rows, size = len(room.sums) > 1, bins.few, tree.rows, 0
    for i in (b, a):
        size += tree.ends[i] - tree.begins[i]
    for i in (b, a):
        here, at = rows[tree.begins[i] : tree.ends[i]], i if stored else START
        if len(here) < 2 * rules.min_leaf:
            continue
        if not stored:
            _fill_upper(bins, stats, here, room.upper_sums[0])
            if len(here) > few:
                _fill(bins, room.words, here, room.sums[0])
        if len(here) <= few < size:
            room.sorted_at[i] = free_word
            free_word += len(here)
            _sort_rows(bins, here, room.sorted_rows, room.sorted_at[i], room.counts)
        _search_leaf(bins, stats, rules, packing, tree, room, i, at, len(here) <= few)
    return free_word


@cached
def _grow(bins, stats, rules, tree, room, values):
    """Grow a tree; return the number of its nodes and of its leaves, whose ``values`` it writes."""
    n, most, few, words = len(stats), rules.max_leaves, bins.few, room.words
    totals, wholes, sorted_at = room.totals, room.wholes, room.sorted_at
    packing = pack(stats, words)
    wholes[0] = _sum_rows(stats, words, tree.rows, totals[0])
    leaves, nodes, free_word = START + 1, START + 1, START
    if most > 1 and n >= 2 * rules.min_leaf:
        if n <= few:
            _sort_rows(bins, tree.rows, room.sorted_rows, sorted_at[0], room.counts)
            free_word += n
        else:
            _fill(bins, words, tree.rows, room.sums[0])
        _fill_upper(bins, stats, tree.rows, room.upper_sums[0])
        _search_leaf(bins, stats, rules, packing, tree, room, START, START, n <= few)
    while leaves < most:
        a, b = best_leaf(tree.gains[:leaves]), leaves
        if tree.gains[a] <= 0.0:
            break
        size, first = tree.ends[a] - tree.begins[a], sorted_at[a]
        on_left, left_is_smaller = split_leaf(bins, tree, a, b, nodes)
        sorted_at[b] = first if left_is_smaller else first + on_left
        sorted_at[a] = first + on_left if left_is_smaller else first
        nodes += 2
        leaves += 1
        wholes[b] = _sum_rows(stats, words, tree.rows[tree.begins[b] : tree.ends[b]], totals[b])
        wholes[a] -= wholes[b]
        _sum_rows(stats, words, tree.rows[tree.begins[a] : tree.ends[a]], totals[a])
        if leaves == most:
            break
        if tree.ends[a] - tree.begins[a] < 2 * rules.min_leaf:
            continue
        if size <= few:
            _divide_sorted(room.sorted_rows, first, first + size, tree.right, room.spare_words)
        if len(room.sums) > 1:
            _hand_down_sums(bins, stats, rules, tree, room, a, b)
        free_word = _search_children(bins, stats, rules, packing, tree, room, a, b, free_word)
    for i in range(leaves):
        rows = tree.ends[i] - tree.begins[i]
        values[i, 0] = totals[i, 0] / max(totals[i, 1], rules.floor * rows)
    name_leaves(tree, leaves)
    return nodes, leaves


def room_for(bins: Bins, rules: Rules) -> int:
    """Return the size of a tree's histograms: one for each leaf, or one where that is too much."""
    size = int(bins.block_start[-1]) + 3 * bins.two_valued
    return size * (rules.max_leaves if rules.max_leaves * size * 8 <= rules.histogram_bytes else 1)


def grow(bins: Bins, stats: np.ndarray, rules: Rules, memory: np.ndarray) -> BoostedTree:
    """Grow one tree: split the leaf with the greatest gain until there are ``max_leaves``.

    A leaf keeps its histograms until it is split: those of the larger child are then the parent's
    less the smaller child's. Where that takes too much memory both are counted. A leaf that goes by
    its rows keeps them sorted, and its children divide them. The histograms lie in ``memory``,
    which trees that grow one after the other share.
    """
    n, most, few, slots = len(stats), rules.max_leaves, bins.few, int(bins.block_start[-1])
    width = slots + 3 * bins.two_valued
    lines = len(memory) // max(width, 1)
    room = Room(
        cuts=np.empty((max(few, 256), ABREAST), np.int64),
        bounds=np.empty(len(bins.row_slots) * ABREAST, np.float32),
        bin_sums=np.empty((256, 3)),
        counts=np.empty(257, np.int64),
        words=np.empty(n, np.int64),
        sums=memory[: lines * slots].view(np.int64).reshape(lines, slots),
        upper_sums=memory[lines * slots : lines * width].reshape(lines, 3, bins.two_valued),
        totals=np.empty((most, 2)),
        wholes=np.empty(most, np.int64),
        sorted_rows=np.empty((len(bins.codes), min(n, most * few)), np.uint32),
        sorted_at=np.zeros(most, np.int64),
        spare_words=np.empty(few, np.uint32),
    )
    tree, values = growing(n, most), np.empty((most, 1))
    nodes, leaves = _grow(bins, stats, rules, tree, room, values)
    return tree.cut_off(nodes, values[:leaves].copy())
