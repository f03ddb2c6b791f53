"""Two methods that learn the age alone from features, in place of a distribution over ages."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.linear_model import RidgeCV

from ldl.base import LDLEstimator
from ldl.linear.maxent import SABFGS


@dataclass(eq=False, repr=False)
class AgeRidge(LDLEstimator):
    """Ridge regression of the number of the highest label.

    Each training row, left out in turn, has a say in the penalty, one of 1 to 100000. A predicted
    number is shared between the two labels next to it, so that it is the mean of the distribution.
    """

    def _fit(self, X: Any, D: np.ndarray) -> None:
        self.ridge_ = RidgeCV(alphas=10.0 ** np.arange(6)).fit(X, D.argmax(axis=1))

    def _predict(self, X: Any) -> np.ndarray:
        numbers = self.ridge_.predict(X).clip(0, self.n_labels_ - 1)
        return np.maximum(1 - np.abs(numbers[:, None] - np.arange(self.n_labels_)), 0)


@dataclass(eq=False, repr=False)
class AgeSoftmax(SABFGS):
    """``ldl.SABFGS`` that is trained on the highest label alone: softmax and cross entropy."""

    def _fit(self, X: Any, D: np.ndarray) -> None:
        super()._fit(X, np.eye(D.shape[1])[D.argmax(axis=1)])
