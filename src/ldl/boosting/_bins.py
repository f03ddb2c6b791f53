"""Features in histogram bins, made once per fit."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ldl.forests._columns import TWO_VALUED, between, make_columns

_BINS_PER_ROW = 4
"""A node goes by its rows where features have on average so many bins for each."""


_ABREAST = 32
"""Bins are made up to a multiple of so many features, for which compiled loops leave no rest."""


class Bins(NamedTuple):
    """Training features in bins, which all rounds share."""

    codes: np.ndarray
    """Bin of each row, for features with more than two values: a line for each, in its place."""
    row_bins: np.ndarray
    """Histogram slots of these bins: a line for each row."""
    place: np.ndarray
    """Place of feature f in ``codes``; negative for those with two values or one."""
    bins_at: np.ndarray
    """Number of bins of the feature in each place, in descending order."""
    bin_start: np.ndarray
    """Histogram slot of each bin of the first feature, and at last the number of those slots.

    That bin of the feature in place p is p slots further.
    """
    slots: int
    """Number of these slots."""
    upper_slot: np.ndarray
    """Place of a two-valued feature among those; negative for others."""
    two_valued: int
    """Number of two-valued features."""
    first_slot: np.ndarray
    """Slots of feature f where features follow each other: its bins, the upper value, or none."""
    few: int
    """Nodes with at most so many rows may go by them."""
    edges: np.ndarray
    """Thresholds between bins, feature by feature."""
    first_edge: np.ndarray
    """Start of the thresholds of feature f in ``edges``."""
    row_start: np.ndarray
    """Start of each row's list in ``row_slots``."""
    row_features: np.ndarray
    """Two-valued features that have their upper value, row by row."""
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
    binned: list[np.ndarray] = []
    edges: list[np.ndarray] = []
    for f, line in enumerate(columns.line):
        values = columns.values[columns.first_value[f] :]
        last = np.zeros(int(line == TWO_VALUED), np.int64)
        if line >= 0:
            words = columns.words[line]
            rank = words >> words.dtype.type(columns.shift)
            bin_of = _bins_of_ranks(np.bincount(rank), max_bins)
            bin_of_row = np.empty(n, np.uint8)
            bin_of_row[words - (rank << words.dtype.type(columns.shift))] = bin_of[rank]
            binned.append(bin_of_row)
            last = np.flatnonzero(np.diff(bin_of))
        edges.append(between(values[last], values[last + 1]))
    sizes = np.array([len(part) + 1 for part in edges])[columns.line >= 0]
    order = np.argsort(-sizes, kind="stable")
    place = np.full(q, -1)
    place[np.flatnonzero(columns.line >= 0)[order]] = np.arange(len(order))
    # How many features have a bin, for each bin.
    having = (sizes[:, None] > np.arange(sizes.max(initial=1))).sum(axis=0)
    bin_start = np.concatenate([[0], np.cumsum(-(-having // _ABREAST) * _ABREAST)])
    two_valued = columns.line == TWO_VALUED
    upper_slot = np.where(two_valued, np.cumsum(two_valued) - 1, -1)
    codes = np.array(binned, np.uint8).reshape(-1, n)[order]
    row_bins = np.empty((n, len(order)), np.min_scalar_type(bin_start[-1]))
    for at, of_feature in enumerate(codes):
        row_bins[:, at] = bin_start[of_feature] + at
    first_slot, first_edge = np.zeros(q + 1, np.int64), np.zeros(q + 1, np.int64)
    np.cumsum(
        [len(part) + (here >= 0) for part, here in zip(edges, place, strict=True)],
        out=first_slot[1:],
    )
    np.cumsum([len(part) for part in edges], out=first_edge[1:])
    return Bins(
        codes=codes,
        row_bins=row_bins,
        place=place,
        bins_at=sizes[order],
        bin_start=bin_start,
        slots=int(bin_start[-1]),
        upper_slot=upper_slot,
        two_valued=int(two_valued.sum()),
        first_slot=first_slot,
        few=int(sizes.mean()) // _BINS_PER_ROW if len(sizes) and n < 2**24 else 0,
        edges=np.concatenate(edges),
        first_edge=first_edge,
        row_start=columns.row_start,
        row_features=columns.row_features.astype(np.int64),
        feature_start=columns.feature_start,
        feature_rows=columns.feature_rows.astype(np.int64),
    )


def _bins_of_ranks(counts: np.ndarray, max_bins: int) -> np.ndarray:
    """Return the bin of each distinct value, in the order of the values."""
    if len(counts) <= max_bins:
        return np.arange(len(counts))
    below = np.cumsum(counts) - counts
    return np.unique(below * max_bins // counts.sum(), return_inverse=True)[1]
