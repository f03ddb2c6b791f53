"""StructRF and RF*: forests grown in compiled code, with every threshold or an adaptive step."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from numbers import Integral
from typing import TYPE_CHECKING, Annotated, Any, Literal

import numpy as np

from ldl._memory import demand_memory
from ldl._parameters import Count, Factor, Interval, NotNegative, Options, Positive
from ldl._self_tuned import SelfTuned
from ldl._threads import each
from ldl.base import child_seeds

if TYPE_CHECKING:
    from ldl.forests._growth import Tree
    from ldl.forests._split_search import Rules

_STARTS = ("pca_sign", "random", "farthest_pair")
_UNLIMITED = 2**31
MaxFeatures = Count | Factor | Literal["sqrt"] | None
"""Features that a split looks at: a number, a share, the square root of all, or all."""


@dataclass(eq=False, repr=False)
class _SplitForest(SelfTuned):
    """Base of StructRF and RF*: each tree grows from a seed of its own.

    Predictions are added up in the order of the trees, so results depend on no thread.
    """

    accepts_sparse = True

    n_estimators: Count = 50
    max_depth: Annotated[int, Interval(0, whole=True)] | None = 20
    max_samples: Positive = 0.8
    bootstrap: bool = True
    min_samples_split: Count = 5
    max_features: MaxFeatures = None
    root_depth: Annotated[int, Interval(0, 1, whole=True)] = 1
    step: Annotated[str, Options("exhaustive", "adaptive")] = "exhaustive"
    alpha: NotNegative = 0.25
    beta: NotNegative = 8.0
    gmax_scope: Literal["node", "feature"] = "node"
    random_state: int | None = None
    n_jobs: Count = 1
    standardise: bool = field(default=False, kw_only=True)

    def _grow(
        self, X: Any, D: np.ndarray, label: np.ndarray | None, classes: int, start: int = 0
    ) -> None:
        """Grow the trees; leaves hold means of D.

        Nodes split by ``label``, one of so many ``classes``, or by two-means of D where there are
        none, which begin at ``start``.
        """
        # numba and the compiled code load here, so that other methods start without them.
        from ldl.forests import _growth
        from ldl.forests._columns import bytes_of_columns, make_columns
        from ldl.forests._prediction import join

        n, drawn = X.shape[0], max(1, round(self.max_samples * X.shape[0]))
        if not self.bootstrap and drawn > n:
            raise ValueError(
                f"max_samples must be at most 1 without replacement, got {self.max_samples}"
            )
        demand_memory(
            type(self).__name__,
            bytes_of_columns(X, drawn, self.n_jobs),
            "Draw fewer rows for each tree (max_samples), or take fewer features or threads.",
        )
        columns = make_columns(X)
        rules = self._rules(X.shape[1], classes, start)
        chance = chances(self._weight(n))
        replace = self.bootstrap or chance is not None
        table = np.arange(drawn + 1, dtype=np.float64)
        table[1:] *= np.log(table[1:])

        def grow(seed: int) -> Tree:
            generator = np.random.default_rng(seed)
            chosen = generator.choice(n, size=drawn, replace=replace, p=chance)
            sample = _growth.Sample(columns, D, np.bincount(chosen, minlength=n), table)
            return _growth.grow(X, sample, label, rules, int(generator.integers(2**63)))

        self.trees_ = each(grow, child_seeds(self.random_state, self.n_estimators), self.n_jobs)
        self.forest_ = join(self.trees_, self._leaf_values(_growth.share_leaves(self.trees_)))
        self.diagnostics_ = {
            "leaves": float(np.mean([len(tree.leaves) for tree in self.trees_])),
            "deepest": max(int(tree.deepest) for tree in self.trees_),
            "gain_evaluations": sum(int(tree.tried.sum()) for tree in self.trees_),
        }

    def _leaf_values(self, leaves: np.ndarray) -> np.ndarray:
        """Return the distribution that each leaf of all trees predicts."""
        return leaves

    def _predict(self, X: Any) -> np.ndarray:
        from ldl.forests._prediction import mean_of_trees

        return mean_of_trees(self.forest_, X)

    @property
    def feature_importances_(self) -> np.ndarray:
        """Each feature's share of the information that splits gain, by the rows of their nodes."""
        from ldl.forests._prediction import added_up, shares_of_features

        self._demand_fitted()
        rows = np.concatenate([tree.leaf_rows for tree in self.trees_])[:, None]
        gains = np.concatenate([tree.gain for tree in self.trees_])
        gains = gains * added_up(self.forest_, rows)[:, 0]
        return shares_of_features(self.forest_, gains, self.n_features_in_)

    def _rules(self, q: int, classes: int = 0, start: int = 0) -> Rules:
        """Return the settings of trees on ``q`` features as compiled code reads them."""
        from ldl.forests._split_search import Rules

        subset = subset_size(self.max_features, q)
        return Rules(
            min_split=max(2, self.min_samples_split),
            max_depth=_UNLIMITED if self.max_depth is None else self.max_depth,
            root_depth=self.root_depth,
            per_node=subset if subset < q else 0,
            classes=classes,
            start=start,
            adaptive=self.step == "adaptive",
            alpha=float(self.alpha),
            beta=float(self.beta),
            per_feature=self.gmax_scope == "feature",
        )


