"""Methods that learn the age alone: against ages that are linear, and one-hot labels."""

import numpy as np

from ldl import SABFGS
from papers.drf.ages_alone import AgeRidge, AgeSoftmax
from tests.oracle.settings import as_stated

LABELS = 30


def ages(n: int = 80) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Features, ages that are linear in them, and normal densities around the nearest year."""
    X = np.random.default_rng(0).normal(size=(n, 4))
    y = 15 + 2 * X[:, 0] - X[:, 1]
    years = np.arange(LABELS)
    D = np.exp(-0.5 * ((years - y.round()[:, None]) / 2) ** 2)
    return X, y, D / D.sum(axis=1, keepdims=True)


def test_ridge_finds_linear_ages_and_shares_them_between_two_years():
    X, y, D = ages()
    P = AgeRidge().fit(X, D).predict(X)
    assert np.abs(P @ np.arange(LABELS) - y).max() < 0.3  # ages are rounded
    assert ((P > 0).sum(axis=1) <= 2).all()


def test_ridge_stays_within_the_years():
    X, _, D = ages()
    P = AgeRidge().fit(X, D).predict(np.array([[100.0, 0, 0, 0], [-100.0, 0, 0, 0]]))
    np.testing.assert_array_equal(P.argmax(axis=1), [LABELS - 1, 0])


def test_softmax_sees_the_highest_label_alone():
    X, _, D = ages()
    given = {"max_iter": 20, "alpha": 1.0}
    theirs = as_stated(SABFGS, **given).fit(X, np.eye(LABELS)[D.argmax(axis=1)])
    ours = as_stated(AgeSoftmax, **given).fit(X, D)
    np.testing.assert_array_equal(ours.predict(X), theirs.predict(X))
    assert not np.array_equal(as_stated(SABFGS, **given).fit(X, D).predict(X), ours.predict(X))
