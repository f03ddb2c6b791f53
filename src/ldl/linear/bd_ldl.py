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
"""Least shift, as a share of the sum of squares: features may depend on one another."""


@dataclass(eq=False, repr=False)
class BDLDL(ProjectedModel):
    """Linear model with a bidirectional loss (BD-LDL).

    The weights minimise the errors of both directions::

        ||X W - D||^2 + back_weight ||X - D W'||^2 + alpha ||W||^2

    which is Sylvester's equation ``(X'X + alpha I) W + back_weight W D'D = (1 + back_weight) X'D``.
    Along each eigenvector of D'D that is ridge regression with a penalty of its own, solved by a
    Cholesky factor of the smaller one of X'X and X X'.

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
        from scipy.linalg.lapack import dposv

        few_rows = len(X) < X.shape[1]
        gram = X @ X.T if few_rows else X.T @ X
        of_labels, U = np.linalg.eigh(D.T @ D)
        shifts = self.alpha + self.back_weight * of_labels
        diagonal = gram.diagonal().copy()
        shifts = np.maximum(shifts, _FLOOR * diagonal.sum() + np.finfo(np.float64).tiny)
        solved = (1.0 + self.back_weight) * ((D if few_rows else X.T @ D) @ U)
        for along, shift in enumerate(shifts):
            np.fill_diagonal(gram, diagonal + shift)
            # The floor of the shifts keeps it positive definite, so no failure is to be looked for.
            _, solved[:, along], _ = dposv(gram, solved[:, along])
        weights = solved @ U.T
        return X.T @ weights if few_rows else weights
