"""StructRF: forests whose nodes cluster label distributions in two and split by that clustering.

Also RF*: trees that split by the class of the highest degree, with StructRF*'s adaptive step.
"""

from __future__ import annotations

import math
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ldl.base import LDLEstimator, child_seeds

if TYPE_CHECKING:
    from ldl.forests._types import Rules, Step, Tree

_STARTS = ("pca_sign", "random", "farthest_pair")
_ROUNDINGS = ("floor", "round", "ceil")
_UNLIMITED = 2**31
_BLOCK_ROWS = 512  # which stay in the cache while all trees look at them


@dataclass(eq=False, repr=False)
class _SplitForest(LDLEstimator):
    """Trees grown in compiled code, each from a seed of its own, and added up in their order."""

    accepts_sparse = True

    trees: int = 50
    max_depth: int | None = 20
    max_samples: float = 0.8
    replace: bool = True
    min_split: int = 5
    max_features: str | int | float | None = None
    subset_per: str = "node"
    root_depth: int = 1
    step: str = "exhaustive"
    alpha: float = 0.25
    beta: float = 8.0
    step_rows: str = "node"
    gmax_scope: str = "node"
    gmax_start: str = "small_step"
    rounding: str = "floor"
    step_position: str = "row"
    feature_start: str = "first"
    random_state: int | None = None
    n_jobs: int = 1

    def _rules(self, subset: int, classes: int) -> Rules:
        raise NotImplementedError

    def _grow(self, X: Any, D: np.ndarray, label: np.ndarray, classes: int) -> None:
        # numba and the compiled code load here, so that other methods start without them.
        from ldl.forests import _growth as _tree_growth
        from ldl.forests._columns import make_columns

        n, q = X.shape
        drawn = max(1, round(self.max_samples * n))
        self._check(n, drawn)
        columns = make_columns(X, drawn)
        subset = _subset_size(self.max_features, q)
        rules = self._rules(subset if self.subset_per == "node" and subset < q else 0, classes)
        step = self.step_rule()
        curve = self.step_curve()
        table = np.arange(drawn + 1, dtype=np.float64)
        table[1:] *= np.log(table[1:])

        def grow(seed: int) -> Tree:
            generator = np.random.default_rng(seed)
            chosen = generator.choice(n, size=drawn, replace=self.replace)
            weight = np.bincount(chosen, minlength=n)
            active = np.arange(q)
            if self.subset_per == "tree":
                active = np.sort(generator.choice(q, size=subset, replace=False))
            inner = int(generator.integers(2**63))
            return _tree_growth.grow(
                columns, D, label, weight, active, rules, step, curve, table, np.uint64(inner)
            )

        seeds = child_seeds(self.random_state, self.trees)
        if self.n_jobs == 1:
            self.trees_ = [grow(seed) for seed in seeds]
        else:
            with ThreadPoolExecutor(self.n_jobs) as pool:
                self.trees_ = list(pool.map(grow, seeds))
        self._join()
        self.diagnostics_ = {
            "leaves": float(np.mean([len(tree.leaves) for tree in self.trees_])),
            "deepest": max(int(tree.deepest) for tree in self.trees_),
            "gain_evaluations": sum(int(tree.tried.sum()) for tree in self.trees_),
        }

    def _join(self) -> None:
        """The trees' nodes one after the other, for the prediction."""
        nodes = np.cumsum([0] + [len(tree.feature) for tree in self.trees_])
        leaves = np.cumsum([0] + [len(tree.leaves) for tree in self.trees_])
        self.roots_ = nodes[:-1]
        feature = np.concatenate([tree.feature for tree in self.trees_])
        self.threshold_ = np.concatenate([tree.threshold for tree in self.trees_])
        child = np.concatenate(
            [
                tree.child + np.where(tree.feature < 0, first_leaf, first_node)
                for tree, first_node, first_leaf in zip(
                    self.trees_, nodes[:-1], leaves[:-1], strict=True
                )
            ]
        )
        # Side by side, for a prediction looks at both.
        self.nodes_ = np.column_stack([feature, child]).astype(np.int32)
        self.leaves_ = np.concatenate([self._leaf_values(tree) for tree in self.trees_])

    def _leaf_values(self, tree: Tree) -> np.ndarray:
        return tree.leaves

    def _predict(self, X: Any) -> np.ndarray:
        from ldl.forests._growth import add_predictions

        total = np.zeros((X.shape[0], self.n_labels_))
        forest = (self.nodes_, self.threshold_, self.roots_, self.leaves_)
        for start in range(0, X.shape[0], _BLOCK_ROWS):
            rows = slice(start, start + _BLOCK_ROWS)
            part = X[rows].toarray() if hasattr(X, "tocsr") else X[rows]
            add_predictions(part, *forest, total[rows])
        return total / self.trees

    def step_rule(self) -> Step:
        from ldl.forests._types import Step

        return Step(
            adaptive=self.step == "adaptive",
            alpha=float(self.alpha),
            beta=float(self.beta),
            of_tree=self.step_rows == "tree",
            per_feature=self.gmax_scope == "feature",
            first_ratio=1.0 if self.gmax_start == "small_step" else 0.0,
            rounding=_ROUNDINGS.index(self.rounding),
            by_midpoint=self.step_position == "midpoint",
            carry=self.feature_start == "carry",
        )

    def step_curve(self) -> np.ndarray:
        """Steps as a share of the rows, by the ratio of a gain to the greatest."""
        from ldl.forests._types import STEP_BINS

        ratios = np.linspace(0.0, 1.0, STEP_BINS + 1)
        curve = self.alpha / (1.0 + np.exp(self.beta * (ratios - 0.5)))
        return np.append(curve, curve[-1])  # the bin of a ratio of one is a point

    def _check(self, n: int, drawn: int) -> None:
        allowed = {
            "subset_per": ("node", "tree"),
            "step": ("exhaustive", "adaptive"),
            "step_rows": ("node", "tree"),
            "gmax_scope": ("node", "feature"),
            "gmax_start": ("small_step", "large_step"),
            "rounding": _ROUNDINGS,
            "step_position": ("row", "midpoint"),
            "feature_start": ("first", "carry"),
        }
        for name, values in allowed.items():
            _check_word(name, getattr(self, name), values)
        if self.trees < 1:
            raise ValueError(f"trees must be at least 1, got {self.trees}")
        if not self.max_samples > 0 or (not self.replace and drawn > n):
            raise ValueError(
                f"max_samples must be above 0, and at most 1 without replacement, "
                f"got {self.max_samples}"
            )
        if self.alpha < 0 or self.beta < 0:
            raise ValueError(
                f"alpha and beta must not be negative, got {self.alpha} and {self.beta}"
            )


