# mypy: disable-error-code="no-untyped-def,assignment,call-arg"
"""The search for the split with the greatest information gain, compiled.

A row that the bootstrap drew w times is one row of weight w. Gains are in nats, times the node's
rows n. The entropy of the node's classes, times n, is n ln n minus the sum of m ln m over the
counts m of the classes, so a gain is a sum of entries of a table of m ln m.

With two clusters three entries are enough: for each number of rows on the left, ``ones``, ``zeros``
and ``both`` hold the sum of m ln m over the two sides, for cluster one, cluster zero and all rows.
Counts are packed: all rows in the upper bits of a word, those of cluster one in the lower bits.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba.cpython.unsafe.numbers import trailing_zeros

from ldl.forests._columns import NEW_VALUE, ROW, TWO_VALUED
from ldl.forests._compiled import compiled, random_below

NO_GAIN = 1e-9
"""Gains, or differences of gains, below this are rounding."""
ONE = np.uint64(1)
"""Places in a column are unsigned, for a signed index would be looked at for its sign."""
BLOCKS, SHORTEST, LONGEST = np.uint64(8), np.uint64(4), np.uint64(16)
"""Blocks of a column whose gains have a common bound, and the fewest and most rows of one."""
ROUNDING = 1e-14
"""A gain is exact but for this share of the node's m ln m."""
STEP_BINS = 1024
"""Resolution of the curve of steps."""
SMALL_NODE = 48
"""With fewer rows the adaptive search looks at every gain first."""
LANES = 4
"""Features that the adaptive search walks through side by side."""
HIGH = np.uint64(32)
LOW = np.uint64(2**32 - 1)
"""Where the two counts of a packed word stand."""
FLOOR, NEAREST, CEIL = 0, 1, 2
"""Ways to make the length of a step a whole number."""


class Step(NamedTuple):
    """The adaptive step: alpha N / (1 + exp(beta (g / g_max - 1/2))) after a gain of g."""

    adaptive: bool
    """False tries every threshold."""
    alpha: float
    beta: float
    of_tree: bool
    """N is the number of rows of the tree; else of the node."""
    per_feature: bool
    """g_max is the greatest gain of the feature; else of the node."""
    first_ratio: float
    """Value of g / g_max before there is a gain."""
    rounding: int
    """FLOOR, NEAREST or CEIL."""
    by_midpoint: bool
    """Steps count distinct thresholds; else rows."""
    carry: bool
    """A step that passes the end of a feature goes on in the next one."""


class Lanes(NamedTuple):
    """Features that are walked side by side; the first index is the lane."""

    feature: np.ndarray
    """Feature in each lane."""
    ends: np.ndarray
    """A bit for each number of drawn rows after which the value changes."""
    one_left: np.ndarray
    """Rows of cluster one, by the number of drawn rows on the left."""
    target: np.ndarray
    """Rows that are to lie on the left of the next cut, at least."""
    tried: np.ndarray
    """Gains evaluated."""
    greatest: np.ndarray
    """Greatest gain of the walk."""


class Node(NamedTuple):
    """Memory that the search of one node reads and writes; allocated once per tree."""

    packed: np.ndarray
    """By row: weight in the upper bits, weight of cluster one in the lower ones."""
    ones: np.ndarray
    zeros: np.ndarray
    both: np.ndarray
    """Sums over both sides of m ln m, by the count on the left."""
    totals: np.ndarray
    """Rows of each fixed class; empty with clusters."""
    left: np.ndarray
    """Rows of each fixed class on the left of a cut."""
    upper: np.ndarray
    """Rows at the upper value of a two-valued feature, packed."""
    above: np.ndarray
    """With classes: rows at the upper value of a two-valued feature, all and by class."""
    lanes: Lanes
    tried: np.ndarray
    """Thresholds tried, by feature; those that a bound rules out count as well."""
    best: np.ndarray
    """Gain that a better split must exceed; g_max of the steps; the node's own sum of m ln m."""
    place: np.ndarray
    """Feature and end of the left side of the best split; next position to try."""
    deck: np.ndarray
    """The features that may be drawn, in a random order."""
    chosen: np.ndarray
    """By feature: searched, or not drawn."""
    sorted_columns: np.ndarray
    """A bit for each feature with a sorted column."""
    present: np.ndarray
    """The same, and a bit for each two-valued feature with its upper value in the node."""
    queue: np.ndarray
    """Features to search, in their order."""


# ---------------------------------------------------------------------- counts of a node


