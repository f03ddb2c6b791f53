"""Quasi-Newton optimisers: BFGS with the whole inverse Hessian, and SciPy's L-BFGS.

Dense BFGS updates its matrix in place by one rank-two step per iteration, O(p^2) for p unknowns.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

Objective = Callable[[np.ndarray], tuple[float, np.ndarray]]
"""Returns the value at a point and the gradient there."""

_SUFFICIENT_DECREASE = 1e-2
_CURVATURE = 0.9
_MAX_TRIALS = 30


@dataclass
class Optimum:
    """The last point of a minimisation, and why it ended there."""

    x: np.ndarray
    value: float
    gradient: np.ndarray
    iterations: int
    evaluations: int
    stopped: str
    """One of these words.

    'gradient': all slopes are small enough. 'max_iter': the iterations are used up. 'tol': an
    iteration gained too little. 'patience': several together did. 'descent': rounding hides any
    further descent.
    """


@dataclass
class _Point:
    """A trial of the line search."""

    step: float
    value: float
    slope: float
    gradient: np.ndarray


def minimise_bfgs(
    objective: Objective, start: np.ndarray, max_iter: int, gradient_tolerance: float = 1e-10
) -> Optimum:
    """Minimise by BFGS steps that keep the whole inverse Hessian.

    The first matrix is the identity and is not rescaled after the first step, as in the optimiser
    of the LDL toolbox: results of an early stop depend on that.
    """
    from scipy.linalg.blas import dsymv, dsyr2

    x = start.astype(np.float64)
    value, gradient = objective(x)
    evaluations = 1
    # Only the lower triangle is read and written; Fortran order lets BLAS work in place.
    inverse = np.asfortranarray(np.eye(len(x)))
    stopped = "max_iter"
    iterations = 0
    while iterations < max_iter:
        if np.abs(gradient).max() <= gradient_tolerance:
            stopped = "gradient"
            break
        direction = dsymv(-1.0, inverse, gradient, lower=1)
        first = 1.0 if iterations else min(1.0, 1.0 / np.abs(gradient).sum())
        point, trials = wolfe_search(objective, x, value, gradient, direction, first)
        evaluations += trials
        if point is None:
            stopped = "descent"
            break
        s = point.step * direction
        y = point.gradient - gradient
        x = x + s
        value, gradient = point.value, point.gradient
        iterations += 1
        sy = s @ y
        if sy <= 0:  # cannot happen after a Wolfe step but for rounding; then keep the matrix
            continue
        u = dsymv(1.0, inverse, y, lower=1)
        v = (0.5 * (1.0 + (y @ u) / sy) * s - u) / sy
        inverse = dsyr2(1.0, s, v, a=inverse, lower=1, overwrite_a=1)
    return Optimum(x, value, gradient, iterations, evaluations, stopped)


def wolfe_search(
    objective: Objective,
    x: np.ndarray,
    value: float,
    gradient: np.ndarray,
    direction: np.ndarray,
    first: float,
) -> tuple[_Point | None, int]:
    """Search a step that satisfies the strong Wolfe conditions: widen a bracket, then shrink it.

    Returns None where nothing goes down, and how many points were tried.
    """
    origin = _Point(0.0, value, float(gradient @ direction), gradient)
    if not origin.slope < 0:
        return None, 0

    def at(step: float) -> _Point:
        trial, slope_of = objective(x + step * direction)
        return _Point(step, trial, float(slope_of @ direction), slope_of)

    low, high = origin, None
    step = first
    for trials in range(1, _MAX_TRIALS + 1):
        point = at(step)
        too_high = not point.value <= value + _SUFFICIENT_DECREASE * step * origin.slope
        if not too_high and abs(point.slope) <= -_CURVATURE * origin.slope:
            return point, trials
        if too_high or point.value >= low.value:
            high = point
        else:
            if point.slope * ((high.step if high else np.inf) - low.step) >= 0:
                high = low
            low = point
        if high is None:
            step = 2.0 * step
        else:
            if abs(high.step - low.step) <= 1e-15 * max(high.step, low.step):
                break
            step = _between(low, high)
    # Near the optimum rounding hides the slope: take what still goes down, if anything does.
    return (low, trials) if low.step > 0 and low.value < value else (None, trials)


def _between(low: _Point, high: _Point) -> float:
    """Return the minimum of the cubic through both ends, kept off the ends of the bracket."""
    width = high.step - low.step
    middle = low.step + 0.5 * width
    if not np.isfinite(high.value):
        return middle
    bend = low.slope + high.slope - 3.0 * (high.value - low.value) / width
    root = bend * bend - low.slope * high.slope
    if root < 0:
        return middle
    root = np.sign(width) * np.sqrt(root)
    bottom = high.slope - low.slope + 2.0 * root
    if bottom == 0:
        return middle
    step = high.step - width * (high.slope + root - bend) / bottom
    edge = 0.1 * abs(width)
    return float(np.clip(step, min(low.step, high.step) + edge, max(low.step, high.step) - edge))


def minimise_lbfgs(
    objective: Objective,
    start: np.ndarray,
    max_iter: int,
    gradient_tolerance: float,
    tol: float | None = None,
    pairs: int = 10,
    patience: Patience | None = None,
) -> Optimum:
    """Minimise by SciPy's L-BFGS, which keeps the last ``pairs`` steps instead of a matrix.

    Ends also where an iteration lowers the value by no more than the share ``tol`` of it; with None
    only where it does not lower it at all.
    """
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
            "gtol": gradient_tolerance,
            "ftol": tol or 0.0,
        },
    )
    if patience is not None and patience.over:
        stopped = "patience"
    elif np.abs(found.jac).max() <= gradient_tolerance:
        stopped = "gradient"
    elif found.nit >= max_iter:
        stopped = "max_iter"
    else:
        stopped = "tol" if found.success and tol is not None else "descent"
    return Optimum(found.x, float(found.fun), found.jac, found.nit, found.nfev, stopped)


class Patience:
    """Callback that ends L-BFGS once ``rounds`` iterations gained less than a share of the loss."""

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
