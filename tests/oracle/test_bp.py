"""AA-BP: its gradient, the limits of the network, and what training must achieve."""

from functools import partial

import numpy as np
import pytest

from ldl.networks.bp import AABP, Layers
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


def test_linear_outputs_become_distributions_by_absolute_value():
    X, D = data()
    model = as_stated(AABP, output="abs_norm", max_iter=3, random_state=0).fit(X, D)
    raw = model.layers_.forward(model.parameters_, X)[-1]
    assert (raw < 0).any()
    expected = np.abs(raw) / np.abs(raw).sum(axis=1, keepdims=True)
    np.testing.assert_allclose(model.predict(X), expected)
