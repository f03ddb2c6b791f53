"""SA-IIS: the maximum entropy model fitted by improved iterative scaling.

A sweep asks, for every feature k and label j, for the root of

    sum_i D_ij x_ik = sum_i P_ij x_ik exp(delta_kj sign(x_ik) s_i),    s_i = |x_i|_1.

With one s for all rows the root is a closed form. Otherwise exp(delta s_i) is exp(delta s0) times
a Taylor series in delta (s_i - s0), whose coefficients are matrix products: no exponential is taken
per row, feature and label. Roots too far out for the series, which is rare, use the plain sum.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from ldl._parameters import Auto, Count
from ldl._self_tuned import Grid
from ldl._tempered import AUTO
from ldl._weighted import counted
from ldl.base import dense
from ldl.linear._softmax import with_ones
from ldl.linear.maxent import MaximumEntropy

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
    """Maximum entropy model fitted by improved iterative scaling (SA-IIS, IIS-LLD, IIS-LDL).

    The model is that of ``SABFGS``: P = softmax(X W). A sweep moves every weight W_kj by the root
    delta_kj of::

        sum_i D_ij x_ik = sum_i P_ij x_ik exp(delta_kj sign(x_ik) |x_i|_1)

    No sweep lowers the likelihood. After the few sweeps that the papers run, the model is far from
    converged. This regularises strongly, so that ``max_iter`` decides the result. The first weights
    are ones on the main diagonal, as in the toolbox.

    Parameters
    ----------
    max_iter : int or 'auto', default='auto'
        Largest number of sweeps. The StructRF paper has 200, the toolbox's demonstration 10.
        ``'auto'`` chooses from 1 to 50 on held-out rows.
    tol : float, default=0.0001
        Gain of the log likelihood, summed over rows, below which a sweep is the last one.
    fit_intercept : bool, default=True
        Adds a feature of ones, without which features around zero cannot express the mean of the
        labels. The papers have none.

    Attributes
    ----------
    coef_ : ndarray of shape (n_features_in_, n_labels_)
        The weights W.
    intercept_ : ndarray of shape (n_labels_,)
        The intercept; zeros without one.
    n_iter_ : int
        Sweeps done.
    loss_ : float
        Cross entropy after the last sweep, summed over rows.
    diagnostics_ : dict
        Sweeps ("iterations"), the loss and the last gain, why it stopped, and how many roots needed
        plain sums over rows.

    References
    ----------
    X. Geng, "Label distribution learning", IEEE Transactions on Knowledge and Data Engineering
    28(7), 1734-1748, 2016.

    S. Della Pietra, V. Della Pietra and J. Lafferty, "Inducing features of random fields", IEEE
    Transactions on Pattern Analysis and Machine Intelligence 19(4), 380-393, 1997.

    Examples
    --------
    >>> import numpy as np
    >>> from ldl import SAIIS
    >>> rng = np.random.default_rng(0)
    >>> X, D = rng.random((60, 4)), rng.dirichlet(np.ones(3), size=60)
    >>> model = SAIIS(max_iter=10).fit(X[:40], D[:40])
    >>> model.predict(X[40:]).shape
    (20, 3)
    """

    max_iter: Count | Auto = AUTO
    tol: float = 1e-4
    fit_intercept: bool = field(default=True, kw_only=True)

    candidates: ClassVar[Grid] = {"max_iter": (1, 2, 5, 10, 20, 50)}
    tells_steps = True

    def _fit(self, X: Any, D: np.ndarray) -> None:
        q = X.shape[1]
        X = with_ones(X) if self.fit_intercept else X
        W = np.eye(X.shape[1], D.shape[1])
        # Views of the weights, which sweeps change in place.
        self.coef_ = W[:q]
        self.intercept_ = W[q] if self.fit_intercept else np.zeros(D.shape[1])
        weight = self._weight(len(D))
        D = counted(D, weight)
        sweep, predictions = Sweep(X, D), Predictions(X, D, weight)
        P, loss = predictions.of(W)
        stopped = "max_iter"
        iterations = 0
        while iterations < self.max_iter and stopped == "max_iter":
            W += sweep.step(P)
            iterations += 1
            before = loss
            P, loss = predictions.of(W)
            self._tell(iterations)
            if abs(before - loss) < self.tol:
                stopped = "tol"
        self.n_iter_ = iterations
        self.loss_ = loss
        self.diagnostics_ = {
            "iterations": iterations,
            "loss": loss,
            "last_gain": before - loss,
            "stopped": stopped,
            "plain_sums": sweep.plain_sums,
        }


class Predictions:
    """Predictions of the training rows, times how often each counts, in the same memory each time.

    They are kept label by row: maxima, sums and quotients then run along memory instead of across
    short rows.
    """

    def __init__(self, X: Any, D: np.ndarray, weight: np.ndarray | None) -> None:
        self.X = X
        self.D = np.ascontiguousarray(D)
        self.weight = weight
        self._scores = np.empty(D.shape)
        self._P = np.empty(D.shape[::-1])

    def of(self, W: np.ndarray) -> tuple[np.ndarray, float]:
        """Return softmax(X W), label by row, and its summed cross entropy."""
        Z, P = self._scores, self._P
        if hasattr(self.X, "tocsr"):
            Z[:] = self.X @ W
        else:
            np.matmul(self.X, W, out=Z)
        P[:] = Z.T
        largest = P.max(axis=0)
        Z -= largest[:, None]
        fit = float(np.vdot(self.D, Z))
        P -= largest
        np.exp(P, out=P)
        totals = _sums_over_labels(P)
        if self.weight is None:
            P /= totals
            return P, float(np.log(totals).sum()) - fit
        P /= totals / self.weight
        return P, float(np.log(totals) @ self.weight) - fit


def _sums_over_labels(P: np.ndarray) -> np.ndarray:
    """Sum columns in the order in which NumPy sums rows: of up to 128 numbers by eight parts."""
    c = len(P)
    if c < 8:
        return P.sum(axis=0)
    if c > 128:
        return np.ascontiguousarray(P.T).sum(axis=1)
    parts = P[:8].copy()
    rest = c - c % 8
    for label in range(8, rest, 8):
        parts += P[label : label + 8]
    while len(parts) > 1:
        parts = parts[0::2] + parts[1::2]
    totals = parts[0]
    for label in range(rest, c):
        totals += P[label]
    return totals


class Sweep:
    """All equations of a sweep, solved at once."""

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
        powers = np.vander(ratio, _terms_needed(_SERIES_RADIUS), increasing=True)
        self.powers = np.ascontiguousarray(powers.T)
        self._weighted = np.empty((0, *D.T.shape))
        self.factorials = np.cumprod(np.maximum(np.arange(len(self.powers)), 1.0))
        self.order = 2 if self.half_range else 1
        """Terms of the series in the last step; as many moments are summed at once in the next."""
        self.plain_sums = 0
        """Root evaluations that needed the sum over rows."""

    def step(self, P: np.ndarray) -> np.ndarray:
        """Return the root of every equation, features by labels, for P given label by row."""
        above, below = self._moments(P, 0, self.order)
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
        if order > self.order:
            more_above, more_below = self._moments(P, self.order, order)
            above = np.concatenate([above, more_above])
            below = np.concatenate([below, more_below])
        self.order = order
        factorials = self.factorials[:order, None, None]
        sums = _Sums(self, P, above[:order] / factorials, below[:order] / factorials, reach)
        return np.where(endless, at_limit, self._roots(sums, targets, delta))

    def _slope(
        self, up: np.ndarray, down: np.ndarray, up_ratio: np.ndarray, down_ratio: np.ndarray
    ) -> np.ndarray:
        """Return minus g'(delta): the size of the terms times s, summed over rows.

        Made of the sums of the terms and of the terms times the ratio (s_i - centre) / half range.
        """
        return self.centre * (up + down) + self.half_range * (up_ratio + down_ratio)

    def _shift(
        self, targets: np.ndarray, up: np.ndarray, down: np.ndarray, slope: np.ndarray
    ) -> np.ndarray:
        """Solve up e^(delta s) - down e^(-delta s) = target: the root if all rows had the same s.

        This is a quadratic in e^(delta s). With s the mean over rows, weighted by their terms, it
        has the slope of the true equation, so that repeating it is Newton's method in a better
        variable.
        """
        if self.falling is None and targets.min() > 0 and up.min() > 0:  # the quadratic is linear
            return (np.log(2.0 * targets) - np.log(2.0 * up)) / (slope / up)
        both = up + down
        mean_s = np.divide(slope, both, out=np.full_like(slope, self.centre), where=both > 0)
        return _log_root(targets, up, down) / mean_s

    def _roots(self, sums: _Sums, targets: np.ndarray, delta: np.ndarray) -> np.ndarray:
        """Iterate Newton's method for all entries; halve the bracket where a step leaves it."""
        low = np.full_like(delta, self.limits[0])
        high = np.full_like(delta, self.limits[1])
        for _ in range(_MAX_NEWTON):
            up, down, slope = sums.at(delta)
            excess = up - down - targets
            low = np.where(excess < 0, delta, low)
            high = np.where(excess > 0, delta, high)
            following = delta + self._shift(targets, up, down, slope)
            following = np.minimum(np.maximum(following, self.limits[0]), self.limits[1])
            inside = (following >= low) & (following <= high)
            following = np.where(inside, following, 0.5 * (low + high))
            moved = np.abs(following - delta).max()
            delta = following
            if moved * self.centre <= _ROOT_TOLERANCE:
                break
        return delta

    def _moments(self, P: np.ndarray, first: int, last: int) -> tuple[np.ndarray, np.ndarray]:
        """Sum |x_ik| P_ij ratio_i^m over rows with positive and with negative x_ik; m by k by j."""
        c, n = P.shape
        if len(self._weighted) < last - first:
            self._weighted = np.empty((last - first, c, n))
        weighted = self._weighted[: last - first]
        np.multiply(self.powers[first:last, None, :], P, out=weighted)
        weighted = weighted.reshape(-1, n).T

        def gathered(part: Any) -> np.ndarray:
            sums = np.asarray(part.T @ weighted).reshape(-1, last - first, c)
            return np.ascontiguousarray(sums.transpose(1, 0, 2))

        above = gathered(self.rising)
        return above, np.zeros_like(above) if self.falling is None else gathered(self.falling)


