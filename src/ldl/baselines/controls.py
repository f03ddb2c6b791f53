"""Models that learn nothing: they show the floor and the ceiling of every measure."""

from __future__ import annotations

from typing import Any

import numpy as np

from ldl.base import LDLEstimator, to_simplex


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


class TrainMean(LDLEstimator):
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
        self.mean_ = D.mean(axis=0)

    def _predict(self, X: Any) -> np.ndarray:
        return np.tile(self.mean_, (X.shape[0], 1))


class TrueLabels(LDLEstimator):
    """The true labels themselves: the ceiling of every measure.

    ``predict`` has to be given them, so that this is a diagnostic and no competitor.

    Examples
    --------
    >>> import numpy as np
    >>> from ldl import TrueLabels
    >>> from ldl.metrics import evaluate
    >>> generator = np.random.default_rng(0)
    >>> X, D = generator.random((20, 3)), generator.dirichlet(np.ones(4), size=20)
    >>> P = TrueLabels().fit(X[:10], D[:10]).predict(X[10:], D[10:])
    >>> round(evaluate(D[10:], P)["intersection"], 12)
    1.0
    """

    accepts_sparse = True
    sees_test_labels = True

    def _fit(self, X: Any, D: np.ndarray) -> None:
        pass

    def _predict(self, X: Any) -> np.ndarray:
        return np.zeros((X.shape[0], self.n_labels_))

    def predict(self, X: Any, D_true: Any = None) -> np.ndarray:
        """Return the true label distributions.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (rows, features)
            Features, in the order that ``fit`` saw.
        D_true : array-like of shape (rows, labels), default=None
            True label degrees of these rows; an error is raised without them.

        Returns
        -------
        ndarray of shape (rows, labels)
            The rows of ``D_true``, each divided by its sum.
        """
        return to_simplex(self._checked_with_truth(X, D_true)[1])
