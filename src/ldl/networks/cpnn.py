"""CPNN: a network of the features and a label's number, normalised over the labels."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Literal

import numpy as np

from ldl._parameters import Auto, Count, Interval
from ldl._self_tuned import Grid, SelfTuned
from ldl._tempered import AUTO
from ldl.linear._softmax import softmax_rows

_LARGEST_EXPONENT = 700.0
_TINY = np.finfo(np.float64).tiny
_BLOCK = 2**15
"""Activations held at a time."""


@dataclass(frozen=True)
class Rprop:
    """Resilient propagation: steps that grow while signs agree and shrink when they change."""

    grow: float = 1.2
    shrink: float = 0.5
    first: float = 0.1
    largest: float = 50.0
    smallest: float = float(np.exp(-6.0))
    previous: float = 0.1
    """Stands for the gradient before the first one."""

    def start(self, size: int) -> tuple[np.ndarray, np.ndarray]:
        """Return the first steps, and the gradient that counts as the one before."""
        return np.full(size, self.first), np.full(size, self.previous)

    def move(
        self, weights: np.ndarray, gradient: np.ndarray, steps: np.ndarray, previous: np.ndarray
    ) -> None:
        """Do one epoch in place; a weight whose gradient changed sign rests."""
        agreement = gradient * previous
        steps[agreement > 0] *= self.grow
        steps[agreement < 0] *= self.shrink
        np.clip(steps, self.smallest, self.largest, out=steps)
        previous[:] = np.where(agreement < 0, 0.0, gradient)
        weights -= np.sign(previous) * steps


class Network:
    """The network ``f(x, y) = sum_k o_k sigmoid(x'w_k + y u_k + b_k)``, for all rows and labels.

    The sum over features does not depend on the label, so that it is taken once per row.
    """

    def __init__(self, features: int, labels: int, hidden: int) -> None:
        self.features = features
        self.hidden = hidden
        self.size = (features + 3) * hidden
        self.numbers = np.arange(1.0, labels + 1.0)

    def parts(self, flat: np.ndarray) -> list[np.ndarray]:
        """Return views: w (features x hidden), u, b and o (hidden)."""
        w = flat[: self.features * self.hidden].reshape(self.features, self.hidden)
        return [w, *flat[self.features * self.hidden :].reshape(3, self.hidden)]

    def predict(self, flat: np.ndarray, X: Any) -> np.ndarray:
        """Return the softmax of f over the labels of every row."""
        w, _, _, o = self.parts(flat)
        activations = _Activations(self, flat, np.asarray(X @ w))
        P = np.empty((X.shape[0], len(self.numbers)))
        for rows in self._blocks(len(P)):
            P[rows] = softmax_rows(activations.of(rows) @ o)
        return P

    def gradient(
        self, flat: np.ndarray, X: Any, D: np.ndarray, released: bool = False
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return predictions, and the gradient of the summed cross entropy.

        ``released`` weighs each hidden unit's error by the sum of all output weights in place of
        its own, as the published code does by summing over the wrong axis.
        """
        w, _, _, o = self.parts(flat)
        activations = _Activations(self, flat, np.asarray(X @ w))
        P = np.empty_like(D)
        gradient = np.zeros(self.size)
        into_w, into_u, into_b, into_o = self.parts(gradient)
        errors = np.empty((len(D), self.hidden))
        squares = np.empty_like(activations.room)
        for rows in self._blocks(len(D)):
            H = activations.of(rows)
            P[rows] = softmax_rows(H @ o)
            G = P[rows] - D[rows]
            into_o += G.ravel() @ H.reshape(-1, len(o))
            # From here on the derivative of the activations.
            H -= np.multiply(H, H, out=squares[: len(H)])
            errors[rows] = np.matmul(G[:, None, :], H)[:, 0, :]
            self._add_to_labels(into_u, G, H)
        into_w[:] = np.asarray(X.T @ errors)
        into_b[:] = errors.sum(axis=0)
        factor = o.sum() if released else o
        for part in (into_w, into_u, into_b):
            part *= factor
        return P, gradient

    def _add_to_labels(self, into_u: np.ndarray, G: np.ndarray, H: np.ndarray) -> None:
        """Add the derivatives of the labels' weights, but for the factor of each unit."""
        into_u += (G * self.numbers).ravel() @ H.reshape(-1, self.hidden)

    def _blocks(self, rows: int) -> Iterator[slice]:
        """Cut the rows so that the activations of a block stay in the cache."""
        step = self.rows_of_a_block()
        return (slice(start, start + step) for start in range(0, rows, step))

    def rows_of_a_block(self) -> int:
        return max(1, _BLOCK // (len(self.numbers) * self.hidden))


class _Activations:
    """The sigmoids of rows by labels by hidden units, block by block in the same memory."""

    def __init__(self, network: Network, flat: np.ndarray, from_features: np.ndarray) -> None:
        _, u, b, _ = network.parts(flat)
        # Minus the inputs: sums of negatives have the bits of negatives of sums.
        self.from_features = np.negative(from_features, out=from_features)
        self.from_labels = -(network.numbers[:, None] * u + b)
        largest = from_features.max(initial=-np.inf) + self.from_labels.max()
        self.within_range = largest <= _LARGEST_EXPONENT
        block = min(network.rows_of_a_block(), len(from_features))
        self.room = np.empty((block, *self.from_labels.shape))

    def of(self, rows: slice) -> np.ndarray:
        """Return the sigmoids of a block; the next block overwrites them."""
        some = self.from_features[rows]
        H = np.add(some[:, None, :], self.from_labels, out=self.room[: len(some)])
        if not self.within_range:
            np.minimum(H, _LARGEST_EXPONENT, out=H)
        np.exp(H, out=H)
        H += 1.0
        return np.divide(1.0, H, out=H)


@dataclass(eq=False, repr=False)
class CPNN(SelfTuned):
    """Conditional probability neural network, for ordered labels such as ages (CPNN).

    A network with one layer of sigmoid units takes the features x and the label y as a number 1, 2,
    ..., c, so that the order of the labels matters. With w_k, u_k and b_k the weights into unit k
    and o_k that out of it::

        P(y | x) = exp f(x, y) / sum_y' exp f(x, y')
        f(x, y) = sum_k o_k sigmoid(x'w_k + y u_k + b_k)

    Resilient propagation (Rprop) on all rows at once lowers the cross entropy
    ``-sum_ij D_ij ln P_ij``.

    Parameters
    ----------
    hidden_layer_sizes : int, default=50
        Number of sigmoid units; there is one layer of them.
    max_iter : int or 'auto', default='auto'
        Number of epochs. ``'auto'`` chooses from 10 to 400 on held-out rows; the toolbox has 100.
    hidden_gradient : {'exact', 'as_released'}, default='exact'
        ``'as_released'`` weighs the error of each hidden unit by the sum of all output weights
        in place of its own, as the released code does by summing over the wrong axis.
    smallest_step : float, default=1e-6
        Smallest step of Rprop, above 0 and at most 0.1. The default is that of Rprop's authors; the
        release has exp(-6). Where many weights move together, such a step overshoots and training
        may stall.
    random_state : int or None, default=None
        Seed of the first weights, which are uniform in [-0.5, 0.5].

    Attributes
    ----------
    network_ : Network
        Shapes of the layers.
    coef_ : ndarray of shape ((n_features_in_ + 3) * hidden_layer_sizes,)
        All weights: w, u, b and o, one after the other.
    diagnostics_ : dict
        Epochs, the cross entropy before the last one, and the largest weight.

    References
    ----------
    X. Geng, C. Yin and Z.-H. Zhou, "Facial age estimation by learning from label distributions",
    IEEE Transactions on Pattern Analysis and Machine Intelligence 35(10), 2401-2412, 2013.

    M. Riedmiller and H. Braun, "A direct adaptive method for faster backpropagation learning: the
    RPROP algorithm", IEEE International Conference on Neural Networks, 1993.

    Examples
    --------
    >>> import numpy as np
    >>> from ldl import CPNN
    >>> rng = np.random.default_rng(0)
    >>> X, D = rng.normal(size=(60, 4)), rng.dirichlet(np.ones(3), size=60)
    >>> model = CPNN(hidden_layer_sizes=8, random_state=0).fit(X[:40], D[:40])
    >>> model.predict(X[40:]).shape, model.coef_.shape
    ((20, 3), (56,))
    """

    accepts_sparse = True

    hidden_layer_sizes: Count = 50
    max_iter: Count | Auto = AUTO
    hidden_gradient: Literal["exact", "as_released"] = "exact"
    smallest_step: Annotated[float, Interval(0, Rprop.first, open_low=True)] = 1e-6
    random_state: int | None = None

    candidates: ClassVar[Grid] = {"max_iter": (10, 20, 50, 100, 200, 400)}
    tells_steps = True
    _network: ClassVar[type[Network]] = Network

    def _scaled(self, X: Any) -> Any:
        # Rows of length one: steps of Rprop move all weights together, and would overshoot.
        return X if self._scale is None else super()._scaled(X) / np.sqrt(X.shape[1])

    def _fit(self, X: Any, D: np.ndarray) -> None:
        network = self._network(X.shape[1], D.shape[1], self.hidden_layer_sizes)
        weights = np.random.default_rng(self.random_state).uniform(-0.5, 0.5, network.size)
        rprop = Rprop(smallest=self.smallest_step)
        steps, previous = rprop.start(network.size)
        released = self.hidden_gradient == "as_released"
        self.network_ = network
        self.coef_ = weights  # which epochs change in place
        for epoch in range(self.max_iter):
            P, gradient = network.gradient(weights, X, D, released)
            rprop.move(weights, gradient, steps, previous)
            self._tell(epoch + 1)
        self.diagnostics_ = {
            "epochs": self.max_iter,
            "loss_before_last_epoch": float(-(D * np.log(np.maximum(P, _TINY))).sum()),
            "largest_weight": float(np.abs(weights).max()),
        }

    def _predict(self, X: Any) -> np.ndarray:
        return self.network_.predict(self.coef_, X)
