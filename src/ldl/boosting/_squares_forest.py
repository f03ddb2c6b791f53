"""Boosting by squared error on bins that xgboost has made; what xgboost would learn, sooner."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ldl.boosting._squares import Room, Tree, grow
from ldl.forests._prediction import Forest, add_predictions


class SquaresForest:
    """``edges`` of a feature are the upper ends of its bins, in single precision as in xgboost."""

    def __init__(self, edges: Sequence[np.ndarray], start: float) -> None:
        self.edges = edges
        self.start = np.float32(start)

    def fit(
        self, X: np.ndarray, D: np.ndarray, rounds: int, max_depth: int, learning_rate: float
    ) -> SquaresForest:
        slots = self._slots(X)
        room = _room(slots, max(map(len, self.edges)))
        Y = np.ascontiguousarray(D.T, dtype=np.float32)
        outputs = np.full_like(Y, self.start)
        trees: list[list[Tree]] = [[] for _ in Y]
        for _ in range(rounds):
            gradients = (outputs - Y).astype(np.float64)
            for label, of_label in enumerate(trees):
                of_label.append(
                    grow(
                        slots,
                        gradients[label],
                        max_depth,
                        np.float32(learning_rate),
                        room,
                        outputs[label],
                    )
                )
        self.labels_ = [self._joined(of_label) for of_label in trees]
        return self

    def predict(self, X: np.ndarray) -> np.ndarray:
        X = np.ascontiguousarray(X, dtype=np.float32)
        P = np.empty((len(X), len(self.labels_)), np.float32)
        for label, (nodes, threshold, roots, leaves) in enumerate(self.labels_):
            total = np.full((len(X), 1), self.start)
            add_predictions(X, nodes, threshold, roots, leaves, total)
            P[:, label] = total[:, 0]
        return P

    def _slots(self, X: np.ndarray) -> np.ndarray:
        X = X.astype(np.float32)
        features, most = X.shape[1], max(map(len, self.edges))
        slots = np.empty(X.shape, np.uint16 if most * features <= 2**16 else np.uint32)
        for f, edges in enumerate(self.edges):
            bins = np.minimum(np.searchsorted(edges, X[:, f], side="right"), len(edges) - 1)
            slots[:, f] = bins * features + f
        return slots

    def _joined(
        self, trees: Sequence[Tree]
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """All trees of a label as ``add_predictions`` takes them."""
        nodes = np.concatenate([tree.nodes for tree in trees])
        roots = np.cumsum([0, *(len(tree.nodes) for tree in trees)])
        leaf_starts = np.cumsum([0, *(len(tree.leaves) for tree in trees)])
        tree_of = np.repeat(np.arange(len(trees)), np.diff(roots))
        split = nodes[:, 0] >= 0
        nodes[:, 1] += np.where(split, roots[tree_of], leaf_starts[tree_of])
        bins = np.concatenate([tree.slot for tree in trees]) // len(self.edges)
        starts = np.cumsum([0, *map(len, self.edges)])
        edges = np.concatenate(self.edges)[np.where(split, starts[nodes[:, 0]] + bins, 0)]
        # Rows below the edge go to the left; `add_predictions` sends rows up to a value there.
        threshold = np.nextafter(edges, np.float32(-np.inf))
        return nodes, threshold, roots[:-1], np.concatenate([tree.leaves for tree in trees])


def _room(slots: np.ndarray, bins: int) -> Room:
    rows, features = slots.shape
    histograms = int(np.log2(rows)) + 2
    return Room(
        sums=np.empty((histograms, bins * features)),
        counts=np.empty((histograms, bins * features), np.float32),
        all_counts=np.bincount(slots.ravel(), minlength=bins * features).astype(np.float32),
        left=np.empty(features),
        below=np.empty(features, np.float32),
        highest=np.empty(features, np.float32),
        rows=np.empty(rows, np.int64),
        spare=np.empty(rows, np.int64),
    )
