"""Predictions that hold a share of the mean distribution, and the choice of that share."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np

from ldl._holdouts import first_best
from ldl._parameters import Auto, Interval
from ldl.base import Weighted

AUTO = "auto"
Held = tuple[np.ndarray, np.ndarray, np.ndarray]
"""Distributions of held-out rows, their predictions, and the mean of the rows that were fitted."""
SHARES = (0.001, 0.003, 0.01, 0.03, *np.round(np.arange(0.1, 1.01, 0.1), 1))
_ERRORS = 2
"""Standard errors of its gain over the mean that a method must exceed to have any say."""
_LOWEST = float(np.finfo(np.float64).eps)


@dataclass(eq=False, repr=False, kw_only=True)
class Tempered(Weighted):
    """Base of methods whose predictions hold a share of the training rows' mean distribution.

    Parameters
    ----------
    mean_share : float, 'auto' or None, default='auto'
        Share of the training rows' mean distribution in every prediction, from 0 to 1. It keeps
        degrees above zero, for which the divergence is infinite, and tempers a method that learns
        little. ``'auto'`` chooses on held-out rows: the less certain the method's gain over the
        mean is, the larger the share, and 1 where two standard errors exceed the gain. None, as in
        the papers, mixes nothing in.

    Attributes
    ----------
    auto_ : dict
        Values that the fit chose for parameters which are ``'auto'``.
    mean_ : ndarray of shape (n_labels_,)
        Mean distribution of the training rows. Labels that none of them has share half a row.
    """

    mean_share: Annotated[float, Interval(0, 1)] | Auto | None = AUTO

    def _learn(self, X: Any, D: np.ndarray) -> None:
        X, D = self._rows_that_count(X, D)
        self.mean_ = mean_distribution(D, self._weight(len(D)))
        self.auto_: dict[str, Any] = {}
        self._fit(X, D)

    def predict(self, X: Any) -> np.ndarray:
        """Predict label distributions.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (rows, features)
            Features, in the order that ``fit`` saw.

        Returns
        -------
        ndarray of shape (rows, labels)
            A distribution for each row: not negative, with sum 1.
        """
        P = super().predict(X)
        share = self._setting("mean_share")
        return P if share is None else mixed(P, self.mean_, share)

    def _setting(self, name: str) -> Any:
        """Return the value of a parameter, the one that the fit chose where it is 'auto'."""
        return self.auto_.get(name, getattr(self, name))


def mean_distribution(D: np.ndarray, weight: np.ndarray | None = None) -> np.ndarray:
    """Return the mean distribution, in which labels that no row has share half a row."""
    mean = np.asarray(np.average(D, axis=0, weights=weight))
    absent = mean == 0
    if absent.any():
        mean[absent] = 0.5 / (len(D) * absent.sum())
        mean /= mean.sum()
    return mean


def mixed(P: np.ndarray, mean: np.ndarray, share: float | None) -> np.ndarray:
    """Return distributions with a share of the mean in each."""
    return P if share is None else (1.0 - share) * P + share * mean


def losses(held: Sequence[Held], shares: Sequence[float | None]) -> np.ndarray:
    """Return the mean divergence of held-out rows by each share, but for a constant."""
    found = []
    for D, P, mean in held:
        mixtures = np.stack([mixed(P, mean, share) for share in shares])
        found.append(_entropies(D, mixtures).mean(axis=1))
    return np.mean(found, axis=0)


def best_share(held: Sequence[Held]) -> float:
    """Return the share of the mean in predictions that has the least divergence."""
    shares = (0.0, *SHARES)
    return float(shares[first_best(losses(held, shares), lower_is_better=True)])


def settled_share(held: Sequence[Held], share: float) -> float:
    """Return a larger share, the more so the less certain its gain over the mean is.

    The rest is multiplied by 1 - (2 s / g)^2, where s is the standard error of the gain g. That is
    the positive part of a James-Stein estimator: 0 from two standard errors on.
    """
    gain = np.concatenate(
        [_entropies(D, mean) - _entropies(D, mixed(P, mean, share)) for D, P, mean in held]
    )
    noise = _ERRORS * gain.std() / np.sqrt(len(gain))
    if gain.mean() <= noise:
        return 1.0
    return float(1.0 - (1.0 - share) * (1.0 - (noise / gain.mean()) ** 2))


def _entropies(D: np.ndarray, P: np.ndarray) -> np.ndarray:
    """Return the cross entropy of each row, which is its divergence but for a constant."""
    return -(D * np.log(np.maximum(P, _LOWEST))).sum(axis=-1)
