"""Base of the linear models whose outputs are projected onto the simplex."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ldl._scale import Scale
from ldl._self_tuned import SelfTuned
from ldl._weighted import rooted
from ldl.linear.ldlcl import project_to_simplex


@dataclass(eq=False, repr=False, kw_only=True)
class ProjectedModel(SelfTuned):
    """Base of models that predict the distribution nearest to x W + b.

    A subclass writes ``_weights``.

    Parameters
    ----------
    fit_intercept : bool, default=True
        Adds an intercept: features and degrees are centred before the weights are sought.

    Attributes
    ----------
    coef_ : ndarray of shape (n_features_in_, n_labels_)
        The weights W of raw features.
    intercept_ : ndarray of shape (n_labels_,)
        The intercept b; zeros without one.
    """

    fit_intercept: bool = True

    coef_ = intercept_ = np.empty(0)

    def _weights(self, X: np.ndarray, D: np.ndarray) -> np.ndarray:
        """Return the weights of features and degrees, centred where there is an intercept.

        Rows come times the square roots of their weights, as sums of squares ask for.
        """
        raise NotImplementedError

    def _fit(self, X: np.ndarray, D: np.ndarray) -> None:
        weight = self._weight(len(D))
        middle = np.average(X, axis=0, weights=weight) * self.fit_intercept
        mean = np.average(D, axis=0, weights=weight) * self.fit_intercept
        self.coef_ = self._weights(rooted(X - middle, weight), rooted(D - mean, weight))
        self.intercept_ = mean - middle @ self.coef_

    def _predict(self, X: np.ndarray) -> np.ndarray:
        return project_to_simplex(X @ self.coef_ + self.intercept_)

    def _keep_scale(self, scale: Scale) -> None:
        self.coef_, self.intercept_ = scale.fold(self.coef_, self.intercept_)
        self._scale = None
