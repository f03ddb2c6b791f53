"""IIS-ALDL: a maximum entropy model that adapts the width of the labels to each age.

Geng, Wang and Xia, Facial age estimation by adaptive label distribution learning (ICPR 2014).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ldl.base import LDLEstimator
from ldl.linear.iis import SAIIS
from ldl.linear.maxent import SABFGS, MaximumEntropy, softmax_rows

_INNER = {"bfgs": SABFGS, "iis": SAIIS}
_WIDTHS = (0.5, 10.0)
"""Between these, in labels, a width is searched."""
_SEARCH_TOLERANCE = 1e-6


@dataclass(eq=False, repr=False)
class ALDL(LDLEstimator):
    """Labels are normal densities about the number of the highest label, a width for each number.

    Of the given distributions only the highest label counts. A round fits the ``inner`` model to
    labels of the present widths, looks at the training rows whose error is below the mean error,
    and gives each number the width whose density is nearest to their predictions. It ends with
    ``rounds``, or where the training error gains less than ``least_gain``; the round that gained
    too little is thrown away.
    """

    accepts_sparse = True

    inner: str = "bfgs"
    max_iter: int = 50
    first_width: float = 3.0
    rounds: int = 10
    least_gain: float = 1e-3

    def _fit(self, X: Any, D: np.ndarray) -> None:
        self._check_parameters()
        y, widths = D.argmax(axis=1), np.full(D.shape[1], self.first_width)
        maes: list[float] = []
        for _ in range(self.rounds):
            model = _INNER[self.inner](max_iter=self.max_iter)
            model.fit(X, densities(y, widths[y], D.shape[1]))
            P = model.predict(X)
            errors = np.abs(P.argmax(axis=1) - y)
            maes.append(float(errors.mean()))
            if len(maes) > 1 and maes[-2] - maes[-1] < self.least_gain:
                break
            self.model_: MaximumEntropy = model
            self.widths_ = widths
            near = errors < maes[-1]
            widths = nearest_widths(P[near], y[near], widths)
        self.maes_ = np.array(maes)
        """Training error in labels of every round, the last one's included."""
        used = self.widths_[np.unique(y)]
        self.diagnostics_ = {
            "rounds": len(maes),
            "train_mae_at_first": maes[0],
            "train_mae": float(min(maes)),
            "least_width": float(used.min()),
            "mean_width": float(used.mean()),
            "largest_width": float(used.max()),
        }

    def _predict(self, X: Any) -> np.ndarray:
        return self.model_._predict(X)

    def _check_parameters(self) -> None:
        if self.inner not in _INNER:
            raise ValueError(f"inner must be one of {', '.join(_INNER)}, got {self.inner!r}")
        for name in ("max_iter", "rounds"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} must be at least 1, got {getattr(self, name)}")
        if not self.first_width > 0:
            raise ValueError(f"first_width must be positive, got {self.first_width}")
        if not self.least_gain >= 0:
            raise ValueError(f"least_gain must not be negative, got {self.least_gain}")


def densities(centres: np.ndarray, widths: np.ndarray, labels: int) -> np.ndarray:
    """A normal density at every label, for each centre and its width; rows sum to one."""
    distances = np.arange(labels) - centres[:, None]
    return softmax_rows(-(distances**2) / (2.0 * widths[:, None] ** 2))


def nearest_widths(P: np.ndarray, y: np.ndarray, widths: np.ndarray) -> np.ndarray:
    """For each number the width whose density has the least KL to the predictions of its rows.

    A number without rows keeps its width.
    """
    from scipy.optimize import minimize_scalar
    from scipy.special import xlogy

    found = widths.copy()
    logs = np.log(np.maximum(P, np.finfo(np.float64).tiny))
    for number in np.unique(y):
        # The sum of the KL over rows is the rows' count times that to their mean logarithm.
        mean_logs = logs[y == number].mean(axis=0)

        def divergence(width: float, number: int = number, target: np.ndarray = mean_logs) -> float:
            G = densities(np.array([number]), np.array([width]), len(widths))[0]
            return float(xlogy(G, G).sum() - G @ target)

        found[number] = minimize_scalar(
            divergence, bounds=_WIDTHS, method="bounded", options={"xatol": _SEARCH_TOLERANCE}
        ).x
    return found
