"""Features in histogram bins, made once per fit."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ldl.forests._columns import TWO_VALUED, make_columns


class Bins(NamedTuple):
    """Training features in bins, which all rounds share."""

    codes: np.ndarray
    """Bin of each row, for features with more than two values, one per line."""
    line: np.ndarray
    """Line of feature f in ``codes``; negative for those with two values or one."""
    first_slot: np.ndarray
    """Histogram slots of feature f: one per bin, one for the upper of two values, or none."""
    edges: np.ndarray
    """Thresholds between bins, feature by feature."""
    first_edge: np.ndarray
    """Start of the thresholds of feature f in ``edges``."""
    row_start: np.ndarray
    """Start of each row's list in ``row_slots``."""
    row_slots: np.ndarray
    """Slots of the two-valued features that have their upper value, row by row."""
    feature_start: np.ndarray
    """Start of each feature's list in ``feature_rows``."""
    feature_rows: np.ndarray
    """Rows with the upper value, by feature."""


def make_bins(X: Any, max_bins: int) -> Bins:
    """Give each distinct value of a feature a bin of its own.

    A feature with more values gets ``max_bins`` bins with about equally many rows.
    Two-valued features stay lists of rows, so compressed data stay compressed.
    """
    columns = make_columns(X, X.shape[0])
    n, q = X.shape
    codes = np.empty((len(columns.words), n), np.uint8)
    sizes = np.zeros(q, np.int64)
    edges: list[np.ndarray] = []
    for f, line in enumerate(columns.line):
        values = columns.values[columns.first_value[f] :]
        last = np.zeros(int(line == TWO_VALUED), np.int64)
        sizes[f] = line == TWO_VALUED
        if line >= 0:
            words = columns.words[line]
            rank = words >> words.dtype.type(columns.shift)
            bin_of = _bins_of_ranks(np.bincount(rank), max_bins)
            codes[line, words - (rank << words.dtype.type(columns.shift))] = bin_of[rank]
            sizes[f] = bin_of[-1] + 1
            last = np.flatnonzero(np.diff(bin_of))
        edges.append(_between(values[last], values[last + 1]))
    first_slot, first_edge = np.zeros(q + 1, np.int64), np.zeros(q + 1, np.int64)
    np.cumsum(sizes, out=first_slot[1:])
    np.cumsum([len(part) for part in edges], out=first_edge[1:])
    return Bins(
        codes=codes,
        line=columns.line,
        first_slot=first_slot,
        edges=np.concatenate(edges),
        first_edge=first_edge,
        row_start=columns.row_start,
        row_slots=first_slot[columns.row_features],
        feature_start=columns.feature_start,
        feature_rows=columns.feature_rows.astype(np.int64),
    )


def _bins_of_ranks(counts: np.ndarray, max_bins: int) -> np.ndarray:
    """Return the bin of each distinct value, in the order of the values."""
    if len(counts) <= max_bins:
        return np.arange(len(counts))
    below = np.cumsum(counts) - counts
    return np.unique(below * max_bins // counts.sum(), return_inverse=True)[1]


def _between(low: np.ndarray, high: np.ndarray) -> np.ndarray:
    """Return the middles; where rounding would give the upper value, which belongs to the right,
    the lower one.
    """
    middle = 0.5 * low + 0.5 * high
    return np.where((low <= middle) & (middle < high), middle, low)
