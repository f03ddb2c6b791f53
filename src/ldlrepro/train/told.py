"""Estimators that are told the true labels of test rows: the ceiling, and diagnoses of leaks.

Estimators of ``ldl`` never see them. The workflow's runner tells them only to methods whose YAML
has the role ``sees_test_labels``.
"""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from ldl.base import LDLEstimator


class Told(LDLEstimator):
    """An estimator that must be told the true labels of the rows that it predicts next."""

    def tell(self, D_true: Any) -> Self:
        """Take the true label distributions of the rows of the next ``predict``."""
        self._told = np.asarray(D_true, dtype=np.float64)
        return self

    def _truth(self, X: Any) -> np.ndarray:
        """Return the labels that it was told for these rows, and forget them."""
        D_true = self.__dict__.pop("_told", None)
        wanted = (X.shape[0], self.n_labels_)
        if D_true is None:
            raise ValueError(
                f"{type(self).__name__} needs the true labels: call tell(D_true) before predict(X)"
            )
        if D_true.shape != wanted:
            raise ValueError(f"D_true has shape {D_true.shape}, expected {wanted}")
        return np.asarray(D_true)


class TrueLabels(Told):
    """The true labels themselves: the ceiling of every measure."""

    accepts_sparse = True

    def _fit(self, X: Any, D: np.ndarray) -> None:
        pass

    def _predict(self, X: Any) -> np.ndarray:
        return self._truth(X)
