"""BCPNN and ACPNN: the network in loops, its gradient, labels in any order, copies of rows."""

import numpy as np
import pytest

from ldl import ACPNN, BCPNN
from ldl.networks.bcpnn import BinaryNetwork, augmented
from tests.oracle.examples import check_gradient, exponential_problem
from tests.oracle.settings import as_stated


def test_predictions_equal_the_formula_in_loops():
    X, _ = exponential_problem(n=5, q=3, c=4)
    network = BinaryNetwork(3, 4, 2)
    flat = np.random.default_rng(0).normal(size=network.size)
    w, u, b, o = flat[:6].reshape(3, 2), flat[6:14].reshape(4, 2), flat[14:16], flat[16:]
    expected = np.empty((5, 4))
    for i in range(5):
        for y in range(4):
            inputs = [X[i] @ w[:, k] + u[y, k] + b[k] for k in range(2)]
            expected[i, y] = np.exp(sum(o[k] / (1 + np.exp(-inputs[k])) for k in range(2)))
    expected /= expected.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(network.predict(flat, X), expected, rtol=1e-12)


def test_gradient_equals_central_differences():
    X, D = exponential_problem(n=12, q=3, c=4)
    network = BinaryNetwork(3, 4, 3)

    def loss(flat):
        P, gradient = network.gradient(flat, X, D, np.ones(len(D)))
        return -(D * np.log(P)).sum(), gradient

    check_gradient(loss, np.random.default_rng(1).normal(size=network.size))


def test_copies_by_hand():
    """Copies of 0.6 and 0.4 are 1.2 and 0.4, then 0.9 and 0.4, each divided by its sum."""
    np.testing.assert_allclose(
        augmented(np.array([[0.6, 0.4]]), 2), [[0.75, 0.25], [0.9 / 1.3, 0.4 / 1.3]]
    )


def test_acpnn_is_bcpnn_on_the_copies():
    X, D = exponential_problem(n=20, q=3, c=4)
    copies = as_stated(ACPNN, hidden_layer_sizes=4, max_iter=20, copies=3, random_state=0).fit(X, D)
    plain = as_stated(BCPNN, hidden_layer_sizes=4, max_iter=20, random_state=0)
    plain.fit(np.repeat(X, 3, axis=0), augmented(D, 3))
    np.testing.assert_allclose(copies.predict(X), plain.predict(X), rtol=1e-9)
    with pytest.raises(ValueError, match="copies must be"):
        ACPNN(copies=0).fit(X, D)
