"""BCPNN and ACPNN: the network of CPNN for labels without an order, and with copies of rows."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from ldl._parameters import Count
from ldl._self_tuned import Grid
from ldl.networks.cpnn import CPNN, Network


class BinaryNetwork(Network):
    """The network ``f(x, y) = sum_k o_k sigmoid(x'w_k + u_yk + b_k)``.

    A label is a vector with a one in its place, so that each has weights of its own.
    """

    def __init__(self, features: int, labels: int, hidden: int) -> None:
        super().__init__(features, labels, hidden)
        self.size = (features + labels + 2) * hidden
        self.numbers = np.ones(labels)

    def parts(self, flat: np.ndarray) -> list[np.ndarray]:
        """Return views: w (features x hidden), u (labels x hidden), b and o (hidden)."""
        rows = flat.reshape(-1, self.hidden)
        return [rows[: self.features], rows[self.features : -2], rows[-2], rows[-1]]

    def _of_labels(self, slopes: np.ndarray) -> np.ndarray:
        return slopes


@dataclass(eq=False, repr=False)
class BCPNN(CPNN):
    """Conditional probability neural network with binary codes of the labels (BCPNN).

    The network of ``CPNN`` with a vector in the place of a label's number, one at the label and
    zero elsewhere: labels need no order. With u_yk the weight of label y into unit k::

        P(y | x) = exp f(x, y) / sum_y' exp f(x, y')
        f(x, y) = sum_k o_k sigmoid(x'w_k + u_yk + b_k)

    Attributes
    ----------
    network_ : BinaryNetwork
        Shapes of the layers.
    coef_ : ndarray of shape ((n_features_in_ + n_labels_ + 2) * hidden_layer_sizes,)
        All weights: w, u, b and o, one after the other.

    References
    ----------
    J. Yang, M. Sun and X. Sun, "Learning visual sentiment distributions via augmented conditional
    probability neural network", AAAI Conference on Artificial Intelligence, 2017.

    Examples
    --------
    >>> import numpy as np
    >>> from ldl import BCPNN
    >>> rng = np.random.default_rng(0)
    >>> X, D = rng.normal(size=(60, 4)), rng.dirichlet(np.ones(3), size=60)
    >>> model = BCPNN(hidden_layer_sizes=8, random_state=0).fit(X[:40], D[:40])
    >>> model.predict(X[40:]).shape, model.coef_.shape
    ((20, 3), (72,))
    """

    _network: ClassVar[type[Network]] = BinaryNetwork


@dataclass(eq=False, repr=False)
class ACPNN(BCPNN):
    """BCPNN that learns from copies of rows with a higher highest label (ACPNN).

    Each row stands in ``copies`` copies. In copy i its highest degree is multiplied by 1 + 1 / i,
    and the row divided by its sum. The text of the paper was at hand as an abstract only: the
    factors are those of the public toolbox python-ldl, which does not divide by the sum.

    Parameters
    ----------
    copies : int, default=5
        Number of copies of each row. The more, the nearer is the last one to the row itself.

    References
    ----------
    J. Yang, M. Sun and X. Sun, "Learning visual sentiment distributions via augmented conditional
    probability neural network", AAAI Conference on Artificial Intelligence, 2017.

    Examples
    --------
    >>> import numpy as np
    >>> from ldl import ACPNN
    >>> rng = np.random.default_rng(0)
    >>> X, D = rng.normal(size=(60, 4)), rng.dirichlet(np.ones(3), size=60)
    >>> model = ACPNN(hidden_layer_sizes=8, copies=3, random_state=0).fit(X[:40], D[:40])
    >>> model.predict(X[40:]).shape
    (20, 3)
    """

    copies: Count = field(default=5, kw_only=True)

    candidates: ClassVar[Grid] = {"max_iter": (10, 20, 50, 100, 200)}

    def _fit(self, X: Any, D: np.ndarray) -> None:
        # Copies of a row get the same prediction, so that their slopes add up to those of the mean,
        # as many times; and Rprop heeds signs only.
        super()._fit(X, augmented(D, self.copies).reshape(len(D), self.copies, -1).mean(axis=1))


def augmented(D: np.ndarray, copies: int) -> np.ndarray:
    """Return all copies of every row, one row after the other."""
    factors = 1.0 + 1.0 / np.arange(1, copies + 1)
    more = np.repeat(D, copies, axis=0)
    places = np.arange(len(more)), np.repeat(D.argmax(axis=1), copies)
    more[places] *= np.tile(factors, len(D))
    return more / more.sum(axis=1, keepdims=True)
