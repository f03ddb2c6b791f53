"""CPNN: its gradient, the sum written out, and the optimiser on a known problem."""

import numpy as np
from scipy.sparse import csr_matrix

from ldl.linear._softmax import softmax_rows
from ldl.networks import cpnn
from ldl.networks.cpnn import CPNN, Network, Rprop
from tests.oracle.settings import as_stated


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
    gradient = net.gradient(weights, X, D)[1]
    np.testing.assert_allclose(gradient, differences(net, weights, X, D), rtol=1e-6, atol=1e-7)


def test_released_gradient_is_another_one_in_the_hidden_layer_only():
    X, D = data()
    net, weights = network()
    expected = net.parts(differences(net, weights, X, D))
    found = net.parts(net.gradient(weights, X, D, released=True)[1])
    np.testing.assert_allclose(found[3], expected[3], rtol=1e-6)
    for wrong, right in zip(found[:3], expected[:3], strict=True):
        assert np.abs(wrong - right).max() > 0.1 * np.abs(right).max()


def test_gradient_and_prediction_equal_the_loop_over_rows_and_labels():
    X, D = data()
    net, weights = network()
    w, u, b, o = net.parts(weights)
    P, gradient = net.gradient(weights, X, D)
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


def test_blocks_of_rows_change_nothing_but_rounding(monkeypatch):
    X, D = data()
    net, weights = network()
    whole = net.gradient(weights, X, D)
    monkeypatch.setattr(cpnn, "_BLOCK", 7 * 15)
    assert len(list(net._blocks(30))) == 5
    for blocked, once in zip(net.gradient(weights, X, D), whole, strict=True):
        np.testing.assert_allclose(blocked, once, rtol=1e-10, atol=1e-12)


def test_without_output_weights_the_prediction_is_uniform_and_features_get_no_gradient():
    X, D = data()
    net, weights = network()
    net.parts(weights)[3][:] = 0.0
    P, gradient = net.gradient(weights, X, D)
    np.testing.assert_allclose(P, 1 / 3)
    into_w, into_u, into_b, into_o = net.parts(gradient)
    assert not np.concatenate([into_w.ravel(), into_u, into_b]).any()
    assert into_o.any()


def test_sparse_and_dense_features_have_the_same_gradient():
    X, D = data()
    X[np.abs(X) < 0.7] = 0.0
    net, weights = network()
    dense = net.gradient(weights, X, D)[1]
    np.testing.assert_allclose(net.gradient(weights, csr_matrix(X), D)[1], dense, atol=1e-12)


def test_huge_activations_do_not_overflow():
    X, D = data()
    net, weights = network()
    with np.errstate(over="raise", invalid="raise"):
        P, gradient = net.gradient(1e4 * weights, X, D)
    assert np.isfinite(P).all()
    assert np.isfinite(gradient).all()


def test_rprop_reaches_the_minimum_of_a_quadratic():
    target = np.array([3.0, -20.0, 0.5])
    curvature = np.array([1.0, 100.0, 0.01])
    rprop = Rprop(smallest=1e-9)
    weights = np.zeros(3)
    steps, previous = rprop.start(3)
    for _ in range(200):
        rprop.move(weights, curvature * (weights - target), steps, previous)
    np.testing.assert_allclose(weights, target, atol=1e-6)


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


def test_training_lowers_the_loss_below_that_of_the_mean_label():
    X, D = data(n=80)
    P = as_stated(CPNN, max_iter=300, random_state=0).fit(X, D).predict(X)
    assert -(D * np.log(P)).sum() < 0.9 * -(D * np.log(D.mean(axis=0))).sum()


def test_finer_steps_come_nearer_to_a_minimum():
    X, D = data(n=300)
    losses = [
        as_stated(CPNN, max_iter=200, smallest_step=step, random_state=0)
        .fit(X, D)
        .diagnostics_["loss_before_last_epoch"]
        for step in (0.05, 1e-6)
    ]
    assert losses[1] < 0.98 * losses[0]


def test_order_of_the_labels_matters_as_they_enter_as_numbers():
    X, D = data()
    model = as_stated(CPNN, max_iter=20, random_state=0)
    straight = model.fit(X, D).predict(X)
    permuted = model.fit(X, D[:, [2, 0, 1]]).predict(X)
    assert np.abs(permuted - straight[:, [2, 0, 1]]).max() > 1e-3
