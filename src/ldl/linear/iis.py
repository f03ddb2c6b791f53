"""SA-IIS: the maximum entropy model fitted by improved iterative scaling.

A sweep asks, for every feature k and label j, for the root of

    sum_i D_ij x_ik = sum_i P_ij x_ik exp(delta_kj sign(x_ik) s_i),    s_i = |x_i|_1.

With one s for all rows the root is a closed form. Otherwise exp(delta s_i) is exp(delta s0) times
a Taylor series in delta (s_i - s0), whose coefficients are matrix products: no exponential is taken
per row, feature and label. Roots too far out for the series, which is rare, use the plain sum.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ldl.linear.maxent import MaximumEntropy, identity_start

_LARGEST_SHIFT = 20.0
"""Steps are kept below this many times 1 / mean |x|_1, for roots at infinity."""
_ROOT_TOLERANCE = 1e-10
_MAX_NEWTON = 60
_SERIES_TOLERANCE = 1e-13
_SERIES_RADIUS = 4.0
"""Beyond it cancellation would cost digits."""
_LARGEST_EXPONENT = 700.0
_BLOCK = 2**21
"""Exponentials held at a time where the series cannot be used."""


@dataclass(eq=False, repr=False)
class SAIIS(MaximumEntropy):
    """SA-IIS: stops after ``max_iter`` sweeps, or when the log likelihood gains less than ``tol``.

    Far from converged after the sweeps that papers run, which acts as a strong regulariser.
    """

    max_iter: int = 200
    tol: float = 1e-4
    init: str = "identity"
    feature_floor: float = 0.0

    def _fit(self, X: Any, D: np.ndarray) -> None:
        if self.max_iter < 1:
            raise ValueError(f"max_iter must be at least 1, got {self.max_iter}")
        if not self.tol >= 0:
            raise ValueError(f"tol must not be negative, got {self.tol}")
        if not self.feature_floor >= 0:
            raise ValueError(f"feature_floor must not be negative, got {self.feature_floor}")
        q, c = X.shape[1], D.shape[1]
        if self.init == "identity":
            W = identity_start(q, c)
        elif self.init == "zeros":
            W = np.zeros((q, c))
        else:
            raise ValueError(f"init must be one of identity, zeros, got '{self.init}'")
        X = self._floored(X)
        sweep = Sweep(X, D)
        P, loss = _predictions(X, W, D)
        stopped = "max_iter"
        iterations = 0
        while iterations < self.max_iter and stopped == "max_iter":
            W += sweep.step(P)
            iterations += 1
            before = loss
            P, loss = _predictions(X, W, D)
            if abs(before - loss) < self.tol:
                stopped = "tol"
        self.coef_ = W
        self.intercept_ = np.zeros(c)
        self.n_iter_ = iterations
        self.loss_ = loss
        self.diagnostics_ = {
            "iterations": iterations,
            "loss": loss,
            "last_gain": before - loss,
            "stopped": stopped,
            "plain_sums": sweep.plain_sums,
        }

    def _predict(self, X: Any) -> np.ndarray:
        return super()._predict(self._floored(X))

    def _floored(self, X: Any) -> Any:
        """Zeros replaced by the floor, as the toolbox's demonstration does."""
        if not self.feature_floor:
            return X
        X = X.toarray() if hasattr(X, "tocsr") else X
        return np.where(X == 0, self.feature_floor, X)


def _predictions(X: Any, W: np.ndarray, D: np.ndarray) -> tuple[np.ndarray, float]:
    """softmax(X W), and its summed cross entropy."""
    Z = np.asarray(X @ W)
    Z -= Z.max(axis=1, keepdims=True)
    fit = float(np.vdot(D, Z))
    P = np.exp(Z, out=Z)
    totals = P.sum(axis=1, keepdims=True)
    P /= totals
    return P, float(np.log(totals).sum()) - fit


