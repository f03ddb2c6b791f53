"""The maximum entropy model, P = softmax(X W), and SA-BFGS, which fits it by quasi-Newton steps."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ldl.base import LDLEstimator
from ldl.linear._bfgs import Optimum, minimise_bfgs

_MEMORY = 20
_DENSE_BELOW = 3000
_GRADIENT_TOLERANCE = 1e-10


def softmax_rows(Z: np.ndarray) -> np.ndarray:
    """Distributions proportional to exp(Z), one per row."""
    P = np.exp(Z - Z.max(axis=1, keepdims=True))
    P /= P.sum(axis=1, keepdims=True)
    return P


def identity_start(features: int, labels: int) -> np.ndarray:
    """The toolbox's first weights: ones on the main diagonal."""
    return np.eye(features, labels)


class MaxEntObjective:
    """Loss ``-sum D ln P`` (a sum, not a mean) and its gradient, for flat label-major weights.

    Everything is kept label by row, (c, n), in buffers used again and again: the maxima and sums
    of the softmax then run along memory instead of across short rows.
    """

    def __init__(self, X: Any, D: np.ndarray, l2: float = 0.0, unpenalised: int = 0) -> None:
        self.X = X
        self.D = np.ascontiguousarray(D.T)
        self.l2 = l2
        self.penalised = X.shape[1] - unpenalised
        """The last ``unpenalised`` columns (an intercept) are left out of the penalty."""
        self.sparse = hasattr(X, "tocsr")
        labels = len(self.D)
        rows = labels if self.sparse else _rows_for_products(labels)
        self._weights = np.zeros((rows, X.shape[1]))
        self._products = np.zeros((rows, X.shape[0]))
        if self.sparse:
            self.X_transposed = X.T.tocsr()

    def __call__(self, flat: np.ndarray) -> tuple[float, np.ndarray]:
        labels = len(self.D)
        W = self._weights[:labels]
        W[:] = flat.reshape(labels, -1)
        self._multiply_weights()
        Z = self._products[:labels]
        Z -= Z.max(axis=0)
        fit = np.vdot(self.D, Z)
        P = np.exp(Z, out=Z)
        totals = P.sum(axis=0)
        loss = float(np.log(totals).sum() - fit)
        P /= totals
        P -= self.D
        gradient = self._multiply_residuals()[:labels]
        if self.l2:
            penalised = W[:, : self.penalised]
            loss += 0.5 * self.l2 * float((penalised**2).sum())
            gradient[:, : self.penalised] += self.l2 * penalised
        return loss, gradient.ravel()

    def _multiply_weights(self) -> None:
        if self.sparse:
            self._products[:] = (self.X @ np.ascontiguousarray(self._weights.T)).T
        else:
            np.matmul(self._weights, self.X.T, out=self._products)

    def _multiply_residuals(self) -> np.ndarray:
        if self.sparse:
            return np.ascontiguousarray(
                (self.X_transposed @ np.ascontiguousarray(self._products.T)).T
            )
        return self._products @ self.X


def _rows_for_products(labels: int) -> int:
    """One or two rows of zeros more where that fills the last block of eight.

    BLAS multiplies blocks of eight rows: with six labels the products take 22 % less time so.
    """
    missing = -labels % 8
    return labels + missing if missing <= 2 else labels


class MaximumEntropy(LDLEstimator):
    """Prediction, shared by every way of fitting ``coef_`` (q x c) and ``intercept_`` (c)."""

    accepts_sparse = True

    def _predict(self, X: Any) -> np.ndarray:
        return softmax_rows(np.asarray(X @ self.coef_) + self.intercept_)

    coef_: np.ndarray
    intercept_: np.ndarray


@dataclass(eq=False, repr=False)
class SABFGS(MaximumEntropy):
    """SA-BFGS: maximum likelihood by ``lbfgs`` (20 pairs), ``dense_bfgs``, or as ``toolbox`` does.

    Raw features and few iterations are what the papers ran: the number of iterations is then the
    only regulariser, which is why ``max_iter`` matters so much.
    """

    max_iter: int = 300
    solver: str = "lbfgs"
    fit_intercept: bool = False
    l2: float = 0.0
    init: str = "identity"
    random_state: int | None = None

    def _fit(self, X: Any, D: np.ndarray) -> None:
        if self.max_iter < 1:
            raise ValueError(f"max_iter must be at least 1, got {self.max_iter}")
        if not self.l2 >= 0:
            raise ValueError(f"l2 must not be negative, got {self.l2}")
        if self.solver not in _SOLVERS:
            raise ValueError(f"solver must be one of {', '.join(_SOLVERS)}, got '{self.solver}'")
        q, c = X.shape[1], D.shape[1]
        W = np.vstack([self._start(q, c), np.zeros((int(self.fit_intercept), c))])
        if self.fit_intercept:
            X = _with_ones(X)
        objective = MaxEntObjective(X, D, self.l2, unpenalised=int(self.fit_intercept))
        found = _SOLVERS[self.solver](objective, W.T.ravel(), self.max_iter)
        W = found.x.reshape(c, -1).T
        self.coef_ = np.ascontiguousarray(W[:q])
        self.intercept_ = W[q].copy() if self.fit_intercept else np.zeros(c)
        self.n_iter_ = found.iterations
        self.loss_ = found.value
        self.diagnostics_ = {
            "iterations": found.iterations,
            "evaluations": found.evaluations,
            "loss": found.value,
            "largest_gradient": float(np.abs(found.gradient).max()),
            "stopped": found.stopped,
        }

    def _start(self, q: int, c: int) -> np.ndarray:
        if self.init == "identity":
            return identity_start(q, c)
        if self.init == "zeros":
            return np.zeros((q, c))
        if self.init == "uniform":
            return np.random.default_rng(self.random_state).uniform(-0.1, 0.1, size=(q, c))
        raise ValueError(f"init must be one of identity, zeros, uniform, got '{self.init}'")


def _lbfgs(objective: MaxEntObjective, start: np.ndarray, max_iter: int) -> Optimum:
    from scipy.optimize import minimize

    found = minimize(
        objective,
        start,
        jac=True,
        method="L-BFGS-B",
        options={
            "maxiter": max_iter,
            "maxcor": _MEMORY,
            "gtol": _GRADIENT_TOLERANCE,
            "ftol": 0.0,
            "maxfun": 100 * max_iter,
        },
    )
    if np.abs(found.jac).max() <= _GRADIENT_TOLERANCE:
        stopped = "gradient"
    else:
        stopped = "max_iter" if found.nit >= max_iter else "descent"
    return Optimum(found.x, float(found.fun), found.jac, found.nit, found.nfev, stopped)


def _dense_bfgs(objective: MaxEntObjective, start: np.ndarray, max_iter: int) -> Optimum:
    return minimise_bfgs(objective, start, max_iter, _GRADIENT_TOLERANCE)


def _toolbox(objective: MaxEntObjective, start: np.ndarray, max_iter: int) -> Optimum:
    """Dense below 3000 unknowns, as the toolbox's optimiser chooses."""
    solve = _dense_bfgs if len(start) < _DENSE_BELOW else _lbfgs
    return solve(objective, start, max_iter)


_SOLVERS = {"lbfgs": _lbfgs, "dense_bfgs": _dense_bfgs, "toolbox": _toolbox}


def _with_ones(X: Any) -> Any:
    if hasattr(X, "tocsr"):
        from scipy.sparse import csr_array, hstack

        return hstack([X, csr_array(np.ones((X.shape[0], 1)))], format="csr")
    return np.column_stack([X, np.ones(len(X))])
