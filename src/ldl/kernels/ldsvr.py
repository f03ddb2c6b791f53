"""LDSVR: support vector regression of all labels at once, through a sigmoid.

Fitted by iteratively reweighted least squares. Every iteration solves one bordered positive
definite system for all labels, on the rows whose error leaves the insensitive zone. Between two of
them the solutions so far are mixed by Anderson's method where that lowers the objective, which
saves half to nine tenths of the iterations and costs next to nothing.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ldl.base import LDLEstimator

_MAX_ITERATIONS = 500
_SMALLEST_STEP = 1e-16
_RELATIVE_DECREASE = 1e-10
_SMALLEST_WEIGHT = 1e-10
_WEIGHTS = ("exact", "as_released")
_BLOCK_BYTES = 64 * 2**20
_MIXED = 6
"""Solutions that are mixed at most."""


@dataclass(eq=False, repr=False)
class LDSVR(LDLEstimator):
    """LDSVR with a Gaussian kernel as wide as the mean distance of training rows, times ``width``.

    Targets are logits of the degrees. Their error, divided by four, bounds the error of the
    distribution; it costs ``C`` times the square of what exceeds ``epsilon``.
    """

    accepts_sparse = True

    C: float = 1.0
    epsilon: float = 0.1
    width: float = 1.0
    weights: str = "exact"

    def _fit(self, X: Any, D: np.ndarray) -> None:
        if not self.C > 0:
            raise ValueError(f"C must be positive, got {self.C}")
        if not self.epsilon >= 0:
            raise ValueError(f"epsilon must not be negative, got {self.epsilon}")
        if not self.width > 0:
            raise ValueError(f"width must be positive, got {self.width}")
        if self.weights not in _WEIGHTS:
            raise ValueError(f"weights must be one of {', '.join(_WEIGHTS)}, got '{self.weights}'")
        squares = _squared_distances(X, X)
        self.bandwidth_ = self.width * (_mean_distance(squares) or 1.0)
        problem = _Problem(
            _gaussian(squares, self.bandwidth_), logits(D), self.C, self.epsilon, self.weights
        )
        state, iterations, stopped = problem.solve()
        support = np.flatnonzero(state.B.any(axis=1))
        self.dual_coef_ = state.B[support]
        self.support_vectors_ = X[support].copy()
        self.intercept_ = state.b
        self.n_iter_ = iterations
        self.objective_ = state.objective
        self.diagnostics_ = {
            "iterations": iterations,
            "objective": state.objective,
            "support_rows": len(support),
            "bandwidth": self.bandwidth_,
            "stopped": stopped,
        }

    def _predict(self, X: Any) -> np.ndarray:
        from scipy.special import expit

        Z = np.broadcast_to(self.intercept_, (X.shape[0], self.n_labels_)).copy()
        step = max(1, _BLOCK_BYTES // (8 * max(1, len(self.dual_coef_))))
        for start in range(0, X.shape[0] if len(self.dual_coef_) else 0, step):
            squares = _squared_distances(X[start : start + step], self.support_vectors_)
            Z[start : start + step] += _gaussian(squares, self.bandwidth_) @ self.dual_coef_
        return np.asarray(expit(Z))


def logits(D: np.ndarray) -> np.ndarray:
    """-ln(1/D - 1), after degrees of zero became 1/(10 c) and rows were divided by their sums."""
    D = np.where(D == 0, 1.0 / (10 * D.shape[1]), D)
    D = D / D.sum(axis=1, keepdims=True)
    D = np.clip(D, np.finfo(np.float64).tiny, 1.0 - np.finfo(np.float64).eps)
    return np.log(D) - np.log1p(-D)


class _State:
    """Coefficients B (n x c) and b (c), with everything that depends on them."""

    def __init__(
        self, problem: _Problem, B: np.ndarray, b: np.ndarray, products: np.ndarray | None = None
    ) -> None:
        self.B = B
        self.b = b
        self.products = problem.K @ B if products is None else products
        self.missing = problem.Z - self.products - b
        self.u = 0.25 * np.sqrt(np.einsum("ij,ij->i", self.missing, self.missing))
        excess = np.maximum(self.u - problem.epsilon, 0.0)
        norm = float(np.vdot(self.products, B))
        self.objective = 0.5 * norm + problem.C * float(excess @ excess)


class _Problem:
    def __init__(
        self, K: np.ndarray, Z: np.ndarray, C: float, epsilon: float, weights: str
    ) -> None:
        self.K = K
        self.Z = Z
        self.C = C
        self.epsilon = epsilon
        self.weights = weights

    def solve(self) -> tuple[_State, int, str]:
        n, c = self.Z.shape
        state = _State(self, np.zeros((n, c)), np.zeros(c), np.zeros((n, c)))
        steps: list[tuple[_State, _State]] = []
        for iteration in range(1, _MAX_ITERATIONS + 1):
            active = np.flatnonzero(state.u >= max(self.epsilon, _SMALLEST_WEIGHT))
            if not len(active):
                return state, iteration - 1, "no row outside the zone"
            following = self._descend(state, *self._solved(state, active))
            if following is None:
                return state, iteration, "no descent"
            gain = state.objective - following.objective
            if not gain > _RELATIVE_DECREASE * state.objective:
                return following, iteration, "converged"
            steps = [*steps[1 - _MIXED :], (state, following)]
            state = following
            # What released weights lead to is no minimum of the objective.
            if self.weights == "exact" and len(steps) > 1:
                state = min(following, self._mixed(steps), key=lambda known: known.objective)
        return state, _MAX_ITERATIONS, "max_iter"

    def weight(self, u: np.ndarray) -> np.ndarray:
        """Of the squared error of a row; half the derivative of its loss over that of u^2.

        The released one is another: twice as large far out, and negative up to four times the zone.
        """
        if self.weights == "exact":
            a = self.C * (u - self.epsilon) / (8.0 * u)
        else:
            a = self.C * (u - 4.0 * self.epsilon) / (4.0 * u)
        return np.where(np.abs(a) < _SMALLEST_WEIGHT, _SMALLEST_WEIGHT, a)

    def _solved(self, state: _State, active: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The weighted ridge regression of the active rows; the intercept by elimination."""
        from scipy.linalg import cho_factor, cho_solve, lu_factor, lu_solve

        a = self.weight(state.u[active])
        everyone = len(active) == len(self.K)
        A = self.K.copy() if everyone else self.K[np.ix_(active, active)]
        A[np.diag_indices_from(A)] += 1.0 / a
        right = np.column_stack([self.Z[active], np.ones(len(active))])
        # K is symmetric: its transpose is the same matrix in the order that LAPACK works in.
        if self.weights == "exact":
            factor = cho_factor(A.T, lower=True, overwrite_a=True, check_finite=False)
            solved = cho_solve(factor, right, overwrite_b=True, check_finite=False)
        else:  # negative weights leave nothing positive definite
            pivoted = lu_factor(A.T, overwrite_a=True, check_finite=False)
            solved = lu_solve(pivoted, right, overwrite_b=True, check_finite=False)
        ones = solved[:, -1]
        b = solved[:, :-1].sum(axis=0) / ones.sum()
        B = np.zeros_like(state.B)
        B[active] = solved[:, :-1] - ones[:, None] * b
        return B, b

    def _mixed(self, steps: list[tuple[_State, _State]]) -> _State:
        """The ends of the steps, mixed so that the step from there, taken as linear, is smallest.

        Everything in a state but its objective is linear in B and b: no product with K is needed.
        """
        lengths = [(end.missing - start.missing).ravel() for start, end in steps]
        changes = np.column_stack([lengths[-1] - length for length in lengths[:-1]])
        shares = np.linalg.lstsq(changes, lengths[-1], rcond=1e-10)[0]
        shares = [*shares, 1.0 - shares.sum()]
        ends = [end for _, end in steps]

        def mix(values: list[np.ndarray]) -> np.ndarray:
            return np.asarray(
                sum(share * value for share, value in zip(shares, values, strict=True))
            )

        return _State(
            self,
            mix([end.B for end in ends]),
            mix([end.b for end in ends]),
            mix([end.products for end in ends]),
        )

    def _descend(self, state: _State, B: np.ndarray, b: np.ndarray) -> _State | None:
        """A step towards the solution, divided by ten until the objective does not rise."""
        step_B, step_b = B - state.B, b - state.b
        step_products = self.K @ step_B
        step = 1.0
        while step >= _SMALLEST_STEP:
            trial = _State(
                self,
                state.B + step * step_B,
                state.b + step * step_b,
                state.products + step * step_products,
            )
            if trial.objective <= state.objective:
                return trial
            step /= 10.0
        return None


