"""CPNN: its gradient, the sum written out, and the optimiser on a known problem."""

import numpy as np

from ldl.linear._softmax import softmax_rows
from ldl.networks.cpnn import Network, Rprop


def data(seed: int = 0, n: int = 30, q: int = 4, c: int = 3) -> tuple[np.ndarray, np.ndarray]:
    generator = np.random.default_rng(seed)
    X = generator.normal(size=(n, q))
    return X, softmax_rows(X[:, :c] + 0.5 * generator.normal(size=(n, c)))


def network(seed: int = 1) -> tuple[Network, np.ndarray]:
    net = Network(features=4, labels=3, hidden=5)
    return net, np.random.default_rng(seed).uniform(-0.5, 0.5, net.size)


def differences(net: Network, weights: np.ndarray, X: np.ndarray, D: np.ndarray) -> np.ndarray:
    def loss(flat: np.ndarray) -> float:
        return float(-(D * np.log(net.predict(flat, X))).sum())

    step = 1e-5
    moves = step * np.eye(net.size)
    return np.array([(loss(weights + e) - loss(weights - e)) / (2 * step) for e in moves])


def test_gradient_equals_central_differences():
    X, D = data()
    net, weights = network()
    gradient = net.gradient(weights, X, D, np.ones(len(D)))[1]
    np.testing.assert_allclose(gradient, differences(net, weights, X, D), rtol=1e-6, atol=1e-7)


def test_gradient_and_prediction_equal_the_loop_over_rows_and_labels():
    X, D = data()
    net, weights = network()
    w, u, b, o = net.parts(weights)
    P, gradient = net.gradient(weights, X, D, np.ones(len(D)))
    H = np.empty((30, 3, 5))
    for i in range(30):
        for j in range(3):
            H[i, j] = 1 / (1 + np.exp(-(X[i] @ w + (j + 1) * u + b)))
    expected = np.exp(H @ o) / np.exp(H @ o).sum(axis=1, keepdims=True)
    np.testing.assert_allclose(P, expected, rtol=1e-12)
    np.testing.assert_allclose(net.predict(weights, X), expected, rtol=1e-12)
    loops = [np.zeros_like(part) for part in (w, u, b, o)]
    for i in range(30):
        for j in range(3):
            g = P[i, j] - D[i, j]
            delta = g * o * H[i, j] * (1 - H[i, j])
            loops[0] += np.outer(X[i], delta)
            loops[1] += delta * (j + 1)
            loops[2] += delta
            loops[3] += g * H[i, j]
    for part, loop in zip(net.parts(gradient), loops, strict=True):
        np.testing.assert_allclose(part, loop, rtol=1e-10, atol=1e-12)


def test_rprop_grows_shrinks_and_rests_as_described():
    rprop = Rprop()
    weights = np.zeros(3)
    steps, previous = rprop.start(3)
    rprop.move(weights, np.array([1.0, -1.0, 0.0]), steps, previous)
    # The gradient before the first counts as positive: the second weight seems to have turned.
    np.testing.assert_allclose(steps, [0.12, 0.05, 0.1])
    np.testing.assert_allclose(weights, [-0.12, 0.0, 0.0])
    rprop.move(weights, np.array([1.0, -1.0, 1.0]), steps, previous)
    np.testing.assert_allclose(steps, [0.144, 0.05, 0.1])
    np.testing.assert_allclose(weights, [-0.264, 0.05, -0.1])
    for _ in range(60):
        rprop.move(weights, np.array([1.0, -1.0, 0.0]), steps, previous)
    assert steps[0] == steps[1] == 50.0
