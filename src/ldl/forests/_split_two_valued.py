# mypy: disable-error-code="no-untyped-def,assignment,call-arg"
"""Features with two values, which have one threshold: counts of the upper value, and gains."""

from __future__ import annotations

import numpy as np
from numba.cpython.unsafe.numbers import trailing_zeros

from ldl.forests._split_steps import scale_and_offset, step_length
from ldl.forests._two_means import compiled
from ldl.forests._types import NO_GAIN, TWO_VALUED


@compiled
def count_upper_values(node, columns, rows, label, weight):
    """Rows of the node at the upper value of each two-valued feature."""
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
def class_gain(node, n_left, rows, table):
    """Gain of the split with ``node.left`` rows of each class on the left."""
    score = -(table[n_left] + table[rows - n_left])
    for k in range(len(node.totals)):
        score += table[node.left[k]] + table[node.totals[k] - node.left[k]]
    return score - node.best[2]


@compiled
def _unpacked(counts, shift):
    """Rows, and those of cluster one."""
    wide = np.uint64(counts)
    return wide >> np.uint64(shift), wide & ((np.uint64(1) << np.uint64(shift)) - np.uint64(1))


@compiled
def scan_two_valued(
    queue, start, stop, lines, upper, shift, ones, zeros, both, parent, bar, compared, tried_by
):
    """The thresholds of two-valued columns from ``start`` until the next sorted one.

    Returns the best feature (or -1), the next bar, the greatest gain, and where it stopped.
    """
    best = -1
    k = start
    while k < stop and lines[queue[k]] == TWO_VALUED:
        f = queue[k]
        above, one = _unpacked(upper[f], shift)
        gain = ones[one] + zeros[above - one] - both[above] - parent
        compared = max(compared, gain)
        if gain > bar:
            bar = gain + NO_GAIN
            best = f
        tried_by[f] += 1
        k += 1
    return best, bar, compared, k


@compiled
def try_two_valued(node, f, shift, step, curve, step_rows, rows, table):
    """The one threshold of a two-valued column; true if it is the best so far."""
    one = np.uint64(0)
    if len(node.totals) == 0:
        above, one = _unpacked(node.upper[f], shift)
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


@compiled
def list_features(node, lines, drawn, shift):
    """The chosen features that vary within the node, into ``node.queue``; their number."""
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
                rows = np.int64(_unpacked(upper[f], shift)[0]) if clusters else above[f, 0]
                varies &= rows < drawn
            queue[count] = f
            count += varies
    return count