@dataclass(frozen=True)
class _Sums:
    """Sums over rows, at any delta, that the equations of one sweep are made of."""

    sweep: Sweep
    P: np.ndarray
    above: np.ndarray
    below: np.ndarray
    reach: float

    def at(self, delta: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return sums over positive and over negative features, and their difference's slope."""
        sweep = self.sweep
        outside = np.abs(delta) * sweep.half_range > self.reach
        some = outside.any()
        near = np.where(outside, 0.0, delta) if some else delta
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
        if some:
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
        """Replace the sums of these entries, which lie too far out for the series."""
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
                columns = dense(columns)
                exponents = np.minimum(sign * delta[k, j] * sweep.s[:, None], _LARGEST_EXPONENT)
                shifted = np.exp(exponents)
                terms = columns * np.ascontiguousarray(self.P[j].T) * shifted
                sums[k, j] = terms.sum(axis=0)
                slope[k, j] += sweep.s @ terms


def _signed_parts(X: Any) -> tuple[Any, Any]:
    """Return the positive part, and the size of the negative part or None if there is none."""
    if hasattr(X, "tocsr"):
        if X.nnz == 0 or X.data.min() >= 0:
            return X, None
        return X.maximum(0).tocsr(), (-X).maximum(0).tocsr()
    return (X, None) if X.min() >= 0 else (np.maximum(X, 0.0), np.maximum(-X, 0.0))


def _log_root(target: np.ndarray, up: np.ndarray, down: np.ndarray) -> np.ndarray:
    """Return ln y with up y - down / y = target and y > 0.

    Infinite where the root is at infinity or at zero; 0 where there are no terms.
    """
    root = np.hypot(target, 2.0 * np.sqrt(up) * np.sqrt(down))
    positive = target > 0
    # The root has two forms: take the one that adds numbers of the same sign.
    top = np.where(positive, target + root, 2.0 * down)
    bottom = np.where(positive, 2.0 * up, root - target)
    with np.errstate(divide="ignore", invalid="ignore"):
        log_root = np.log(top) - np.log(bottom)
    return np.where((up > 0) | (down > 0), log_root, 0.0)


def _series(coefficients: np.ndarray, t: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return sum_m coefficients_m t^m and its derivative, by Horner's rule."""
    slope = coefficients[-1].copy()
    value = slope * t
    value += coefficients[-2]
    for coefficient in coefficients[-3::-1]:
        slope *= t
        slope += value
        value *= t
        value += coefficient
    return value, slope


def _terms_needed(reach: float) -> int:
    """Count the terms of exp(t) that leave a small enough relative error for |t| <= reach."""
    error = np.exp(2.0 * reach)  # against the smallest value of exp(t)
    terms = 0
    while error > _SERIES_TOLERANCE:
        terms += 1
        error *= reach / terms
    return max(terms, 2)
