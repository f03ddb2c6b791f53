"""Dirichlet regression: a distribution over distributions, whose logarithms are linear."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from ldl._parameters import Auto, Count, NotNegative
from ldl._self_tuned import Grid
from ldl._tempered import AUTO
from ldl.compositional._scaled import Compositional
from ldl.linear._bfgs import minimise_lbfgs
from ldl.linear._softmax import SoftmaxObjective, with_ones

_GRADIENT_TOLERANCE = 1e-10


class DirichletLoss(SoftmaxObjective):
    """Minus the logarithm of the density of Dirichlet distributions, added up over rows."""

    def __init__(self, X: np.ndarray, D: np.ndarray, l2: float, weight: np.ndarray | None) -> None:
        super().__init__(X, D, l2, unpenalised=1)
        self.logs = np.log(self.D)
        self.weight = np.ones(len(X)) if weight is None else weight

    def loss(self, Z: np.ndarray) -> float:
        from scipy.special import gammaln, psi

        with np.errstate(over="ignore", invalid="ignore"):  # of steps too long, which are refused
            parameters = np.exp(Z)
            total = parameters.sum(axis=0)
            density = gammaln(total) - gammaln(parameters).sum(axis=0)
            density += ((parameters - 1.0) * self.logs).sum(axis=0)
            Z[:] = parameters * (psi(parameters) - psi(total) - self.logs) * self.weight
            value = -float(density @ self.weight)
        return value if np.isfinite(value) else np.inf


@dataclass(eq=False, repr=False)
class DirichletRegression(Compositional):
    """Dirichlet regression with a log link.

    A row's distribution is drawn from a Dirichlet distribution with the parameters exp(x W + b),
    one for each label. Their shares are the expected distribution, which is predicted; their sum,
    the precision, says how near to it rows are. The weights maximise the likelihood less a penalty,
    ``sum_i ln p(D_i | x_i) - alpha / 2 ||W||^2``, by L-BFGS.

    Parameters
    ----------
    alpha : float or 'auto', default='auto'
        Penalty on squared weights. Likelihoods are summed over rows: where these are many, it
        weighs less. ``'auto'`` chooses from 3 to 30,000 on held-out rows.
    max_iter : int, default=200
        Largest number of iterations.
    tol : float, default=1e-8
        Relative decrease of the loss below which an iteration is the last one; with 0 it goes on as
        long as it goes down.

    Attributes
    ----------
    n_iter_ : int
        Iterations done.
    loss_ : float
        Minus the penalised logarithm of the likelihood at the end.
    diagnostics_ : dict
        ``stopped``, why it ended, and ``largest_gradient``.

    References
    ----------
    R. Hijazi and R. Jernigan, "Modelling compositional data using Dirichlet regression models",
    Journal of Applied Probability and Statistics 4(1), 77-91, 2009.

    Examples
    --------
    >>> from ldl import DirichletRegression
    >>> from ldl.datasets import make_distributions
    >>> X, D = make_distributions(400, 5, 3, concentration=40.0, random_state=0)
    >>> model = DirichletRegression(alpha=0.1).fit(X, D)
    >>> bool(35 < model.precision(X).mean() < 50)
    True
    """

    alpha: NotNegative | Auto = field(default=AUTO, kw_only=True)
    max_iter: Count = field(default=200, kw_only=True)
    tol: NotNegative = field(default=1e-8, kw_only=True)

    candidates: ClassVar[Grid] = {"alpha": (300.0, 3.0, 30.0, 3000.0, 30000.0)}

    def _fit(self, X: np.ndarray, D: np.ndarray) -> None:
        weight = self._weight(len(X))
        D = self._raised(D)
        scale = self._scale_of(X, weight)
        objective = DirichletLoss(with_ones(scale.applied(X)), D, self.alpha, weight)
        q, c = X.shape[1], D.shape[1]
        start = np.zeros((c, q + 1))
        start[:, q] = np.log(c * np.average(D, axis=0, weights=weight))
        found = minimise_lbfgs(
            objective, start.ravel(), self.max_iter, _GRADIENT_TOLERANCE, self.tol or None, 20
        )
        W = found.x.reshape(c, q + 1).T
        self.coef_, self.intercept_ = scale.fold(W[:q], W[q])
        self.n_iter_, self.loss_ = found.iterations, found.value
        self.diagnostics_ = {
            "stopped": found.stopped,
            "largest_gradient": float(np.abs(found.gradient).max()),
        }

    def precision(self, X: Any) -> np.ndarray:
        """Return the sum of the Dirichlet parameters of each row.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (rows, features)
            Features, in the order that ``fit`` saw.

        Returns
        -------
        ndarray of shape (rows,)
            The higher, the less are distributions scattered: the variance of a degree d is
            d (1 - d) / (precision + 1).
        """
        X = self._checked(X)
        return np.exp(X @ self.coef_ + self.intercept_).sum(axis=1)
