"""CPNN: a network of the features and a label's number, normalised over the labels."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Literal

import numpy as np

from ldl._parameters import Auto, Count, Interval
from ldl._self_tuned import Grid, SelfTuned
from ldl._tempered import AUTO

_LARGEST_EXPONENT = 700.0
_TINY = np.finfo(np.float64).tiny


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
        from ldl.networks._conditional import move

        limits = self.grow, self.shrink, self.smallest, self.largest
        move(weights, gradient, steps, previous, *limits)


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
        from ldl.networks._conditional import Room, predictions

        P, room = np.empty((X.shape[0], len(self.numbers))), Room.of(len(self.numbers), self.hidden)
        predictions(*self._exponentials(flat, X), self.parts(flat)[-1], P, room)
        return P

    def gradient(
        self,
        flat: np.ndarray,
        X: Any,
        D: np.ndarray,
        weight: np.ndarray,
        released: bool = False,
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return predictions, and the gradient of the weighted sum of the rows' cross entropies.

        ``released`` weighs each hidden unit's error by the sum of all output weights in place of
        its own, as the published code does by summing over the wrong axis.
        """
        from ldl.networks._conditional import ROWS, Room, slopes

        o = self.parts(flat)[-1]
        D = np.ascontiguousarray(D)
        P = np.empty(D.shape)
        errors = np.empty((self.hidden, len(D)))
        by_out = np.zeros((self.hidden, ROWS))
        by_label = np.zeros((D.shape[1], *by_out.shape))
        room = Room.of(D.shape[1], self.hidden)
        slopes(*self._exponentials(flat, X), o, D, weight, P, errors, by_out, by_label, room)
        gradient = np.empty(self.size)
        into_w, into_u, into_b, into_o = self.parts(gradient)
        into_w[:] = np.asarray(X.T @ errors.T)
        into_u[:] = self._of_labels(by_label.sum(axis=2))
        into_b[:] = errors.sum(axis=1)
        into_o[:] = by_out.sum(axis=1)
        factor = o.sum() if released else o
        for part in (into_w, into_u, into_b):
            part *= factor
        return P, gradient

    def _of_labels(self, slopes: np.ndarray) -> np.ndarray:
        """Return slopes by the labels' weights from those by every label's part of the inputs."""
        return self.numbers @ slopes

    def _exponentials(self, flat: np.ndarray, X: Any) -> tuple[np.ndarray, np.ndarray]:
        """Return exp(-part) for the rows' parts of the inputs and for the labels' parts.

        What both sum to counts, so labels' parts lie around zero. Where one is clipped a unit is 0
        or 1, unless the labels' parts of a unit are 1,400 apart.
        """
        w, u, b, _ = self.parts(flat)
        of_labels = self.numbers[:, None] * u + b
        centre = 0.5 * (of_labels.min(axis=0) + of_labels.max(axis=0))
        of_rows = np.ascontiguousarray(np.asarray(w.T @ X.T))
        of_rows += centre[:, None]
        of_labels -= centre
        return _exponential(of_rows), _exponential(of_labels)


def _exponential(parts: np.ndarray) -> np.ndarray:
    """Return exp(-part), in the same memory."""
    np.negative(parts, out=parts)
    np.clip(parts, -_LARGEST_EXPONENT, _LARGEST_EXPONENT, out=parts)
    return np.exp(parts, out=parts)


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
        given = self._weight(len(D))
        weight = np.ones(len(D)) if given is None else given
        self.network_ = network
        self.coef_ = weights  # which epochs change in place
        for epoch in range(self.max_iter):
            P, gradient = network.gradient(weights, X, D, weight, released)
            rprop.move(weights, gradient, steps, previous)
            self._tell(epoch + 1)
        logs = weight[:, None] * D * np.log(np.maximum(P, _TINY))
        self.diagnostics_ = {
            "epochs": self.max_iter,
            "loss_before_last_epoch": float(-logs.sum()),
            "largest_weight": float(np.abs(weights).max()),
        }

    def _predict(self, X: Any) -> np.ndarray:
        return self.network_.predict(self.coef_, X)
