# mypy: disable-error-code="no-untyped-def,assignment"
"""Bins of features cut as xgboost cuts them, compiled: the same cuts in a fraction of the time.

xgboost takes rows in one after the other and keeps a summary of the quantiles: some values, each
with the least and the greatest rank that it may have. A full queue of values becomes a summary;
summaries of equally many queues are merged and pruned, so that few are kept at any time. Here a
queue is sorted as a whole, but ranks are computed and pruned with the same arithmetic.
"""

from __future__ import annotations

import numpy as np

from ldl._compiled import cached, compiled
from ldl.forests._compiled import START

_FINER = 8
"""Summaries are so many times as fine as the bins."""
_ABOVE = np.float32(1e-5)
"""Least distance of the last cut from the greatest value."""
VALUE, LEAST, GREATEST, WEIGHT = 0, 1, 2, 3
"""Columns of a summary: a value, the ranks it may have, and the number of rows that have it."""


def cut_like_xgboost(X: np.ndarray, max_bins: int) -> list[np.ndarray]:
    """Return the upper ends of each feature's bins."""
    cuts = np.empty((X.shape[1], max_bins), np.float32)
    counts = np.empty(X.shape[1], np.int64)
    find_cuts(np.ascontiguousarray(X.T, dtype=np.float32), max_bins, cuts, counts)
    return [of_feature[:count] for of_feature, count in zip(cuts, counts, strict=True)]


@compiled
def ascending(values):
    """Return values in ascending order, sorted byte by byte, which is sooner done than by pairs."""
    sign, all_bits = np.uint32(1 << 31), np.uint32(2**32 - 1)
    keys, spare = values.view(np.uint32).copy(), np.empty(len(values), np.uint32)
    # As whole numbers, floats ascend with the sign turned round, negative ones with all bits.
    for i in range(len(keys)):
        keys[i] ^= all_bits if keys[i] & sign else sign
    for shift in range(0, 32, 8):
        starts = np.zeros(257, np.int64)
        for key in keys:
            starts[((key >> shift) & 255) + 1] += 1
        for byte in range(256):
            starts[byte + 1] += starts[byte]
        for key in keys:
            byte = (key >> shift) & 255
            spare[starts[byte]] = key
            starts[byte] += 1
        keys, spare = spare, keys
    for i in range(len(keys)):
        keys[i] ^= sign if keys[i] & sign else all_bits
    return keys.view(np.float32)


@compiled
def _summary_of(values):
    """Summarise values exactly."""
    values = ascending(values)
    summary, size = np.empty((len(values), 4), np.float32), 0
    begin = 0
    for i in range(1, len(values) + 1):
        if i == len(values) or values[i] != values[begin]:
            summary[size, VALUE], summary[size, WEIGHT] = values[begin], i - begin
            summary[size, LEAST], summary[size, GREATEST] = begin, i
            size += 1
            begin = i
    return summary[:size]


@compiled
def _copy_line(target, line, source, i):
    """Copy a value with its ranks, one by one: numba takes a second to compile a slice's copy."""
    for column in range(4):
        target[line, column] = source[i, column]


@compiled
def _pruned(summary, most):
    """Keep at most so many values, nearest to evenly spaced ranks; the extremes stay."""
    size = len(summary)
    if size <= most:
        return summary.copy()
    kept = np.empty((most, 4), np.float32)
    _copy_line(kept, START, summary, START)
    begin, steps = summary[0, GREATEST], np.float32(most - 1)
    span = np.float32(summary[size - 1, LEAST] - begin)
    count, i, last = 1, 1, 0
    for k in range(1, most - 1):
        rank = np.float32(np.float32(np.float32(k) * span) / steps) + begin
        twice = np.float32(2.0) * np.float32(rank)
        while i < size - 1 and twice >= summary[i + 1, GREATEST] + summary[i + 1, LEAST]:
            i += 1
        if i == size - 1:
            break
        # Whether the wanted rank is nearer to value i than to the following one.
        middle = summary[i, LEAST] + summary[i, WEIGHT]
        middle += summary[i + 1, GREATEST] - summary[i + 1, WEIGHT]
        nearest = i if twice < middle else i + 1
        if nearest != last:
            _copy_line(kept, count, summary, nearest)
            count, last = count + 1, nearest
    if last != size - 1:
        _copy_line(kept, count, summary, size - 1)
        count += 1
    return kept[:count]


