"""Features in histogram bins, made once per fit."""

from __future__ import annotations

from typing import Any

import numpy as np

from ldl.boosting._trees import Bins
from ldl.forests._columns import TWO_VALUED, make_columns


def make_bins(X: Any, max_bins: int) -> Bins:
    """A bin per distinct value, or ``max_bins`` with about equally many rows where there are more.

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
    """Bin of each distinct value, in the order of the values."""
    if len(counts) <= max_bins:
        return np.arange(len(counts))
    below = np.cumsum(counts) - counts
    return np.unique(below * max_bins // counts.sum(), return_inverse=True)[1]


def _between(low: np.ndarray, high: np.ndarray) -> np.ndarray:
    """Half-way; the lower one where rounding would give the upper, which belongs to the right."""
    middle = 0.5 * low + 0.5 * high
    return np.where((low <= middle) & (middle < high), middle, low)
