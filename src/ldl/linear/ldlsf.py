"""LDLSF: a linear model of features that all labels share and features of single labels."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from ldl._parameters import Auto, Count, NotNegative, Positive
from ldl._self_tuned import Grid
from ldl._tempered import AUTO
from ldl.linear._projected import ProjectedModel


@dataclass
class Parts:
    """Weights W, their specific and common parts, and the multipliers of both constraints."""

    weights: np.ndarray
    specific: np.ndarray
    common: np.ndarray
    of_parts: np.ndarray
    """Multiplier of ``weights = specific + common``."""
    of_sums: np.ndarray
    """Multiplier of the sums of outputs, one number a row, times X'."""


@dataclass(eq=False, repr=False)
class LDLSF(ProjectedModel):
    """Linear model with label-specific and common features (LDLSF).

    The weights are a sum, W = S + C. Single entries of S are zero, and whole rows of C: what
    matters to one label, and what matters to all. They minimise::

        1/2 ||X W - D||^2 + specific_weight sum_kj |S_kj| + common_weight sum_k ||C_k||
            + correlation_weight tr(X W L W' X')

    where every row of X W sums to that of D. L is the diagonal matrix of the row sums of R, less R,
    where R holds the correlations of the columns of D. ADMM solves it, each step in closed form.

    Of the paper only abstract and introduction were at hand. The objective is read from them and
    from the public toolbox python-ldl, whose common part takes norms of columns in place of rows.

    Parameters
    ----------
    specific_weight : float or 'auto', default='auto'
        Penalty on single weights. ``'auto'`` chooses from 0.03 to 3 on held-out rows.
    common_weight : float, default=1.0
        Penalty on rows of weights.
    correlation_weight : float, default=0.001
        Weight of the correlations.
    rho : float, default=10.0
        Penalty of ADMM on what the constraints miss. It decides the speed, not the solution.
    max_iter : int, default=200
        Largest number of iterations.
    tol : float, default=1e-5
        Largest change and largest gap of the weights at which ADMM ends.

    Attributes
    ----------
    specific_ : ndarray of shape (n_features_in_, n_labels_)
        The part S, for features as they were fitted.
    common_ : ndarray of shape (n_features_in_, n_labels_)
        The part C, likewise.
    n_iter_ : int
        Iterations done.

    References
    ----------
    T. Ren, X. Jia, W. Li, L. Chen and Z. Li, "Label distribution learning with label-specific
    features", International Joint Conference on Artificial Intelligence, 2019.

    Examples
    --------
    >>> import numpy as np
    >>> from ldl import LDLSF
    >>> rng = np.random.default_rng(0)
    >>> X, D = rng.normal(size=(60, 4)), rng.dirichlet(np.ones(3), size=60)
    >>> model = LDLSF(specific_weight=0.3).fit(X[:40], D[:40])
    >>> model.predict(X[40:]).shape
    (20, 3)
    """

    specific_weight: NotNegative | Auto = AUTO
    common_weight: NotNegative = 1.0
    correlation_weight: NotNegative = 0.001
    rho: Positive = 10.0
    max_iter: Count = 200
    tol: NotNegative = 1e-5

    candidates: ClassVar[Grid] = {"specific_weight": (0.3, 0.03, 3.0)}

    def _weights(self, X: np.ndarray, D: np.ndarray) -> np.ndarray:
        found = self._solve(X, D)
        self.specific_, self.common_ = found.specific, found.common
        return found.weights

    def _solve(self, X: np.ndarray, D: np.ndarray) -> Parts:
        """Take steps of ADMM: weights, specific part, common part, multipliers."""
        q, c, rho = X.shape[1], D.shape[1], self.rho
        gram, sums = X.T @ X, X.T @ D.sum(axis=1)
        between = laplacian(D, self._weight(len(D)))
        labels = np.eye(c) + 2.0 * self.correlation_weight * between + rho
        of_features, V = np.linalg.eigh(gram)
        of_labels, U = np.linalg.eigh(labels)
        curvature = of_features[:, None] * of_labels + rho
        if curvature.min() <= 0:
            raise ValueError("correlation_weight is too large: the loss has no minimum")
        zero = np.zeros((q, c))
        at = Parts(zero, zero, zero, zero, np.zeros(q))
        fixed = X.T @ D
        self.n_iter_, miss = 0, np.inf
        while self.n_iter_ < self.max_iter and miss > self.tol:
            self.n_iter_ += 1
            pull = fixed + rho * (at.specific + at.common) - at.of_parts
            pull += (rho * sums - at.of_sums)[:, None]
            before, at.weights = at.weights, V @ ((V.T @ pull @ U) / curvature) @ U.T
            given = at.weights + at.of_parts / rho
            at.specific = shrunk(given - at.common, self.specific_weight / rho)
            at.common = shrunk_rows(given - at.specific, self.common_weight / rho)
            gap = at.weights - at.specific - at.common
            at.of_parts = at.of_parts + rho * gap
            at.of_sums = at.of_sums + rho * (gram @ at.weights.sum(axis=1) - sums)
            miss = max(np.abs(gap).max(), np.abs(at.weights - before).max())
        return at


def laplacian(D: np.ndarray, weight: np.ndarray | None = None) -> np.ndarray:
    """Return diag(R 1) - R for the correlations R of labels; one that never varies has none.

    Rows come times the square roots of their weights.
    """
    if weight is None:
        centred = D - D.mean(axis=0)
    else:
        roots = np.sqrt(weight)
        centred = D - np.outer(roots, roots @ D / weight.sum())
    lengths = np.sqrt((centred**2).sum(axis=0))
    centred /= np.where(lengths > 0, lengths, 1.0)
    R = centred.T @ centred
    return np.diag(R.sum(axis=1)) - R


def shrunk(W: np.ndarray, by: float) -> np.ndarray:
    """Return entries nearer to zero, none beyond it."""
    return np.sign(W) * np.maximum(np.abs(W) - by, 0.0)


def shrunk_rows(W: np.ndarray, by: float) -> np.ndarray:
    """Return rows that are shorter, those below the length ``by`` zero."""
    lengths = np.linalg.norm(W, axis=1, keepdims=True)
    return W * np.maximum(1.0 - by / np.where(lengths > 0, lengths, 1.0), 0.0)
