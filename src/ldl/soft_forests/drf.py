"""Differentiable regression forests on a linear map (DRF): leaves hold normal densities of ages.

Shen, Guo, Wang, Zhao, Wang and Yuille, Deep differentiable random forests for age estimation, 2019.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ldl.base import child_seeds
from ldl.soft_forests._base import NumberTrees, SoftForest

if TYPE_CHECKING:
    from ldl.soft_forests._leaves import GaussianLeaves


@dataclass(eq=False, repr=False)
class DRF(NumberTrees, SoftForest):
    """Differentiable regression forest on a linear map, for ordered labels such as ages.

    The number y of a row is that of its highest label: where labels have no order, predictions are
    hardly better than the training mean. Soft trees route rows as in ``SLDLF``, but
    leaf l holds a normal density with mean mu_l and variance sigma_l (Eq. 27 of [1]_). A tree's
    density is the sum of p(l|x) N(y; mu_l, sigma_l) over its leaves (Eq. 22).

    Gradient steps on mini-batches reduce the mean of the trees' negative log likelihoods (Eq. 23),
    less ``temperature`` times the entropy of the routing (Eqs. 6 and 7), by the linear map. After
    every ``leaf_batches`` batches a leaf step updates means and variances by variational bounding,
    with responsibilities raised to the power ``tau`` (Eqs. 39 to 41). Both steps are annealed:
    each leaf step multiplies the temperature by its factor, and divides ``tau`` by its own until
    that is 1.

    ``predict_number`` returns the mean over trees of the densities' means (Eq. 42), ``predict`` the
    probability of each label's interval.

    Parameters
    ----------
    phi_seed : int or None, default=None
        Seed of the outputs that split nodes ask; None lets them follow ``random_state``.

    Attributes
    ----------
    state_ : Snapshot
        State after training: ``W`` (features, outputs), ``b`` (outputs,), means and variances of
        the standardised numbers ``table`` (trees, leaves, 2), and ``iteration``.
    entropies_ : ndarray of shape (leaf steps,)
        Mean entropy of the routing of up to 512 training rows after each leaf step.
    diagnostics_ : dict
        Iterations, leaf steps, mean absolute error on the training rows, first and last entropy of
        the routing and the least deviation of a leaf.

    References
    ----------
    .. [1] W. Shen, Y. Guo, Y. Wang, K. Zhao, B. Wang and A. Yuille, "Deep differentiable random
       forests for age estimation", preprint 2019, later IEEE Transactions on Pattern Analysis and
       Machine Intelligence.
    .. [2] A. Roy and S. Todorovic, "Monocular depth estimation using neural regression forest",
       CVPR, 2016.

    Examples
    --------
    >>> import numpy as np
    >>> from ldl import DRF
    >>> generator = np.random.default_rng(0)
    >>> X = generator.random((60, 3))
    >>> D = np.eye(10)[(10 * X[:, 0]).astype(int)]
    >>> model = DRF(n_estimators=2, depth=4, units=16, max_iter=300, random_state=0).fit(X, D)
    >>> model.predict(X).shape
    (60, 10)
    >>> bool(np.abs(model.predict_number(X) - D.argmax(axis=1)).mean() < 1.5)
    True
    """

    temperature: float = 1.0
    max_iter: int = 1000
    phi_seed: int | None = None

    def _fit(self, X: Any, D: np.ndarray) -> None:
        from ldl.soft_forests._linear import one_thread
        from ldl.soft_forests._training import LinearForest

        leaf_seed, seed = child_seeds(self.random_state, 2)
        numbers = self._standardise(D)
        with one_thread():
            leaves = self._leaves(numbers, np.random.default_rng(leaf_seed))
            forest = LinearForest(self, X, numbers[:, None], leaves, seed, self._weight(len(D)))
            entropies: list[float] = []

            def measure(iteration: int) -> bool:
                entropies.append(forest.routing_entropy())
                return False

            iterations = forest.train(measure)
        self.phi_, self.state_ = forest.phi, forest.snapshot(iterations)
        self.entropies_ = np.array(entropies)
        self.diagnostics_ = {
            "iterations": iterations,
            "leaf_steps": forest.leaf_steps,
            "train_mae": float(np.abs(self._number(X) - D.argmax(axis=1)).mean()),
            "first_entropy": entropies[0],
            "last_entropy": entropies[-1],
            "least_leaf_deviation": float(np.sqrt(self.state_.table[..., 1].min()) * self.scale_),
        }

    def _leaves(self, numbers: np.ndarray, generator: np.random.Generator) -> GaussianLeaves:
        """Return leaves to start from, in the precision of the training."""
        from ldl.soft_forests._linear import DTYPES

        return self._first_leaves(numbers, generator, dtype=DTYPES[self.dtype])

    def predict_number(self, X: Any) -> np.ndarray:
        """Predict the number of the label, such as the age.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (rows, features)
            Features, in the order that ``fit`` saw.

        Returns
        -------
        ndarray of shape (rows,)
            Mean over trees of the densities' means, not rounded.
        """
        return self._number(self._checked(X))

    def _number(self, X: Any) -> np.ndarray:
        """Predict numbers for features that are checked."""
        numbers = self.state_.predict(self.phi_, self.state_.table[:, :, :1], X)[:, 0]
        return numbers * self.scale_ + self.shift_

    def _predict(self, X: Any) -> np.ndarray:
        return self.state_.predict(self.phi_, self._distributions(self.state_.table), X)
