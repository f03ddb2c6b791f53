"""StructRF, StructRF* and RF* against the plain NumPy twin, brute force and scikit-learn."""

from itertools import pairwise

import numpy as np
import pytest

from ldl.base import child_seeds
from ldl.forests._split_search import SMALL_NODE
from ldl.forests.structrf import RFStar, StructRF
from papers.structrf import split_search_numpy as twin
from tests.oracle.settings import as_stated
from tests.oracle.split_problems import (
    ALL_ROWS,
    SMALLEST_LEAVES,
    STUMP,
    larger_node,
    problem,
    root,
    two_classes,
)


def grow(
    X: np.ndarray,
    D: np.ndarray,
    min_split: int,
    max_depth: int,
    step: twin.AdaptiveStep | None = None,
    depth: int = 1,
) -> dict:
    """Grow a StructRF tree as nested dictionaries."""
    z = twin.two_means(D) if len(D) >= min_split and depth <= max_depth else None
    split = twin.best_split(X, z, step) if z is not None else None
    if split is None or split.feature < 0:
        return {"leaf": D.mean(axis=0), "rows": len(D)}
    left = X[:, split.feature] <= split.threshold
    below = [
        grow(X[side], D[side], min_split, max_depth, step, depth + 1) for side in (left, ~left)
    ]
    return {
        "feature": split.feature,
        "threshold": split.threshold,
        "gain": split.gain,
        "below": below,
    }


def assert_same_tree(tree, expected: dict, number: int = 0) -> None:
    if "leaf" in expected:
        assert tree.feature[number] == -1
        line = tree.child[number]
        assert tree.leaf_rows[line] == expected["rows"]
        np.testing.assert_allclose(tree.leaves[line], expected["leaf"], atol=1e-12)
        return
    assert tree.feature[number] == expected["feature"]
    assert tree.threshold[number] == expected["threshold"]
    assert tree.gain[number] == pytest.approx(expected["gain"], abs=1e-12)
    for side in (0, 1):
        assert_same_tree(tree, expected["below"][side], tree.child[number] + side)


# ---------------------------------------------------------------------- the split search


