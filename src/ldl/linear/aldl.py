"""IIS-ALDL: a maximum entropy model that adapts the width of the labels to each age."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Literal

import numpy as np

from ldl._parameters import Count, NotNegative, Positive
from ldl._self_tuned import SelfTuned
from ldl.linear._softmax import softmax_rows
from ldl.linear.iis import SAIIS
from ldl.linear.maxent import SABFGS, MaximumEntropy

_INNER: dict[str, Callable[..., MaximumEntropy]] = {
    "bfgs": partial(
        SABFGS,
        standardise=False,
        alpha=0.0,
        init="identity",
        pairs=20,
        tol=0.0,
        mean_share=None,
    ),
    "iis": partial(SAIIS, standardise=False, mean_share=None),
}
"""Nothing but ``max_iter`` keeps them from learning the training rows by heart."""
_WIDTHS = (0.5, 10.0)
"""Bounds of the search for a width, in labels."""
_SEARCH_TOLERANCE = 1e-6


@dataclass(eq=False, repr=False)
class ALDL(SelfTuned):
    """Maximum entropy model whose labels have a width of their own at each age (IIS-ALDL).

    For ordered labels, such as ages. Of the given distributions only the highest label counts: the
    model learns a normal density about it. A round fits the inner model to densities of the present
    widths, looks at the training rows whose error is below the mean error, and gives each label
    the width whose density is nearest to their predictions in Kullback-Leibler divergence. The
    widths are searched between 0.5 and 10 labels. Where labels have no order, it is hardly better
    than the training mean. This is our reading; the text of the paper was not at hand.

    Parameters
    ----------
    inner : {'bfgs', 'iis'}, default='bfgs'
        Inner model: ``SABFGS`` without a penalty, or ``SAIIS``, which gave
        the method its name and takes longer.
    max_iter : int, default=50
        Iterations or sweeps of the inner model in every round. With many of them it learns the
        training rows by heart, and the widths shrink.
    first_width : float, default=3.0
        Standard deviation of all densities in the first round, in labels.
    rounds : int, default=10
        Largest number of rounds. With 1 the widths are not adapted.
    tol : float, default=0.001
        Decrease of the mean absolute training error, in labels, that a round has to bring. A round
        that brings less is thrown away and ends the fit.
    fit_intercept : bool, default=True
        Gives the inner model an intercept, without which features around zero cannot express the
        mean of the labels.

    Attributes
    ----------
    model_ : SABFGS or SAIIS
        Inner model of the round that was kept last.
    widths_ : ndarray of shape (n_labels_,)
        Widths of the densities that this model was fitted to, one a label.
    maes_ : ndarray of shape (rounds done,)
        Mean absolute training error of every round, in labels, also of one thrown away.
    diagnostics_ : dict
        Rounds, training error at first and at best, and the widths of the labels that occur.

    References
    ----------
    X. Geng, Q. Wang and Y. Xia, "Facial age estimation by adaptive label distribution learning",
    International Conference on Pattern Recognition, 2014.

    Examples
    --------
    >>> import numpy as np
    >>> from ldl import ALDL
    >>> rng = np.random.default_rng(0)
    >>> ages = rng.integers(8, size=60)
    >>> X = np.column_stack([ages / 8, np.ones(60)])
    >>> D = 0.2 / 8 + 0.8 * np.eye(8)[ages]
    >>> model = ALDL(max_iter=20, rounds=3).fit(X, D)
    >>> model.predict(X).shape, model.widths_.shape
    ((60, 8), (8,))
    """

    accepts_sparse = True

    inner: Literal["bfgs", "iis"] = "bfgs"
    max_iter: Count = 50
    first_width: Positive = 3.0
    rounds: Count = 10
    tol: NotNegative = 1e-3
    fit_intercept: bool = field(default=True, kw_only=True)

    def _fit(self, X: Any, D: np.ndarray) -> None:
        y, widths = D.argmax(axis=1), np.full(D.shape[1], self.first_width)
        weight = self._weight(len(D))
        maes: list[float] = []
        for _ in range(self.rounds):
            model = _INNER[self.inner](max_iter=self.max_iter, fit_intercept=self.fit_intercept)
            model.fit(X, densities(y, widths[y], D.shape[1]), weight)
            P = model.predict(X)
            errors = np.abs(P.argmax(axis=1) - y)
            maes.append(float(np.average(errors, weights=weight)))
            if len(maes) > 1 and maes[-2] - maes[-1] < self.tol:
                break
            self.model_: MaximumEntropy = model
            self.widths_ = widths
            near = errors < maes[-1]
            of_near = None if weight is None else weight[near]
            widths = nearest_widths(P[near], y[near], widths, of_near)
        self.maes_ = np.array(maes)
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


def densities(centres: np.ndarray, widths: np.ndarray, labels: int) -> np.ndarray:
    """Return normal densities at all labels, a row for each centre and width; rows sum to one."""
    distances = np.arange(labels) - centres[:, None]
    return softmax_rows(-(distances**2) / (2.0 * widths[:, None] ** 2))


def nearest_widths(
    P: np.ndarray, y: np.ndarray, widths: np.ndarray, weight: np.ndarray | None = None
) -> np.ndarray:
    """Find for every label the width whose density diverges least from its rows' predictions.

    A label without rows keeps its width.
    """
    from scipy.optimize import minimize_scalar
    from scipy.special import xlogy

    found = widths.copy()
    logs = np.log(np.maximum(P, np.finfo(np.float64).tiny))
    for label in np.unique(y):
        # The sum of the KL over rows is the rows' count times that to their mean logarithm.
        of_label = None if weight is None else weight[y == label]
        mean_logs = np.average(logs[y == label], axis=0, weights=of_label)

        def divergence(width: float, label: int = label, target: np.ndarray = mean_logs) -> float:
            G = densities(np.array([label]), np.array([width]), len(widths))[0]
            return float(xlogy(G, G).sum() - G @ target)

        found[label] = minimize_scalar(
            divergence, bounds=_WIDTHS, method="bounded", options={"xatol": _SEARCH_TOLERANCE}
        ).x
    return found
