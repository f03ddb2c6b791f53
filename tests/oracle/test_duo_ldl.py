"""Duo-LDL: differences and back, the network's error, steps of Adam by hand."""

import numpy as np
import pytest

from ldl import DuoLDL
from ldl.networks.duo_ldl import degrees, differences
from tests.oracle.examples import exponential_problem
from tests.oracle.settings import as_stated


def test_differences_by_hand():
    np.testing.assert_allclose(
        differences(np.array([[0.6, 0.3, 0.1]])), [[0.3, 0.5, -0.3, 0.2, -0.5, -0.2]]
    )


def test_degrees_come_back_from_their_differences():
    D = np.random.default_rng(0).dirichlet(np.ones(5), size=10)
    np.testing.assert_allclose(degrees(differences(D), 5), D, atol=1e-12)


def test_negative_degrees_go_to_the_nearest_distribution():
    """Differences of 2 and -2 mean degrees of 1.5 and -.5, whose nearest are 1 and 0."""
    np.testing.assert_allclose(degrees(np.array([[2.0, -2.0]]), 2), [[1.0, 0.0]])


def test_slopes_of_the_error_equal_central_differences():
    X, D = exponential_problem(n=12, q=3, c=3)
    model = as_stated(DuoLDL, hidden_layer_sizes=3, max_iter=1, random_state=0).fit(X, D)
    values, T = model.parameters_, differences(D)
    _, slopes = model.layers_.gradient(values, X, T)
    for value, slope in zip(values, slopes, strict=True):
        place = (0,) * value.ndim
        kept = value[place]
        ends = []
        for change in (1e-6, -1e-6):
            value[place] = kept + change
            ends.append(((model.layers_.forward(values, X)[-1] - T) ** 2).mean())
        value[place] = kept
        assert slope[place] == pytest.approx((ends[0] - ends[1]) / 2e-6, rel=1e-5, abs=1e-9)


def test_the_first_step_of_adam_has_the_learning_rate_as_its_length():
    X, D = exponential_problem(n=30, q=3, c=3)
    made = {"hidden_layer_sizes": 4, "random_state": 0, "learning_rate": 0.02}
    model = as_stated(DuoLDL, **made, max_iter=1).fit(X, D)
    start = model.layers_.start("glorot", np.random.default_rng(0))
    for value, first in zip(model.parameters_, start, strict=True):
        np.testing.assert_allclose(np.abs(value - first), 0.02, rtol=1e-3)


def test_steps_equal_those_of_errors_that_are_written_out():
    X, D = exponential_problem(n=30, q=3, c=4)
    made = {"hidden_layer_sizes": 5, "random_state": 0, "learning_rate": 0.02}
    model = as_stated(DuoLDL, **made, max_iter=6).fit(X, D)
    values = model.layers_.start("glorot", np.random.default_rng(0))
    m, v = ([np.zeros_like(value) for value in values] for _ in range(2))
    for step in range(1, 7):
        error, slopes = model.layers_.gradient(values, X, differences(D))
        for i, slope in enumerate(slopes):
            m[i] = 0.9 * m[i] + 0.1 * slope
            v[i] = 0.999 * v[i] + 0.001 * slope**2
            by = np.sqrt(v[i] / (1 - 0.999**step)) + 1e-8
            values[i] = values[i] - 0.02 * m[i] / (1 - 0.9**step) / by
    assert model.loss_ == pytest.approx(error, rel=1e-9)
    for value, expected in zip(model.parameters_, values, strict=True):
        np.testing.assert_allclose(value, expected, rtol=1e-9, atol=1e-12)
