# mypy: disable-error-code="no-untyped-def,assignment"
"""Search for the split with the greatest information gain, compiled.

A row that the bootstrap drew w times is one row of weight w. A sorted column holds words: the rank
of the value in the upper bits, the row in the lower ones. Gains are in nats, times the node's rows.
"""

from __future__ import annotations

import numpy as np

from ldlrepro.models._tree_types import (
    CEIL,
    CONSTANT,
    NEAREST,
    NO_GAIN,
    STEP_BINS,
    TWO_VALUED,
)
from ldlrepro.models._two_means import compiled, random_below


@compiled
def prepare_clusters(node, rows, z, weight, shift, table):
    """Counts of the clusters z (0 or 1) of ``rows``; returns the number of rows drawn."""
    total = 0
    one = 0
    for i in range(len(rows)):
        w = np.uint64(weight[rows[i]])
        total += w
        one += w * z[i]
        node.packed[rows[i]] = (w << np.uint64(shift)) + w * z[i]
    zero = total - one
    for m in range(one + 1):
        node.ones[m] = table[m] + table[one - m]
    for m in range(zero + 1):
        node.zeros[m] = table[m] + table[zero - m]
    for m in range(total + 1):
        node.both[m] = table[m] + table[total - m]
    node.best[2] = table[one] + table[zero] - table[total]


@compiled
def prepare_classes(node, rows, label, weight, table):
    """Counts of the fixed classes of ``rows``; false if there is one class only."""
    node.totals[:] = 0
    total = 0
    for i in range(len(rows)):
        node.totals[label[rows[i]]] += weight[rows[i]]
        total += weight[rows[i]]
    parent = -table[total]
    for count in node.totals:
        parent += table[count]
        if count == total:
            return False
    node.best[2] = parent
    return True


@compiled
def _count_upper_values(node, columns, rows, label, weight, shift):
    node.above[:] = 0
    clusters = len(node.totals) == 0
    ones = (np.uint64(1) << np.uint64(shift)) - np.uint64(1)
    for i in range(len(rows)):
        row = rows[i]
        w = np.int64(weight[row])
        one = np.int64(np.uint64(node.packed[row]) & ones)
        for k in range(columns.row_start[row], columns.row_start[row + 1]):
            f = columns.row_features[k]
            node.above[f, 0] += w
            if clusters:
                node.above[f, 1] += one
            else:
                node.above[f, label[row] + 1] += w


@compiled
def _gain(node, n_left, rows, table):
    """Gain of the split with ``node.left`` rows of each class on the left."""
    score = -(table[n_left] + table[rows - n_left])
    for k in range(len(node.totals)):
        score += table[node.left[k]] + table[node.totals[k] - node.left[k]]
    return score - node.best[2]


@compiled
def _rounded(value, rounding):
    if rounding == NEAREST:
        return np.int64(value + 0.5)
    if rounding == CEIL:
        return np.int64(np.ceil(value))
    return np.int64(value)


@compiled
def prepare_step(node, step, curve, rows):
    """Length of the step by bin of the ratio; 0 in a bin with more than one length.

    ``curve`` holds steps as a share of the rows, at the ends of the bins.
    """
    after = _step_of(curve[0] * rows, step.rounding)
    for k in range(STEP_BINS):
        before, after = after, _step_of(curve[k + 1] * rows, step.rounding)
        node.lengths[k] = after if before == after else 0
    node.lengths[STEP_BINS] = after


@compiled
def _step_of(value, rounding):
    if rounding == NEAREST:
        value += 0.5
    elif rounding == CEIL:
        value = np.ceil(value)
    return max(np.int64(value), 1)


@compiled
def step_length(lengths, step, gain, scale, rows):
    """How far to go on; ``gain * scale`` is the ratio to the greatest gain so far, in bins."""
    place = max(gain * scale, 0.0) if scale > 0.0 else step.first_place
    length = lengths[np.int64(place)]
    if length == 0:
        ratio = place / STEP_BINS
        exact = step.alpha / (1.0 + np.exp(step.beta * (ratio - 0.5)))
        length = _step_of(exact * rows, step.rounding)
    return length