class Sweep:
    """Finds all roots of a sweep at once; ``step(P)`` returns delta, features by labels."""

    def __init__(self, X: Any, D: np.ndarray) -> None:
        self.rising, self.falling = _signed_parts(X)
        self.targets = np.asarray(X.T @ D)
        s = np.asarray(abs(X).sum(axis=1)).ravel()
        used = s[s > 0] if (s > 0).any() else np.ones(1)
        self.s = s
        self.centre = 0.5 * (used.min() + used.max())
        self.half_range = 0.5 * (used.max() - used.min())
        if self.half_range <= 1e-12 * self.centre:  # rounding errors of equal sums
            self.half_range = 0.0
            self.centre = float(used.mean())
        limit = float(_LARGEST_SHIFT / used.mean())
        self.limits = (-limit, limit)
        # Rows of zeros take no part; kept inside the range so that their powers stay small.
        ratio = np.clip((s - self.centre) / (self.half_range or 1.0), -1.0, 1.0)
        self.powers = np.vander(ratio, _terms_needed(_SERIES_RADIUS), increasing=True)
        self.plain_sums = 0
        """Root evaluations that needed the sum over rows."""

    def step(self, P: np.ndarray) -> np.ndarray:
        above, below = self._moments(P, 0, 2 if self.half_range else 1)
        up, down = above[0], below[0]
        if not self.half_range:
            return np.clip(_log_root(self.targets, up, down) / self.centre, *self.limits)
        slope = self._slope(up, down, above[1], below[1])
        delta = self._shift(self.targets, up, down, slope)
        endless = np.isinf(delta)
        at_limit = np.clip(delta, *self.limits)
        # Entries without a root have their answer; this target holds them at zero meanwhile.
        targets = np.where(endless, up - down, self.targets)
        delta = np.where(endless, 0.0, at_limit)
        reach = min(1.3 * np.abs(delta).max() * self.half_range, _SERIES_RADIUS)
        order = _terms_needed(reach)
        if order > 2:
            more_above, more_below = self._moments(P, 2, order)
            above = np.concatenate([above, more_above])
            below = np.concatenate([below, more_below])
        sums = _Sums(self, P, _over_factorials(above), _over_factorials(below), reach)
        return np.where(endless, at_limit, self._roots(sums, targets, delta))

    def _slope(
        self, up: np.ndarray, down: np.ndarray, up_ratio: np.ndarray, down_ratio: np.ndarray
    ) -> np.ndarray:
        """Sums over rows of |terms| s_i, from those of the terms and of the terms times ratio."""
        return self.centre * (up + down) + self.half_range * (up_ratio + down_ratio)

    def _shift(
        self, targets: np.ndarray, up: np.ndarray, down: np.ndarray, slope: np.ndarray
    ) -> np.ndarray:
        """The root if every row had the same s: that of up e^(delta s) - down e^(-delta s).

        A quadratic in e^(delta s). With s the mean over rows, weighted by their terms, it has the
        slope of the true equation, so that repeating it is Newton's method in a better variable.
        """
        both = up + down
        mean_s = np.divide(slope, both, out=np.full_like(slope, self.centre), where=both > 0)
        return _log_root(targets, up, down) / mean_s

    def _roots(self, sums: _Sums, targets: np.ndarray, delta: np.ndarray) -> np.ndarray:
        """Newton's method for all entries; a bracket takes over where it leaves the bracket."""
        low = np.full_like(delta, self.limits[0])
        high = np.full_like(delta, self.limits[1])
        for _ in range(_MAX_NEWTON):
            up, down, slope = sums.at(delta)
            excess = up - down - targets
            low = np.where(excess < 0, delta, low)
            high = np.where(excess > 0, delta, high)
            following = np.clip(delta + self._shift(targets, up, down, slope), *self.limits)
            inside = (following >= low) & (following <= high)
            following = np.where(inside, following, 0.5 * (low + high))
            moved = np.abs(following - delta).max()
            delta = following
            if moved * self.centre <= _ROOT_TOLERANCE:
                break
        return delta

    def _moments(self, P: np.ndarray, first: int, last: int) -> tuple[np.ndarray, np.ndarray]:
        """sum_i |x_ik| P_ij ratio_i^m, m by k by j, over positive and over negative x_ik."""
        n, c = P.shape
        powers = self.powers[:, first:last]
        weighted = (powers[:, :, None] * P[:, None, :]).reshape(n, -1)

        def gathered(part: Any) -> np.ndarray:
            sums = np.asarray(part.T @ weighted).reshape(-1, last - first, c)
            return np.ascontiguousarray(sums.transpose(1, 0, 2))

        above = gathered(self.rising)
        return above, np.zeros_like(above) if self.falling is None else gathered(self.falling)


