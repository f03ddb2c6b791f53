"""Ages as distributions: where the mass is, and what the limits are."""

from __future__ import annotations

import numpy as np

from ldlrepro.data.images.age_distributions import age_distributions, age_grid

GRID = age_grid(0, 69)


def test_values_follow_the_formula() -> None:
    (row,) = age_distributions(np.array([30]), GRID, 3)
    density = np.exp(-((GRID - 30) ** 2) / 18)
    np.testing.assert_allclose(row, density / density.sum(), atol=1e-11)


def test_width_zero_is_the_nearest_age_alone() -> None:
    D = age_distributions(np.array([3.0, 3.6, 90.0]), GRID, 0)
    np.testing.assert_array_equal(D.argmax(axis=1), [3, 4, 69])
    np.testing.assert_array_equal(D.max(axis=1), 1.0)


def test_an_age_far_outside_the_labels_still_has_a_distribution() -> None:
    (row,) = age_distributions(np.array([500.0]), GRID, 2)
    assert np.isfinite(row).all()
    assert row.argmax() == 69
