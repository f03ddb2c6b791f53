"""Models that learn nothing: they show the floor and the ceiling of every measure."""

from __future__ import annotations

from typing import Any

import numpy as np

from ldl.base import LDLEstimator, Weighted


class Uniform(LDLEstimator):
    """The same degree for every label.

    A method whose scores are no better has learnt nothing about the labels.

    Examples
    --------
    >>> import numpy as np
    >>> from ldl import Uniform
    >>> generator = np.random.default_rng(0)
    >>> X, D = generator.random((20, 3)), generator.dirichlet(np.ones(4), size=20)
    >>> Uniform().fit(X, D).predict(X[:1])
    array([[0.25, 0.25, 0.25, 0.25]])
    """

    accepts_sparse = True

    def _fit(self, X: Any, D: np.ndarray) -> None:
        pass

    def _predict(self, X: Any) -> np.ndarray:
        return np.ones((X.shape[0], self.n_labels_))


class TrainMean(Weighted):
    """The mean label distribution of the training rows, whatever the features.

    A method whose scores are no better has learnt nothing from the features.

    Attributes
    ----------
    mean_ : ndarray of shape (n_labels,)
        Mean of the training labels.

    Examples
    --------
    >>> import numpy as np
    >>> from ldl import TrainMean
    >>> X, D = np.zeros((2, 1)), np.array([[0.5, 0.5, 0.0], [0.0, 0.5, 0.5]])
    >>> TrainMean().fit(X, D).predict(X[:1])
    array([[0.25, 0.5 , 0.25]])
    """

    accepts_sparse = True

    def _fit(self, X: Any, D: np.ndarray) -> None:
        weight = self._weight(len(D))
        self.mean_ = D.mean(axis=0) if weight is None else np.average(D, axis=0, weights=weight)

    def _predict(self, X: Any) -> np.ndarray:
        return np.tile(self.mean_, (X.shape[0], 1))
