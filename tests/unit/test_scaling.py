"""Scaling: each kind by hand, and nothing learned from rows that were not given to fit."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from ldlrepro.train.scaling import Scaler

TRAIN = np.array([[0.0, 5.0, 2.0], [4.0, 5.0, 6.0]])
OTHERS = np.array([[8.0, 9.0, 4.0], [-4.0, 5.0, 2.0]])


def test_minmax01_maps_the_training_range_to_zero_and_one():
    scaler = Scaler("minmax01").fit(TRAIN)
    np.testing.assert_array_equal(scaler.transform(TRAIN), [[0, 0, 0], [1, 0, 1]])
    np.testing.assert_array_equal(scaler.transform(OTHERS), [[2, 0, 0.5], [-1, 0, 0]])


def test_standard_takes_mean_and_deviation_of_the_training_rows():
    scaler = Scaler("standard").fit(TRAIN)
    np.testing.assert_array_equal(scaler.transform(TRAIN), [[-1, 0, -1], [1, 0, 1]])
    np.testing.assert_array_equal(scaler.transform(OTHERS), [[3, 0, 0], [-3, 0, -1]])


@pytest.mark.parametrize("kind", ["minmax01", "standard"])
@pytest.mark.parametrize("value", [0.0, 0.1, 1e9 / 3, -7.3e-5])
def test_a_column_without_spread_becomes_zero_for_all_rows(kind, value):
    train = np.full((7, 1), value)
    scaled = Scaler(kind).fit(train).transform(np.array([[value], [value + 1]]))
    np.testing.assert_array_equal(scaled, [[0], [0]])


@pytest.mark.parametrize("kind", ["minmax01", "standard", "l2row"])
def test_sparse_rows_scale_like_dense_ones(kind):
    dense = Scaler(kind).fit(TRAIN).transform(OTHERS)
    rows = Scaler(kind).fit(sparse.csr_matrix(TRAIN)).transform(sparse.csr_matrix(OTHERS))
    np.testing.assert_array_equal(np.asarray(rows), dense)
