# mypy: disable-error-code="no-untyped-def,assignment,call-arg"
"""The adaptive step: its length, and the walk along a feature for the usual reading of the paper.

The next step depends on the last gain, so a walk waits for one long chain of operations after the
other. Several features are therefore laid out and walked side by side, with the greatest gain as
it is; where one of them exceeds it, the features from there on are walked again.
"""

from __future__ import annotations

import numpy as np
from numba.cpython.unsafe.numbers import trailing_zeros

from ldl.forests._two_means import compiled
from ldl.forests._types import CEIL, LANES, NEAREST, NO_GAIN, STEP_BINS


@compiled
def _step_of(value, rounding):
    if rounding == NEAREST:
        value += 0.5
    elif rounding == CEIL:
        value = np.ceil(value)
    return max(np.int64(value), 1)


@compiled
def scale_and_offset(compared, step):
    """The bin of a gain is gain * scale + offset; ``compared`` is the greatest gain so far."""
    if compared > NO_GAIN:
        return STEP_BINS / compared, 0.0
    return 0.0, step.first_ratio * STEP_BINS


@compiled
def step_length(curve, step, place, rows):
    """How far to go on from a gain in bin ``place``.

    ``curve`` holds steps as a share of the rows at the ends of the bins; the formula itself is
    needed where these differ.
    """
    k = np.uint64(place)
    length = _step_of(curve[k] * rows, step.rounding)
    if length != _step_of(curve[k + np.uint64(1)] * rows, step.rounding):
        exact = step.alpha / (1.0 + np.exp(step.beta * (place / STEP_BINS - 0.5)))
        length = _step_of(exact * rows, step.rounding)
    return length


@compiled
def longest_step(curve, step, rows):
    return _step_of(curve[0] * rows, step.rounding)


@compiled
def _lay_out(packed, words, line, begin, end, shift, ends, one_left, k):
    """Where values of a sorted column end, and the rows of cluster one up to there, in lane k."""
    high = np.uint64(shift)
    mask = (np.uint64(1) << high) - np.uint64(1)
    seen, bits, one = np.uint64(0), np.uint64(0), np.uint64(1)
    block = np.uint64(0)
    word = np.uint64(words[line, begin])
    for i in range(begin + 1, end):
        seen += np.uint64(packed[word & mask])
        following = np.uint64(words[line, i])
        n_left = seen >> high
        if n_left >> np.uint64(6) != block:
            ends[k, block] = bits
            bits = np.uint64(0)
            block += np.uint64(1)
            while block < n_left >> np.uint64(6):
                ends[k, block] = bits
                block += np.uint64(1)
        bits |= np.uint64((word ^ following) > mask) << (n_left & np.uint64(63))
        one_left[k, n_left] = seen & mask
        word = following
    # All rows on the left: where every walk stops, and stays with a gain of nothing.
    seen += np.uint64(packed[word & mask])
    last = seen >> high
    while block < last >> np.uint64(6):
        ends[k, block] = bits
        bits = np.uint64(0)
        block += np.uint64(1)
    ends[k, block] = bits | one << (last & np.uint64(63))
    one_left[k, last] = seen & mask


@compiled
def _next_end(ends, k, target):
    """The first end of a value at or after ``target``."""
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
    shift,
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
    """Search sorted columns of the queue from ``start`` until one is two-valued.

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
            _lay_out(packed, words, lines[queue[done]], begin, end, shift, ends, one_left, count)
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
    shift,
    curve,
    step,
    step_rows,
    compared,
    target,
):
    """As ``scan_clusters`` with adaptive steps; also returns how far it came and wants to go."""
    high = np.uint64(shift)
    mask = (np.uint64(1) << high) - np.uint64(1)
    seen = np.uint64(0)
    tried, at, boundary = 0, 0, 0
    scale, offset = scale_and_offset(compared, step)
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
                scale, offset = scale_and_offset(compared, step)
                if gain > bar:
                    bar = gain + NO_GAIN
                    at = i
            bin_ = max(gain * scale, 0.0) + offset
            target = position + step_length(curve, step, bin_, step_rows)
            if not step.by_midpoint:
                wall = np.uint64(target) << high
    return tried, at, bar, compared, target, boundary


@compiled
def rows_up_to(packed, words, line, begin, n_left, shift):
    """How many distinct rows, from ``begin`` on, were drawn ``n_left`` times in all."""
    high = np.uint64(shift)
    mask = (np.uint64(1) << high) - np.uint64(1)
    i, seen = begin, np.int64(0)
    while seen < n_left:
        seen += np.int64(np.uint64(packed[np.uint64(words[line, i]) & mask]) >> high)
        i += 1
    return i
