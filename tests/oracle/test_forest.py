"""The regression forest against scikit-learn's trees and against splits found by hand."""

import numpy as np
import pytest
from sklearn.tree import DecisionTreeRegressor

from ldl.forests._regression_trees import Features, RegressionTree, Rules, grow
from ldl.forests.random_forest import _rank

NARROW, WIDE = np.uint32, np.uint64


def problem(
    seed: int = 0, n: int = 120, q: int = 5, c: int = 4, decimals: int | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """Draw features, which have ties where they are rounded, and labels that depend on them."""
    generator = np.random.default_rng(seed)
    X = generator.normal(size=(n, q))
    if decimals is not None:
        X = X.round(decimals)
    D = np.exp(X @ generator.normal(size=(q, c)) + 0.5 * generator.normal(size=(n, c)))
    # Single precision, in which scikit-learn's trees read features.
    return X.astype(np.float32).astype(float), D / D.sum(axis=1, keepdims=True)


def leaf_of(tree: RegressionTree, features: Features) -> np.ndarray:
    """Send rows down a tree by the ranks of their values."""
    ranks = features.ranks
    leaf = np.empty(ranks.shape[1], int)
    for row in range(len(leaf)):
        node = 0
        while (f := tree.feature[node]) >= 0:
            node = tree.child[node] + (ranks[f, row] > tree.rank[node])
        leaf[row] = tree.child[node]
    return leaf


@pytest.mark.parametrize("depth", [3, 40])
@pytest.mark.parametrize("keys", [NARROW, WIDE], ids=["32 bits", "64 bits"])
@pytest.mark.parametrize(
    ("n", "q", "c", "decimals"),
    [(60, 5, 3, None), (300, 6, 4, 1), (900, 3, 2, 0), (900, 8, 3, None)],
)
def test_a_tree_divides_rows_as_scikit_learns_does(n, q, c, decimals, keys, depth):
    """Rows drawn once or twice; small nodes, large ones, few and many distinct values."""
    X, D = problem(n, n, q, c, decimals)
    weight = np.random.default_rng(n + 1).integers(0, 3, n)
    features = _rank(X).features
    ours = grow(features, D, weight, Rules(q, 2, depth), 1, keys)
    theirs = DecisionTreeRegressor(max_depth=depth, random_state=0).fit(X, D, sample_weight=weight)
    drawn = weight > 0
    here, there = leaf_of(ours, features)[drawn], theirs.apply(X)[drawn]
    pairs = set(zip(here.tolist(), there.tolist(), strict=True))
    assert len(pairs) == len(set(here.tolist())) == len(set(there.tolist()))
    np.testing.assert_allclose(ours.leaves[here], theirs.predict(X)[drawn], atol=1e-12)


@pytest.mark.parametrize("keys", [NARROW, WIDE], ids=["32 bits", "64 bits"])
def test_features_with_two_values_divide_rows_as_scikit_learns_do(keys):
    """Half of the features have two values, most of them rarely the upper one."""
    generator = np.random.default_rng(3)
    X, _ = problem(3, 400, 12, 3)
    shares = [0.02, 0.05, 0.1, 0.3, 0.5, 0.98]
    X[:, ::2] = np.where(generator.random((400, 6)) < shares, 2.5, -1.0)
    D = np.exp(0.3 * X @ generator.normal(size=(12, 4)) + 0.5 * generator.normal(size=(400, 4)))
    D /= D.sum(axis=1, keepdims=True)
    weight = generator.integers(0, 3, 400)
    features = _rank(X).features
    assert features.two_valued.tolist() == [True, False] * 6
    ours = grow(features, D, weight, Rules(12, 2, 40), 1, keys)
    theirs = DecisionTreeRegressor(random_state=0).fit(X, D, sample_weight=weight)
    drawn = weight > 0
    here, there = leaf_of(ours, features)[drawn], theirs.apply(X)[drawn]
    pairs = set(zip(here.tolist(), there.tolist(), strict=True))
    assert len(pairs) == len(set(here.tolist())) == len(set(there.tolist()))


def test_the_first_split_leaves_the_least_squared_distance():
    X, D = problem(q=1)
    tree = grow(_rank(X).features, D, np.ones(len(X), int), Rules(1, 2, 1), 1, NARROW)

    def distance(part: np.ndarray) -> float:
        return float(((part - part.mean(axis=0)) ** 2).sum())

    order = np.argsort(X[:, 0])
    costs = [distance(D[order[:k]]) + distance(D[order[k:]]) for k in range(1, len(X))]
    assert tree.rank[0] == np.argmin(costs)
    assert tree.next_rank[0] == tree.rank[0] + 1


def test_a_node_looks_at_so_many_features_and_passes_over_those_that_do_not_vary():
    """One feature tells all, one says nothing, eight are constant; a node draws one that varies."""
    generator = np.random.default_rng(0)
    X = np.zeros((200, 10))
    X[:, 3], X[:, 7] = generator.integers(2, size=200), generator.normal(size=200)
    D = np.where(X[:, [3]] > 0, [[0.9, 0.1]], [[0.1, 0.9]])
    features, everyone = _rank(X).features, np.ones(200, int)

    def root(per_node: int, seed: int) -> int:
        tree = grow(features, D, everyone, Rules(per_node, 2, 1), np.uint64(seed), NARROW)
        return int(tree.feature[0])

    drawn = [root(1, seed) for seed in range(400)]
    assert set(drawn) == {3, 7}
    assert 160 < drawn.count(3) < 240  # even odds, four standard deviations
    assert {root(10, seed) for seed in range(20)} == {3}