class _Sums:
    """Both sides' sums over rows at any delta, for the predictions of one sweep."""

    def __init__(
        self, sweep: Sweep, P: np.ndarray, above: np.ndarray, below: np.ndarray, reach: float
    ) -> None:
        self.sweep = sweep
        self.P = P
        self.above = above
        self.below = below
        self.reach = reach

    def at(self, delta: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Sums over positive and over negative features, and the slope of their difference."""
        sweep = self.sweep
        outside = np.abs(delta) * sweep.half_range > self.reach
        near = np.where(outside, 0.0, delta)
        factor = np.exp(near * sweep.centre)
        up, up_ratio = (factor * value for value in _series(self.above, near * sweep.half_range))
        down, down_ratio = np.zeros_like(up), np.zeros_like(up)
        if sweep.falling is not None:
            down, down_ratio = (
                value / factor for value in _series(self.below, -near * sweep.half_range)
            )
        slope = sweep._slope(up, down, up_ratio, down_ratio)
        # Terms close to the smallest number of float64 may round to less than nothing.
        up, down, slope = (np.maximum(value, 0.0) for value in (up, down, slope))
        if outside.any():
            self._sum_over_rows(delta, np.argwhere(outside), up, down, slope)
        return up, down, slope

    def _sum_over_rows(
        self,
        delta: np.ndarray,
        entries: np.ndarray,
        up: np.ndarray,
        down: np.ndarray,
        slope: np.ndarray,
    ) -> None:
        sweep = self.sweep
        sweep.plain_sums += len(entries)
        step = max(1, _BLOCK // len(sweep.s))
        for start in range(0, len(entries), step):
            k, j = entries[start : start + step].T
            slope[k, j] = 0.0
            for part, sums, sign in ((sweep.rising, up, 1.0), (sweep.falling, down, -1.0)):
                if part is None:
                    continue
                columns = part[:, k]
                columns = columns.toarray() if hasattr(columns, "tocsr") else columns
                exponents = np.minimum(sign * delta[k, j] * sweep.s[:, None], _LARGEST_EXPONENT)
                shifted = np.exp(exponents)
                terms = columns * self.P[:, j] * shifted
                sums[k, j] = terms.sum(axis=0)
                slope[k, j] += sweep.s @ terms


def _signed_parts(X: Any) -> tuple[Any, Any]:
    """Positive part and size of the negative part, or None where nothing is negative."""
    if hasattr(X, "tocsr"):
        if X.nnz == 0 or X.data.min() >= 0:
            return X, None
        return X.maximum(0).tocsr(), (-X).maximum(0).tocsr()
    return (X, None) if X.min() >= 0 else (np.maximum(X, 0.0), np.maximum(-X, 0.0))


def _log_root(target: np.ndarray, up: np.ndarray, down: np.ndarray) -> np.ndarray:
    """ln y with up y - down / y = target, y > 0; infinite where the root is, 0 without terms."""
    root = np.hypot(target, 2.0 * np.sqrt(up) * np.sqrt(down))
    positive = target > 0
    # Of the two forms of the root, the one that adds numbers of the same sign.
    top = np.where(positive, target + root, 2.0 * down)
    bottom = np.where(positive, 2.0 * up, root - target)
    with np.errstate(divide="ignore", invalid="ignore"):
        log_root = np.log(top) - np.log(bottom)
    return np.where((up > 0) | (down > 0), log_root, 0.0)


def _series(coefficients: np.ndarray, t: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """sum_m coefficients_m t^m and its derivative, by Horner's rule."""
    value = coefficients[-1].copy()
    slope = np.zeros_like(value)
    for coefficient in coefficients[-2::-1]:
        slope *= t
        slope += value
        value *= t
        value += coefficient
    return value, slope


def _over_factorials(moments: np.ndarray) -> np.ndarray:
    factorials = np.cumprod(np.maximum(np.arange(len(moments)), 1.0))
    return np.asarray(moments / factorials[:, None, None])


def _terms_needed(reach: float) -> int:
    """Terms of exp(t) that leave a relative error below the tolerance for |t| <= reach."""
    error = np.exp(2.0 * reach)  # against the smallest value of exp(t)
    terms = 0
    while error > _SERIES_TOLERANCE:
        terms += 1
        error *= reach / terms
    return max(terms, 2)