@compiled
def _scale(compared):
    return STEP_BINS / compared if compared > NO_GAIN else 0.0


@compiled
def _scan_clusters(packed, ones, zeros, both, parent, bar, words, line, begin, end, shift):
    """Every threshold of a sorted column: gains tried, place of the best (or 0), the next bar."""
    high = np.uint64(shift)
    mask = (np.uint64(1) << high) - np.uint64(1)
    seen = np.uint64(0)
    tried, at = 0, 0
    word = np.uint64(words[line, begin])
    for i in range(begin + 1, end):
        seen += np.uint64(packed[word & mask])
        following = np.uint64(words[line, i])
        distinct = (word ^ following) > mask
        word = following
        tried += distinct
        n_left = seen >> high
        one_left = seen & mask
        # Looked up before it is known to be needed: cheaper than a wrongly predicted branch.
        gain = ones[one_left] + zeros[n_left - one_left] - both[n_left] - parent
        if gain > bar and distinct:
            bar = gain + NO_GAIN
            at = i
    return tried, at, bar


@compiled
def _scan_clusters_adaptive(
    packed,
    ones,
    zeros,
    both,
    parent,
    bar,
    words,
    line,
    begin,
    end,
    shift,
    lengths,
    step,
    step_rows,
    compared,
    target,
):
    """As ``_scan_clusters`` with adaptive steps; also returns how far it came and wants to go."""
    high = np.uint64(shift)
    mask = (np.uint64(1) << high) - np.uint64(1)
    seen = np.uint64(0)
    tried, at, boundary = 0, 0, 0
    scale = _scale(compared)
    wall = np.uint64(0) if step.by_midpoint else np.uint64(target) << high
    i = begin
    while i < end - 1:
        seen += np.uint64(packed[np.uint64(words[line, i]) & mask])
        i += 1
        while seen < wall and i < end - 1:
            seen += np.uint64(packed[np.uint64(words[line, i]) & mask])
            i += 1
        distinct = (np.uint64(words[line, i - 1]) ^ np.uint64(words[line, i])) > mask
        boundary += distinct
        if (seen >= wall) & distinct:
            n_left = seen >> high
            one_left = seen & mask
            position = np.int64(n_left)
            if step.by_midpoint:
                position = boundary
                if position < target:
                    continue
            tried += 1
            gain = ones[one_left] + zeros[n_left - one_left] - both[n_left] - parent
            if gain > compared:
                compared = gain
                scale = _scale(compared)
                if gain > bar:
                    bar = gain + NO_GAIN
                    at = i
            target = position + step_length(lengths, step, gain, scale, step_rows)
            if not step.by_midpoint:
                wall = np.uint64(target) << high
    return tried, at, bar, compared, target, boundary


@compiled
def _scan_classes(
    node, words, line, begin, end, shift, label, weight, step, step_rows, rows, table
):
    """As the two above, for any number of fixed classes."""
    mask = (np.uint64(1) << np.uint64(shift)) - np.uint64(1)
    left = node.left
    left[:] = 0
    bar, compared, target = node.best[0], node.best[1], node.place[2]
    tried, at, boundary, position, n_left = 0, 0, 0, 0, 0
    for i in range(begin + 1, end):
        word = np.uint64(words[line, i - 1])
        row = word & mask
        left[label[row]] += weight[row]
        n_left += weight[row]
        distinct = (word ^ np.uint64(words[line, i])) > mask
        boundary += distinct
        position = boundary if step.by_midpoint else n_left
        if distinct and (position >= target or not step.adaptive):
            tried += 1
            gain = _gain(node, n_left, rows, table)
            if gain > bar:
                bar = gain + NO_GAIN
                at = i
            if step.adaptive:
                compared = max(compared, gain)
                length = step_length(node.lengths, step, gain, _scale(compared), step_rows)
                target = position + length
    node.best[0], node.best[1] = bar, compared
    node.place[2] = target - (boundary if step.by_midpoint else rows - 1)
    return tried, at


