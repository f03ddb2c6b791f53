"""RG4LDL: the machine's formulas in loops, a step by hand, what it learns."""

import numpy as np
import pytest

from ldl import RG4LDL, SABFGS
from ldl.networks.rg4ldl import Machine
from tests.oracle.examples import exponential_problem


def machine(q: int = 3, m: int = 2) -> Machine:
    generator = np.random.default_rng(0)
    return Machine(*(generator.normal(size=size) for size in ((q, m), q, m)))


def test_chances_and_energies_equal_their_formulas_in_loops():
    one = machine()
    generator = np.random.default_rng(1)
    X, H = generator.random((4, 3)), 1.0 * (generator.random((4, 2)) > 0.5)
    energy = 0.0
    for x, h in zip(X, H, strict=True):
        energy -= sum(x[i] * one.visible[i] for i in range(3))
        energy -= sum(h[k] * one.hidden[k] for k in range(2))
        energy -= sum(x[i] * one.weights[i, k] * h[k] for i in range(3) for k in range(2))
    assert one.energy(X, H, X @ one.weights) == pytest.approx(energy)
    for x, p in zip(X, one.upwards(X), strict=True):
        for k in range(2):
            inside = one.hidden[k] + sum(x[i] * one.weights[i, k] for i in range(3))
            assert p[k] == pytest.approx(1 / (1 + np.exp(-inside)))
    for h, p in zip(H, one.downwards(H), strict=True):
        np.testing.assert_allclose(p, 1 / (1 + np.exp(-(one.weights @ h + one.visible))))


@pytest.mark.parametrize("temperature", [1e-9, 1e9])
def test_a_step_is_that_of_contrastive_divergence(temperature):
    one, before = machine(), machine()
    X = np.random.default_rng(2).random((5, 3))
    one.learn(X, 0.1, temperature, np.random.default_rng(3))
    drawn = np.random.default_rng(3)
    on = before.upwards(X) > drawn.random((5, 2))
    again = before.downwards(1.0 * on)
    on_again = before.upwards(again) > drawn.random((5, 2))
    less = before.energy(X, 1.0 * on, X @ before.weights)
    less -= before.energy(again, 1.0 * on_again, again @ before.weights)
    taken = less < 0 or temperature > 1
    rows = again if taken else X
    change = sum(np.outer(rows[i], on[i]) - np.outer(again[i], on_again[i]) for i in range(5))
    np.testing.assert_allclose(one.weights - before.weights, 0.1 / 5 * change)
    np.testing.assert_allclose(one.hidden - before.hidden, 0.02 * (1.0 * on - on_again).sum(axis=0))
    np.testing.assert_allclose(one.visible - before.visible, 0.02 * (rows - again).sum(axis=0))


def test_predictions_are_those_of_sa_bfgs_on_the_hidden_units():
    X, D = exponential_problem(n=80)
    model = RG4LDL(8, alpha=2.0, mean_share=None, random_state=0).fit(X[:60], D[:60])
    low, spread = X[:60].min(axis=0), np.ptp(X[:60], axis=0)
    H = [model.machine_.upwards((rows - low) / spread) for rows in (X[:60], X[60:])]
    plain = SABFGS(alpha=2.0, mean_share=None).fit(H[0], D[:60])
    np.testing.assert_allclose(model.predict(X[60:]), plain.predict(H[1]), atol=1e-12)
