"""What the experiment reads off fitted forests; and the variance of phi is phi's alone."""

from __future__ import annotations

import numpy as np
import pytest

from ldl.base import child_seeds
from ldl.soft_forests._routing import draw_phi
from ldl.soft_forests.drf import DRF
from papers.drf.forest_insides import asking_other_outputs, entropy, table
from tests.oracle.images import built, pictures
from tests.oracle.test_soft_trees import loop_over_nodes


def brute_entropy(F, phi) -> float:
    """Node by node, row by row."""
    P = loop_over_nodes(phi, F.T)
    return float(-(P * np.log(P)).sum(axis=1).mean())


def test_the_entropy_of_both_kinds_of_forest_is_that_of_their_routing():
    X, D = np.random.default_rng(0).normal(size=(30, 4)), np.eye(5)[np.arange(30) % 5]
    linear = DRF(
        n_estimators=3, depth=3, units=6, max_iter=60, random_state=1, dtype="float64"
    ).fit(X, D)
    F = X @ linear.state_.W + linear.state_.b
    assert entropy(linear, X) == pytest.approx(brute_entropy(F, linear.phi_))
    images, D = pictures()
    deep = built("drf").fit(images, D)
    F = deep._answered(images, lambda outputs: outputs[0].double())
    assert entropy(deep, images) == pytest.approx(brute_entropy(F, phi_of(deep)))


def phi_of(deep) -> np.ndarray:
    return drawn_phi(deep, child_seeds(child_seeds(deep.random_state, 3)[0], 2)[0])


def drawn_phi(deep, seed) -> np.ndarray:
    generator = np.random.default_rng(seed)
    return draw_phi(deep.n_estimators, deep.depth, deep.units, generator)


def test_other_outputs_are_asked_and_everything_else_is_the_same():
    images, D = pictures()
    own, other, again = (built("drf", max_iter=1, learning_rate=1e-30) for _ in range(3))
    own.fit(images, D)
    for model in (other, again):
        asking_other_outputs(model, 7).fit(images, D)
    F = own._answered(images, lambda outputs: outputs[0].double())
    np.testing.assert_array_equal(F, other._answered(images, lambda outputs: outputs[0].double()))
    assert entropy(other, images) == pytest.approx(brute_entropy(F, drawn_phi(own, 7)))
    assert entropy(other, images) != pytest.approx(entropy(own, images))
    np.testing.assert_array_equal(table(other), table(again))
