"""Our growth of boosted trees against xgboost: the same bits where nothing is missing."""

from __future__ import annotations

import numpy as np
import pytest
import xgboost

from ldl.boosting._squares import FEW_ROWS
from ldl.cascade import _learners
from ldl.cascade._learners import Boosted, Settings

USUAL = Settings(
    n_estimators=12,
    max_depth=9,
    max_features=None,
    learning_rate=0.3,
    base_score=0.5,
    n_neighbors=3,
)


def settings(**changes) -> Settings:
    return Settings(**{**vars(USUAL), **changes})


def theirs(asked: Settings, X, D, X_new) -> np.ndarray:
    parameters = {
        "objective": "reg:squarederror",
        "eta": asked.learning_rate,
        "max_depth": asked.max_depth,
        "tree_method": "hist",
        "base_score": asked.base_score,
        "max_bin": _learners.BINS,
        "nthread": 1,
        "verbosity": 0,
    }
    data = xgboost.QuantileDMatrix(X, D, max_bin=_learners.BINS, nthread=1)
    P = xgboost.train(parameters, data, asked.n_estimators).inplace_predict(X_new)
    return P.reshape(len(X_new), -1)


def assert_same_bits(asked: Settings, X, D, X_new) -> None:
    model = Boosted(asked, 0).fit(X, D)
    assert type(model._answer.__self__).__name__ == "SquaresForest"
    np.testing.assert_array_equal(model.predict(X_new), theirs(asked, X, D, X_new))
    np.testing.assert_array_equal(model.predict(X), theirs(asked, X, D, X))


def problem(seed: int, n: int = 300, q: int = 12, c: int = 4) -> tuple[np.ndarray, np.ndarray]:
    """Draw columns with many values, with few, with two and with one, and degrees of many sizes."""
    generator = np.random.default_rng(seed)
    X = generator.normal(size=(n, q))
    X[:, 1::4] = np.round(2 * X[:, 1::4])
    X[:, 2::4] = X[:, 2::4] > 0.5
    X[:, 3] = 7.0
    X[:, -1] = X[:, 0]  # every split on it ties
    D = np.exp(
        2 * np.tanh(X[:, :5] @ generator.normal(size=(5, c))) + generator.normal(size=(n, c))
    )
    return X, D / D.sum(axis=1, keepdims=True)


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("depth", [1, 3, 12])
def test_trees_of_every_depth_have_the_bits_of_xgboost(seed, depth):
    X, D = problem(seed)
    assert_same_bits(settings(max_depth=depth), X[:200], D[:200], X[200:])


@pytest.mark.parametrize("seed", range(3))
def test_splits_that_improve_little_on_much_have_the_bits_of_xgboost(seed):
    """Degrees far from where boosting starts, so that the rounding of large gains matters."""
    X, D = problem(seed, n=1500, q=60, c=6)
    D = (D + 5.0) / (D + 5.0).sum(axis=1, keepdims=True)
    assert_same_bits(settings(n_estimators=30, max_depth=8), X[:1200], D[:1200], X[1200:])


@pytest.mark.parametrize(
    "changes",
    [
        {"learning_rate": 0.05, "n_estimators": 40},
        {"base_score": 0.2},
        {"base_score": None},
        {"n_estimators": 100, "max_depth": 15},
    ],
    ids=str,
)
def test_other_settings_give_the_bits_of_xgboost(changes):
    X, D = problem(10)
    assert_same_bits(settings(**changes), X[:200], D[:200], X[200:])


@pytest.mark.parametrize("n", [1, 2, FEW_ROWS, FEW_ROWS + 1])
def test_few_rows_give_the_bits_of_xgboost(n):
    X, D = problem(20)
    assert_same_bits(settings(n_estimators=30), X[:n], D[:n], X)


@pytest.mark.parametrize("bins", [2, 7, 256])
def test_other_numbers_of_bins_give_the_bits_of_xgboost(monkeypatch, bins):
    monkeypatch.setattr(_learners, "BINS", bins)
    X, D = problem(10)
    assert_same_bits(settings(), X[:200], D[:200], X[200:])


def test_more_slots_than_sixteen_bits_count_give_the_bits_of_xgboost(monkeypatch):
    monkeypatch.setattr(_learners, "BINS", 256)
    X, D = problem(30, n=260, q=270)
    assert_same_bits(settings(n_estimators=2), X, D, X[::3])


@pytest.mark.parametrize("start", [0.5, None])
def test_features_of_a_cascade_in_real_data_give_the_bits_of_xgboost(real_data, start):
    data = real_data("sjaffe")
    X = np.hstack([data.X, np.sqrt(data.D[:, ::-1]), data.D**2])
    asked = settings(n_estimators=60, max_depth=12, base_score=start)
    assert_same_bits(asked, X[:150], data.D[:150], X[150:])
