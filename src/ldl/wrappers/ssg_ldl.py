"""SSG-LDL: synthetic rows between neighbours, made before any method is fitted."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from ldl._distances import squared_distances
from ldl._memory import demand_memory
from ldl._parameters import Count, NotNegative
from ldl._scale import Scale
from ldl._self_tuned import SelfTuned
from ldl._weighted import weights_for
from ldl.base import LDLEstimator, check_distributions, check_features, child_seeds
from ldl.neighbours.knn import AAKNN
from ldl.wrappers._base import Wrapper

_BLOCK_BYTES = 32 * 2**20


@dataclass(eq=False, repr=False)
class SSGLDL(Wrapper, SelfTuned):
    """Oversampling by synthetic rows before a method is fitted (SSG-LDL).

    The distance of two rows is the weighted sum of their distances in features and in labels, both
    Euclidean. A row is drawn with a probability in proportion to its mean distance from all rows,
    so that isolated ones are drawn more often, and one of its nearest neighbours evenly. The new
    row lies in the box between both: each feature is moved by a random share of its own. Its labels
    are the mean of all the neighbours' distributions. The estimator is fitted to the training rows
    and the new ones. Weights of rows multiply the probabilities, and new rows count as much as the
    training rows do in the mean.

    Parameters
    ----------
    estimator : LDLEstimator, str or None, default=None
        Estimator that is fitted to all rows, or the dotted path of its class; None is ``AAKNN(4)``.
    settings : dict or None, default=None
        Arguments of that class, where ``estimator`` is a path.
    amount : float, default=3.0
        New rows for each training row, N / 100 in the paper; their number is rounded down.
    n_neighbors : int, default=5
        Number of neighbours, k in the paper; at most all other rows.
    feature_weight : float, default=0.5
        Weight of the distance in features, fx in the paper.
    label_weight : float, default=0.5
        Weight of the distance in labels, fy in the paper.
    metric : {'mixed', 'features', 'joined'}, default='mixed'
        Distance that decides who is a neighbour: the weighted sum, the one in features, or that of
        features and labels joined in one vector.
    own_neighbour : bool, default=False
        Count a row among its own neighbours.
    random_state : int or None, default=None
        Seed of the new rows, and of an estimator without a ``random_state`` of its own.
    n_jobs : int, default=1
        Number of threads of the estimator, if it has such a parameter; 1 leaves it as it is.

    Attributes
    ----------
    estimator_ : LDLEstimator
        The fitted estimator.
    diagnostics_ : dict
        ``rows`` that it was fitted to, and how many of them are ``synthetic``.

    References
    ----------
    M. González, J. Luengo, J.-R. Cano and S. García, "Synthetic sample generation for label
    distribution learning", Information Sciences 544, 197-213, 2021.

    Examples
    --------
    >>> import numpy as np
    >>> from ldl import AAKNN, SSGLDL
    >>> generator = np.random.default_rng(0)
    >>> X, D = generator.random((60, 5)), generator.dirichlet(np.ones(3), size=60)
    >>> model = SSGLDL(AAKNN(10), random_state=0).fit(X[:40], D[:40])
    >>> model.predict(X[40:]).shape
    (20, 3)
    >>> model.diagnostics_
    {'rows': 160, 'synthetic': 120}
    >>> more, labels = model.oversample(X[:40], D[:40])
    >>> more.shape, labels.shape
    ((160, 5), (160, 3))
    """

    amount: NotNegative = 3.0
    n_neighbors: Count = 5
    feature_weight: NotNegative = 0.5
    label_weight: NotNegative = 0.5
    metric: Literal["mixed", "features", "joined"] = "mixed"
    own_neighbour: bool = False
    random_state: int | None = None
    n_jobs: Count = 1

    def _default_estimator(self) -> LDLEstimator:
        return AAKNN(4, standardise=False, mean_share=None)

    def _fit(self, X: np.ndarray, D: np.ndarray) -> None:
        estimator = self._new_estimator(child_seeds(self.random_state, 2)[1])
        if self.n_jobs != 1 and "n_jobs" in estimator.get_params():
            estimator.set_params(n_jobs=self.n_jobs)
        weight = self._weight(len(D))
        more, labels = self._oversampled(X, D, weight)
        if weight is not None:
            weight = np.append(weight, np.full(len(more) - len(X), weight.mean()))
        self.estimator_ = estimator.fit(more, labels, **weights_for(estimator, weight))
        self.diagnostics_ = {"rows": len(more), "synthetic": len(more) - len(X)}

    def _predict(self, X: np.ndarray) -> np.ndarray:
        return self.estimator_.predict(X)

    def oversample(self, X: Any, D: Any) -> tuple[np.ndarray, np.ndarray]:
        """Return the rows and, after them, the new ones that a fit with the same seed makes.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (rows, features)
            Features; finite numbers.
        D : array-like of shape (rows, labels)
            Label degrees, not negative; each row sums to 1 within 0.001.

        Returns
        -------
        more : ndarray of shape (rows and new rows, features)
            Features.
        labels : ndarray of shape (rows and new rows, labels)
            Label distributions.
        """
        self._check_parameters()
        X = check_features(X, accepts_sparse=False)
        D = check_distributions(D, len(X))[0]
        if not self.standardise:
            return self._oversampled(X, D)
        scale = Scale(X)
        more, labels = self._oversampled(scale.applied(X), D)
        return scale.back(more), labels

    def _oversampled(
        self, X: np.ndarray, D: np.ndarray, weight: np.ndarray | None = None
    ) -> tuple[np.ndarray, np.ndarray]:
        new = int(self.amount * len(X))
        demand_memory(
            type(self).__name__,
            8.0 * (len(X) + new) * (X.shape[1] + D.shape[1]),
            "Make fewer rows (amount).",
        )
        generator = np.random.default_rng(child_seeds(self.random_state, 2)[0])
        means, near = self._distances(X, D)
        if weight is not None:
            means *= weight
        total = means.sum()
        chosen = generator.choice(len(X), size=new, p=means / total if total > 0 else None)
        partner = near[chosen, generator.integers(near.shape[1], size=new)]
        more = np.empty((len(X) + new, X.shape[1]))
        more[: len(X)] = X
        step = max(1, _BLOCK_BYTES // (8 * X.shape[1]))
        for start in range(0, new, step):
            rows = slice(start, start + step)
            made = more[len(X) :][rows]
            generator.random(out=made)
            made *= X[partner[rows]] - X[chosen[rows]]
            made += X[chosen[rows]]
        return more, np.concatenate([D, D[near].mean(axis=1)[chosen]])

    def _distances(self, X: np.ndarray, D: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the mean distance of every row from all rows, and its nearest neighbours."""
        n = len(X)
        count = min(self.n_neighbors, n if self.own_neighbour else n - 1)
        means, near = np.empty(n), np.empty((n, count), dtype=np.intp)
        step = max(1, _BLOCK_BYTES // (8 * n))
        for start in range(0, n, step):
            rows = np.arange(start, min(start + step, n))
            in_features = squared_distances(X[rows], X)
            in_labels = squared_distances(D[rows], D)
            if self.metric == "joined":
                apart = in_features + in_labels
            # Roots are taken in place. A row is no distance from itself, not a rounding error.
            for squares in (in_features, in_labels):
                np.sqrt(squares, out=squares)
                squares[np.arange(len(rows)), rows] = 0.0
            if self.metric == "features":
                apart = in_features.copy()
            in_features *= self.feature_weight
            in_labels *= self.label_weight
            in_features += in_labels
            means[rows] = in_features.mean(axis=1)
            if self.metric == "mixed":
                apart = in_features
            apart[np.arange(len(rows)), rows] = -1.0 if self.own_neighbour else np.inf
            near[rows] = _smallest(apart, count)
        return means, near


def _smallest(values: np.ndarray, count: int) -> np.ndarray:
    """Return the places of the smallest values of each row, the smallest first."""
    places = np.sort(np.argpartition(values, count - 1, axis=1)[:, :count], axis=1)
    order = np.argsort(np.take_along_axis(values, places, axis=1), axis=1, kind="stable")
    return np.take_along_axis(places, order, axis=1)