@compiled
def _ranks_in(summary, k, value):
    """Return whether a summary has a value, its least and greatest rank there, and its rows.

    ``k`` is the first place whose value is not below.
    """
    if k < len(summary) and summary[k, VALUE] == value:
        return 1, summary[k, LEAST], summary[k, GREATEST], summary[k, WEIGHT]
    least = summary[k - 1, LEAST] + summary[k - 1, WEIGHT] if k > 0 else np.float32(0.0)
    if k == len(summary):
        return 0, least, summary[k - 1, GREATEST], np.float32(0.0)
    return 0, least, summary[k, GREATEST] - summary[k, WEIGHT], np.float32(0.0)


@compiled
def _merged(one, other):
    """Merge two summaries: ranks are added up."""
    merged, size, i, j = np.empty((len(one) + len(other), 4), np.float32), 0, 0, 0
    while i < len(one) or j < len(other):
        first = j == len(other) or (i < len(one) and one[i, VALUE] <= other[j, VALUE])
        value = one[i, VALUE] if first else other[j, VALUE]
        here, least, greatest, weight = _ranks_in(one, i, value)
        there, more_least, more_greatest, more_weight = _ranks_in(other, j, value)
        line = merged[size]
        line[VALUE], line[LEAST] = value, least + more_least
        line[GREATEST], line[WEIGHT] = greatest + more_greatest, weight + more_weight
        i, j, size = i + here, j + there, size + 1
    return merged[:size]


@compiled
def _size_of_summaries(n, bins):
    """Return the number of values a summary keeps: enough for all levels of merging."""
    level = 1
    while True:
        size = min(n, level * bins * _FINER + 1)
        if size << level >= n:
            return size
        level += 1


@compiled
def _summarise(values, bins):
    """Summarise a feature as xgboost does, queue by queue."""
    size = _size_of_summaries(len(values), bins)
    levels, sizes = np.empty((64, size, 4), np.float32), np.zeros(64, np.int64)
    begin, length, deepest = 0, 0, 0
    for i in range(len(values)):
        # Equal values in a row take one place in the queue.
        if i > begin and values[i] == values[i - 1]:
            continue
        if length == 2 * size:
            summary = _summary_of(values[begin:i])
            begin, length, level = i, 0, 1
            while sizes[level] > 0:
                summary = _merged(_pruned(summary, size), levels[level, : sizes[level]])
                if len(summary) <= size:
                    break
                sizes[level] = 0
                level += 1
            summary = _pruned(summary, size)
            sizes[level] = len(summary)
            for line in range(len(summary)):
                _copy_line(levels[level], line, summary, line)
            deepest = max(deepest, level)
        length += 1
    summary = _pruned(_summary_of(values[begin:]), size)
    for level in range(1, deepest + 1):
        if sizes[level] > 0:
            summary = _pruned(_merged(summary, levels[level, : sizes[level]]), size)
    return summary


@cached
def find_cuts(columns, max_bins, cuts, counts):
    """Write the upper ends of each feature's bins into ``cuts``, and their number."""
    for f in range(len(columns)):
        values = columns[f]
        bins = min(len(values), max_bins)
        summary = _pruned(_summarise(values, bins), min(len(values), max_bins * _FINER))
        summary = _pruned(summary, bins + 1)
        count = 0
        for i in range(1, min(len(summary), bins)):
            value = summary[i, VALUE]
            if i == 1 or value > cuts[f, count - 1]:
                cuts[f, count] = value
                count += 1
        greatest = summary[len(summary) - 1, VALUE]
        cuts[f, count] = (greatest + abs(greatest)) + _ABOVE
        counts[f] = count + 1
