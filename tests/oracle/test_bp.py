"""AA-BP: its gradient, the limits of the network, and what training must achieve."""

from functools import partial

import numpy as np
import pytest

from ldl.networks.bp import AABP, Layers, _nguyen_widrow
from tests.oracle.examples import unrelated
from tests.oracle.settings import as_stated

OUTPUTS = ["softmax", "abs_norm"]


data = partial(unrelated, n=20, q=6, c=4)


@pytest.mark.parametrize("output", OUTPUTS)
@pytest.mark.parametrize("hidden", [[5], [4, 3]])
def test_gradient_equals_central_differences(output, hidden):
    X, D = data()
    layers = Layers([6, *hidden, 4], output)
    parameters = layers.start("glorot", np.random.default_rng(1))
    for bias in parameters[1::2]:
        bias[:] = np.random.default_rng(2).normal(size=bias.shape)
    gradients = layers.gradient(parameters, X, D)[1]
    step = 1e-6
    for parameter, gradient in zip(parameters, gradients, strict=True):
        for index in np.ndindex(parameter.shape):
            kept = parameter[index]
            errors = []
            for moved in (kept + step, kept - step):
                parameter[index] = moved
                errors.append(((layers.forward(parameters, X)[-1] - D) ** 2).mean())
            parameter[index] = kept
            difference = (errors[0] - errors[1]) / (2 * step)
            assert gradient[index] == pytest.approx(difference, rel=1e-5, abs=1e-9)


def test_forward_pass_is_the_formula():
    X, _ = data()
    generator = np.random.default_rng(3)
    W, b, V, a = (generator.normal(size=shape) for shape in ((6, 5), 5, (5, 4), 4))
    linear = np.tanh(X @ W + b) @ V + a
    parameters = [W, b, V, a]
    np.testing.assert_allclose(Layers([6, 5, 4], "abs_norm").forward(parameters, X)[-1], linear)
    expected = np.exp(linear) / np.exp(linear).sum(axis=1, keepdims=True)
    np.testing.assert_allclose(Layers([6, 5, 4], "softmax").forward(parameters, X)[-1], expected)


@pytest.mark.parametrize("output", OUTPUTS)
def test_fifty_units_fit_twenty_random_rows(output):
    X, D = data()
    rate = {"softmax": 5.0, "abs_norm": 0.2}[output]
    model = as_stated(AABP, output=output, learning_rate=rate, max_iter=30000, random_state=0).fit(
        X, D
    )
    assert model.diagnostics_["stopped"] == "goal"
    assert ((model.predict(X) - D) ** 2).mean() < 1.5e-4


def test_linear_outputs_become_distributions_by_absolute_value():
    X, D = data()
    model = as_stated(AABP, output="abs_norm", max_iter=3, random_state=0).fit(X, D)
    raw = model.layers_.forward(model.parameters_, X)[-1]
    assert (raw < 0).any()
    expected = np.abs(raw) / np.abs(raw).sum(axis=1, keepdims=True)
    np.testing.assert_allclose(model.predict(X), expected)


def test_stretched_inputs_do_not_care_for_units_and_constant_features():
    X, D = data()
    settings = {"inputs": "minus_one_to_one", "max_iter": 50, "random_state": 0}
    plain = as_stated(AABP, **settings).fit(X, D).predict(X)
    other_units = as_stated(AABP, **settings).fit(7.0 * X + 3.0, D).predict(7.0 * X + 3.0)
    np.testing.assert_allclose(other_units, plain, atol=1e-12)
    stretched = 2.0 * (X - X.min(axis=0)) / np.ptp(X, axis=0) - 1.0
    as_given = as_stated(AABP, max_iter=50, random_state=0).fit(stretched, D).predict(stretched)
    np.testing.assert_allclose(as_given, plain, atol=1e-12)
    X[:, 2] = 5.0
    model = as_stated(AABP, **settings).fit(X, D)
    elsewhere = X.copy()
    elsewhere[:, 2] = -40.0
    np.testing.assert_array_equal(model.predict(elsewhere), model.predict(X))


def test_nguyen_widrow_weights_have_one_length_and_spread_biases():
    W, b = _nguyen_widrow(6, 50, np.random.default_rng(0))
    length = 0.7 * 50 ** (1 / 6)
    np.testing.assert_allclose(np.linalg.norm(W, axis=0), length)
    np.testing.assert_allclose(np.abs(b), np.abs(length * np.linspace(-1, 1, 50)))


def test_glorot_weights_stay_within_their_bound():
    W, b, _, _ = Layers([6, 50, 4], "softmax").start("glorot", np.random.default_rng(0))
    bound = np.sqrt(6 / 56)
    assert 0.95 * bound < np.abs(W).max() <= bound
    assert not b.any()
