"""Our growth of boosted trees against xgboost: the same bits where nothing is missing."""

from __future__ import annotations

import numpy as np
import pytest
import xgboost
from scipy.sparse import csr_matrix

from ldl.boosting._squares import FEW_ROWS
from ldl.cascade._learners import Boosted, Settings

USUAL = Settings(
    trees=12,
    depth=9,
    max_features=None,
    learning_rate=0.3,
    base_score=0.5,
    max_bin=32,
    tree_method="hist",
    multi_strategy="one_output_per_tree",
    n_neighbors=3,
)


def settings(**changes) -> Settings:
    return Settings(**{**vars(USUAL), **changes})


def theirs(asked: Settings, X, D, X_new) -> np.ndarray:
    parameters = {
        "objective": "reg:squarederror",
        "eta": asked.learning_rate,
        "max_depth": asked.depth,
        "tree_method": "hist",
        "base_score": asked.base_score,
        "max_bin": asked.max_bin,
        "nthread": 1,
        "verbosity": 0,
    }
    data = xgboost.QuantileDMatrix(X, D, max_bin=asked.max_bin, nthread=1)
    P = xgboost.train(parameters, data, asked.trees).inplace_predict(X_new)
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


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("depth", [1, 3, 12])
def test_trees_of_every_depth_have_the_bits_of_xgboost(seed, depth):
    X, D = problem(seed)
    assert_same_bits(settings(depth=depth), X[:200], D[:200], X[200:])


@pytest.mark.parametrize("seed", range(12))
def test_splits_that_improve_little_on_much_have_the_bits_of_xgboost(seed):
    """Degrees far from where boosting starts, so that the rounding of large gains matters."""
    X, D = problem(seed, n=1500, q=60, c=6)
    D = (D + 5.0) / (D + 5.0).sum(axis=1, keepdims=True)
    assert_same_bits(settings(trees=30, depth=8), X[:1200], D[:1200], X[1200:])


@pytest.mark.parametrize(
    "changes",
    [
        {"max_bin": 2},
        {"max_bin": 7},
        {"max_bin": 256},
        {"learning_rate": 0.05, "trees": 40},
        {"learning_rate": 1.0},
        {"base_score": 0.0},
        {"base_score": 0.2},
        {"base_score": None},
        {"trees": 100, "depth": 15},
    ],
    ids=str,
)
def test_other_settings_give_the_bits_of_xgboost(changes):
    X, D = problem(10)
    assert_same_bits(settings(**changes), X[:200], D[:200], X[200:])


@pytest.mark.parametrize("n", [1, 2, 3, FEW_ROWS, FEW_ROWS + 1, 2 * FEW_ROWS + 1, 40])
def test_few_rows_give_the_bits_of_xgboost(n):
    X, D = problem(20)
    assert_same_bits(settings(trees=30), X[:n], D[:n], X)


def test_more_slots_than_sixteen_bits_count_give_the_bits_of_xgboost():
    X, D = problem(30, n=260, q=270)
    assert_same_bits(settings(max_bin=256, trees=2), X, D, X[::3])


def test_a_single_label_and_feature_give_the_bits_of_xgboost():
    X, D = problem(40)
    assert_same_bits(settings(), X[:, :1], D[:, :1], X[:50, :1])


def test_labels_that_are_mostly_zero_give_the_bits_of_xgboost():
    X, D = problem(50)
    D = np.where(D > 0.3, D, 0.0)
    assert_same_bits(settings(trees=60), X[:200], D[:200], X[200:])


def test_rows_that_are_there_twice_give_the_bits_of_xgboost():
    X, D = problem(60)
    X, D = np.vstack([X[:80], X[:40]]), np.vstack([D[:80], D[100:140]])
    assert_same_bits(settings(trees=30), X, D, X)


@pytest.mark.parametrize("start", [0.5, None])
def test_features_of_a_cascade_in_real_data_give_the_bits_of_xgboost(real_data, start):
    data = real_data("sjaffe")
    X = np.hstack([data.X, np.sqrt(data.D[:, ::-1]), data.D**2])
    asked = settings(trees=60, depth=12, base_score=start)
    assert_same_bits(asked, X[:150], data.D[:150], X[150:])


@pytest.mark.parametrize(
    ("changes", "sparse"),
    [
        ({"tree_method": "exact"}, False),
        ({"multi_strategy": "multi_output_tree"}, False),
        ({}, True),
    ],
    ids=str,
)
def test_trees_that_we_do_not_grow_are_left_to_xgboost(changes, sparse):
    X, D = problem(70)
    model = Boosted(settings(**changes), 0).fit(csr_matrix(X) if sparse else X, D)
    assert isinstance(model._answer.__self__, xgboost.Booster)
    assert model.predict(csr_matrix(X) if sparse else X).shape == D.shape


@pytest.mark.parametrize("seed", range(3))
def test_many_rounds_on_labels_that_are_often_zero_have_the_outputs_of_xgboost(seed):
    """Gradients of nearly zero stand beside large ones, so that no sum of theirs is exact."""
    X, D = problem(seed)
    D[D < 0.15] = 0.0
    asked = settings(trees=100, depth=6)
    ours = Boosted(asked, 0).fit(X[:200], D[:200]).predict(X[200:])
    np.testing.assert_allclose(ours, theirs(asked, X[:200], D[:200], X[200:]), atol=1e-6)
