"""Feature scaling, learned on training rows and applied to all rows."""

from __future__ import annotations

from typing import Any

import numpy as np


class Scaler:
    """Scaling by ``kind``: none, minmax01, standard, l2row. Features without spread become zero."""

    def __init__(self, kind: str) -> None:
        if kind not in ("none", "minmax01", "standard", "l2row"):
            raise ValueError(f"unknown scaling '{kind}'")
        self.kind = kind

    def fit(self, X: Any) -> Scaler:
        if self.kind in ("minmax01", "standard"):
            dense = _dense(X)
            if self.kind == "minmax01":
                self.shift_ = dense.min(axis=0)
                spread = dense.max(axis=0) - self.shift_
            else:
                self.shift_ = dense.mean(axis=0)
                spread = dense.std(axis=0)
            # A constant column has a spread of rounding errors only, whatever its unit.
            flat = spread <= 1e-12 * np.abs(dense).max(axis=0)
            self.factor_ = np.where(flat, 0.0, 1.0 / np.where(flat, 1.0, spread))
        return self

    def transform(self, X: Any) -> Any:
        if self.kind == "none":
            return X
        dense = _dense(X)
        if self.kind == "l2row":
            norms = np.linalg.norm(dense, axis=1, keepdims=True)
            return dense / np.where(norms > 0, norms, 1.0)
        return (dense - self.shift_) * self.factor_


def _dense(X: Any) -> np.ndarray:
    return X.toarray() if hasattr(X, "toarray") else np.asarray(X, dtype=np.float64)
