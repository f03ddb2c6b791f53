"""LDSVR: support vector regression of all labels at once, through a sigmoid.

It is fitted by iteratively reweighted least squares. Every iteration solves one bordered positive
definite system for all labels, on the rows whose error leaves the insensitive zone. After each, the
solutions so far are mixed by Anderson's method where that lowers the objective, which saves half to
nine tenths of the iterations and costs next to nothing.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np

from ldl._distances import squared_distances
from ldl._memory import demand_memory
from ldl._parameters import Auto, NotNegative, Positive
from ldl._self_tuned import Grid, SelfTuned
from ldl._tempered import AUTO
from ldl._weighted import rooted
from ldl.base import dense, warn_unfinished

_MAX_ITERATIONS = 500
_SMALLEST_STEP = 1e-16
_RELATIVE_DECREASE = 1e-10
_SMALLEST_WEIGHT = 1e-10
_BLOCK_BYTES = 64 * 2**20
_MIXED = 6
"""Most solutions that are mixed."""


@dataclass(eq=False, repr=False)
class LDSVR(SelfTuned):
    """Support vector regression of label distributions (LDSVR).

    Targets z are the logits of the degrees, and rows are mapped by a kernel. Since a sigmoid rises
    by a quarter at most, ``u_i = |z_i - W' phi(x_i) - b| / 4`` bounds the distance of the
    distributions. W and b minimise ``1/2 |W|^2 + C sum_i max(0, u_i - epsilon)^2``, all labels
    together, and the prediction is ``sigmoid(W' phi(x) + b)``, divided by its sum. Degrees of zero
    become ``1 / (10 labels)`` before logits are taken.

    The release has ``LDSVR(C=1.0, epsilon=0.1, width=1.0, standardise=False, mean_share=None)``.

    Parameters
    ----------
    C : float or 'auto', default='auto'
        Cost of errors outside the insensitive zone; the larger, the closer the fit. ``'auto'``
        chooses from 0.1 to 10 on held-out rows.
    epsilon : float, default=0.03
        Radius of the insensitive zone: values of u up to this cost nothing.
    width : float, default=0.5
        Width of the rbf kernel, in multiples of the mean distance of training rows, which all
        count alike in it.
    weights : {'exact', 'as_released'}, default='exact'
        Weight of a row in the least squares. ``'exact'`` follows from the derivative of the loss;
        ``'as_released'`` is that of the released code, which is negative up to four times the
        zone and minimises no objective.
    kernel : {'rbf', 'linear'}, default='rbf'
        Kernel: Gaussian, or the product of rows.

    Attributes
    ----------
    support_vectors_ : ndarray or CSR matrix of shape (support rows, n_features_in_)
        Training rows with a coefficient other than 0.
    dual_coef_ : ndarray of shape (support rows, n_labels_)
        Their coefficients.
    intercept_ : ndarray of shape (n_labels_,)
        Intercept b.
    bandwidth_ : float
        Width of the rbf kernel, in units of the features; only set with that kernel.
    n_iter_ : int
        Number of iterations.
    objective_ : float
        Objective at the end.
    diagnostics_ : dict
        Iterations, objective, number of support rows, bandwidth of the rbf kernel, and why the fit
        stopped.

    References
    ----------
    X. Geng and P. Hou, "Pre-release prediction of crowd opinion on movies by label distribution
    learning", IJCAI, 3511-3517, 2015.

    Examples
    --------
    >>> import numpy as np
    >>> from ldl import LDSVR
    >>> generator = np.random.default_rng(0)
    >>> X, D = generator.random((60, 5)), generator.dirichlet(np.ones(3), size=60)
    >>> model = LDSVR(C=10.0).fit(X[:40], D[:40])
    >>> model.predict(X[40:]).shape
    (20, 3)
    >>> model.diagnostics_["stopped"]
    'converged'
    """

    accepts_sparse = True

    C: Positive | Auto = AUTO
    epsilon: NotNegative = 0.03
    width: Positive = 0.5
    weights: Literal["exact", "as_released"] = "exact"
    kernel: Literal["rbf", "linear"] = "rbf"

    candidates: ClassVar[Grid] = {"C": (1.0, 0.1, 10.0)}

    def _fit(self, X: Any, D: np.ndarray) -> None:
        demand_memory("LDSVR", 16.0 * X.shape[0] ** 2, "Take a sample of the rows.")
        problem = _Problem(
            self._gram(X), logits(D), self.C, self.epsilon, self.weights, self._weight(len(D))
        )
        state, iterations, stopped = problem.solve()
        if stopped == "max_iter":
            warn_unfinished("LDSVR: coefficients", "Scale the features, or lower C.")
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
            "stopped": stopped,
        }
        if self.kernel == "rbf":
            self.diagnostics_["bandwidth"] = self.bandwidth_

    def _gram(self, X: Any) -> np.ndarray:
        """Return the kernel of all pairs of training rows."""
        if self.kernel == "linear":
            return dense(X @ X.T)
        squares = squared_distances(X, X)
        np.fill_diagonal(squares, 0.0)
        self.bandwidth_ = self.width * (_mean_distance(squares) or 1.0)
        return _gaussian(squares, self.bandwidth_)

    def _predict(self, X: Any) -> np.ndarray:
        from scipy.special import expit

        Z = np.broadcast_to(self.intercept_, (X.shape[0], self.n_labels_)).copy()
        if self.kernel == "linear":
            return np.asarray(expit(Z + X @ (self.support_vectors_.T @ self.dual_coef_)))
        step = max(1, _BLOCK_BYTES // (8 * max(1, len(self.dual_coef_))))
        for start in range(0, X.shape[0] if len(self.dual_coef_) else 0, step):
            squares = squared_distances(X[start : start + step], self.support_vectors_)
            Z[start : start + step] += _gaussian(squares, self.bandwidth_) @ self.dual_coef_
        return np.asarray(expit(Z))


def logits(D: np.ndarray) -> np.ndarray:
    """Return -ln(1/D - 1), once zeros have become 1/(10 c) and rows were divided by their sums."""
    D = np.where(D == 0, 1.0 / (10 * D.shape[1]), D)
    D = D / D.sum(axis=1, keepdims=True)
    D = np.clip(D, np.finfo(np.float64).tiny, 1.0 - np.finfo(np.float64).eps)
    return np.log(D) - np.log1p(-D)


class _State:
    """Coefficients B (n x c) and b (c), with everything that depends on them.

    ``products`` is K B, ``missing`` the error of each row, ``u`` a quarter of its length.
    """

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
        counted = excess if problem.counts is None else problem.counts * excess
        self.objective = 0.5 * norm + problem.C * float(counted @ excess)


@dataclass(frozen=True)
class _Problem:
    """Kernel K, targets Z, settings of a fit, and how often each row counts."""

    K: np.ndarray
    Z: np.ndarray
    C: float
    epsilon: float
    weights: str
    counts: np.ndarray | None = None

    def solve(self) -> tuple[_State, int, str]:
        """Iterate to the optimum; return it, the number of iterations, and why they stopped."""
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
            # With released weights the end is no minimum of the objective.
            if self.weights == "exact" and len(steps) > 1:
                state = min(following, self._mixed(steps), key=lambda known: known.objective)
        return state, _MAX_ITERATIONS, "max_iter"

    def weight(self, u: np.ndarray) -> np.ndarray:
        """Weigh the squared errors of rows: the derivative of the loss by u, over 16 u.

        The released weight is another: twice as large far out, and negative up to four times the
        zone.
        """
        if self.weights == "exact":
            a = self.C * (u - self.epsilon) / (8.0 * u)
        else:
            a = self.C * (u - 4.0 * self.epsilon) / (4.0 * u)
        return np.where(np.abs(a) < _SMALLEST_WEIGHT, _SMALLEST_WEIGHT, a)

    def _solved(self, state: _State, active: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Solve the weighted ridge regression of the active rows, the intercept by elimination."""
        from scipy.linalg import cho_factor, cho_solve, lu_factor, lu_solve

        a = self.weight(state.u[active])
        if self.counts is not None:
            a = a * self.counts[active]
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
        """Mix the ends of the steps such that the step from there, taken as linear, is smallest.

        Everything in a state but its objective is linear in B and b: no product with K is needed.
        """
        apart = [rooted(end.missing - start.missing, self.counts) for start, end in steps]
        lengths = [one.ravel() for one in apart]
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
        """Step towards the solution, a tenth as far each time until the objective does not rise.

        Return None where no step is short enough.
        """
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
    """Put exp(-d^2 / (2 bandwidth^2)) in the place of the squared distances."""
    squares *= -0.5 / bandwidth**2
    return np.exp(squares, out=squares)


def _mean_distance(squares: np.ndarray) -> float:
    """Return the mean distance over all pairs of different rows, from all squared distances."""
    n = len(squares)
    return float(sum(np.sqrt(row).sum() for row in squares)) / (n * (n - 1))