@compiled
def _try_two_valued(node, f, step, step_rows, rows, table):
    """The one threshold of a two-valued column; true if it is the best so far."""
    above = node.above[f, 0]
    for k in range(len(node.totals)):
        node.left[k] = node.totals[k] - node.above[f, k + 1]
    position, last = (1, 1) if step.by_midpoint else (rows - above, rows - 1)
    if step.adaptive and position < node.place[2]:
        node.place[2] -= last
        return False
    if len(node.totals) == 0:
        one = node.above[f, 1]
        gain = node.ones[one] + node.zeros[above - one] - node.both[above] - node.best[2]
    else:
        gain = _gain(node, rows - above, rows, table)
    node.tried[f] += 1
    if step.adaptive:
        node.best[1] = max(node.best[1], gain)
        length = step_length(node.lengths, step, gain, _scale(node.best[1]), step_rows)
        node.place[2] = position + length - last
    if gain > node.best[0]:
        node.best[0] = gain + NO_GAIN
        return True
    return False


@compiled
def _draw_features(node, active, per_node, used, state):
    """Choose the next features of a random order; returns how many were chosen so far."""
    size = min(per_node, len(active) - used)
    node.chosen[:] = False
    for i in range(used, used + size):
        other = i + random_below(state, len(active) - i)
        node.deck[i], node.deck[other] = node.deck[other], node.deck[i]
        node.chosen[node.deck[i]] = True
    return used + size


@compiled
def search(
    node,
    columns,
    words,
    begin,
    end,
    rows,
    label,
    weight,
    active,
    per_node,
    step,
    curve,
    step_rows,
    drawn,
    table,
    state,
):
    """Best split of the node's rows into ``node.best`` and ``node.place``; false if none gains.

    ``words`` holds the sorted columns of the tree, ``drawn`` is the number of rows with weights.
    If a drawn subset of the features gives no gain, the next subset is tried.
    """
    if len(columns.row_features):
        _count_upper_values(node, columns, rows, label, weight, columns.shift)
    best, place, tried_by = node.best, node.place, node.tried
    packed, ones, zeros, both = node.packed, node.ones, node.zeros, node.both
    lengths, chosen, lines = node.lengths, node.chosen, columns.line
    clusters, shift, used = len(node.totals) == 0, columns.shift, 0
    above = node.above
    best[0], best[1], place[2] = NO_GAIN, 0.0, 1
    adaptive = False
    if step.adaptive:
        prepare_step(node, step, curve, step_rows)
        # In a small node every step is one row long, so every threshold is tried.
        adaptive = lengths[0] != 1 or not clusters or step.by_midpoint or step.carry
    while used < len(active) and best[0] <= NO_GAIN:
        used = _draw_features(node, active, per_node, used, state) if per_node else len(active)
        for f in active:
            line = lines[f]
            if (per_node > 0 and not chosen[f]) or line == CONSTANT:
                continue
            if not step.carry or place[2] < 1:
                place[2] = 1
            if step.per_feature:
                best[1] = 0.0
            if line == TWO_VALUED:
                if above[f, 0] == 0 or above[f, 0] == drawn:
                    continue
                if _try_two_valued(node, f, step, step_rows, drawn, table):
                    place[0] = f
                continue
            if not clusters:
                tried, at = _scan_classes(
                    node,
                    words,
                    line,
                    begin,
                    end,
                    shift,
                    label,
                    weight,
                    step,
                    step_rows,
                    drawn,
                    table,
                )
            elif adaptive:
                tried, at, best[0], best[1], target, boundary = _scan_clusters_adaptive(
                    packed,
                    ones,
                    zeros,
                    both,
                    best[2],
                    best[0],
                    words,
                    line,
                    begin,
                    end,
                    shift,
                    lengths,
                    step,
                    step_rows,
                    best[1],
                    place[2],
                )
                place[2] = target - (boundary if step.by_midpoint else drawn - 1)
            else:
                tried, at, best[0] = _scan_clusters(
                    packed, ones, zeros, both, best[2], best[0], words, line, begin, end, shift
                )
            tried_by[f] += tried
            if at > 0:
                place[0], place[1] = f, at
    return best[0] > NO_GAIN
