"""Bins of LDLDF's boosted trees against those of xgboost."""

import numpy as np
import pytest

from ldl.boosting._quantiles import cut_like_xgboost


def features(n: int) -> np.ndarray:
    """Draw features with many values, few, sorted ones, runs of equal ones, and a constant."""
    generator = np.random.default_rng(n)
    X = generator.normal(size=(n, 7))
    X[:, 1] = np.round(X[:, 1], 1)
    X[:, 2] = np.sort(X[:, 2])
    X[:, 3] = generator.integers(0, 3, n)
    X[:, 4] = np.round(10 * np.sin(np.arange(n) / 9))
    X[:, 5] = -np.exp(9 * X[:, 5])
    X[:, 6] = 1.0
    return X


# From one queue of values to dozens, which are merged over several levels.
@pytest.mark.parametrize("n", [1, 100, 1026, 2500, 20000])
@pytest.mark.parametrize("max_bins", [2, 32, 256])
def test_cuts_are_those_of_xgboost(n, max_bins):
    xgboost = pytest.importorskip("xgboost")
    X = features(n)
    data = xgboost.QuantileDMatrix(X, max_bin=max_bins, nthread=1)
    starts, cuts = data.get_quantile_cut()
    # The first cut of a feature is below its least value.
    theirs = [part[1:] for part in np.split(cuts, starts[1:-1].astype(np.int64))]
    ours = cut_like_xgboost(X, max_bins)
    assert len(ours) == len(theirs) == X.shape[1]
    for mine, their in zip(ours, theirs, strict=True):
        np.testing.assert_array_equal(mine, their)


def test_few_values_have_a_bin_each():
    X = np.array([[3.0], [1.0], [2.0], [1.0]])
    np.testing.assert_array_equal(
        cut_like_xgboost(X, 32)[0], np.array([2.0, 3.0, 6.0 + 1e-5], np.float32)
    )
