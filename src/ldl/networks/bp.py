"""AA-BP: a feed-forward network trained on the squared error by gradient descent on all rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np

from ldl._parameters import Auto, Count, Positive
from ldl._self_tuned import Grid, SelfTuned
from ldl._tempered import AUTO
from ldl.base import dense
from ldl.linear._softmax import softmax_rows


class Layers:
    """Tanh layers and a last one that is linear or a softmax; gradients by back-propagation."""

    def __init__(self, sizes: list[int], output: str) -> None:
        self.sizes = sizes
        self.output = output

    def start(self, init: str, generator: np.random.Generator) -> list[np.ndarray]:
        """Draw first weights and biases, in turn, layer by layer."""
        parameters: list[np.ndarray] = []
        for into, out in zip(self.sizes[:-1], self.sizes[1:], strict=True):
            hidden = len(parameters) < 2 * (len(self.sizes) - 2)
            if init == "glorot":
                reach = np.sqrt(6.0 / (into + out))
                parameters += [generator.uniform(-reach, reach, (into, out)), np.zeros(out)]
            elif hidden:
                parameters += _nguyen_widrow(into, out, generator)
            else:
                parameters += [
                    generator.uniform(-1.0, 1.0, (into, out)),
                    generator.uniform(-1.0, 1.0, out),
                ]
        return parameters

    def forward(self, parameters: list[np.ndarray], X: Any) -> list[np.ndarray]:
        """Return the activations of every layer after the input; the last one is the output."""
        activations: list[np.ndarray] = []
        signal = X
        for i in range(0, len(parameters), 2):
            Z = np.asarray(signal @ parameters[i])
            Z += parameters[i + 1]
            if i < len(parameters) - 2:
                np.tanh(Z, out=Z)
            elif self.output == "softmax":
                Z = softmax_rows(Z)
            activations.append(Z)
            signal = Z
        return activations

    def gradient(
        self, parameters: list[np.ndarray], X: Any, D: np.ndarray, weight: Any = 1.0
    ) -> tuple[float, list[np.ndarray]]:
        """Return the mean squared error over rows and labels, and its gradient.

        ``weight`` holds a column of weights with mean 1; or all rows count alike.
        """
        activations = self.forward(parameters, X)
        E = activations[-1] - D
        weighted = E * weight
        error = float(np.vdot(E, weighted)) / E.size
        delta = weighted * (2.0 / E.size)
        if self.output == "softmax":
            P = activations[-1]
            delta = P * (delta - np.einsum("ij,ij->i", P, delta)[:, None])
        gradients: list[np.ndarray] = []
        for i in range(len(activations) - 1, -1, -1):
            signal = activations[i - 1] if i else X
            gradients = [np.asarray(signal.T @ delta), delta.sum(axis=0), *gradients]
            if i:
                delta = delta @ parameters[2 * i].T
                delta *= 1.0 - signal * signal
        return error, gradients


@dataclass(eq=False, repr=False)
class AABP(SelfTuned):
    """Feed-forward network trained by back-propagation (AA-BP).

    Algorithm adaptation: tanh layers and an output unit for each label. Gradient descent on all
    rows at once lowers the mean squared error ``sum_ij (P_ij - D_ij)^2 / (n c)``.

    Parameters
    ----------
    hidden_layer_sizes : sequence of int, default=(50,)
        Sizes of the tanh layers. The MSLP paper has one of 50, the LDL toolbox two of 24 and 60.
    output : {'softmax', 'abs_norm'}, default='softmax'
        ``'softmax'`` is the output in Geng's paper. ``'abs_norm'`` is the toolbox's: linear, with
        absolute values divided by their sum in ``predict`` only.
    inputs : {'as_given', 'minus_one_to_one'}, default='as_given'
        ``'minus_one_to_one'`` stretches every feature to [-1, 1], as the toolbox's network builder
        does; sparse features are made dense. Small features as given hardly move the network.
    init : {'glorot', 'nguyen_widrow'}, default='glorot'
        Law of the first weights: Glorot's uniform one with biases of zero, or that of Nguyen and
        Widrow, as in the toolbox.
    learning_rate : float, default=0.5
        Factor of the gradient that every epoch subtracts. The toolbox has 0.05 and 6000 epochs.
    max_iter : int or 'auto', default='auto'
        Largest number of epochs; each is one step on all rows. ``'auto'`` chooses from 50 to 1600
        on held-out rows.
    goal : float, default=0.0001
        Mean squared error at which training ends.
    random_state : int or None, default=None
        Seed of the first weights.

    Attributes
    ----------
    layers_ : Layers
        Sizes and kinds of the layers.
    parameters_ : list of ndarray
        Weights and biases in turn, layer by layer.
    lowest_ : ndarray of shape (n_features_in_,)
        Least value of every feature in training; only with ``inputs='minus_one_to_one'``.
    spread_ : ndarray of shape (n_features_in_,)
        Range of every feature in training; only with ``inputs='minus_one_to_one'``.
    diagnostics_ : dict
        Epochs, the squared error in the last one, and why training stopped.

    References
    ----------
    X. Geng, "Label distribution learning", IEEE Transactions on Knowledge and Data Engineering
    28(7), 1734-1748, 2016.

    D. Nguyen and B. Widrow, "Improving the learning speed of 2-layer neural networks by choosing
    initial values of the adaptive weights", International Joint Conference on Neural Networks,
    1990.

    Examples
    --------
    >>> import numpy as np
    >>> from ldl import AABP
    >>> rng = np.random.default_rng(0)
    >>> X, D = rng.normal(size=(60, 4)), rng.dirichlet(np.ones(3), size=60)
    >>> model = AABP(hidden_layer_sizes=(8,), max_iter=100, random_state=0).fit(X[:40], D[:40])
    >>> model.predict(X[40:]).shape
    (20, 3)
    """

    accepts_sparse = True

    hidden_layer_sizes: Sequence[Count] = (50,)
    output: Literal["softmax", "abs_norm"] = "softmax"
    inputs: Literal["as_given", "minus_one_to_one"] = "as_given"
    init: Literal["glorot", "nguyen_widrow"] = "glorot"
    learning_rate: Positive = 0.5
    max_iter: Count | Auto = AUTO
    goal: float = 1e-4
    random_state: int | None = None

    candidates: ClassVar[Grid] = {"max_iter": (100, 50, 200, 400, 800, 1600)}
    tells_steps = True

    def _fit(self, X: Any, D: np.ndarray) -> None:
        if self.inputs == "minus_one_to_one":
            X = dense(X)
            self.lowest_, self.spread_ = X.min(axis=0), np.ptp(X, axis=0)
        X = self._stretched(X)
        layers = Layers([X.shape[1], *self.hidden_layer_sizes, D.shape[1]], self.output)
        parameters = layers.start(self.init, np.random.default_rng(self.random_state))
        self.layers_ = layers
        self.parameters_ = parameters  # which epochs change in place
        given = self._weight(len(D))
        weight = 1.0 if given is None else (given / given.mean())[:, None]
        stopped = "max_iter"
        epochs = 0
        while epochs < self.max_iter and stopped == "max_iter":
            error, gradients = layers.gradient(parameters, X, D, weight)
            epochs += 1
            if error < self.goal:
                stopped = "goal"
            else:
                for parameter, slope in zip(parameters, gradients, strict=True):
                    slope *= self.learning_rate
                    parameter -= slope
                self._tell(epochs)
        self.diagnostics_ = {
            "epochs": epochs,
            "squared_error_in_last_epoch": error,
            "stopped": stopped,
        }

    def _predict(self, X: Any) -> np.ndarray:
        return np.abs(self.layers_.forward(self.parameters_, self._stretched(X))[-1])

    def _stretched(self, X: Any) -> Any:
        """Stretch features to [-1, 1] if asked to; those that did not vary become zero."""
        if self.inputs == "as_given":
            return X
        X = dense(X)
        varies = self.spread_ > 0
        factor = np.where(varies, 2.0 / np.where(varies, self.spread_, 1.0), 0.0)
        return np.where(varies, (X - self.lowest_) * factor - 1.0, 0.0)


def _nguyen_widrow(into: int, out: int, generator: np.random.Generator) -> list[np.ndarray]:
    """Draw directions of one length, with active regions spread over inputs in [-1, 1]."""
    size = 0.7 * out ** (1.0 / into)
    W = generator.uniform(-1.0, 1.0, (into, out))
    W *= size / np.linalg.norm(W, axis=0)
    spread = size * np.linspace(-1.0, 1.0, out) if out > 1 else np.zeros(1)
    return [W, spread * np.sign(generator.uniform(-1.0, 1.0, out))]
