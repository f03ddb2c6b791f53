"""Training features in the form that the compiled split search reads."""

from __future__ import annotations

from typing import Any

import numpy as np

from ldl.forests._types import CONSTANT, TWO_VALUED, Columns

_BLOCK_BYTES = 32 * 2**20


def make_columns(X: Any, rows_drawn: int) -> Columns:
    """Columns sorted once per forest; two-valued ones as lists of rows with the upper value."""
    n, q = X.shape
    narrow = max(n, rows_drawn) < 2**16
    word, shift = (np.uint32, 16) if narrow else (np.uint64, 32)
    line = np.full(q, CONSTANT, np.int64)
    values: list[np.ndarray] = []
    words: list[np.ndarray] = []
    upper: list[np.ndarray] = []
    nothing = np.zeros(0, np.int64)
    for f, column in enumerate(_columns_of(X)):
        low, high = column.min(), column.max()
        is_upper = column == high
        upper.append(nothing)
        if low == high:
            values.append(np.array([low]))
        elif np.all(is_upper | (column == low)):
            line[f] = TWO_VALUED
            values.append(np.array([low, high]))
            upper[f] = np.flatnonzero(is_upper)
        else:
            order = np.argsort(column, kind="stable")
            ascending = column[order]
            starts = np.concatenate([[True], ascending[1:] != ascending[:-1]])
            line[f] = len(words)
            values.append(ascending[starts])
            rank = np.cumsum(starts) - 1
            words.append(((rank << shift) | order).astype(word))
    feature_start, feature_rows = _joined(upper)
    row_start, row_features = _by_row(feature_start, feature_rows, n)
    return Columns(
        words=np.array(words, word).reshape(len(words), n),
        shift=shift,
        values=np.concatenate(values),
        first_value=_joined(values)[0][:-1],
        line=line,
        row_start=row_start,
        row_features=row_features,
        feature_start=feature_start,
        feature_rows=feature_rows,
    )


def _columns_of(X: Any) -> Any:
    """Dense columns one after the other, compressed data a block at a time."""
    if not hasattr(X, "tocsr"):
        yield from np.ascontiguousarray(X.T)
        return
    X = X.tocsc()
    step = max(1, _BLOCK_BYTES // (8 * X.shape[0]))
    for start in range(0, X.shape[1], step):
        yield from np.ascontiguousarray(X[:, start : start + step].toarray().T)


def _joined(parts: list[np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    """Where each part starts, and all of them in a row."""
    start = np.zeros(len(parts) + 1, np.int64)
    np.cumsum([len(part) for part in parts], out=start[1:])
    return start, np.concatenate(parts)


def _by_row(start: np.ndarray, rows: np.ndarray, n: int) -> tuple[np.ndarray, np.ndarray]:
    """Lists of rows by feature turned into lists of features by row."""
    feature = np.repeat(np.arange(len(start) - 1), np.diff(start))
    order = np.argsort(rows, kind="stable")
    row_start = np.zeros(n + 1, np.int64)
    np.cumsum(np.bincount(rows, minlength=n), out=row_start[1:])
    return row_start, feature[order]
