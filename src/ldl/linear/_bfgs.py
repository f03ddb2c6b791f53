"""Dense BFGS: the whole inverse Hessian, updated in place by one rank-two step per iteration."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

Objective = Callable[[np.ndarray], tuple[float, np.ndarray]]

_SUFFICIENT_DECREASE = 1e-2
_CURVATURE = 0.9
_MAX_TRIALS = 30


@dataclass
class Optimum:
    x: np.ndarray
    value: float
    gradient: np.ndarray
    iterations: int
    evaluations: int
    stopped: str
    """'gradient' small enough, no further 'descent' possible in float64, or 'max_iter'."""


@dataclass
class _Point:
    step: float
    value: float
    slope: float
    gradient: np.ndarray


def minimise_bfgs(
    objective: Objective, start: np.ndarray, max_iter: int, gradient_tolerance: float = 1e-10
) -> Optimum:
    """Minimise ``objective(x) -> (value, gradient)``; memory and time per step are O(p^2).

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
    """A step that satisfies the strong Wolfe conditions: widen a bracket, then shrink it."""
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
    """Minimum of the cubic through both ends, kept off the ends of the bracket."""
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