@dataclass(eq=False, repr=False)
class StructRF(_SplitForest):
    """Structured random forest: trees that split a node by a clustering of its distributions.

    Each node clusters its label distributions in two by k-means and takes the clusters as class
    labels. Of all features and thresholds it takes the split with the greatest information gain,
    Ent(X) - |L| / |X| Ent(L) - |R| / |X| Ent(R) for the rows X of the node and those on its left
    and right; Ent is the Shannon entropy of the classes (Equations 2 and 3). A leaf holds the mean
    of its rows' distributions, and the forest predicts the mean of its trees (Equation 4).

    ``step='adaptive'`` makes it StructRF*. After a gain g the search of a node with N rows goes on
    by alpha N / (1 + exp(beta (g / g_max - 1/2))) rows, where g_max is the greatest gain so far
    (Equation 5): by long steps where gains are low, by short ones near the best.

    Parameters
    ----------
    n_estimators : int, default=50
        Number of trees, T in Equation 4.
    max_depth : int or None, default=20
        A node deeper than this is a leaf; None sets no limit.
    max_samples : float, default=0.8
        Rows that each tree draws, as a share of the training rows.
    bootstrap : bool, default=True
        Draw rows with replacement, as is always done where they have weights.
    min_samples_split : int, default=5
        A node with fewer rows is a leaf. The paper prints no value.
    max_features : int, float, str or None, default=None
        Features that a split looks at, drawn anew at each node: None for all, as printed, 'sqrt'
        for the square root of their number, a number, or a share up to 1.0.
    root_depth : int, default=1
        Depth of the root, 0 or 1; with 0 trees grow one level more.
    step : {'exhaustive', 'adaptive'}, default='exhaustive'
        Try every threshold (StructRF), or those that adaptive steps lead to (StructRF*).
    alpha : float, default=0.25
        Upper limit of the adaptive step, as a share of the rows.
    beta : float, default=8.0
        Steepness with which the step shrinks as a gain comes near the greatest one.
    gmax_scope : {'node', 'feature'}, default='node'
        Compare a gain with the greatest one of all features of the node so far, or of its own
        feature alone, which evaluates more of them.
    random_state : int or None, default=None
        Seed; None draws another one each time.
    n_jobs : int, default=1
        Number of threads that grow trees. The trees do not depend on it.
    kmeans_init : {'pca_sign', 'random', 'farthest_pair'}, default='pca_sign'
        Start of the k-means: the sign of the first principal component, ten random pairs of rows,
        of which the best is kept, or two rows far apart. Only 'random' draws anything.
    standardise : bool, default=False
        Give features mean 0 and deviation 1 first; trees do not need it.

    Attributes
    ----------
    trees_ : list of Tree
        Trees in their order, as flat arrays: ``feature`` (-1 in a leaf), ``threshold``, ``child``
        (left child, or leaf), ``gain`` in nats, ``leaves`` (mean distributions), ``leaf_rows``,
        ``deepest``, and ``tried``, the number of thresholds tried for each feature.
    forest_ : Forest
        The same trees, joined for the prediction.
    diagnostics_ : dict
        ``leaves``, the mean number of leaves of a tree; ``deepest``, the depth of the deepest node;
        ``gain_evaluations``, the number of thresholds tried, those that a bound rules out included.
    feature_importances_ : ndarray of shape (n_features_in_,)
        Share of each feature in the information that splits gain.
    n_features_in_ : int
        Number of features seen by ``fit``.
    n_labels_ : int
        Number of labels.
    renormalised_ : int
        Number of rows of D whose sum was mended.

    References
    ----------
    Chen, Wang, Feng and Liu, Structured random forest for label distribution learning,
    Neurocomputing 320, 2018.

    Examples
    --------
    >>> import numpy as np
    >>> from ldl import StructRF
    >>> generator = np.random.default_rng(0)
    >>> X, D = generator.random((60, 5)), generator.dirichlet(np.ones(3), size=60)
    >>> model = StructRF(n_estimators=10, max_features="sqrt", random_state=0).fit(X[:40], D[:40])
    >>> model.predict(X[40:]).shape
    (20, 3)
    >>> len(model.trees_)
    10
    """

    kmeans_init: Annotated[str, Options(*_STARTS)] = "pca_sign"

    def _fit(self, X: Any, D: np.ndarray) -> None:
        self._grow(X, D, None, 0, _STARTS.index(self.kmeans_init))


