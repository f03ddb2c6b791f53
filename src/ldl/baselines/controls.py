"""Models that learn nothing: they show the floor and the ceiling of every measure."""

from __future__ import annotations

from typing import Any

import numpy as np

from ldl.base import LDLEstimator, to_simplex


class Uniform(LDLEstimator):
    """Every label gets the same degree."""

    accepts_sparse = True

    def _fit(self, X: Any, D: np.ndarray) -> None:
        pass

    def _predict(self, X: Any) -> np.ndarray:
        return np.ones((X.shape[0], self.n_labels_))


class TrainMean(LDLEstimator):
    """Every row gets the mean of the training labels."""

    accepts_sparse = True

    def _fit(self, X: Any, D: np.ndarray) -> None:
        self.mean_ = D.mean(axis=0)

    def _predict(self, X: Any) -> np.ndarray:
        return np.tile(self.mean_, (X.shape[0], 1))


class TrueLabels(LDLEstimator):
    """Answers with the true labels of the rows it is asked for: the ceiling of every measure."""

    accepts_sparse = True
    sees_test_labels = True

    def _fit(self, X: Any, D: np.ndarray) -> None:
        pass

    def _predict(self, X: Any) -> np.ndarray:
        return np.zeros((X.shape[0], self.n_labels_))

    def predict(self, X: Any, D_true: Any = None) -> np.ndarray:
        shape = super().predict(X).shape
        if D_true is None:
            raise ValueError(
                "TrueLabels needs the true labels: call predict(X, D_true). Its YAML must say "
                "sees_test_labels: true"
            )
        D_true = np.asarray(D_true, dtype=np.float64)
        if D_true.shape != shape:
            raise ValueError(f"D_true has shape {D_true.shape}, expected {shape}")
        return to_simplex(D_true)
