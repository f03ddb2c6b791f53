"""Steps of Newton's kind for softmax models: one matrix stands for the curvature of all labels.

The curvature of the cross entropy is the sum over rows of x x' times diag(p) - p p'. Where rows
have similar distributions, it is nearly X'X times one number, for all directions that change a
prediction. Steps by that matrix need a handful of passes over the rows where L-BFGS, which begins
with the identity, needs a hundred; pairs of steps and slopes correct what the number leaves out.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

import numpy as np

from ldl.linear._bfgs import Objective, Optimum, wolfe_search

Solve = Callable[[np.ndarray], np.ndarray]
"""Multiplies slopes, label by label, by the inverse of a curvature."""

_FLOOR = 1e-10
"""Added to the diagonal, as a share of its mean: features may depend on one another."""
_SMALL = 1e-3
"""Penalty of an intercept where rows are few, as a share of its curvature."""

_LEAST_MEAN = 1e-6
"""Mean degrees below this count as this where their logarithms begin a search."""


class Curvature:
    """X'X times the mean curvature of a label, to which penalties are added.

    The last ``unpenalised`` features, an intercept, are free of them.
    """

    def __init__(
        self,
        X: np.ndarray,
        D: np.ndarray,
        unpenalised: int = 0,
        weight: np.ndarray | None = None,
    ) -> None:
        mean = np.average(D, axis=0, weights=weight)
        X = X if weight is None else X * np.sqrt(weight)[:, None]
        self.factor = (1.0 - mean @ mean) / (len(mean) - 1.0)
        self.X = X
        self.free = np.arange(X.shape[1]) >= X.shape[1] - unpenalised
        self.floor = _FLOOR * self.factor * float(np.vdot(X, X)) / X.shape[1]
        # With fewer rows than features, what rows do not span has the curvature of the penalty.
        self.few_rows = len(X) < X.shape[1]
        of_penalised = X[:, ~self.free]
        self.products = of_penalised @ of_penalised.T if self.few_rows else X.T @ X

    def inverse(self, l2: float) -> Solve:
        """Return what multiplies by the inverse of the curvature with a penalty ``l2``."""
        n, q = self.X.shape
        l2 += self.floor
        if not self.few_rows:
            return _inverse(self.factor * self.products, np.where(self.free, self.floor, l2))
        # By Woodbury's identity. The intercept has a small penalty here; steps correct that.
        small = _SMALL * self.factor * n
        diagonal = np.where(self.free, small, l2)
        of_free = self.X[:, self.free]
        matrix = self.products / l2 + of_free @ of_free.T / small
        rows = _inverse(matrix, np.full(n, 1.0 / self.factor))

        def solve(slopes: np.ndarray) -> np.ndarray:
            scaled = slopes.reshape(-1, q) / diagonal
            return (scaled - (rows(scaled @ self.X.T) @ self.X) / diagonal).ravel()

        return solve


def _inverse(matrix: np.ndarray, diagonal: np.ndarray) -> Solve:
    """Return what multiplies by the inverse of a symmetric matrix, with more on its diagonal."""
    from scipy.linalg.lapack import dpotrf, dpotrs

    matrix.reshape(-1)[:: len(matrix) + 1] += diagonal
    # In LAPACK's order of memory a symmetric matrix is itself.
    factor, failed = dpotrf(matrix.T, lower=1, overwrite_a=1)
    if failed:
        return lambda slopes: slopes

    def solve(slopes: np.ndarray) -> np.ndarray:
        given = slopes.reshape(-1, len(matrix))
        return np.asarray(dpotrs(factor, given.T, lower=1)[0]).T.reshape(slopes.shape)

    return solve


def start_at_mean(D: np.ndarray, features: int) -> np.ndarray:
    """Return weights (c, features) of zero but for the last, which give the mean distribution."""
    start = np.zeros((D.shape[1], features))
    start[:, -1] = np.log(np.maximum(D.mean(axis=0), _LEAST_MEAN))
    return start


def minimise_newton(
    objective: Objective,
    start: np.ndarray,
    solve: Solve,
    max_iter: int,
    tol: float,
    pairs: int = 10,
    first: tuple[float, np.ndarray] | None = None,
) -> Optimum:
    """Minimise from ``start`` by steps of ``solve`` that the last ``pairs`` of steps correct.

    ``first`` is the value and the gradient at the start, where these are known.
    Ends where an iteration lowers the value, or promises to, by no more than the share ``tol``.
    """
    x = start.astype(np.float64)
    value, gradient = objective(x) if first is None else first
    evaluations, iterations = 1, 0
    kept: deque[tuple[np.ndarray, np.ndarray, float]] = deque(maxlen=pairs)
    stopped = "max_iter"
    while iterations < max_iter:
        direction = -_corrected(gradient, kept, solve)
        if -0.5 * (gradient @ direction) <= tol * abs(value):
            stopped = "tol"
            break
        point, trials = wolfe_search(objective, x, value, gradient, direction, 1.0)
        evaluations += trials
        if point is None:
            stopped = "descent"
            break
        s, y = point.step * direction, point.gradient - gradient
        before, value, gradient = value, point.value, point.gradient
        x = x + s
        iterations += 1
        if (product := float(s @ y)) > 0:
            kept.append((s, y, product))
        if before - value <= tol * abs(value):
            stopped = "tol"
            break
    return Optimum(x, value, gradient, iterations, evaluations, stopped)


def _corrected(
    gradient: np.ndarray,
    kept: deque[tuple[np.ndarray, np.ndarray, float]],
    solve: Solve,
) -> np.ndarray:
    """Return the step of L-BFGS's two loops, with ``solve`` between them."""
    rest = gradient.copy()
    shares = []
    for s, y, product in reversed(kept):
        shares.append(s @ rest / product)
        rest -= shares[-1] * y
    step = solve(rest)
    for (s, y, product), share in zip(kept, reversed(shares), strict=True):
        step += (share - y @ step / product) * s
    return step
