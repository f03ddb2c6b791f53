"""Looks for rows, and for people, that appear in both training and test sets."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from ldlrepro.folds.splits import Fold


@dataclass(frozen=True)
class LeakReport:
    """Sums over all folds of a protocol on a data set."""

    folds: int
    shared_rows: int
    """Row indices in both train and test: a broken split."""
    validation_outside_train: int
    twin_features: int
    """Test rows whose features also appear in training, under another index."""
    twin_rows: int
    """Test rows whose features and labels both appear in training."""
    shared_groups: int
    """(fold, person) pairs with images in both sets; -1 where persons are unknown."""

    @property
    def broken(self) -> bool:
        return self.shared_rows > 0 or self.validation_outside_train > 0

    def text(self) -> str:
        """Return one line for tables."""
        if self.broken:
            return "BROKEN: test rows are used in training"
        found = []
        if self.twin_features:
            found.append(
                f"{self.twin_features} test rows have a training row with the same features"
                f" ({self.twin_rows} with the same labels too)"
            )
        if self.shared_groups > 0:
            found.append(f"persons on both sides in {self.shared_groups} cases")
        return "; ".join(found) or "none found"

    def to_dict(self) -> dict[str, Any]:
        return {**asdict(self), "broken": self.broken, "text": self.text()}


def check_leaks(X: Any, D: np.ndarray, folds: list[Fold], groups: np.ndarray | None) -> LeakReport:
    """Count what appears in both training and test sets."""
    features = row_classes(X)
    whole = row_classes(np.column_stack([features, D]))
    shared = outside = twins = twin_rows = persons = 0
    for fold in folds:
        shared += len(np.intersect1d(fold.train, fold.test))
        outside += len(np.setdiff1d(fold.validation, fold.train))
        apart = np.setdiff1d(fold.test, fold.train)
        twins += int(np.isin(features[apart], features[fold.train]).sum())
        twin_rows += int(np.isin(whole[apart], whole[fold.train]).sum())
        if groups is not None:
            persons += len(np.intersect1d(groups[fold.train], groups[fold.test]))
    return LeakReport(
        folds=len(folds),
        shared_rows=shared,
        validation_outside_train=outside,
        twin_features=twins,
        twin_rows=twin_rows,
        shared_groups=persons if groups is not None else -1,
    )


def row_classes(X: Any) -> np.ndarray:
    """Return a number for each row, equal only for rows that are equal byte for byte."""
    dense = X.toarray() if hasattr(X, "toarray") else np.asarray(X)
    dense = np.ascontiguousarray(dense, dtype=np.float64) + 0.0  # -0.0 becomes 0.0
    rows = dense.view(np.dtype((np.void, dense.dtype.itemsize * dense.shape[1]))).ravel()
    return np.unique(rows, return_inverse=True)[1]
