"""Parts of both regressions: scaled features, and a rule for degrees of zero."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import numpy as np

from ldl._parameters import Interval
from ldl._scale import Scale
from ldl._self_tuned import SelfTuned
from ldl.linear._softmax import softmax_rows


@dataclass(eq=False, repr=False)
class Compositional(SelfTuned):
    """Base of models softmax(X W + b) for the logarithms of degrees.

    A degree of zero has no logarithm: what is below ``lowest`` is raised to it, and the row divided
    by its sum.

    Parameters
    ----------
    lowest : float, default=1e-3
        Degrees of the training rows below this are raised to it. The smaller, the more do zeros
        weigh.
    standardise : bool, default=True
        Fits to features with mean zero and deviation one, as the penalty then sees them.

    Attributes
    ----------
    coef_ : ndarray of shape (n_features_in_, n_labels_)
        The weights W of raw features.
    intercept_ : ndarray of shape (n_labels_,)
        The intercept b.
    """

    lowest: Annotated[float, Interval(0, 0.1, open_low=True)] = 1e-3

    scales_itself = True
    coef_ = intercept_ = np.empty(0)

    def _raised(self, D: np.ndarray) -> np.ndarray:
        D = np.maximum(D, self.lowest)
        return D / D.sum(axis=1, keepdims=True)

    def _scale_of(self, X: np.ndarray, weight: np.ndarray | None) -> Scale:
        """Return the scale of the features, which leaves them alone unless they shall have one."""
        scale = Scale(X, weight)
        if not self.standardise:
            scale.shift, scale.factor = np.zeros(X.shape[1]), np.ones(X.shape[1])
        return scale

    def _predict(self, X: np.ndarray) -> np.ndarray:
        return softmax_rows(X @ self.coef_ + self.intercept_)
