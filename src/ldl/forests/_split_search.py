# mypy: disable-error-code="no-untyped-def,assignment"
"""Search for the split with the greatest information gain, compiled.

A row that the bootstrap drew w times is one row of weight w. A sorted column holds words: the rank
of the value in the upper bits, the row in the lower ones. Gains are in nats, times the node's rows.
"""

from __future__ import annotations

import numpy as np

from ldl.forests._split_steps import (
    longest_step,
    rows_up_to,
    scale_and_offset,
    scan_stepwise,
    step_length,
    walk_features,
)
from ldl.forests._split_two_valued import (
    class_gain,
    count_upper_values,
    list_features,
    scan_two_valued,
    try_two_valued,
)
from ldl.forests._two_means import compiled, random_below
from ldl.forests._types import NO_GAIN, SMALL_NODE, TWO_VALUED

# How a feature is searched. Small nodes look at every gain first, which costs less than steps, and
# follow the steps only where a gain exceeds the greatest so far: no other feature can matter.
EVERY_CUT, LOOK_FIRST, SIDE_BY_SIDE, STEP_BY_STEP, BY_CLASSES = range(5)


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
def _scan_clusters(
    queue,
    start,
    stop,
    lines,
    packed,
    ones,
    zeros,
    both,
    parent,
    bar,
    words,
    begin,
    end,
    shift,
    until_better,
    tried_by,
):
    """Every threshold of sorted columns from ``start`` until the next two-valued one.

    Returns the best feature, the place of its cut (or 0), the next bar, and where it stopped: with
    ``until_better`` after the first feature that exceeds the bar.
    """
    high = np.uint64(shift)
    mask = (np.uint64(1) << high) - np.uint64(1)
    best, at, k = -1, 0, start
    while k < stop and lines[queue[k]] >= 0 and not (until_better and at > 0):
        f = queue[k]
        line = lines[f]
        k += 1
        seen = np.uint64(0)
        tried = 0
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
                best, at = f, i
        tried_by[f] += tried
    return best, at, bar, k


@compiled
def _scan_classes(
    node, words, line, begin, end, shift, label, weight, step, curve, step_rows, rows, table
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
            gain = class_gain(node, n_left, rows, table)
            if gain > bar:
                bar = gain + NO_GAIN
                at = i
            if step.adaptive:
                compared = max(compared, gain)
                scale, offset = scale_and_offset(compared, step)
                bin_ = max(gain * scale, 0.0) + offset
                target = position + step_length(curve, step, bin_, step_rows)
    node.best[0], node.best[1] = bar, compared
    node.place[2] = target - (boundary if step.by_midpoint else rows - 1)
    return tried, at


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
def _way_of_steps(step, clusters, longest, drawn):
    """How to search with the adaptive step."""
    if not clusters:
        return BY_CLASSES
    if step.by_midpoint or step.carry or step.per_feature:
        return STEP_BY_STEP
    if longest == 1:
        # In a tiny node every step is one row long.
        return EVERY_CUT
    return LOOK_FIRST if drawn < SMALL_NODE else SIDE_BY_SIDE


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
        count_upper_values(node, columns, rows, label, weight)
    best, place, tried_by, queue = node.best, node.place, node.tried, node.queue
    packed, ones, zeros, both = node.packed, node.ones, node.zeros, node.both
    clusters, lines, shift, used = len(node.totals) == 0, columns.line, columns.shift, 0
    best[0], best[1], place[1], place[2] = NO_GAIN, 0.0, 0, 1
    way = EVERY_CUT if clusters else BY_CLASSES
    if step.adaptive:
        way = _way_of_steps(step, clusters, longest_step(curve, step, step_rows), drawn)
    while used < len(active) and best[0] <= NO_GAIN:
        used = _draw_features(node, active, per_node, used, state) if per_node else len(active)
        count = list_features(node, lines, drawn, shift)
        k = 0
        while k < count:
            f = queue[k]
            line = lines[f]
            k += 1
            if not step.carry or place[2] < 1:
                place[2] = 1
            if step.per_feature:
                best[1] = 0.0
            tried, at = 0, 0
            if line == TWO_VALUED and clusters and not step.carry:
                f, best[0], best[1], k = scan_two_valued(
                    queue,
                    k - 1,
                    count,
                    lines,
                    node.upper,
                    shift,
                    ones,
                    zeros,
                    both,
                    best[2],
                    best[0],
                    best[1],
                    tried_by,
                )
                if f >= 0:
                    place[0], place[1] = f, 0
            elif line == TWO_VALUED:
                if try_two_valued(node, f, shift, step, curve, step_rows, drawn, table):
                    place[0], place[1] = f, 0
            elif way == SIDE_BY_SIDE:
                k -= 1
                f, at, best[0], best[1], k = walk_features(
                    queue,
                    k,
                    count,
                    lines,
                    packed,
                    words,
                    begin,
                    end,
                    shift,
                    node.lanes,
                    ones,
                    zeros,
                    both,
                    best[2],
                    curve,
                    step,
                    step_rows,
                    drawn,
                    best[0],
                    best[1],
                    tried_by,
                )
            elif way == BY_CLASSES:
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
                    curve,
                    step_rows,
                    drawn,
                    table,
                )
            else:
                stepwise = way == STEP_BY_STEP
                if not stepwise:
                    # With steps a gain counts if it is the greatest, without if it is better.
                    bar = best[0] if way == EVERY_CUT else best[1]
                    found, at, bar, k = _scan_clusters(
                        queue,
                        k - 1,
                        count,
                        lines,
                        packed,
                        ones,
                        zeros,
                        both,
                        best[2],
                        bar,
                        words,
                        begin,
                        end,
                        shift,
                        way == LOOK_FIRST,
                        tried_by,
                    )
                    stepwise = way == LOOK_FIRST and at > 0
                    if at > 0:
                        f = found
                        line = lines[f]
                    if way == EVERY_CUT:
                        best[0] = bar
                if stepwise:
                    stepped, at, best[0], best[1], target, boundary = scan_stepwise(
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
                        curve,
                        step,
                        step_rows,
                        best[1],
                        place[2],
                    )
                    if way == STEP_BY_STEP:
                        tried = stepped
                    place[2] = target - (boundary if step.by_midpoint else drawn - 1)
            tried_by[f] += tried
            if at != 0:
                place[0], place[1] = f, at
    if best[0] <= NO_GAIN:
        return False
    if place[1] < 0:
        place[1] = rows_up_to(packed, words, lines[place[0]], begin, -place[1], shift)
    return True
