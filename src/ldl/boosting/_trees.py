# mypy: disable-error-code="no-untyped-def,assignment"
"""Trees of one boosting round, compiled: histograms, the search for splits, best-first growth.

Every row brings a line of statistics, (g, h) with the diagonal of the Hessian, or the gradients of
all labels and a curvature for each pair. A set of rows is judged by their sum alone.

The histograms of all features lie side by side, bin by bin, and are searched so: the first sweep
computes the best score of each feature, all of them abreast, and only features that beat those
before them are looked at again, cut by cut. Where features have many bins, small nodes keep their
rows sorted by every feature, for most bins would be empty.

All compiled code stands in this file, for numba does not notice a change in another.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ldl.forests._compiled import cached, compiled

DIAGONAL, EXACT_PAIR, SMO_PAIR = 0, 1, 2
"""Kinds of trees. A node is judged by the diagonal of the Hessian, or by its best pair of labels,
of all pairs or of those with the label of the largest gradient."""
LEAF = -1
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

    kind: int
    """DIAGONAL, EXACT_PAIR or SMO_PAIR."""
    labels: int
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
    """Sums of the statistics on the left, and at last the number of rows there, a line each."""
    best: np.ndarray
    """Best score of both sides; features with many values in their places."""
    sides: np.ndarray
    """Scores of the left and of the right side."""
    counts: np.ndarray
    """Rows in each bin, and where they start."""


class BoostedTree(NamedTuple):
    """A grown tree as flat arrays; the first node is the root."""

    feature: np.ndarray
    """Feature by which a node is split, or -1 in a leaf."""
    threshold: np.ndarray
    """Rows with a value up to this go to the left."""
    child: np.ndarray
    """The left child (the right one follows), or the line of the leaf."""
    leaves: np.ndarray
    """Output of each leaf: one number, or one for each label."""
    leaf_of: np.ndarray
    """Line of the leaf of each training row."""


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
    if rules.kind == DIAGONAL:
        return total[0] * total[0] / max(total[1], rules.floor * rows)
    return best_pair(total, rows, rules)[0]


# ---------------------------------------------------------------------- histograms


@compiled
def _fill(bins, stats, rows, sums, by_rows):
    """Fill histograms: the sums of the statistics of rows, and at last their number.

    Those of two-valued features are always needed, the others not where a node goes by its rows.
    """
    width, many = stats.shape[1], bins.bin_start[-1]
    sums[:, many if by_rows else 0 :] = 0.0
    # One histogram after the other, for all of them together are too large for the cache.
    for k in range(width + 1):
        here = sums[k]
        for row in rows:
            value = stats[row, k] if k < width else 1.0
            if not by_rows:
                _add(bins.row_bins[row], value, here)
            for i in range(bins.row_start[row], bins.row_start[row + 1]):
                here[bins.row_slots[i]] += value


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
def _score_bins(bins, sums, total, rows, rules, room):
    """Compute the best score of every feature with many values, over all its cuts."""
    room.left[:] = 0.0
    room.best[:] = 0.0
    if rules.kind == DIAGONAL:
        _score_sides(bins.bin_start, sums, total, rows, rules, room)
    elif rules.kind == EXACT_PAIR:
        _score_pairs(bins.bin_start, sums, total, rows, rules, room)
    else:
        room.best[:] = np.inf


@compiled
def _score_sides(bin_start, sums, total, rows, rules, room):
    """Walk through the bins of all features abreast, and keep the best score of each."""
    g, h, least, floor = total[0], total[1], np.float64(rules.min_leaf), rules.floor
    most = rows - least
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


@compiled
def _raise_sides(g_r, g_s, h_rs, a_total, h_total, floor, on_left, on_right):
    """Raise the scores of both sides where those of the pair (r, s) are higher."""
    for place in range(len(on_left)):
        a, h = g_r[place] - g_s[place], h_rs[place]
        a_right, h_right = a_total - a, h_total - h
        h = h if h > floor else floor
        h_right = h_right if h_right > floor else floor
        of_left, of_right = a * a / h, a_right * a_right / h_right
        on_left[place] = of_left if of_left > on_left[place] else on_left[place]
        on_right[place] = of_right if of_right > on_right[place] else on_right[place]


@compiled
def _score_pairs(bin_start, sums, total, rows, rules, room):
    """Do the same with the best pair of labels on either side."""
    c, floor, left, best = rules.labels, rules.floor, room.left, room.best
    left_rows, on_left, on_right = left[len(total)], room.sides[0], room.sides[1]
    for b in range(len(bin_start) - 2):
        first, places = bin_start[b], bin_start[b + 2] - bin_start[b + 1]
        for k in range(len(left)):
            so_far, here = left[k], sums[k, first : first + places]
            for place in range(places):
                so_far[place] += here[place]
        on_left[:places] = 0.0
        on_right[:places] = 0.0
        pair = c
        for r in range(c):
            for s in range(r + 1, c):
                _raise_sides(
                    left[r, :places],
                    left[s, :places],
                    left[pair, :places],
                    total[r] - total[s],
                    total[pair],
                    floor,
                    on_left[:places],
                    on_right[:places],
                )
                pair += 1
        for place in range(places):
            n_left, both = left_rows[place], on_left[place] + on_right[place]
            fits = (n_left >= rules.min_leaf) & (rows - n_left >= rules.min_leaf)
            both = both if fits else 0.0
            best[place] = both if both > best[place] else best[place]


# ---------------------------------------------------------------------- cuts of one feature


@compiled
def _best_bin(bins, sums, place, total, rows, bar, rules):
    """Find the best cut of a feature above ``bar``: its score, and the last bin on the left.

    A later cut must be better by more than rounding, so ties go to the first.
    """
    width = len(total)
    left, right = np.zeros(width), np.empty(width)
    best, at, seen = 0.0, 0, 0
    for b in range(bins.bins_at[place] - 1):
        slot = bins.bin_start[b] + place
        if sums[width, slot] == 0.0:
            continue
        seen += np.int64(sums[width, slot])
        for k in range(width):
            left[k] += sums[k, slot]
            right[k] = total[k] - left[k]
        if rows - seen < rules.min_leaf:
            break
        if seen >= rules.min_leaf:
            both = score(left, seen, rules) + score(right, rows - seen, rules)
            if both > bar:
                bar = both * (1.0 + _ROUNDING)
                best, at = both, b
    return best, at


@compiled
def _best_row(words, stats, total, bar, rules, room):
    """Find the same by the sorted rows of a node, where the Hessian is diagonal."""
    g, h, n = 0.0, 0.0, len(words)
    left_g, left_h, over = room.left[0], room.left[1], room.best
    for i in range(n - rules.min_leaf):
        row = words[i] & ROW_BITS
        g += stats[row, 0]
        h += stats[row, 1]
        left_g[i], left_h[i] = g, h
    first = rules.min_leaf - 1
    if not _any_above(left_g[first : n - rules.min_leaf], left_h, first, over, total, bar, rules):
        return 0.0, 0
    best, at = 0.0, 0
    left, right = np.empty(2), np.empty(2)
    for i in range(first, n - rules.min_leaf):
        if words[i] ^ words[i + 1] > ROW_BITS:
            left[0], left[1] = left_g[i], left_h[i]
            right[0], right[1] = total[0] - left_g[i], total[1] - left_h[i]
            both = score(left, i + 1, rules) + score(right, n - i - 1, rules)
            if both > bar:
                bar = both * (1.0 + _ROUNDING)
                best, at = both, np.int64(words[i] >> BIN_SHIFT)
    return best, at


@compiled
def _any_above(g, left_h, first, over, total, bar, rules):
    """Tell whether a cut may score more than ``bar``; one that does is never missed.

    All cuts are looked at abreast, those within a bin too, and g^2 / h of both sides are added
    without the divisions, which are slow.
    """
    h, all_g, all_h, floor = left_h[first : first + len(g)], total[0], total[1], rules.floor
    bar *= _A_LITTLE_LESS
    for i in range(len(g)):
        h_left, g_right, h_right = h[i], all_g - g[i], all_h - h[i]
        h_left = h_left if h_left > floor else floor
        h_right = h_right if h_right > floor else floor
        both = g[i] * g[i] * h_right + g_right * g_right * h_left
        over[i] = both - bar * (h_left * h_right)
    found = False
    for i in range(len(g)):
        found |= over[i] > 0.0
    return found


@compiled
def search(bins, sums, words, first_word, stats, total, rows, by_rows, rules, room):
    """Find the best split: its gain, feature and bin; the gain is 0 where no split gains.

    A later split must be better by more than rounding, so ties go to the first.
    """
    own, width = score(total, rows, rules), len(total)
    bar = own * (1.0 + _ROUNDING) + _SMALLEST
    gain, feature, cut = 0.0, 0, 0
    upper, lower = np.empty(width), np.empty(width)
    if not by_rows:
        _score_bins(bins, sums, total, rows, rules, room)
    for f in range(len(bins.place)):
        place, both, at = bins.place[f], 0.0, 0
        if place >= 0 and by_rows:
            here = words[place, first_word : first_word + rows]
            both, at = _best_row(here, stats, total, bar, rules, room)
        elif place >= 0:
            if room.best[place] > bar * _A_LITTLE_LESS:
                both, at = _best_bin(bins, sums, place, total, rows, bar, rules)
        elif bins.upper_slot[f] >= 0:
            slot = bins.upper_slot[f]
            above = np.int64(sums[width, slot])
            if min(above, rows - above) >= rules.min_leaf:
                for k in range(width):
                    upper[k] = sums[k, slot]
                    lower[k] = total[k] - upper[k]
                both = score(upper, above, rules) + score(lower, rows - above, rules)
        if both > bar:
            bar = both * (1.0 + _ROUNDING)
            gain, feature, cut = both - own, f, at
    return gain, feature, cut


# ---------------------------------------------------------------------- growth


@compiled
def _sum_rows(stats, rows, total):
    """Write the sum of the statistics of ``rows`` into ``total``."""
    total[:] = 0.0
    for row in rows:
        for k in range(len(total)):
            total[k] += stats[row, k]


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
def _leaf_value(total, rows, rules, value):
    """Write the Newton step of a leaf into ``value``."""
    value[:] = 0.0
    if rules.kind == DIAGONAL:
        value[0] = total[0] / max(total[1], rules.floor * rows)
    else:
        _, r, s, step = best_pair(total, rows, rules)
        value[r] = step
        value[s] = -step


@compiled
def histograms(bins, width, rules):
    """Count the histograms that a tree keeps: one for each leaf, or one where these are large."""
    size = bins.slots * (width + 1) * 8
    return rules.max_leaves if rules.max_leaves * size <= rules.histogram_bytes else 1


@cached
def grow(bins, stats, rules, memory):
    """Grow one tree: split the leaf with the greatest gain until there are ``max_leaves``.

    A leaf keeps its histograms until it is split: those of the larger child are then the parent's
    less the smaller child's. Where that takes too much memory both are counted. A leaf that goes by
    its rows keeps them sorted, and its children divide them. ``memory`` has room for what
    ``histograms`` counts; trees that grow one after the other share it.
    """
    n, width = stats.shape
    most, slots, places = rules.max_leaves, bins.slots, len(bins.codes)
    many, few = bins.bin_start[-1], bins.few if rules.kind == DIAGONAL else 0
    buffers = histograms(bins, width, rules)
    stored = buffers > 1
    sums = memory[: buffers * (width + 1) * slots].reshape(buffers, width + 1, slots)
    words = np.empty((places, min(n, most * few)), np.uint32)
    spare_words = np.empty(few, np.uint32)
    words_of, free_word = np.zeros(most, np.int64), 0
    wide = max(bins.bin_start[1], few)
    room = Room(
        np.empty((width + 1, wide)), np.empty(wide), np.empty((2, wide)), np.empty(257, np.int64)
    )
    totals = np.empty((most, width))
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
        gains[0], splits[0, 0], splits[0, 1] = search(
            bins, sums[0], words, 0, stats, totals[0], n, n <= few, rules, room
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
            gains[i], splits[i, 0], splits[i, 1] = search(
                bins,
                sums[at],
                words,
                words_of[i],
                stats,
                totals[i],
                len(here),
                by_rows,
                rules,
                room,
            )

    values = np.empty((leaves, 1 if rules.kind == DIAGONAL else rules.labels))
    leaf_of = np.empty(n, np.int64)
    for i in range(leaves):
        child[nodes_of[i]] = i
        _leaf_value(totals[i], ends[i] - begins[i], rules, values[i])
        for row in rows[begins[i] : ends[i]]:
            leaf_of[row] = i
    return BoostedTree(
        feature[:nodes].copy(), threshold[:nodes].copy(), child[:nodes].copy(), values, leaf_of
    )