@dataclass(eq=False, repr=False)
class StructRF(_SplitForest):
    """Each node clusters its label distributions by two-means; splits have the best gain of that.

    ``step='adaptive'`` is StructRF*: thresholds are tried in steps that shrink near the greatest
    gain. ``max_features`` is None (all), 'sqrt', a number or a share, drawn per node or per tree.
    """

    kmeans_init: str = "pca_sign"
    kmeans_restarts: int = 10

    def _fit(self, X: Any, D: np.ndarray) -> None:
        _check_word("kmeans_init", self.kmeans_init, _STARTS)
        if self.kmeans_restarts < 1:
            raise ValueError(f"kmeans_restarts must be at least 1, got {self.kmeans_restarts}")
        self._grow(X, D, np.zeros(0, np.int64), classes=0)

    def _rules(self, subset: int, classes: int) -> Rules:
        return _rules(self, subset, classes, _STARTS.index(self.kmeans_init), self.kmeans_restarts)


@dataclass(eq=False, repr=False)
class RFStar(_SplitForest):
    """RF of the StructRF paper with the adaptive step: a row's class is its highest degree.

    Ties go to the lower label. A leaf holds class frequencies, after ``leaf_smoothing`` imaginary
    rows spread evenly over all labels. ``step='exhaustive'`` tries every threshold.
    """

    step: str = "adaptive"
    leaf_smoothing: float = 0.0

    def _fit(self, X: Any, D: np.ndarray) -> None:
        if not self.leaf_smoothing >= 0:
            raise ValueError(f"leaf_smoothing must not be negative, got {self.leaf_smoothing}")
        label = D.argmax(axis=1)
        self._grow(X, np.eye(D.shape[1])[label], label, classes=D.shape[1])

    def _rules(self, subset: int, classes: int) -> Rules:
        return _rules(self, subset, classes)

    def _leaf_values(self, tree: Tree) -> np.ndarray:
        rows = tree.leaf_rows[:, None]
        smoothed = tree.leaves * rows + self.leaf_smoothing / self.n_labels_
        return smoothed / (rows + self.leaf_smoothing)


def _rules(
    forest: _SplitForest, subset: int, classes: int, start: int = 0, restarts: int = 1
) -> Rules:
    from ldl.forests._types import Rules

    return Rules(
        min_split=max(2, forest.min_split),
        max_depth=_UNLIMITED if forest.max_depth is None else forest.max_depth,
        root_depth=forest.root_depth,
        per_node=subset,
        classes=classes,
        start=start,
        restarts=restarts,
    )


def _subset_size(max_features: str | int | float | None, q: int) -> int:
    if max_features is None:
        return q
    if max_features == "sqrt":
        return max(1, math.isqrt(q))
    if isinstance(max_features, float) and 0 < max_features <= 1:
        return max(1, int(max_features * q))
    if isinstance(max_features, int) and max_features >= 1:
        return min(q, max_features)
    raise ValueError(
        f"max_features must be None, 'sqrt', a number from 1 or a share up to 1.0, "
        f"got {max_features!r}"
    )


def _check_word(name: str, value: str, allowed: tuple[str, ...]) -> None:
    if value not in allowed:
        raise ValueError(f"{name} must be one of {', '.join(allowed)}, got {value!r}")
