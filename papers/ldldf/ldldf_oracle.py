"""LDLDF whose new rows reuse by their true labels: a diagnosis with a leak, and no competitor."""

from __future__ import annotations

from typing import Any

import numpy as np

from ldl.cascade._reuse import Choice, Reuse
from ldl.cascade.ldldf import LDLDF, NewRows
from ldlrepro.train.told import Told


class LDLDFOracle(Told, LDLDF):
    """LDLDF, with its parameters, that is told the labels of the rows it predicts.

    Reuse compares outputs with the true labels. LDLDF does so on training rows only; here held-out
    and test rows do it as well.
    """

    def _new_rows(self, X: Any, D: np.ndarray | None = None) -> NewRows:
        return ToldRows(X, self._truth(X) if D is None else D, self._reuse())


class ToldRows(NewRows):
    """New rows with their true labels."""

    def __init__(self, X: Any, D: np.ndarray, reuse: Reuse) -> None:
        super().__init__(X)
        self.D, self.reuse = D, reuse

    def taken(self, C: np.ndarray, choice: Choice | None) -> np.ndarray:
        return self.reuse.nearer(C, self.C, self.D)
