"""Features in histogram bins, made once per fit."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ldl.forests._columns import (
    NEW_VALUE,
    ROW,
    TWO_VALUED,
    Columns,
    between,
    columns_of,
    make_columns,
)

ABREAST = 16
"""Features in a block, which are looked at abreast."""
_BINS_PER_ROW = 4
"""A node goes by its rows where features have on average so many bins for each."""


class Bins(NamedTuple):
    """Training features in bins, which all rounds share."""

    codes: np.ndarray
    """Bin of each row, for features with more than two values: a line for each, in its place."""
    place: np.ndarray
    """Place of feature f in ``codes``; negative for those with two values or one."""
    bins_at: np.ndarray
    """Number of bins of the feature in each place, in descending order."""
    row_slots: np.ndarray
    """By block of places, and by row: the bin's histogram slot, counted from the block's first.

    In a block all features' first bins come first, then all second bins, and so on. Places that
    fill up the last block have one bin.
    """
    block_start: np.ndarray
    """First histogram slot of each block, and at last the number of slots."""
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
    columns = make_columns(X)
    n, q = X.shape
    binned, edges = _binned(X, columns, max_bins)
    sizes = np.array([len(part) + 1 for part in edges])[columns.line >= 0]
    order = np.argsort(-sizes, kind="stable")
    place = np.full(q, -1)
    place[np.flatnonzero(columns.line >= 0)[order]] = np.arange(len(order))
    blocks = -(-len(order) // ABREAST)
    block_start = np.concatenate([[0], np.cumsum(sizes[order[::ABREAST]] * ABREAST)])
    two_valued = columns.line == TWO_VALUED
    upper_slot = np.where(two_valued, np.cumsum(two_valued) - 1, -1)
    codes = np.array(binned, np.uint8).reshape(-1, n)[order]
    bin_of = np.zeros((blocks * ABREAST, n), np.uint16)
    bin_of[: len(codes)] = codes
    row_slots = bin_of.reshape(blocks, ABREAST, n).transpose(0, 2, 1) * np.uint16(ABREAST)
    row_slots = np.ascontiguousarray(row_slots + np.arange(ABREAST, dtype=np.uint16))
    first_slot, first_edge = np.zeros(q + 1, np.int64), np.zeros(q + 1, np.int64)
    np.cumsum(
        [len(part) + (here >= 0) for part, here in zip(edges, place, strict=True)],
        out=first_slot[1:],
    )
    np.cumsum([len(part) for part in edges], out=first_edge[1:])
    return Bins(
        codes=codes,
        place=place,
        bins_at=sizes[order],
        row_slots=row_slots,
        block_start=block_start,
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


def _binned(X: Any, columns: Columns, max_bins: int) -> tuple[list[np.ndarray], list[np.ndarray]]:
    """Return the bin of each row, for features with many values, and each feature's thresholds."""
    binned: list[np.ndarray] = []
    edges: list[np.ndarray] = []
    for line, column in zip(columns.line, columns_of(X), strict=True):
        if line >= 0:
            words = columns.words[line]
            rows, starts = words & ROW, words >= NEW_VALUE
            starts[0] = True
            values = column[rows[starts]]
            rank = np.cumsum(starts) - 1
            bin_of = _bins_of_ranks(np.bincount(rank), max_bins)
            bin_of_row = np.empty(len(column), np.uint8)
            bin_of_row[rows] = bin_of[rank]
            binned.append(bin_of_row)
            last = np.flatnonzero(np.diff(bin_of))
            edges.append(between(values[last], values[last + 1]))
        elif line == TWO_VALUED:
            edges.append(between(column.min(keepdims=True), column.max(keepdims=True)))
        else:
            edges.append(np.zeros(0))
    return binned, edges


def _bins_of_ranks(counts: np.ndarray, max_bins: int) -> np.ndarray:
    """Return the bin of each distinct value, in the order of the values."""
    if len(counts) <= max_bins:
        return np.arange(len(counts))
    below = np.cumsum(counts) - counts
    return np.unique(below * max_bins // counts.sum(), return_inverse=True)[1]
