"""LDLF with a linear f (sLDLF): soft trees whose leaves hold label distributions.

Shen, Zhao, Guo and Yuille (NIPS 2017).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ldl._parameters import check_parameters
from ldl.base import LDLEstimator, child_seeds, to_simplex
from ldl.metrics import evaluate

if TYPE_CHECKING:
    from ldl.soft_forests._training import Plan


@dataclass(eq=False, repr=False)
class SLDLF(LDLEstimator):
    """``trees`` soft trees of ``depth`` levels, leaves included, above ``units`` linear outputs.

    ``units=None`` are as many as a tree has leaves. Every ``leaf_batches`` batches the leaves take
    ``leaf_repeats`` steps on the queue of batches since (or the last ``queue_batches``), routed by
    the present weights (``queue='recompute'``) or as they were visited ('stale').
    ``schedule='joint'`` moves all trees by the mean of their losses; the other schedules move one
    tree per batch, as in deep neural decision forests, whose trees also have units of their own;
    ``share_units`` says otherwise than that. ``temperature`` weighs the entropy of the routing in
    the loss and cools by its factor with every leaf step (the DRF paper's annealing of splits);
    ``hard_labels`` teaches the highest label alone. ``keep='holdout'`` holds rows out and answers
    with the leaf step that was best on them, stopping after ``patience`` that were not.
    """

    accepts_sparse = True

    trees: int = 5
    depth: int = 7
    units: int | None = 64
    phi_replacement: bool = False
    schedule: str = "joint"
    share_units: bool | None = None
    max_iter: int = 25000
    batch_size: int = 100
    batch_replacement: bool = False
    leaf_batches: int = 100
    leaf_repeats: int = 20
    queue: str = "recompute"
    queue_batches: int | None = None
    optimiser: str = "sgd"
    learning_rate: float = 2.0
    momentum: float = 0.9
    drop_every: int | None = None
    drop_factor: float = 0.5
    temperature: float = 0.0
    temperature_factor: float = 0.9
    hard_labels: bool = False
    init: str = "glorot"
    fit_intercept: bool = True
    standardise: bool = True
    keep: str = "last"
    holdout_share: float = 0.1
    patience: int = 20
    dtype: str = "float32"
    random_state: int | None = None

    # ------------------------------------------------------------------ fitting

    def _fit(self, X: Any, D: np.ndarray) -> None:
        split_seed, seed = child_seeds(self.random_state, 2)
        inside, held = self._split(len(D), split_seed)
        judges = (X[held], D[held]) if len(held) else None
        taught = np.eye(D.shape[1])[D.argmax(axis=1)] if self.hard_labels else D
        self._train(X[inside], taught[inside], seed, judges, self.patience)

    def _train(
        self,
        X: Any,
        D: np.ndarray,
        seed: int,
        judges: tuple[Any, np.ndarray] | None,
        patience: float,
    ) -> None:
        """Fits on X and D; rows and labels of ``judges`` choose the leaf step that answers."""
        from ldl.soft_forests._leaves import DistributionLeaves
        from ldl.soft_forests._linear import DTYPES, one_thread
        from ldl.soft_forests._training import BestOn, LinearForest

        plan = self._checked_plan()
        with one_thread():
            leaves = DistributionLeaves(
                self.trees, 2 ** (self.depth - 1), D.shape[1], DTYPES[self.dtype]
            )
            forest = LinearForest(plan, X, D, leaves, seed)
            best = BestOn(forest, *judges, patience) if judges else None
            iterations = forest.train(best or (lambda iteration: False))
        last = forest.snapshot(iterations)
        self.phi_ = forest.phi
        self.state_ = best.state if best else last
        self.diagnostics_ = {
            "iterations": iterations,
            "answers_with_iteration": self.state_.iteration,
            "leaf_steps": forest.leaf_steps,
            "train_kl": evaluate(D, self._predict(X))["kl"],
            "largest_weight": float(np.abs(self.state_.W).max()),
        }
        if best:
            self.diagnostics_ |= {"judged_kl": best.least, "judged_kl_at_the_end": best.latest}

    def _split(self, n: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
        """Rows that are fitted, and rows that choose the leaf step."""
        count = max(1, round(self.holdout_share * n)) if self.keep == "holdout" else 0
        order = np.random.default_rng(seed).permutation(n)
        return np.sort(order[count:]), np.sort(order[:count])

    # ------------------------------------------------------------------ predicting

    def _predict(self, X: Any) -> np.ndarray:
        from ldl.soft_forests._linear import one_thread
        from ldl.soft_forests._training import predict

        with one_thread():
            return predict(self.phi_, self.state_, self.state_.table, X)

    # ------------------------------------------------------------------ parameters

    def _checked_plan(self) -> Plan:
        from ldl.soft_forests._linear import Steps
        from ldl.soft_forests._training import Plan

        units = 2 ** (self.depth - 1) if self.units is None else self.units
        check_parameters({**self.get_params(), "units": units})
        return Plan(
            trees=self.trees,
            depth=self.depth,
            units=units,
            phi_replacement=self.phi_replacement,
            max_iter=self.max_iter,
            batch_size=self.batch_size,
            batch_replacement=self.batch_replacement,
            leaf_batches=self.leaf_batches,
            leaf_repeats=self.leaf_repeats,
            queue=self.queue,
            queue_batches=self.queue_batches,
            init=self.init,
            intercept=self.fit_intercept,
            standardise=self.standardise,
            steps=Steps(
                self.optimiser,
                self.learning_rate,
                self.momentum,
                self.drop_every,
                self.drop_factor,
            ),
            dtype=self.dtype,
            schedule=self.schedule,
            share_units=self.schedule == "joint" if self.share_units is None else self.share_units,
            temperature=self.temperature,
            temperature_factor=self.temperature_factor,
        )


class SLDLFReleased(SLDLF):
    """sLDLF as the public script runs it, leaks included: a diagnostic, no competitor.

    The script draws rows with replacement before it splits them, so that about six of ten test rows
    also stand in training (``draw_rows``), and reports the iteration that is best on the test rows
    (``best_iteration``). Both need rows and labels of the test, so that all work is done in
    ``predict``: as many training rows as were given are drawn from those and the test rows.
    """

    sees_test_labels = True

    def __init__(
        self,
        draw_rows: bool = True,
        best_iteration: bool = True,
        max_iter: int = 3000,
        batch_size: int = 1000,
        learning_rate: float = 1000.0,
        trees: int = 10,
        depth: int = 5,
        units: int | None = 512,
        random_state: int | None = None,
    ) -> None:
        super().__init__(
            trees=trees,
            depth=depth,
            units=units,
            max_iter=max_iter,
            batch_size=batch_size,
            batch_replacement=True,
            leaf_batches=50,
            queue="stale",
            learning_rate=learning_rate,
            init="xavier_inputs",
            standardise=False,
            random_state=random_state,
        )
        self.draw_rows = draw_rows
        self.best_iteration = best_iteration

    def _fit(self, X: Any, D: np.ndarray) -> None:
        self._checked_plan()
        self.X_, self.D_ = X.copy(), D
        # A ring of as many batches as have the rows of an epoch.
        self.queue_batches = max(1, -(-len(D) // self.batch_size))

    def predict(self, X: Any, D_true: Any = None) -> np.ndarray:
        if D_true is None:
            raise ValueError(
                "SLDLFReleased needs the true labels: call predict(X, D_true). Its YAML must say "
                "sees_test_labels: true"
            )
        D_true = np.asarray(D_true, dtype=np.float64)
        shape = (X.shape[0], self.n_labels_)
        if D_true.shape != shape:
            raise ValueError(f"D_true has shape {D_true.shape}, expected {shape}")
        draw_seed, seed = child_seeds(self.random_state, 2)
        X_drawn, D_drawn = self._drawn(X, D_true, draw_seed)
        judges = (X, D_true) if self.best_iteration else None
        self._train(X_drawn, D_drawn, seed, judges, np.inf)
        return to_simplex(self._predict(X))

    def _drawn(self, X: Any, D: np.ndarray, seed: int) -> tuple[Any, np.ndarray]:
        if not self.draw_rows:
            return self.X_, self.D_
        count = len(self.D_)
        drawn = np.random.default_rng(seed).integers(0, count + len(D), count)
        return _stacked(self.X_, X)[drawn], np.vstack([self.D_, D])[drawn]


def _stacked(above: Any, below: Any) -> Any:
    if hasattr(above, "tocsr"):
        from scipy.sparse import vstack

        return vstack([above, below], format="csr")
    return np.vstack([above, below])
