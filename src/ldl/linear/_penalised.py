"""Base of the softmax models with losses of their own: LDL-HR, LDL-LDM and LDLCL."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ldl._scale import Scale
from ldl.linear._bfgs import Patience, minimise_lbfgs
from ldl.linear._softmax import SoftmaxObjective
from ldl.linear.maxent import MaximumEntropy

_GRADIENT_TOLERANCE = 1e-6


@dataclass(eq=False, repr=False, kw_only=True)
class PenalisedModel(MaximumEntropy):
    """Base of the models softmax([X 1] W) that L-BFGS fits under a ridge penalty.

    The intercept belongs to a column of ones in X and is penalised like any other weight, as in the
    releases of LDL-HR and LDL-LDM.

    Parameters
    ----------
    max_iter : int, default=300
        Largest number of iterations of L-BFGS.
    tol : float, default=2.22e-9
        Relative decrease of the loss below which an iteration is the last one.
    """

    max_iter: int = 300
    tol: float = 2.22e-9

    def _start(self, features: int, labels: int) -> np.ndarray:
        """Return the first weights."""
        return np.zeros((features, labels))

    def _minimise(
        self,
        objective: SoftmaxObjective,
        pairs: int = 10,
        patience: Patience | None = None,
        scale: Scale | None = None,
    ) -> None:
        """Minimise as the releases do: gradient 1e-6, relative decrease ``tol``.

        ``scale`` is that of the objective's features where these are standardised.
        """
        start = self._start(objective.X.shape[1], len(objective.D))
        found = minimise_lbfgs(
            objective,
            start.T.ravel(),
            self.max_iter,
            _GRADIENT_TOLERANCE,
            self.tol,
            pairs,
            patience,
        )
        self._keep(found, scale)
