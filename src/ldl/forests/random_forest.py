"""Ordinary regression forest whose target is the whole label distribution."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import numpy as np

from ldl._parameters import Count, Interval, Positive
from ldl._self_tuned import SelfTuned
from ldl._threads import each
from ldl.base import child_seeds
from ldl.forests.structrf import MaxFeatures, chances, subset_size

if TYPE_CHECKING:
    from ldl.forests._regression_trees import Features, RegressionTree

_UNLIMITED = 2**31


@dataclass(eq=False, repr=False)
class RFRegression(SelfTuned):
    """Regression forest with the whole label distribution as its target.

    A node takes the split that leaves the least squared distance of its distributions from the
    means of their sides. A leaf holds the mean of its rows' distributions, and the forest predicts
    the mean over its trees.

    Parameters
    ----------
    n_estimators : int, default=50
        Number of trees.
    max_depth : int or None, default=20
        Greatest depth of a tree; None sets no limit.
    max_samples : float, default=0.8
        Rows that each tree draws, with replacement, as a share of the training rows.
    min_samples_split : int, default=5
        A node with fewer rows is a leaf.
    max_features : int, float, str or None, default=None
        Features that a split looks at: None for all, 'sqrt' for the square root of their number, a
        number, or a share up to 1.0.
    random_state : int or None, default=None
        Seed; None draws another one each time.
    n_jobs : int, default=1
        Number of threads that grow trees. The prediction does not depend on it.
    standardise : bool, default=False
        Give features mean 0 and deviation 1 first; trees do not need it.

    Attributes
    ----------
    forest_ : Forest
        Trees in their order, joined for the prediction.
    diagnostics_ : dict
        ``leaves``, the mean number of leaves of a tree; ``deepest``, the greatest depth.
    leaf_rows_ : ndarray of shape (leaves,)
        Drawn rows of each leaf of all trees.
    feature_importances_ : ndarray of shape (n_features_in_,)
        Share of each feature in the squared distance that splits take away.
    n_features_in_ : int
        Number of features seen by ``fit``.
    n_labels_ : int
        Number of labels.
    renormalised_ : int
        Number of rows of D whose sum was mended.

    References
    ----------
    Breiman, Random forests, Machine Learning 45, 2001.

    Examples
    --------
    >>> import numpy as np
    >>> from ldl import RFRegression
    >>> generator = np.random.default_rng(0)
    >>> X, D = generator.random((60, 5)), generator.dirichlet(np.ones(3), size=60)
    >>> model = RFRegression(n_estimators=10, random_state=0).fit(X[:40], D[:40])
    >>> model.predict(X[40:]).shape
    (20, 3)
    """

    accepts_sparse = True

    n_estimators: Count = 50
    max_depth: Annotated[int, Interval(0, whole=True)] | None = 20
    max_samples: Positive = 0.8
    min_samples_split: Count = 5
    max_features: MaxFeatures = None
    random_state: int | None = None
    n_jobs: Count = 1
    standardise: bool = field(default=False, kw_only=True)

    def _fit(self, X: Any, D: np.ndarray) -> None:
        # numba and the compiled code load here, so that other methods start without them.
        from ldl.forests._prediction import join
        from ldl.forests._regression_trees import Rules, grow

        n, q = X.shape
        drawn = max(1, round(self.max_samples * n))
        chance = chances(self._weight(n))
        ranked = _rank(X)
        rules = Rules(
            per_node=subset_size(self.max_features, q),
            min_split=max(2, self.min_samples_split),
            max_depth=_UNLIMITED if self.max_depth is None else self.max_depth,
        )
        key = np.uint32 if n < 2**16 else np.uint64
        D = np.ascontiguousarray(D)

        def grow_one(seed: int) -> RegressionTree:
            generator = np.random.default_rng(seed)
            if chance is None:
                chosen = generator.integers(n, size=drawn)
            else:
                chosen = generator.choice(n, size=drawn, p=chance)
            weight = np.bincount(chosen, minlength=n)
            return grow(ranked.features, D, weight, rules, int(generator.integers(2**63)), key)

        seeds = child_seeds(self.random_state, self.n_estimators)
        grown = each(grow_one, seeds, self.n_jobs)
        trees = [ranked.with_thresholds(tree) for tree in grown]
        self.forest_ = join(trees)
        self.leaf_rows_ = np.concatenate([tree.leaf_rows for tree in grown])
        self.diagnostics_ = {
            "leaves": float(np.mean([len(tree.leaves) for tree in grown])),
            "deepest": max(int(tree.deepest) for tree in grown),
        }

    def _predict(self, X: Any) -> np.ndarray:
        from ldl.forests._prediction import mean_of_trees

        return mean_of_trees(self.forest_, X)

    @property
    def feature_importances_(self) -> np.ndarray:
        """Each feature's share of the squared distance that splits take away."""
        from ldl.forests._prediction import added_up, shares_of_features

        self._demand_fitted()
        rows = self.leaf_rows_[:, None].astype(np.float64)
        sums = added_up(self.forest_, np.hstack([rows, rows * self.forest_.leaves]))
        worth = (sums[:, 1:] ** 2).sum(axis=1) / sums[:, 0]
        left = np.where(self.forest_.nodes[:, 0] < 0, 0, self.forest_.nodes[:, 1])
        gains = worth[left] + worth[left + 1] - worth
        return shares_of_features(self.forest_, gains, self.n_features_in_)


class _Ranked(NamedTuple):
    """Training features as whole numbers, and the values that these stand for."""

    features: Features
    values: np.ndarray
    """Distinct values, feature by feature, each in ascending order."""
    first_value: np.ndarray
    """``values[first_value[f] + rank]`` is a value of feature f."""

    def with_thresholds(self, tree: RegressionTree) -> RegressionTree:
        """Put each threshold in the middle between the values on either side of it."""
        from ldl.forests._columns import between

        # Where a leaf has no feature, the numbers mean nothing.
        first = self.first_value[tree.feature]
        low, high = self.values[first + tree.rank], self.values[first + tree.next_rank]
        return tree._replace(threshold=between(low, high))


def _rank(X: Any) -> _Ranked:
    """Rank the values of each feature."""
    from ldl.forests._columns import by_row, columns_of, joined
    from ldl.forests._regression_trees import Features

    n, q = X.shape
    ranks = np.empty((q, n), np.uint16 if n < 2**16 else np.uint32)
    two_valued = np.zeros(q, bool)
    values, uppers = [], [np.zeros(0, np.int64)] * q
    for f, column in enumerate(columns_of(X)):
        ends = np.array([column.min(), column.max()])
        is_upper = column == ends[1]
        if ends[0] < ends[1] and np.all(is_upper | (column == ends[0])):
            two_valued[f], ranks[f], uppers[f] = True, is_upper, np.flatnonzero(is_upper)
            values.append(ends)
        else:
            distinct, ranks[f] = np.unique(column, return_inverse=True)
            values.append(distinct)
    first_value, all_values = joined(values)
    row_start, row_features = by_row(*joined(uppers), n)
    features = Features(ranks, two_valued, row_start, row_features)
    return _Ranked(features, all_values, first_value[:-1])
