"""Duo-LDL: a network that learns how far each label is ahead of each other one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from ldl._parameters import Auto, Count, Positive
from ldl._self_tuned import Grid, SelfTuned
from ldl._tempered import AUTO
from ldl.linear.ldlcl import project_to_simplex
from ldl.networks.bp import Layers


@dataclass(eq=False, repr=False)
class DuoLDL(SelfTuned):
    """Network of the differences between degrees (Duo-LDL).

    One tanh layer, and an output for each ordered pair of labels, which learns ``D_ij - D_ik``. As
    degrees sum to 1, the differences of label j to all others give its degree, ``(1 + sum_k (D_ij -
    D_ik)) / c``; the distribution nearest to these is predicted. Steps of Adam on all rows lower
    the mean squared error.

    The text of the paper was not at hand: layers and decoding are those of the public toolbox
    python-ldl, but for tanh units in place of sigmoid ones and linear outputs in place of tanh.
    Many steps learn standardised features by heart, which is why ``max_iter`` is chosen.

    Parameters
    ----------
    hidden_layer_sizes : int, default=40
        Number of tanh units; there is one layer of them.
    learning_rate : float, default=0.01
        Length of the steps of Adam.
    max_iter : int or 'auto', default='auto'
        Number of steps. ``'auto'`` chooses from 25 to 800 on held-out rows.
    random_state : int or None, default=None
        Seed of the first weights.

    Attributes
    ----------
    layers_ : Layers
        Sizes of the layers.
    parameters_ : list of ndarray
        Weights and biases in turn, layer by layer.
    loss_ : float
        Mean squared error before the last step.

    References
    ----------
    A. Zychowski and J. Mandziuk, "Duo-LDL method for label distribution learning based on pairwise
    class dependencies", Applied Soft Computing 110, 107585, 2021.

    Examples
    --------
    >>> import numpy as np
    >>> from ldl import DuoLDL
    >>> rng = np.random.default_rng(0)
    >>> X, D = rng.normal(size=(60, 4)), rng.dirichlet(np.ones(3), size=60)
    >>> model = DuoLDL(hidden_layer_sizes=8, max_iter=100, random_state=0).fit(X[:40], D[:40])
    >>> model.predict(X[40:]).shape
    (20, 3)
    """

    hidden_layer_sizes: Count = 40
    learning_rate: Positive = 0.01
    max_iter: Count | Auto = AUTO
    random_state: int | None = None

    candidates: ClassVar[Grid] = {"max_iter": (100, 25, 50, 200, 400, 800)}
    tells_steps = True

    def _fit(self, X: Any, D: np.ndarray) -> None:
        from ldl.networks._adam import adam

        (n, c), h = D.shape, self.hidden_layer_sizes
        apart = differences(np.eye(c))
        layers = Layers([X.shape[1], h, apart.shape[1]], "linear")
        values = layers.start("glorot", np.random.default_rng(self.random_state))
        # Errors are activations times (weights, biases, differences), [H 1 -D] V. They are not
        # written out: slopes and loss take the product of the activations with themselves.
        V = np.vstack([values[2], values[3], apart])
        activations = np.hstack([np.empty((n, h)), np.ones((n, 1)), -D])
        H = activations[:, :h]
        weight = self._weight(n)
        outputs = apart.shape[1] * (n if weight is None else weight.sum())
        values[2:] = V[:h], V[h]
        self.layers_, self.parameters_ = layers, values  # which steps change in place
        first = [np.zeros_like(value) for value in values]
        second = [np.zeros_like(value) for value in values]
        for step in range(1, self.max_iter + 1):
            np.tanh(X @ values[0] + values[1], out=H)
            turned = activations.T if weight is None else activations.T * weight
            by_V = turned @ activations @ V
            self.loss_ = float(np.vdot(V, by_V)) / outputs
            delta = activations @ (V @ V[:h].T)
            delta *= 1.0 - H * H
            if weight is not None:
                delta *= weight[:, None]
            slopes = [X.T @ delta, delta.sum(axis=0), by_V[:h], by_V[h]]
            for slope, *place in zip(slopes, values, first, second, strict=True):
                slope *= 2.0 / outputs
                adam(slope.ravel(), *(part.reshape(-1) for part in place), step, self.learning_rate)
            self._tell(step)

    def _predict(self, X: Any) -> np.ndarray:
        return degrees(self.layers_.forward(self.parameters_, X)[-1], self.n_labels_)


def differences(D: np.ndarray) -> np.ndarray:
    """Return D_ij - D_ik for every label j and each other label k, (n, c (c - 1))."""
    apart = D[:, :, None] - D[:, None, :]
    return apart[:, ~np.eye(D.shape[1], dtype=bool)]


def degrees(apart: np.ndarray, labels: int) -> np.ndarray:
    """Return the distributions nearest to those whose differences are given."""
    sums = apart.reshape(len(apart), labels, labels - 1).sum(axis=2)
    return project_to_simplex((1.0 + sums) / labels)