def _gaussian(squares: np.ndarray, bandwidth: float) -> np.ndarray:
    """exp(-d^2 / (2 bandwidth^2)), in place of the squared distances."""
    squares *= -0.5 / bandwidth**2
    return np.exp(squares, out=squares)


def _squared_distances(A: Any, B: Any) -> np.ndarray:
    if hasattr(A, "tocsr"):
        # In blocks: a product of sparse rows has more bytes of indices than of values.
        out = np.empty((A.shape[0], B.shape[0]))
        step = max(1, _BLOCK_BYTES // (16 * B.shape[0]))
        transposed = B.T.tocsr()
        for start in range(0, A.shape[0], step):
            out[start : start + step] = (A[start : start + step] @ transposed).toarray()
        norms = [np.asarray(M.multiply(M).sum(axis=1)).ravel() for M in (A, B)]
    else:
        out = A @ B.T
        norms = [np.einsum("ij,ij->i", M, M) for M in (A, B)]
    out *= -2.0
    out += norms[0][:, None]
    out += norms[1]
    np.maximum(out, 0.0, out=out)
    if A is B:
        np.fill_diagonal(out, 0.0)
    return out


def _mean_distance(squares: np.ndarray) -> float:
    """Over all pairs of different rows."""
    n = len(squares)
    return float(sum(np.sqrt(row).sum() for row in squares)) / (n * (n - 1))