def node_with_ties(seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Draw continuous, coarse, two-valued and constant columns, and labels with both classes."""
    generator = np.random.default_rng(seed)
    n = int(generator.integers(2, 60))
    columns = [
        generator.normal(size=n),
        generator.integers(0, 5, size=n) / 4,
        generator.random(n) < 0.2,
        np.full(n, 2.0),
        generator.integers(0, max(2, n // 3), size=n),
    ]
    labels = generator.integers(0, 2, size=n)
    labels[:2] = [0, 1]
    return np.column_stack(columns)[:, generator.permutation(5)], labels


def information(labels: np.ndarray) -> float:
    shares = np.bincount(labels) / len(labels)
    return float(-sum(p * np.log(p) for p in shares if p > 0))


def brute_force(X: np.ndarray, labels: np.ndarray) -> float:
    """Return the greatest gain over all midpoints, each counted from scratch."""
    greatest = 0.0
    for x in X.T:
        for low, high in pairwise(np.unique(x)):
            left = x < (low + high) / 2
            share = left.mean()
            inside = share * information(labels[left]) + (1 - share) * information(labels[~left])
            greatest = max(greatest, information(labels) - inside)
    return greatest


def test_split_is_the_best_of_all_thresholds_on_150_nodes_with_ties():
    for seed in range(150):
        X, labels = node_with_ties(seed)
        expected = twin.best_split(X, labels)
        for kind in (StructRF, RFStar):
            model = as_stated(kind, **STUMP, step="exhaustive", random_state=0).fit(
                X, two_classes(labels)
            )
            feature, threshold, gain = root(model)
            assert gain == pytest.approx(brute_force(X, labels), abs=1e-12), (seed, kind)
            assert feature == expected.feature, (seed, kind)
            assert feature < 0 or threshold == expected.threshold, (seed, kind)
            np.testing.assert_array_equal(model.trees_[0].tried, expected.tried)


@pytest.mark.parametrize("node", [node_with_ties, larger_node])
def test_adaptive_split_is_that_of_the_twin(node):
    for seed in range(100):
        X, labels = node(seed)
        expected = twin.best_split(X, labels, twin.AdaptiveStep())
        every = twin.best_split(X, labels)
        for kind in (StructRF, RFStar):
            model = as_stated(kind, **STUMP, step="adaptive", random_state=0).fit(
                X, two_classes(labels)
            )
            assert root(model)[0] == expected.feature, (seed, kind)
            assert root(model)[0] < 0 or root(model)[1] == expected.threshold, (seed, kind)
            assert root(model)[2] == pytest.approx(expected.gain, abs=1e-12), (seed, kind)
            looks_first = kind is StructRF and len(X) < SMALL_NODE
            tried = every.tried if looks_first else expected.tried
            np.testing.assert_array_equal(model.trees_[0].tried, tried)


def test_many_classes_are_split_as_by_the_twin():
    for seed in range(60):
        X, _ = node_with_ties(seed)
        labels = np.random.default_rng(seed).integers(0, 5, size=len(X))
        expected = twin.best_split(X, labels)
        model = as_stated(RFStar, **STUMP, step="exhaustive", random_state=0).fit(
            X, np.eye(5)[labels]
        )
        assert root(model)[0] == expected.feature
        assert root(model)[2] == pytest.approx(expected.gain, abs=1e-12)


@pytest.mark.parametrize("step", ["exhaustive", "adaptive"])
def test_tree_on_rows_drawn_with_replacement_is_the_twins_on_repeated_rows(step):
    X, D = problem(n=200, q=9)
    X[:, 4] = X[:, 4] > 1  # a two-valued column
    X[:, 5] = np.round(X[:, 5])
    model = as_stated(StructRF, n_estimators=1, max_depth=6, step=step, random_state=3).fit(X, D)
    seed = child_seeds(3, 1)[0]
    rows = np.sort(np.random.default_rng(seed).choice(200, size=160))
    adaptive = twin.AdaptiveStep() if step == "adaptive" else None
    assert_same_tree(model.trees_[0], grow(X[rows], D[rows], 5, 6, adaptive))


def test_one_feature_gives_scikit_learns_entropy_tree():
    from sklearn.tree import DecisionTreeClassifier

    generator = np.random.default_rng(4)
    X = generator.normal(size=(120, 1)).astype(np.float32).astype(float)
    labels = (generator.random(120) < 1 / (1 + np.exp(-X[:, 0]))).astype(int)
    reference = DecisionTreeClassifier(criterion="entropy", random_state=0).fit(X, labels)
    test = generator.normal(size=(300, 1)).astype(np.float32).astype(float)
    for kind in (StructRF, RFStar):
        model = as_stated(kind, **SMALLEST_LEAVES, step="exhaustive").fit(X, two_classes(labels))
        assert len(model.trees_[0].leaves) == reference.get_n_leaves()
        np.testing.assert_array_equal(model.predict(test), reference.predict_proba(test))


def test_neighbouring_floats_are_told_apart():
    low = 1.0
    high = np.nextafter(low, 2.0)
    X = np.array([[low], [low], [high], [high], [3.0]])
    model = as_stated(StructRF, **STUMP).fit(X, two_classes(np.array([0, 0, 1, 1, 1])))
    assert root(model)[1] == low
    np.testing.assert_array_equal(model.predict(X)[:, 1], [0, 0, 1, 1, 1])


@pytest.mark.slow
def test_more_rows_than_sixteen_bits_count():
    generator = np.random.default_rng(0)
    X = generator.normal(size=(70000, 1))
    labels = (X[:, 0] > 0.5).astype(int)
    feature, threshold, gain = root(as_stated(StructRF, **STUMP).fit(X, two_classes(labels)))
    assert feature == 0
    assert X[labels == 0].max() < threshold < X[labels == 1].min()
    assert gain == pytest.approx(information(labels))


# ---------------------------------------------------------------------- clusters


@pytest.mark.parametrize("start", ["pca_sign", "random", "farthest_pair"])
def test_every_start_finds_two_separate_clusters(start):
    generator = np.random.default_rng(0)
    labels = generator.integers(0, 2, size=80)
    D = np.where(labels[:, None] == 1, [0.7, 0.2, 0.1], [0.1, 0.3, 0.6])
    D = D + generator.uniform(0, 0.02, size=D.shape)
    X = np.column_stack([generator.normal(size=80), labels + generator.uniform(0, 0.5, size=80)])
    model = as_stated(StructRF, **STUMP, kmeans_init=start, random_state=0)
    feature, _, gain = root(model.fit(X, D / D.sum(axis=1, keepdims=True)))
    assert feature == 1
    assert gain == pytest.approx(information(labels))


def test_clusters_are_those_of_the_twin():
    """A column that holds the twin's clusters is split without remainder."""
    for seed in range(40):
        X, D = problem(seed, n=60, c=5)
        z = twin.two_means(D)
        model = as_stated(StructRF, **STUMP).fit(np.column_stack([X, z]), D)
        assert root(model)[0] == X.shape[1]
        assert root(model)[2] == pytest.approx(information(z))


# ---------------------------------------------------------------------- features


def test_two_valued_compressed_columns_grow_the_trees_of_dense_ones():
    from scipy.sparse import csr_matrix

    generator = np.random.default_rng(5)
    X = (generator.random((200, 60)) < 0.1) * generator.choice([1.0, 3.0], size=60)
    X[:, :3] *= generator.normal(size=(200, 3))
    D = generator.dirichlet(np.ones(4), size=200)
    for step in ("exhaustive", "adaptive"):
        given = {"n_estimators": 5, "step": step, "random_state": 1}
        dense = as_stated(StructRF, **given).fit(X, D)
        sparse = as_stated(StructRF, **given).fit(csr_matrix(X), D)
        np.testing.assert_array_equal(sparse.predict(csr_matrix(X)), dense.predict(X))


# ---------------------------------------------------------------------- RF*


def test_smoothing_spreads_imaginary_rows_over_all_labels():
    D = np.tile([0.7, 0.1, 0.1, 0.1], (10, 1))
    P = (
        as_stated(RFStar, **ALL_ROWS, leaf_smoothing=2.0)
        .fit(np.arange(10.0)[:, None], D)
        .predict([[3.0]])
    )
    np.testing.assert_allclose(P, [[10.5 / 12, 0.5 / 12, 0.5 / 12, 0.5 / 12]], atol=1e-15)