@compiled
def prepare_clusters(node, rows, z, weight, table):
    """Pack the weights and clusters z (0 or 1) of ``rows``, and fill the tables of gains."""
    total = 0
    one = 0
    for i in range(len(rows)):
        w = np.uint64(weight[rows[i]])
        total += w
        one += w * z[i]
        node.packed[rows[i]] = (w << HIGH) + w * z[i]
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
    """Count the fixed classes of ``rows``; return false if there is only one."""
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
def class_gain(node, n_left, rows, table):
    """Return the gain of the split with ``node.left`` rows of each class on the left."""
    score = -(table[n_left] + table[rows - n_left])
    for k in range(len(node.totals)):
        score += table[node.left[k]] + table[node.totals[k] - node.left[k]]
    return score - node.best[2]


# ---------------------------------------------------------------------- every threshold


@compiled
def _thresholds(column):
    """Count the thresholds of a node's part of a sorted column."""
    count = np.uint32(0)
    for i in range(ONE, np.uint64(len(column))):
        count += np.uint32(column[i] >= NEW_VALUE)
    return np.int64(count)


@compiled
def _may_exceed(bar, before, after, ones, zeros, both, parent):
    """Tell whether a gain between two positions may exceed the bar.

    A gain is a convex function of the rows on the left of either cluster. So none between the two
    positions is greater than that at the corners, where the rows of one cluster come first.
    """
    one, zero = before & LOW, (before >> HIGH) - (before & LOW)
    more_one, more_zero = after & LOW, (after >> HIGH) - (after & LOW)
    greatest = max(
        max(
            ones[one] + zeros[zero] - both[one + zero],
            ones[more_one] + zeros[more_zero] - both[more_one + more_zero],
        ),
        max(
            ones[more_one] + zeros[zero] - both[more_one + zero],
            ones[one] + zeros[more_zero] - both[one + more_zero],
        ),
    )
    return greatest - parent + NO_GAIN + ROUNDING * both[0] > bar


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
    until_better,
    tried_by,
):
    """Try every threshold of the queue's sorted columns from ``start`` to the next two-valued one.

    Blocks of rows whose bound says that no cut in them is better are passed over.
    With ``until_better`` the scan stops after the first feature that exceeds the bar. Returns the
    best feature, the place of its cut (or 0), the next bar, and where in the queue it stopped.
    """
    best, at, k = -1, 0, start
    while k < stop and lines[queue[k]] >= 0 and not (until_better and at > 0):
        f = queue[k]
        k += 1
        column = words[lines[f], begin:end]
        tried_by[f] += _thresholds(column)
        rows = np.uint64(len(column))
        block = min(max(rows // BLOCKS, SHORTEST), LONGEST)
        seen, first = np.uint64(0), ONE
        while first < rows:
            last = first + block
            if last <= rows:
                after = seen
                for i in range(first, last):
                    after += packed[column[i - ONE] & ROW]
                if not _may_exceed(bar, seen, after, ones, zeros, both, parent):
                    seen, first = after, last
                    continue
            last = min(last, rows)
            word = column[first - ONE]
            for i in range(first, last):
                seen += packed[word & ROW]
                word = column[i]
                n_left = seen >> HIGH
                one_left = seen & LOW
                # Looked up before it is known to be needed: a wrongly predicted branch costs more.
                gain = ones[one_left] + zeros[n_left - one_left] - both[n_left] - parent
                if (gain > bar) & (word >= NEW_VALUE):
                    bar = gain + NO_GAIN
                    best, at = f, begin + np.int64(i)
            first = last
    return best, at, bar, k


# ---------------------------------------------------------------------- the adaptive step


@compiled
def _step_of(value, rounding):
    """Round the length of a step; it is at least 1."""
    if rounding == NEAREST:
        value += 0.5
    elif rounding == CEIL:
        value = np.ceil(value)
    return max(np.int64(value), 1)


@compiled
def scale_and_offset(compared, step):
    """Return a line: a gain has the bin ``gain * scale + offset``, where ``compared`` is g_max."""
    if compared > NO_GAIN:
        return STEP_BINS / compared, 0.0
    return 0.0, step.first_ratio * STEP_BINS


@compiled
def step_length(curve, step, place, rows):
    """Return how far to go on from a gain in bin ``place``.

    ``curve`` holds steps at the ends of the bins, as a share of the rows. Only where the ends of a
    bin round to different steps is the formula itself computed.
    """
    k = np.uint64(place)
    length = _step_of(curve[k] * rows, step.rounding)
    if length != _step_of(curve[k + np.uint64(1)] * rows, step.rounding):
        exact = step.alpha / (1.0 + np.exp(step.beta * (place / STEP_BINS - 0.5)))
        length = _step_of(exact * rows, step.rounding)
    return length


@compiled
def longest_step(curve, step, rows):
    """Return the step after a gain of nothing."""
    return _step_of(curve[0] * rows, step.rounding)


@compiled
def scan_stepwise(
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
    curve,
    step,
    step_rows,
    compared,
    target,
):
    """Try the thresholds of one sorted column that adaptive steps lead to.

    ``target`` is the first position to try. Returns how many gains were evaluated, the place of the
    best cut (or 0 if none exceeds the bar), the next bar, the greatest gain, the next position to
    try, and the number of thresholds passed.
    """
    seen = np.uint64(0)
    tried, at, boundary = 0, 0, 0
    scale, offset = scale_and_offset(compared, step)
    wall = np.uint64(0) if step.by_midpoint else np.uint64(target) << HIGH
    i = begin
    while i < end - 1:
        seen += packed[words[line, i] & ROW]
        i += 1
        while seen < wall and i < end - 1:
            seen += packed[words[line, i] & ROW]
            i += 1
        distinct = words[line, i] >= NEW_VALUE
        boundary += distinct
        if (seen >= wall) & distinct:
            n_left = seen >> HIGH
            one_left = seen & LOW
            position = np.int64(n_left)
            if step.by_midpoint:
                position = boundary
                if position < target:
                    continue
            tried += 1
            gain = ones[one_left] + zeros[n_left - one_left] - both[n_left] - parent
            if gain > compared:
                compared = gain
                scale, offset = scale_and_offset(compared, step)
                if gain > bar:
                    bar = gain + NO_GAIN
                    at = i
            bin_ = max(gain * scale, 0.0) + offset
            target = position + step_length(curve, step, bin_, step_rows)
            if not step.by_midpoint:
                wall = np.uint64(target) << HIGH
    return tried, at, bar, compared, target, boundary


# ---------------------------------------------------------------------- features side by side
#
# The next step depends on the last gain, so a walk waits for one long chain of operations after the
# other. Several features are therefore laid out and walked side by side, with the greatest gain as
# it is; where one of them exceeds it, the features from there on are walked again.


@compiled
def _lay_out(packed, words, line, begin, end, ends, one_left, k):
    """Mark in lane k where the values of a column end, and count cluster one up to there."""
    seen, bits, one = np.uint64(0), np.uint64(0), np.uint64(1)
    block = np.uint64(0)
    word = words[line, begin]
    for i in range(begin + 1, end):
        seen += packed[word & ROW]
        word = words[line, i]
        n_left = seen >> HIGH
        if n_left >> np.uint64(6) != block:
            ends[k, block] = bits
            bits = np.uint64(0)
            block += np.uint64(1)
            while block < n_left >> np.uint64(6):
                ends[k, block] = bits
                block += np.uint64(1)
        bits |= np.uint64(word >= NEW_VALUE) << (n_left & np.uint64(63))
        one_left[k, n_left] = seen & LOW
    # All rows on the left: where every walk stops, and stays with a gain of nothing.
    seen += packed[word & ROW]
    last = seen >> HIGH
    while block < last >> np.uint64(6):
        ends[k, block] = bits
        bits = np.uint64(0)
        block += np.uint64(1)
    ends[k, block] = bits | one << (last & np.uint64(63))
    one_left[k, last] = seen & LOW


@compiled
def _next_end(ends, k, target):
    """Find the first end of a value at or after ``target``."""
    block = np.uint64(target) >> np.uint64(6)
    bits = ends[k, block] >> (np.uint64(target) & np.uint64(63))
    if bits != 0:
        return target + np.int64(trailing_zeros(bits))
    block += np.uint64(1)
    while ends[k, block] == 0:
        block += np.uint64(1)
    return np.int64(block << np.uint64(6)) + np.int64(trailing_zeros(ends[k, block]))


@compiled
def walk_features(
    queue,
    start,
    stop,
    lines,
    packed,
    words,
    begin,
    end,
    lanes,
    ones,
    zeros,
    both,
    parent,
    curve,
    step,
    step_rows,
    drawn,
    bar,
    compared,
    tried_by,
):
    """Walk the queue's sorted columns from ``start`` to the next two-valued one.

    Returns the best feature, minus the drawn rows left of its cut (0 if none is better than
    ``bar``), the next bar, the greatest gain, and where in the queue it stopped.
    """
    feature, ends, one_left = lanes.feature, lanes.ends, lanes.one_left
    target, tried, greatest = lanes.target, lanes.tried, lanes.greatest
    best, at, done = -1, 0, start
    while done < stop and lines[queue[done]] >= 0:
        count = 0
        while count < LANES and done < stop and lines[queue[done]] >= 0:
            feature[count] = queue[done]
            _lay_out(packed, words, lines[queue[done]], begin, end, ends, one_left, count)
            count += 1
            done += 1
        first = 0
        while first < count:
            scale, offset = scale_and_offset(compared, step)
            if compared > NO_GAIN and count > first + 1:
                target[first:count] = 1
                tried[first:count] = 0
                greatest[first:count] = 0.0
                moving = True
                while moving:
                    moving = False
                    for k in range(first, count):
                        # A walk that has arrived stays, with no gain, and counts nothing.
                        n_left = _next_end(ends, k, target[k])
                        one = np.uint64(one_left[k, n_left])
                        n = np.uint64(n_left)
                        gain = ones[one] + zeros[n - one] - both[n] - parent
                        greatest[k] = max(greatest[k], gain)
                        tried[k] += n_left < drawn
                        place = min(max(gain * scale, 0.0), np.float64(STEP_BINS))
                        length = step_length(curve, step, place, step_rows)
                        target[k] = min(n_left + length, drawn)
                        moving |= target[k] < drawn
                while first < count and greatest[first] <= compared:
                    tried_by[feature[first]] += tried[first]
                    first += 1
            if first < count:
                # A walk with a new greatest gain changes the steps of all that follow.
                n_left = _next_end(ends, first, 1)
                while n_left < drawn:
                    tried_by[feature[first]] += 1
                    one = one_left[first, n_left]
                    gain = ones[one] + zeros[n_left - one] - both[n_left] - parent
                    if gain > compared:
                        compared = gain
                        scale, offset = scale_and_offset(compared, step)
                        if gain > bar:
                            bar = gain + NO_GAIN
                            best, at = feature[first], -n_left
                    place = max(gain * scale, 0.0) + offset
                    length = step_length(curve, step, place, step_rows)
                    n_left = _next_end(ends, first, min(n_left + length, drawn))
                first += 1
    return best, at, bar, compared, done


@compiled
def rows_up_to(packed, words, line, begin, n_left):
    """Find the end of the rows of a column, from ``begin`` on, that were drawn ``n_left`` times."""
    i, seen = begin, np.int64(0)
    while seen < n_left:
        seen += np.int64(packed[words[line, i] & ROW] >> HIGH)
        i += 1
    return i


# ---------------------------------------------------------------------- fixed classes


@compiled
def _scan_classes(
    node, words, line, begin, end, label, weight, step, curve, step_rows, rows, table
):
    """Try the thresholds of one sorted column, all or by steps, for any number of fixed classes.

    Returns how many gains were evaluated, and the place of the best cut (or 0).
    """
    left = node.left
    left[:] = 0
    bar, compared, target = node.best[0], node.best[1], node.place[2]
    tried, at, boundary, position, n_left = 0, 0, 0, 0, 0
    for i in range(begin + 1, end):
        row = words[line, i - 1] & ROW
        left[label[row]] += weight[row]
        n_left += weight[row]
        distinct = words[line, i] >= NEW_VALUE
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


# ---------------------------------------------------------------------- two-valued features


@compiled
def count_upper_values(node, columns, rows, label, weight):
    """Count the rows of the node that have the upper value of each two-valued feature."""
    upper, packed, above, present = node.upper, node.packed, node.above, node.present
    starts, features = columns.row_start, columns.row_features
    upper[:] = 0
    above[:] = 0
    present[:] = node.sorted_columns
    clusters = len(node.totals) == 0
    for row in rows:
        for k in range(starts[row], starts[row + 1]):
            f = np.uint64(features[k])
            present[f >> np.uint64(6)] |= np.uint64(1) << (f & np.uint64(63))
            if clusters:
                upper[f] += packed[row]
            else:
                above[f, 0] += weight[row]
                above[f, label[row] + 1] += weight[row]


@compiled
def _unpacked(counts):
    """Return the two counts of a packed word: all rows, and those of cluster one."""
    return counts >> HIGH, counts & LOW


@compiled
def scan_two_valued(
    queue, start, stop, lines, upper, ones, zeros, both, parent, bar, compared, tried_by
):
    """Try the thresholds of the queue's two-valued columns from ``start`` to the next sorted one.

    Returns the best feature (or -1), the next bar, the greatest gain, and where it stopped.
    """
    best = -1
    k = start
    while k < stop and lines[queue[k]] == TWO_VALUED:
        f = queue[k]
        above, one = _unpacked(upper[f])
        gain = ones[one] + zeros[above - one] - both[above] - parent
        compared = max(compared, gain)
        if gain > bar:
            bar = gain + NO_GAIN
            best = f
        tried_by[f] += 1
        k += 1
    return best, bar, compared, k


@compiled
def try_two_valued(node, f, step, curve, step_rows, rows, table):
    """Try the one threshold of a two-valued column; return true if it is the best so far."""
    one = np.uint64(0)
    if len(node.totals) == 0:
        above, one = _unpacked(node.upper[f])
    else:
        above = np.uint64(node.above[f, 0])
        for k in range(len(node.totals)):
            node.left[k] = node.totals[k] - node.above[f, k + 1]
    position, last = (1, 1) if step.by_midpoint else (rows - np.int64(above), rows - 1)
    if step.adaptive and position < node.place[2]:
        node.place[2] -= last
        return False
    if len(node.totals) == 0:
        gain = node.ones[one] + node.zeros[above - one] - node.both[above] - node.best[2]
    else:
        gain = class_gain(node, rows - np.int64(above), rows, table)
    node.tried[f] += 1
    if step.adaptive:
        node.best[1] = max(node.best[1], gain)
    if step.carry:
        scale, offset = scale_and_offset(node.best[1], step)
        bin_ = max(gain * scale, 0.0) + offset
        length = step_length(curve, step, bin_, step_rows)
        node.place[2] = position + length - last
    if gain > node.best[0]:
        node.best[0] = gain + NO_GAIN
        return True
    return False


# ---------------------------------------------------------------------- the search


EVERY_CUT, LOOK_FIRST, SIDE_BY_SIDE, STEP_BY_STEP, BY_CLASSES = range(5)
"""Ways to search a sorted column.

Small nodes LOOK_FIRST at every gain, which costs less than steps, and follow the steps only where a
gain exceeds the greatest so far: no other feature can matter.
"""


@compiled
def list_features(node, lines, drawn):
    """Put the chosen features that vary within the node into ``node.queue``, and count them."""
    upper, above, queue, present = node.upper, node.above, node.queue, node.present
    chosen = node.chosen
    clusters = len(node.totals) == 0
    count = 0
    for block in range(len(present)):
        bits = present[block]
        while bits != 0:
            f = 64 * block + np.int64(trailing_zeros(bits))
            bits &= bits - np.uint64(1)
            varies = chosen[f]
            if lines[f] == TWO_VALUED:
                rows = np.int64(_unpacked(upper[f])[0]) if clusters else above[f, 0]
                varies &= rows < drawn
            queue[count] = f
            count += varies
    return count


@compiled
def _draw_features(node, active, per_node, used, state):
    """Choose the next features of a random order; return how many were chosen so far."""
    size = min(per_node, len(active) - used)
    node.chosen[:] = False
    for i in range(used, used + size):
        other = i + random_below(state, len(active) - i)
        node.deck[i], node.deck[other] = node.deck[other], node.deck[i]
        node.chosen[node.deck[i]] = True
    return used + size


@compiled
def _way_of_steps(step, clusters, longest, drawn):
    """Choose how a node is searched with the adaptive step."""
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
    """Find the best split of a node; return false if none gains.

    The split goes into ``node.place``, and its gain and a little more into ``node.best[0]``.
    ``words`` holds the sorted columns of the tree, of which the node has those from ``begin`` to
    ``end``. ``drawn`` is the number of its rows, counted with their weights. If a drawn subset of
    the features gives no gain, the next subset is tried.
    """
    if len(columns.row_features):
        count_upper_values(node, columns, rows, label, weight)
    best, place, tried_by, queue = node.best, node.place, node.tried, node.queue
    packed, ones, zeros, both = node.packed, node.ones, node.zeros, node.both
    clusters, lines, used = len(node.totals) == 0, columns.line, 0
    best[0], best[1], place[1], place[2] = NO_GAIN, 0.0, 0, 1
    way = EVERY_CUT if clusters else BY_CLASSES
    if step.adaptive:
        way = _way_of_steps(step, clusters, longest_step(curve, step, step_rows), drawn)
    while used < len(active) and best[0] <= NO_GAIN:
        used = _draw_features(node, active, per_node, used, state) if per_node else len(active)
        count = list_features(node, lines, drawn)
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
                if try_two_valued(node, f, step, curve, step_rows, drawn, table):
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
        place[1] = rows_up_to(packed, words, lines[place[0]], begin, -place[1])
    return True
