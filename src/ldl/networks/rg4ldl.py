"""RG4LDL: a softmax model of what the units of a restricted Boltzmann machine see."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from ldl._parameters import Auto, Count, NotNegative, Positive
from ldl._self_tuned import Grid, SelfTuned
from ldl._tempered import AUTO
from ldl.linear.maxent import SABFGS

_COOLING = 0.7
"""Factor of the temperature from epoch to epoch."""


@dataclass
class Machine:
    """Weights (q, m) and biases of visible and hidden units of a restricted Boltzmann machine."""

    weights: np.ndarray
    visible: np.ndarray
    hidden: np.ndarray

    def upwards(self, X: np.ndarray) -> np.ndarray:
        """Return the chance of every hidden unit to be on."""
        return sigmoid(X @ self.weights + self.hidden)

    def downwards(self, H: np.ndarray) -> np.ndarray:
        """Return the chance of every visible unit to be on."""
        return sigmoid(H @ self.weights.T + self.visible)

    def energy(self, X: np.ndarray, H: np.ndarray, products: np.ndarray) -> float:
        """Return the energy of all rows with their hidden units, from rows times weights."""
        pairs = np.vdot(products, H)
        return -float((X @ self.visible).sum() + (H @ self.hidden).sum() + pairs)

    def learn(
        self, X: np.ndarray, rate: float, temperature: float, generator: np.random.Generator
    ) -> None:
        """Take a step of contrastive divergence on some rows.

        The bias of the visible units follows unless reconstructions are taken for the rows. They
        are where their energy is higher, or else by a chance that grows with the temperature.
        """
        products = X @ self.weights
        on = 1.0 * (sigmoid(products + self.hidden) > generator.random(products.shape))
        again = self.downwards(on)
        products_again = again @ self.weights
        on_again = 1.0 * (sigmoid(products_again + self.hidden) > generator.random(on.shape))
        less = self.energy(X, on, products) - self.energy(again, on_again, products_again)
        taken = less < 0 or generator.random() < np.exp(-less / temperature)
        rows = again if taken else X
        self.weights += rate / len(X) * (rows.T @ on - again.T @ on_again)
        self.visible += rate * (rows - again).mean(axis=0)
        self.hidden += rate * (on - on_again).mean(axis=0)


@dataclass(eq=False, repr=False)
class RG4LDL(SelfTuned):
    """Softmax model on the hidden units of a restricted Boltzmann machine (RG4LDL).

    Features are stretched to [0, 1]. Without a look at labels, contrastive divergence on batches of
    rows teaches the machine to rebuild them; a temperature that falls from epoch to epoch decides
    how readily it takes what it has rebuilt for the rows. To the machine all rows count alike. The
    chances of the hidden units are the features of ``SABFGS``, which learns the distributions.

    Of the paper only the abstract was at hand: the steps are those of the public toolbox
    python-ldl, which leaves features as they are and has an ``init_scale`` of 1.

    Parameters
    ----------
    n_components : int, default=64
        Number of hidden units.
    alpha : float or 'auto', default='auto'
        Penalty of ``SABFGS``. ``'auto'`` chooses from 0.3 to 300 on held-out rows.
    max_iter : int, default=10
        Number of epochs.
    batch_size : int, default=64
        Rows of a step.
    learning_rate : float, default=0.01
        Length of the steps.
    first_temperature : float, default=1000.0
        Temperature of the first epoch; it is multiplied by 0.7 after each.
    last_temperature : float, default=10.0
        Temperature below which it does not fall.
    init_scale : float, default=0.1
        Deviation of the first weights and biases, which are normal.
    random_state : int or None, default=None
        Seed of the first weights and of the steps.

    Attributes
    ----------
    machine_ : Machine
        The restricted Boltzmann machine.
    model_ : SABFGS
        The model of its hidden units.
    lowest_ : ndarray of shape (n_features_in_,)
        Least value of every feature in training.
    spread_ : ndarray of shape (n_features_in_,)
        Range of every feature in training.

    References
    ----------
    C. Tan, S. Chen, J. Zhang, Z. Xu, X. Geng and G. Ji, "RG4LDL: Renormalization group for label
    distribution learning", Knowledge-Based Systems 320, 113666, 2025.

    Examples
    --------
    >>> import numpy as np
    >>> from ldl import RG4LDL
    >>> rng = np.random.default_rng(0)
    >>> X, D = rng.normal(size=(60, 4)), rng.dirichlet(np.ones(3), size=60)
    >>> model = RG4LDL(n_components=8, alpha=1.0, random_state=0).fit(X[:40], D[:40])
    >>> model.predict(X[40:]).shape
    (20, 3)
    """

    n_components: Count = 64
    alpha: NotNegative | Auto = AUTO
    max_iter: Count = 10
    batch_size: Count = 64
    learning_rate: Positive = 0.01
    first_temperature: Positive = 1000.0
    last_temperature: Positive = 10.0
    init_scale: Positive = 0.1
    random_state: int | None = None
    standardise: bool = field(default=False, kw_only=True)

    candidates: ClassVar[Grid] = {"alpha": (3.0, 0.3, 30.0, 300.0)}

    def _fit(self, X: np.ndarray, D: np.ndarray) -> None:
        generator = np.random.default_rng(self.random_state)
        self.lowest_, self.spread_ = X.min(axis=0), np.ptp(X, axis=0)
        X = self._stretched(X)
        (n, q), m = X.shape, self.n_components
        self.machine_ = Machine(
            *(self.init_scale * generator.normal(size=size) for size in ((q, m), q, m))
        )
        for epoch in range(self.max_iter):
            temperature = max(self.last_temperature, self.first_temperature * _COOLING**epoch)
            for start in range(0, n, self.batch_size):
                rows = X[start : start + self.batch_size]
                self.machine_.learn(rows, self.learning_rate, temperature, generator)
        self.model_ = SABFGS(alpha=self.alpha, mean_share=None)
        self.model_.fit(self.machine_.upwards(X), D, self._weight(n))

    def _predict(self, X: np.ndarray) -> np.ndarray:
        return self.model_.predict(self.machine_.upwards(self._stretched(X)))

    def _stretched(self, X: np.ndarray) -> Any:
        """Stretch features to [0, 1]; those that did not vary become zero."""
        varies = self.spread_ > 0
        return np.where(varies, (X - self.lowest_) / np.where(varies, self.spread_, 1.0), 0.0)


def sigmoid(Z: np.ndarray) -> np.ndarray:
    """Return 1 / (1 + exp(-Z)) without an overflow."""
    return 0.5 * (1.0 + np.tanh(0.5 * Z))
