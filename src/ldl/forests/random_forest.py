"""Ordinary random forests on scikit-learn's trees: one for classes, one for distributions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ldl.base import LDLEstimator, child_seeds


@dataclass(eq=False, repr=False)
class _Forest(LDLEstimator):
    """Base of the forests: scikit-learn's trees, with a table of leaf distributions for each.

    Predictions are added up in the order of the trees. scikit-learn's forests add them up in the
    order in which threads finish, which changes the last bits from run to run.
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
        """Fit a forest of scikit-learn and keep its trees."""
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

    def _keep(self, columns: np.ndarray, leaves: list[np.ndarray]) -> None:
        """Keep the labels that the trees predict, and what each node of a tree predicts."""
        self.columns_ = columns
        self.leaves_ = leaves

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
    """Random forest of the StructRF paper (RF): a classification of rows by their highest degree.

    The class of a row is the label with its highest degree; of equal degrees the first counts.
    Splits have the greatest information gain of these classes. A leaf holds their frequencies, and
    the forest predicts the mean over its trees.

    Parameters
    ----------
    trees : int, default=50
        Number of trees.
    max_depth : int or None, default=20
        Greatest depth of a tree; None sets no limit.
    max_samples : float, default=0.8
        Rows that each tree draws, with replacement, as a share of the training rows.
    min_split : int, default=5
        A node with fewer rows is a leaf.
    max_features : int, float, str or None, default=None
        Features that a split looks at: None for all, 'sqrt' or 'log2' for that function of their
        number, a number, or a share up to 1.0.
    random_state : int or None, default=None
        Seed; None draws another one each time.
    n_jobs : int, default=1
        Number of threads that grow trees. The prediction does not depend on it.
    leaf_smoothing : float, default=0.0
        Imaginary rows in each leaf, spread evenly over all labels. Without them a label that is
        never highest gets the degree 0.

    Attributes
    ----------
    estimators_ : list of sklearn.tree._tree.Tree
        Trees in their order.
    columns_ : ndarray
        Labels that the trees predict; here all of them.
    leaves_ : list of ndarray of shape (nodes, labels)
        Class frequencies of each node.
    diagnostics_ : dict
        ``leaves``, the mean number of leaves of a tree; ``deepest``, the greatest depth;
        ``labels_never_highest``, the number of labels that are no row's class.
    n_features_in_ : int
        Number of features seen by ``fit``.
    n_labels_ : int
        Number of labels.
    renormalised_ : int
        Number of rows of D whose sum was mended.

    References
    ----------
    Breiman, Random forests, Machine Learning 45, 2001.

    Chen, Wang, Feng and Liu, Structured random forest for label distribution learning,
    Neurocomputing 320, 2018.

    Examples
    --------
    >>> import numpy as np
    >>> from ldl import RFClassReading
    >>> generator = np.random.default_rng(0)
    >>> X, D = generator.random((60, 5)), generator.dirichlet(np.ones(3), size=60)
    >>> model = RFClassReading(trees=10, leaf_smoothing=1.0, random_state=0).fit(X[:40], D[:40])
    >>> P = model.predict(X[40:])
    >>> P.shape, bool(P.min() > 0)
    ((20, 3), True)
    """

    leaf_smoothing: float = 0.0

    def _fit(self, X: Any, D: np.ndarray) -> None:
        from sklearn.ensemble import RandomForestClassifier

        if not self.leaf_smoothing >= 0:
            raise ValueError(f"leaf_smoothing must not be negative, got {self.leaf_smoothing}")
        forest = self._grow(RandomForestClassifier, X, D.argmax(axis=1), "entropy")
        leaves = [self._frequencies(tree, forest.classes_) for tree in self.estimators_]
        self._keep(np.arange(D.shape[1]), leaves)
        self.diagnostics_["labels_never_highest"] = D.shape[1] - len(forest.classes_)

    def _frequencies(self, tree: Any, classes: np.ndarray) -> np.ndarray:
        """Return the smoothed class frequencies of each node."""
        rows = tree.weighted_n_node_samples[:, None]
        counts = np.zeros((tree.node_count, self.n_labels_))
        counts[:, classes] = tree.value[:, 0, :] * rows
        counts += self.leaf_smoothing / self.n_labels_
        return counts / (rows + self.leaf_smoothing)


@dataclass(eq=False, repr=False)
class RFRegression(_Forest):
    """Regression forest with the whole label distribution as its target.

    A leaf holds the mean of its rows' distributions, and the forest predicts the mean over its
    trees.

    Parameters
    ----------
    trees : int, default=50
        Number of trees.
    max_depth : int or None, default=20
        Greatest depth of a tree; None sets no limit.
    max_samples : float, default=0.8
        Rows that each tree draws, with replacement, as a share of the training rows.
    min_split : int, default=5
        A node with fewer rows is a leaf.
    max_features : int, float, str or None, default=None
        Features that a split looks at: None for all, 'sqrt' or 'log2' for that function of their
        number, a number, or a share up to 1.0.
    random_state : int or None, default=None
        Seed; None draws another one each time.
    n_jobs : int, default=1
        Number of threads that grow trees. The prediction does not depend on it.
    criterion : {'squared_error', 'poisson'}, default='squared_error'
        Loss that a split reduces most. 'poisson' is the Kullback-Leibler divergence to the mean of
        the node. The other criteria of scikit-learn's regression forest work too.

    Attributes
    ----------
    estimators_ : list of sklearn.tree._tree.Tree
        Trees in their order.
    columns_ : ndarray
        Labels that the trees predict; those that are 0 in every training row are left out.
    leaves_ : list of ndarray of shape (nodes, labels)
        Mean distribution of each node.
    diagnostics_ : dict
        ``leaves``, the mean number of leaves of a tree; ``deepest``, the greatest depth.
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
    >>> model = RFRegression(trees=10, random_state=0).fit(X[:40], D[:40])
    >>> model.predict(X[40:]).shape
    (20, 3)
    """

    criterion: str = "squared_error"

    def _fit(self, X: Any, D: np.ndarray) -> None:
        from sklearn.ensemble import RandomForestRegressor

        # With 'poisson' a label that is 0 in every row would forbid every split.
        columns = np.flatnonzero(D.any(axis=0))
        target = D[:, columns]
        if len(columns) == 1:
            target = target.ravel()
        self._grow(RandomForestRegressor, X, target, self.criterion)
        self._keep(columns, [tree.value[:, :, 0] for tree in self.estimators_])


def _single_precision(X: Any, layout: str) -> Any:
    """Convert features to single precision, as scikit-learn's trees read them.

    Compressed data stay compressed, with short indices.
    """
    if not hasattr(X, "tocsr"):
        return np.ascontiguousarray(X, dtype=np.float32)
    X = X.astype(np.float32).asformat(layout)
    X.indices, X.indptr = X.indices.astype(np.int32), X.indptr.astype(np.int32)
    return X
