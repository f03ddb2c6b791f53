"""Base of estimators that choose values themselves and whose rows may count differently."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from ldl._self_tuned import Candidate, SelfTuned
from ldl.base import Weighted


@dataclass(eq=False, repr=False, kw_only=True)
class WeightedSelfTuned(Weighted, SelfTuned):
    """Base of estimators with weights of rows and values that held-out rows choose.

    The fit and the mean distribution heed the weights. Values that are ``'auto'`` are chosen on
    held-out rows that all count alike.
    """

    def _learn(self, X: Any, D: np.ndarray) -> None:
        weight = self._weight(len(D))
        super()._learn(X, D)
        self.mean_ = np.average(D, axis=0, weights=weight)

    def _copy(self, settled: Candidate) -> Self:
        made = super()._copy(settled)
        made._sample_weight = self._sample_weight
        return made

    def _weight(self, rows: int) -> np.ndarray | None:
        """Return the checked weight of each row; None where all count alike, as in a trial."""
        trial = "renormalised_" not in vars(self) and np.shape(self._sample_weight) != (rows,)
        return None if trial else super()._weight(rows)
