"""A data set in memory, and what its rows reveal."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ldlrepro.core.errors import UserError


class DataUnavailable(UserError):  # noqa: N818 - the absence of data is no mistake
    """Raised for data that are not available here; the text says how to get them."""


@dataclass
class Dataset:
    """Features, label distributions, and further facts about each row."""

    id: str
    X: Any
    """Features: a float64 array (rows, features), or a SciPy CSR matrix."""
    D: np.ndarray
    """Label distributions: a float64 array (rows, labels) whose rows sum to one."""
    groups: np.ndarray | None = None
    """The person of each row, where known."""
    target: np.ndarray | None = None
    """A number for each row, such as the age, where known."""
    labels: list[str] = field(default_factory=list)
    """Names of the columns of D, where known."""
    fingerprint: dict[str, Any] = field(default_factory=dict)
    """Hashes and counts; see ``fingerprint``."""
    meta: dict[str, Any] = field(default_factory=dict)
    """Origin of the rows: source files, and how the features were computed."""


def fingerprint(X: Any, D: np.ndarray) -> dict[str, Any]:
    """Return hashes of the rows, ordered and unordered, and counts of repeated and empty parts.

    Fold indices fit another copy of the data only where ``data_sha256`` is the same. An equal
    ``unordered_sha256`` says that the other copy holds the same rows in another order. A sparse X
    has the same hashes as the dense one.
    """
    x_rows, d_rows = _row_digests(X, D)
    rows = [x + d for x, d in zip(x_rows, d_rows, strict=True)]
    return {
        "data_sha256": _of_rows(X, D, rows),
        "unordered_sha256": _of_rows(X, D, sorted(rows)),
        "duplicate_feature_rows": len(rows) - len(set(x_rows)),
        "duplicate_label_rows": len(rows) - len(set(d_rows)),
        "duplicate_rows": len(rows) - len(set(rows)),
        "zeros_in_D": int((D == 0).sum()),
        **_column_counts(X),
    }


def data_sha256(X: Any, D: np.ndarray) -> str:
    """Return the digest of the rows in their order, as in ``fingerprint``."""
    return _of_rows(X, D, [x + d for x, d in zip(*_row_digests(X, D), strict=True)])


def labels_among_features(X: Any, D: np.ndarray) -> tuple[int, int] | None:
    """Return the first feature column that repeats a label column, and the label; else None.

    A label that is the same in all rows is skipped, because it tells nothing.
    """
    for label, degrees in enumerate(D.T):
        row = int(degrees.argmax())
        if degrees.min() == degrees[row]:
            continue
        features = next(_dense_rows(X[row : row + 1]))
        for column in np.flatnonzero(features == degrees[row]):
            values = X[:, [column]]
            values = values.toarray() if hasattr(values, "toarray") else values
            if np.array_equal(values[:, 0], degrees):
                return int(column), label
    return None


def _row_digests(X: Any, D: np.ndarray) -> tuple[list[bytes], list[bytes]]:
    return [_sha256(row) for row in _dense_rows(X)], [_sha256(row) for row in D]


def _of_rows(X: Any, D: np.ndarray, rows: list[bytes]) -> str:
    shape = f"{X.shape[0]},{X.shape[1]},{D.shape[1]}".encode()
    return hashlib.sha256(shape + b"".join(rows)).hexdigest()


def _sha256(row: np.ndarray) -> bytes:
    # Adding zero makes -0.0 and 0.0 the same bytes.
    return hashlib.sha256((np.ascontiguousarray(row, dtype="<f8") + 0.0).tobytes()).digest()


def _dense_rows(X: Any, block: int = 256) -> Iterator[np.ndarray]:
    """Yield the rows one by one, without a dense copy of a sparse matrix."""
    for start in range(0, X.shape[0], block):
        part = X[start : start + block]
        yield from part.toarray() if hasattr(part, "toarray") else part


def _column_counts(X: Any) -> dict[str, int]:
    columns = X.T.tocsr() if hasattr(X, "tocsr") else X.T
    hashes = [_sha256(column) for column in _dense_rows(columns)]
    empty = _sha256(np.zeros(X.shape[0]))
    return {
        "zero_columns": hashes.count(empty),
        "duplicate_columns": len(hashes) - len(set(hashes)),
    }
