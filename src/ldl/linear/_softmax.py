"""Any loss of P = softmax([X 1] W), minimised by L-BFGS with its analytic gradient.

The intercept is a column of ones in X and is penalised like any other weight, as in the releases
of LDL-HR and LDL-LDM.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ldl.linear._bfgs import Optimum
from ldl.linear.maxent import (
    MaxEntObjective,
    MaximumEntropy,
    _with_ones,
    identity_start,
)

_GRADIENT_TOLERANCE = 1e-6


class SoftmaxObjective(MaxEntObjective):
    """Loss plus ``l2 / 2 ||W||^2``, and the gradient, for flat label-major weights.

    A subclass writes ``loss(Z)``. As in the parent everything is kept label by row, (c, n).
    """

    def loss(self, Z: np.ndarray) -> float:
        """The loss of the scores Z, which are overwritten with its slopes."""
        raise NotImplementedError

    def __call__(self, flat: np.ndarray) -> tuple[float, np.ndarray]:
        labels = len(self.D)
        W = self._weights[:labels]
        W[:] = flat.reshape(labels, -1)
        self._multiply_weights()
        value = self.loss(self._products[:labels])
        gradient = self._multiply_residuals()[:labels]
        value += 0.5 * self.l2 * float(np.vdot(W, W))
        gradient += self.l2 * W
        return value, gradient.ravel()


def softmax_columns(Z: np.ndarray) -> np.ndarray:
    """Z, overwritten with its softmax over labels; returns the logarithms of the divisors."""
    largest = Z.max(axis=0)
    Z -= largest
    np.exp(Z, out=Z)
    totals = Z.sum(axis=0)
    Z /= totals
    return largest + np.log(totals)


def slopes_of_scores(P: np.ndarray, slopes: np.ndarray) -> np.ndarray:
    """dL/dZ from dL/dP, both (c, n)."""
    weighted = P * slopes
    weighted -= P * weighted.sum(axis=0)
    return weighted


class Patience:
    """Ends L-BFGS once ``rounds`` iterations together lowered the loss by less than a share."""

    def __init__(self, rounds: int, least: float) -> None:
        self.rounds = rounds
        self.least = least
        self.losses: list[float] = []
        self.over = False

    def __call__(self, intermediate_result: Any) -> None:
        self.losses.append(float(intermediate_result.fun))
        if len(self.losses) > self.rounds:
            before, now = self.losses[-1 - self.rounds], self.losses[-1]
            if before - now < self.least * abs(before):
                self.over = True
                raise StopIteration


class SoftmaxModel(MaximumEntropy):
    """What the methods share: checks, the start, L-BFGS, and what is kept of it."""

    max_iter: int
    tol: float
    init: str

    def _check(self, not_negative: tuple[str, ...]) -> None:
        if self.max_iter < 1:
            raise ValueError(f"max_iter must be at least 1, got {self.max_iter}")
        for name in (*not_negative, "tol"):
            if not getattr(self, name) >= 0:
                raise ValueError(f"{name} must not be negative, got {getattr(self, name)}")
        if self.init not in ("identity", "zeros"):
            raise ValueError(f"init must be one of identity, zeros, got '{self.init}'")

    def _minimise(
        self, objective: SoftmaxObjective, pairs: int = 10, patience: Patience | None = None
    ) -> None:
        q, c = objective.X.shape[1], len(objective.D)
        start = identity_start(q, c) if self.init == "identity" else np.zeros((q, c))
        found = minimise_lbfgs(objective, start.T.ravel(), self.max_iter, self.tol, pairs, patience)
        W = found.x.reshape(c, -1).T
        self.coef_ = np.ascontiguousarray(W[:-1])
        self.intercept_ = W[-1].copy()
        self.n_iter_ = found.iterations
        self.loss_ = found.value
        self.diagnostics_ = {
            "iterations": found.iterations,
            "evaluations": found.evaluations,
            "loss": found.value,
            "largest_gradient": float(np.abs(found.gradient).max()),
            "stopped": found.stopped,
        }


def minimise_lbfgs(
    objective: SoftmaxObjective,
    start: np.ndarray,
    max_iter: int,
    tol: float,
    pairs: int = 10,
    patience: Patience | None = None,
) -> Optimum:
    """SciPy's L-BFGS as the releases call it: ten pairs, gradient 1e-6, relative decrease tol."""
    from scipy.optimize import minimize

    found = minimize(
        objective,
        start,
        jac=True,
        method="L-BFGS-B",
        callback=patience,
        options={
            "maxiter": max_iter,
            "maxfun": 100 * max_iter,
            "maxcor": pairs,
            "gtol": _GRADIENT_TOLERANCE,
            "ftol": tol,
        },
    )
    if patience is not None and patience.over:
        stopped = "patience"
    elif np.abs(found.jac).max() <= _GRADIENT_TOLERANCE:
        stopped = "gradient"
    elif found.nit >= max_iter:
        stopped = "max_iter"
    else:
        stopped = "tol" if found.success else "descent"
    return Optimum(found.x, float(found.fun), found.jac, found.nit, found.nfev, stopped)


def with_intercept(X: Any) -> Any:
    """X and a column of ones, sparse if X is."""
    return _with_ones(X)
