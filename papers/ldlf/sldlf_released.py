"""sLDLF as its public script runs it, leaks included: a diagnosis, and no competitor."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ldl.base import child_seeds
from ldl.soft_forests.ldlf import SLDLF
from ldlrepro.train.told import Told


@dataclass(eq=False, repr=False)
class SLDLFReleased(Told):
    """sLDLF as the script published with Shen et al., NIPS 2017, runs it.

    The script draws rows with replacement before it splits them, so that about six of ten test rows
    also stand in training (``draw_rows``), and it reports the iteration that is best on the test
    rows (``best_iteration``). Both need the rows and labels of the test, so ``fit`` only stores its
    data, and ``predict`` trains: on as many rows as ``fit`` was given, drawn from these and the
    test rows together.

    The trees are those of ``ldl.SLDLF``, with the script's settings: mini-batches are drawn with
    replacement; a leaf step follows every 50 of them and takes the routing of the visits, from as
    many of the latest batches as hold the rows of an epoch; features are not standardised. The
    learning rate is on the mean of the trees' losses: the script's 100 on their sum, times ten
    trees.
    """

    accepts_sparse = True

    draw_rows: bool = True
    best_iteration: bool = True
    max_iter: int = 3000
    batch_size: int = 1000
    learning_rate: float = 1000.0
    n_estimators: int = 10
    depth: int = 5
    units: int | None = 512
    random_state: int | None = None

    def _fit(self, X: Any, D: np.ndarray) -> None:
        self._forest()._check_parameters()
        self.X_, self.D_ = X.copy(), D

    def _predict(self, X: Any) -> np.ndarray:
        """Train as the script does, with the test rows at hand, and predict these."""
        D_true = self._truth(X)
        draw_seed, seed = child_seeds(self.random_state, 2)
        X_drawn, D_drawn = self._drawn(X, D_true, draw_seed)
        judges = (X, D_true) if self.best_iteration else None
        # A ring of as many batches as hold the rows of an epoch.
        self.forest_ = self._forest(queue_batches=max(1, -(-len(self.D_) // self.batch_size)))
        self.forest_._train(X_drawn, D_drawn, seed, judges, np.inf)
        self.diagnostics_ = self.forest_.diagnostics_
        return self.forest_._predict(X)

    def _forest(self, queue_batches: int | None = None) -> SLDLF:
        """Return a forest with the script's settings."""
        return SLDLF(
            n_estimators=self.n_estimators,
            depth=self.depth,
            units=self.units,
            max_iter=self.max_iter,
            batch_size=self.batch_size,
            batch_replacement=True,
            leaf_batches=50,
            queue="stale",
            queue_batches=queue_batches,
            learning_rate=self.learning_rate,
            init="xavier_inputs",
            standardise=False,
            random_state=self.random_state,
        )

    def _drawn(self, X: Any, D: np.ndarray, seed: int) -> tuple[Any, np.ndarray]:
        """Return the rows to train on: as given, or drawn from these and the test rows."""
        if not self.draw_rows:
            return self.X_, self.D_
        count = len(self.D_)
        drawn = np.random.default_rng(seed).integers(0, count + len(D), count)
        return _stacked(self.X_, X)[drawn], np.vstack([self.D_, D])[drawn]


def _stacked(above: Any, below: Any) -> Any:
    """Return dense or sparse rows, one block below the other."""
    if hasattr(above, "tocsr"):
        from scipy.sparse import vstack

        return vstack([above, below], format="csr")
    return np.vstack([above, below])
