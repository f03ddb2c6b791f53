"""Ordinary random forests: the single-label reading of the StructRF paper, and regression."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ldl.base import LDLEstimator, child_seeds


@dataclass(eq=False, repr=False)
class _Forest(LDLEstimator):
    """scikit-learn's trees with a table of leaf distributions for each.

    Trees are summed in their own order. scikit-learn's forests add them up in the order in which
    threads finish, which changes the last bits from run to run.
    """

    accepts_sparse = True

    trees: int = 50
    max_depth: int | None = 20
    max_samples: float = 0.8
    min_split: int = 5
    max_features: str | int | float | None = None
    random_state: int | None = None
    n_jobs: int = 1

    def _grow(self, forest_class: type, X: Any, target: np.ndarray, criterion: str) -> Any:
        forest = forest_class(
            n_estimators=self.trees,
            criterion=criterion,
            max_depth=self.max_depth,
            min_samples_split=self.min_split,
            max_features=self.max_features,
            bootstrap=True,
            max_samples=max(1, round(self.max_samples * X.shape[0])),
            # Without a number scikit-learn would take numpy's global generator.
            random_state=child_seeds(self.random_state, 1)[0],
            n_jobs=self.n_jobs,
        )
        forest.fit(_single_precision(X, "csc"), target)
        self.estimators_ = [tree.tree_ for tree in forest.estimators_]
        self.diagnostics_ = {
            "leaves": float(np.mean([tree.n_leaves for tree in self.estimators_])),
            "deepest": int(max(tree.max_depth for tree in self.estimators_)),
        }
        return forest

    def _predict(self, X: Any) -> np.ndarray:
        X = _single_precision(X, "csr")
        total = np.zeros((X.shape[0], len(self.columns_)))
        for tree, leaves in zip(self.estimators_, self.leaves_, strict=True):
            total += leaves[tree.apply(X)]
        P = np.zeros((X.shape[0], self.n_labels_))
        P[:, self.columns_] = total / self.trees
        return P


@dataclass(eq=False, repr=False)
class RFClassReading(_Forest):
    """RF of the StructRF paper: each row has the class of its highest degree (ties: the first).

    A leaf holds class frequencies, after ``leaf_smoothing`` imaginary rows spread evenly over all
    labels. A label that is never highest gets 0 unless leaves are smoothed.
    """

    leaf_smoothing: float = 0.0

    def _fit(self, X: Any, D: np.ndarray) -> None:
        from sklearn.ensemble import RandomForestClassifier

        if not self.leaf_smoothing >= 0:
            raise ValueError(f"leaf_smoothing must not be negative, got {self.leaf_smoothing}")
        forest = self._grow(RandomForestClassifier, X, D.argmax(axis=1), "entropy")
        self.columns_ = np.arange(D.shape[1])
        self.leaves_ = [self._frequencies(tree, forest.classes_) for tree in self.estimators_]
        self.diagnostics_["labels_never_highest"] = D.shape[1] - len(forest.classes_)

    def _frequencies(self, tree: Any, classes: np.ndarray) -> np.ndarray:
        rows = tree.weighted_n_node_samples[:, None]
        counts = np.zeros((tree.node_count, self.n_labels_))
        counts[:, classes] = tree.value[:, 0, :] * rows
        counts += self.leaf_smoothing / self.n_labels_
        return counts / (rows + self.leaf_smoothing)


@dataclass(eq=False, repr=False)
class RFRegression(_Forest):
    """A regression forest with the whole distribution as its target; leaves hold its mean.

    ``criterion='poisson'`` splits by the Kullback-Leibler divergence to the node's mean.
    """

    criterion: str = "squared_error"

    def _fit(self, X: Any, D: np.ndarray) -> None:
        from sklearn.ensemble import RandomForestRegressor

        # With 'poisson' a label that is 0 in every row would forbid every split.
        self.columns_ = np.flatnonzero(D.any(axis=0))
        target = D[:, self.columns_]
        if len(self.columns_) == 1:
            target = target.ravel()
        self._grow(RandomForestRegressor, X, target, self.criterion)
        self.leaves_ = [tree.value[:, :, 0] for tree in self.estimators_]


def _single_precision(X: Any, layout: str) -> Any:
    """What scikit-learn's trees read; compressed data stay compressed, with short indices."""
    if not hasattr(X, "tocsr"):
        return np.ascontiguousarray(X, dtype=np.float32)
    X = X.astype(np.float32).asformat(layout)
    X.indices, X.indptr = X.indices.astype(np.int32), X.indptr.astype(np.int32)
    return X
