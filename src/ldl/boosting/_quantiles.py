"""Bins of features cut as xgboost cuts them.

xgboost takes rows in one after the other and keeps a summary of the quantiles: some values, each
with the least and the greatest rank that it may have. A full queue of values becomes a summary;
summaries of equally many queues are merged and pruned, so that few are kept at any time. Ranks are
computed here with the same arithmetic, in single precision.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

_FINER = 8
"""Summaries are so many times as fine as the bins."""
_ABOVE = np.float32(1e-5)
"""Least distance of the last cut from the greatest value."""


class Summary(NamedTuple):
    """Values in ascending order, the ranks that each may have, and the rows that have it."""

    value: np.ndarray
    least: np.ndarray
    greatest: np.ndarray
    weight: np.ndarray

    def at(self, places: np.ndarray) -> Summary:
        return Summary(*(column[places] for column in self))


def cut_like_xgboost(X: np.ndarray, max_bins: int) -> list[np.ndarray]:
    """Return the upper ends of each feature's bins."""
    return [_cuts(values, max_bins) for values in np.ascontiguousarray(X.T, dtype=np.float32)]


def _cuts(values: np.ndarray, max_bins: int) -> np.ndarray:
    """Return the upper ends of one feature's bins."""
    bins = min(len(values), max_bins)
    summary = _pruned(_summarise(values, bins), min(len(values), max_bins * _FINER))
    kept = _pruned(summary, bins + 1).value
    greatest = kept[-1] + abs(kept[-1]) + _ABOVE
    return np.append(kept[1:bins], greatest)


def _summarise(values: np.ndarray, bins: int) -> Summary:
    """Summarise a feature as xgboost does, queue by queue."""
    size = _size_of_summaries(len(values), bins)
    # Equal values in a row take one place in the queue.
    begins = _begins(values)
    *full, rest = map(_summary_of, np.split(values, begins[2 * size :: 2 * size]))
    levels: list[Summary | None] = []
    for summary in full:
        for level, kept in enumerate(levels):
            if kept is None:
                break
            summary = _merged(_pruned(summary, size), kept)
            if len(summary.value) <= size:
                break
            levels[level] = None
        else:
            level = len(levels)
            levels.append(None)
        levels[level] = _pruned(summary, size)
    summary = _pruned(rest, size)
    for kept in filter(None, levels):
        summary = _pruned(_merged(summary, kept), size)
    return summary


def _size_of_summaries(n: int, bins: int) -> int:
    """Return the number of values a summary keeps: enough for all levels of merging."""
    level = 1
    while True:
        size = min(n, level * bins * _FINER + 1)
        if size << level >= n:
            return size
        level += 1


def _begins(values: np.ndarray) -> np.ndarray:
    """Return where runs of equal values begin."""
    return np.append(0, 1 + np.flatnonzero(values[1:] != values[:-1]))


def _summary_of(values: np.ndarray) -> Summary:
    """Summarise values exactly."""
    ordered = np.sort(values)
    begins = _begins(ordered)
    ends = np.append(begins[1:], len(values))
    ranks = begins, ends, ends - begins
    return Summary(ordered[begins], *(column.astype(np.float32) for column in ranks))


def _pruned(summary: Summary, most: int) -> Summary:
    """Keep at most so many values, nearest to evenly spaced ranks; the extremes stay."""
    last = len(summary.value) - 1
    if last < most:
        return summary
    begin, steps = summary.greatest[0], np.float32(most - 1)
    span = summary.least[-1] - begin
    ranks = np.arange(1, most - 1, dtype=np.float32) * span / steps + begin
    doubles = np.float32(2.0) * ranks
    middles = np.maximum.accumulate((summary.greatest + summary.least)[2:])
    before = 1 + np.searchsorted(middles, doubles, side="right")
    before = before[before < last]
    # Whether the wanted rank is nearer to a value or to the following one.
    between = (summary.least + summary.weight)[before]
    between += (summary.greatest - summary.weight)[before + 1]
    nearest = np.where(doubles[: len(before)] < between, before, before + 1)
    places = np.concatenate([[0], nearest, [last]])
    return summary.at(places[_begins(places)])


def _merged(one: Summary, other: Summary) -> Summary:
    """Merge two summaries: ranks are added up."""
    value = np.union1d(one.value, other.value)
    here, there = _ranks_in(one, value), _ranks_in(other, value)
    return Summary(value, *(a + b for a, b in zip(here, there, strict=True)))


def _ranks_in(summary: Summary, values: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return each value's least and greatest rank in a summary, and its rows there."""
    value, least, greatest, weight = summary
    place = np.searchsorted(value, values)
    here = np.minimum(place, len(value) - 1)
    present = value[here] == values
    # Of absent values the ranks are those of what lies before and after.
    after = np.append(np.float32(0.0), least + weight)[place]
    before = np.append(greatest - weight, greatest[-1])[place]
    return (
        np.where(present, least[here], after),
        np.where(present, greatest[here], before),
        np.where(present, weight[here], np.float32(0.0)),
    )
