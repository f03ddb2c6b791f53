"""BD-LDL: linear weights that map features to degrees, and degrees back to features."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from ldl._parameters import Auto, NotNegative
from ldl._self_tuned import Grid
from ldl._tempered import AUTO
from ldl.linear._projected import ProjectedModel

_FLOOR = 1e-10
"""Least curvature, as a share of the largest: features may depend on one another."""


@dataclass(eq=False, repr=False)
class BDLDL(ProjectedModel):
    """Linear model with a bidirectional loss (BD-LDL).

    The weights minimise the errors of both directions::

        ||X W - D||^2 + back_weight ||X - D W'||^2 + alpha ||W||^2

    which is Sylvester's equation ``(X'X + alpha I) W + back_weight W D'D = (1 + back_weight) X'D``.
    It is solved by the eigenvectors of D'D and of the smaller one of X'X and X X'.

    Parameters
    ----------
    back_weight : float, default=0.001
        Weight of the way back from degrees to features.
    alpha : float or 'auto', default='auto'
        Penalty on squared weights. ``'auto'`` chooses from 1 to 10,000 on held-out rows.

    References
    ----------
    X. Liu, J. Zhu, Q. Zheng, Z. Li, R. Liu and J. Wang, "Bidirectional loss function for label
    enhancement and distribution learning", Knowledge-Based Systems 213, 106690, 2021.

    Examples
    --------
    >>> import numpy as np
    >>> from ldl import BDLDL
    >>> rng = np.random.default_rng(0)
    >>> X, D = rng.normal(size=(60, 4)), rng.dirichlet(np.ones(3), size=60)
    >>> model = BDLDL(alpha=1.0).fit(X[:40], D[:40])
    >>> model.predict(X[40:]).shape
    (20, 3)
    """

    back_weight: NotNegative = 0.001
    alpha: NotNegative | Auto = AUTO

    candidates: ClassVar[Grid] = {"alpha": (100.0, 1.0, 10.0, 1000.0, 10000.0)}

    def _weights(self, X: np.ndarray, D: np.ndarray) -> np.ndarray:
        few_rows = len(X) < X.shape[1]
        of_features, V = np.linalg.eigh(X @ X.T if few_rows else X.T @ X)
        of_labels, U = np.linalg.eigh(D.T @ D)
        curvature = (of_features + self.alpha)[:, None] + self.back_weight * of_labels
        curvature = np.maximum(curvature, _FLOOR * curvature.max() + np.finfo(np.float64).tiny)
        pull = (1.0 + self.back_weight) * (V.T @ (D if few_rows else X.T @ D) @ U)
        weights = V @ (pull / curvature) @ U.T
        return X.T @ weights if few_rows else weights