@dataclass(eq=False, repr=False)
class RFStar(_SplitForest):
    """Random forest of the StructRF paper (RF*), with that paper's adaptive step.

    The class of a row is the label with its highest degree; of equal degrees the first counts.
    Splits have the greatest information gain of these classes, and a leaf holds their frequencies.
    The search takes the adaptive steps of Equation 5, as described for ``StructRF``;
    ``step='exhaustive'`` tries every threshold.

    Parameters
    ----------
    n_estimators : int, default=50
        Number of trees, T in Equation 4.
    max_depth : int or None, default=20
        A node deeper than this is a leaf; None sets no limit.
    max_samples : float, default=0.8
        Rows that each tree draws, as a share of the training rows.
    bootstrap : bool, default=True
        Draw rows with replacement, as is always done where they have weights.
    min_samples_split : int, default=5
        A node with fewer rows is a leaf. The paper prints no value.
    max_features : int, float, str or None, default=None
        Features that a split looks at, drawn anew at each node: None for all, as printed, 'sqrt'
        for the square root of their number, a number, or a share up to 1.0.
    root_depth : int, default=1
        Depth of the root, 0 or 1; with 0 trees grow one level more.
    step : {'exhaustive', 'adaptive'}, default='adaptive'
        Try every threshold, or those that adaptive steps lead to.
    alpha : float, default=0.25
        Upper limit of the adaptive step, as a share of the rows.
    beta : float, default=8.0
        Steepness with which the step shrinks as a gain comes near the greatest one.
    gmax_scope : {'node', 'feature'}, default='node'
        Compare a gain with the greatest one of all features of the node so far, or of its own
        feature alone, which evaluates more of them.
    random_state : int or None, default=None
        Seed; None draws another one each time.
    n_jobs : int, default=1
        Number of threads that grow trees. The trees do not depend on it.
    leaf_smoothing : float, default=0.0
        Imaginary rows in each leaf, spread evenly over all labels. Without them a label that is
        never highest gets no degree but its share of the mean.
    standardise : bool, default=False
        Give features mean 0 and deviation 1 first; trees do not need it.

    Attributes
    ----------
    trees_ : list of Tree
        Trees in their order, as flat arrays: ``feature`` (-1 in a leaf), ``threshold``, ``child``
        (left child, or leaf), ``gain`` in nats, ``leaves`` (class frequencies), ``leaf_rows``,
        ``deepest``, and ``tried``, the number of gains evaluated for each feature.
    forest_ : Forest
        The same trees, joined for the prediction.
    diagnostics_ : dict
        ``leaves``, the mean number of leaves of a tree; ``deepest``, the depth of the deepest node;
        ``gain_evaluations``, the number of gains evaluated.
    feature_importances_ : ndarray of shape (n_features_in_,)
        Share of each feature in the information that splits gain.
    n_features_in_ : int
        Number of features seen by ``fit``.
    n_labels_ : int
        Number of labels.
    renormalised_ : int
        Number of rows of D whose sum was mended.

    References
    ----------
    Chen, Wang, Feng and Liu, Structured random forest for label distribution learning,
    Neurocomputing 320, 2018.

    Examples
    --------
    >>> import numpy as np
    >>> from ldl import RFStar
    >>> generator = np.random.default_rng(0)
    >>> X, D = generator.random((60, 5)), generator.dirichlet(np.ones(3), size=60)
    >>> model = RFStar(n_estimators=10, leaf_smoothing=1.0, random_state=0).fit(X[:40], D[:40])
    >>> P = model.predict(X[40:])
    >>> P.shape, bool(P.min() > 0)
    ((20, 3), True)
    """

    step: str = "adaptive"
    leaf_smoothing: NotNegative = 0.0

    def _fit(self, X: Any, D: np.ndarray) -> None:
        label = D.argmax(axis=1)
        self._grow(X, np.eye(D.shape[1])[label], label, D.shape[1])

    def _leaf_values(self, leaves: np.ndarray) -> np.ndarray:
        rows = np.concatenate([tree.leaf_rows for tree in self.trees_])[:, None]
        smoothed = leaves * rows + self.leaf_smoothing / self.n_labels_
        return smoothed / (rows + self.leaf_smoothing)


def chances(weight: np.ndarray | None) -> np.ndarray | None:
    """Return the probability with which each row is drawn, by its weight."""
    return None if weight is None else weight / weight.sum()


def subset_size(max_features: str | int | float | None, q: int) -> int:
    """Return how many of ``q`` features a split looks at."""
    if max_features is None:
        return q
    if isinstance(max_features, str):
        return max(1, math.isqrt(q))
    if isinstance(max_features, Integral):
        return min(q, int(max_features))
    return max(1, int(max_features * q))
