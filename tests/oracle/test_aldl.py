"""ALDL: widths against their definition and a grid, rounds against the model they are made of."""

from functools import partial

import numpy as np
import pytest
from scipy.special import xlogy

from ldl.linear.aldl import ALDL, densities, nearest_widths
from ldl.linear.iis import SAIIS
from tests.oracle.formulas import sa_bfgs
from tests.oracle.settings import as_stated


def ages(n: int = 80, c: int = 20) -> tuple[np.ndarray, np.ndarray]:
    """Features of which one tells the age roughly, and degrees with the age on top."""
    generator = np.random.default_rng(0)
    X = generator.normal(size=(n, 4))
    X[:, 3] = 1.0
    y = np.clip(np.round(c / 2 + c / 4 * X[:, 0] + generator.normal(0, 1, n)), 0, c - 1).astype(int)
    D = np.full((n, c), 0.5 / c)
    D[np.arange(n), y] += 0.5
    return X, D


def divergence(number: int, width: float, P: np.ndarray) -> float:
    """Summed over rows, by the definition."""
    G = densities(np.array([number]), np.array([width]), P.shape[1])[0]
    return sum(float((xlogy(G, G) - xlogy(G, row)).sum()) for row in P)


def test_densities_are_those_of_the_normal_law():
    centres, widths = np.array([3, 0]), np.array([0.8, 2.5])
    found = densities(centres, widths, 9)
    for row, centre, width in zip(found, centres, widths, strict=True):
        expected = np.exp(-0.5 * ((np.arange(9) - centre) / width) ** 2)
        np.testing.assert_allclose(row, expected / expected.sum(), rtol=1e-12)


@pytest.mark.parametrize("seed", range(2))
def test_width_is_the_best_of_a_fine_grid(seed):
    generator = np.random.default_rng(seed)
    y = generator.integers(0, 15, 40)
    noise = generator.dirichlet(np.ones(15), 40)
    P = 0.8 * densities(y, generator.uniform(1, 6, 40), 15) + 0.2 * noise
    found = nearest_widths(P, y, np.full(15, 3.0))
    grid = np.linspace(0.5, 10.0, 1901)
    for number in np.unique(y):
        rows = P[y == number]
        best = grid[np.argmin([divergence(number, width, rows) for width in grid])]
        assert abs(found[number] - best) <= 0.006
        assert divergence(number, found[number], rows) <= divergence(number, best, rows) + 1e-9


@pytest.mark.parametrize(
    ("inner", "model"), [("bfgs", sa_bfgs), ("iis", partial(as_stated, SAIIS))]
)
def test_one_round_is_the_inner_model_on_labels_of_the_first_width(inner, model):
    X, D = ages()
    y = D.argmax(1)
    taught = densities(y, np.full(len(y), 2.0), D.shape[1])
    found = as_stated(ALDL, inner, max_iter=7, first_width=2.0, rounds=1).fit(X, D)
    np.testing.assert_array_equal(found.predict(X), model(max_iter=7).fit(X, taught).predict(X))


def test_round_that_gains_too_little_is_thrown_away():
    X, D = ages()
    one = as_stated(ALDL, max_iter=20, rounds=1).fit(X, D)
    found = as_stated(ALDL, max_iter=20, rounds=10, tol=100.0).fit(X, D)
    assert len(found.maes_) == 2
    np.testing.assert_array_equal(found.predict(X), one.predict(X))
    np.testing.assert_array_equal(found.widths_, np.full(20, 3.0))
