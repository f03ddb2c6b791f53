"""Checks of features and predictions: what they refuse, and that being quick moves no bit."""

import numpy as np
import pytest

from ldl.base import check_features, sums_of_rows, to_simplex
from ldl.linear._softmax import softmax_rows

LABELS = (2, 6, 7, 8, 9, 18, 68, 130)


def scores(c: int, order: str) -> np.ndarray:
    generator = np.random.default_rng(c)
    return np.array(np.exp(10 * generator.normal(size=(50, c))), order=order)


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("c", LABELS)
def test_rows_are_divided_by_numpys_own_sums(c, order):
    P = scores(c, order)
    sums = P.sum(axis=1)
    np.testing.assert_array_equal(sums_of_rows(P), sums)
    np.testing.assert_array_equal(to_simplex(P), P / sums[:, None])
    P[3] = 0.0
    np.testing.assert_array_equal(to_simplex(P)[3], np.full(c, 1 / c))
    np.testing.assert_array_equal(to_simplex(P)[4:], P[4:] / sums[4:, None])


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("c", LABELS)
def test_softmax_is_that_of_its_definition(c, order):
    Z = np.log(scores(c, order))
    expected = np.exp(Z - Z.max(axis=1, keepdims=True))
    expected /= expected.sum(axis=1, keepdims=True)
    np.testing.assert_array_equal(softmax_rows(Z), expected)


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("place", [0, 1, -1])
def test_a_single_number_that_is_not_finite_is_found(bad, place):
    values = np.random.default_rng(0).random((30, 7))
    values.flat[place] = bad
    with pytest.raises(ValueError, match="X contains NaN or infinity"):
        check_features(values, accepts_sparse=False)
    with pytest.raises(FloatingPointError, match="the prediction contains NaN or infinity"):
        to_simplex(values)


def test_numbers_whose_sum_overflows_are_finite():
    values = np.full((3, 4), 1e308)
    np.testing.assert_array_equal(check_features(values, accepts_sparse=False), values)
    with np.errstate(over="ignore"):
        assert np.isfinite(to_simplex(values)).all()


def test_a_negative_degree_is_refused():
    P = np.ones((3, 4))
    P[2, 1] = -1e-300
    with pytest.raises(FloatingPointError, match="negative label degrees"):
        to_simplex(P)
