"""Training features as the compiled split search reads them."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ldl.base import dense

CONSTANT, TWO_VALUED = -2, -1
NEW_VALUE = np.uint32(2**31)
ROW = np.uint32(2**31 - 1)
"""The highest bit of a word, and the others."""
_BLOCK_BYTES = 8 * 2**20


class Columns(NamedTuple):
    """Training features, column by column.

    A feature with many values is a sorted column of words: the row in the lower bits, and in the
    highest whether its value differs from that of the word before. The values themselves stay in
    X. A feature with two values is a list of the rows that have the upper one.
    """

    words: np.ndarray
    """Sorted columns with more than two values, one per line."""
    line: np.ndarray
    """Line of feature f in ``words``, or CONSTANT or TWO_VALUED."""
    row_start: np.ndarray
    """Start of each row's list in ``row_features``."""
    row_features: np.ndarray
    """Two-valued features that have their upper value, row by row."""
    feature_start: np.ndarray
    """Start of each feature's list in ``feature_rows``."""
    feature_rows: np.ndarray
    """Rows with the upper value, by feature."""


def make_columns(X: Any) -> Columns:
    """Sort the columns of X once for a whole forest."""
    n, q = X.shape
    line = np.full(q, CONSTANT, np.int64)
    words, used = np.empty((q, n), np.uint32), 0  # what stays unused takes no memory
    upper: list[np.ndarray] = []
    nothing = np.zeros(0, np.int64)
    for f, column in enumerate(columns_of(X)):
        low, high = column.min(), column.max()
        is_upper = column == high
        upper.append(nothing)
        if low == high:
            continue
        if np.all(is_upper | (column == low)):
            line[f] = TWO_VALUED
            upper[f] = np.flatnonzero(is_upper)
        else:
            order = np.argsort(column, kind="stable")
            ascending = column[order]
            line[f] = used
            words[used] = order
            words[used, 1:] |= NEW_VALUE * (ascending[1:] != ascending[:-1])
            used += 1
    feature_start, feature_rows = joined(upper)
    row_start, row_features = by_row(feature_start, feature_rows, n)
    return Columns(
        words=words[:used],
        line=line,
        row_start=row_start,
        row_features=row_features,
        feature_start=feature_start,
        feature_rows=feature_rows,
    )


def bytes_of_columns(X: Any, rows_drawn: int, n_jobs: int) -> float:
    """Return the least memory of the words of a forest and of the trees that grow at once.

    Only features count that have more than two values among the first rows. Each tree has its rows
    twice, and there are at most as many different ones as it draws.
    """
    n = X.shape[0]
    first = dense(X[:1000])
    low, high = first.min(axis=0), first.max(axis=0)
    features = int(((first != low) & (first != high)).any(axis=0).sum())
    different = n * (1.0 - (1.0 - 1.0 / n) ** rows_drawn)
    return features * 4 * (n + 2 * n_jobs * different)


def columns_of(X: Any) -> Any:
    """Yield dense columns one after the other; a block at a time is copied or unpacked."""
    compressed = hasattr(X, "tocsr")
    X = X.tocsc() if compressed else X
    step = max(1, _BLOCK_BYTES // (8 * X.shape[0]))
    for start in range(0, X.shape[1], step):
        block = X[:, start : start + step]
        yield from np.ascontiguousarray((block.toarray() if compressed else block).T)


def between(low: np.ndarray, high: np.ndarray) -> np.ndarray:
    """Return the middles; where rounding would give the upper value, which belongs to the right,
    the lower one.
    """
    middle = 0.5 * low + 0.5 * high
    return np.where((low <= middle) & (middle < high), middle, low)


def joined(parts: list[np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    """Return where each part starts, and all parts in a row."""
    start = np.zeros(len(parts) + 1, np.int64)
    np.cumsum([len(part) for part in parts], out=start[1:])
    return start, np.concatenate(parts)


def by_row(start: np.ndarray, rows: np.ndarray, n: int) -> tuple[np.ndarray, np.ndarray]:
    """Turn lists of rows by feature into lists of features by row."""
    feature = np.repeat(np.arange(len(start) - 1), np.diff(start))
    order = np.argsort(rows, kind="stable")
    row_start = np.zeros(n + 1, np.int64)
    np.cumsum(np.bincount(rows, minlength=n), out=row_start[1:])
    return row_start, feature[order]
