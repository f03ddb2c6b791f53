"""What features reveal: spectrum, correlation, and how a file was prepared, on planted files."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from ldlrepro.data.traits import traits_of

STANDARDISED = "every column is standardised over all rows"
SCALED = "every column is scaled to 0 to 1 over all rows"
COMPONENTS = "the columns are principal components of all rows"


def drawn(n: int = 200, q: int = 6) -> np.ndarray:
    rng = np.random.default_rng(4)
    return rng.gamma(2.0, size=(n, q)) @ rng.normal(size=(q, q)) + 3


def standardised(X: np.ndarray) -> np.ndarray:
    return (X - X.mean(axis=0)) / X.std(axis=0, ddof=1)


def components(X: np.ndarray) -> np.ndarray:
    left, sizes, _ = np.linalg.svd(X - X.mean(axis=0), full_matrices=False)
    return left * sizes


PLANTED = {
    "as drawn": (drawn(), set()),
    "standardised": (standardised(drawn()), {STANDARDISED}),
    "scaled": ((drawn() - drawn().min(0)) / np.ptp(drawn(), axis=0), {SCALED}),
    "components": (components(drawn()), {"every column is centred over all rows", COMPONENTS}),
    "whitened": (standardised(components(drawn())), {STANDARDISED, COMPONENTS}),
    "unit length": (
        drawn() / np.linalg.norm(drawn(), axis=1, keepdims=True),
        {"every row has unit length"},
    ),
    "shares": (
        np.abs(drawn()) / np.abs(drawn()).sum(axis=1, keepdims=True),
        {"every row sums to one"},
    ),
    "counts": (
        np.random.default_rng(0).poisson(3.0, (200, 4)).astype(float),
        {"all values are whole numbers, as counts are"},
    ),
}


@pytest.mark.parametrize("name", PLANTED)
def test_a_planted_preparation_is_recognised_and_no_other(name):
    X, expected = PLANTED[name]
    assert set(traits_of(X).prepared) == expected
    one_row_less = np.vstack([X[1:], X[:1] * 1.5 + 0.25])
    assert not set(traits_of(one_row_less).prepared) & {STANDARDISED, COMPONENTS}


@pytest.mark.parametrize("shape", [(200, 6), (5, 40)])
def test_the_spectrum_is_that_of_the_singular_values(shape):
    X = drawn(shape[0], shape[1])
    sizes = np.linalg.svd(X - X.mean(axis=0), compute_uv=False) ** 2
    assert traits_of(X).spectrum == pytest.approx((sizes / sizes.sum())[:5], rel=1e-6, abs=1e-12)


def test_the_correlation_is_the_median_over_pairs_of_columns_that_vary():
    X = np.column_stack([drawn(), np.full(200, 7.0)])
    size = np.abs(np.corrcoef(X[:, :-1].T))
    traits = traits_of(X)
    assert traits.correlation == pytest.approx(np.median(size[np.triu_indices(6, 1)]))
    assert traits.constant == 1
    assert traits_of(sparse.csr_matrix(X)) == traits
    assert traits_of(np.ones((5, 3))).spectrum == ()
