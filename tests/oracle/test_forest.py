"""Forests against scikit-learn's own predictions and against leaves counted by hand."""

import numpy as np
import pytest
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor

from ldl.base import child_seeds
from ldl.forests.random_forest import RFClassReading, RFRegression


def problem(seed: int = 0, n: int = 120, q: int = 5, c: int = 4) -> tuple[np.ndarray, np.ndarray]:
    generator = np.random.default_rng(seed)
    X = generator.normal(size=(n, q))
    D = np.exp(2 * X @ generator.normal(size=(q, c)) + generator.normal(size=(n, c)))
    return X, D / D.sum(axis=1, keepdims=True)


def exact_degrees(seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Draw degrees in sixteenths, whose sums are exact, so that rounding decides no split."""
    generator = np.random.default_rng(seed)
    return generator.normal(size=(120, 5)), generator.multinomial(16, [0.25] * 4, size=120) / 16


def same_trees(kind: type, **changes: object):
    """Make scikit-learn's forest with our settings and the seed that ours passes on for 3."""
    settings = {
        "n_estimators": 8,
        "max_depth": 20,
        "max_samples": 96,
        "min_samples_split": 5,
        "max_features": None,
        "random_state": child_seeds(3, 1)[0],
    }
    return kind(**{**settings, **changes})


def one_leaf(**parameters: object) -> RFClassReading:
    """Make a tree of depth 0, which predicts the counts of its root."""
    return RFClassReading(trees=1, max_depth=1, min_split=10**6, random_state=0, **parameters)


def test_one_hot_labels_give_scikit_learns_class_probabilities():
    X, D = problem()
    y = D.argmax(axis=1)
    reference = same_trees(RandomForestClassifier, criterion="entropy").fit(X, y)
    ours = RFClassReading(trees=8, random_state=3).fit(X, np.eye(4)[y])
    np.testing.assert_allclose(ours.predict(X), reference.predict_proba(X), atol=1e-12)


def test_only_the_highest_degree_of_a_row_counts():
    X, D = problem()
    ours = RFClassReading(trees=8, random_state=3).fit(X, D).predict(X)
    hard = RFClassReading(trees=8, random_state=3).fit(X, np.eye(4)[D.argmax(axis=1)]).predict(X)
    np.testing.assert_array_equal(ours, hard)


def test_tie_between_highest_degrees_goes_to_the_lower_label():
    X = np.arange(20.0)[:, None]
    D = np.tile([0.2, 0.4, 0.4], (20, 1))
    P = one_leaf().fit(X, D).predict(X[:1])
    np.testing.assert_array_equal(P, [[0.0, 1.0, 0.0]])


def test_label_that_is_never_highest_gets_zero():
    X, shares = problem(c=3)
    D = np.full((len(X), 5), [0.0, 0.0, 0.05, 0.0, 0.1])
    D[:, [0, 1, 3]] = 0.85 * shares
    never = [2, 4]
    model = RFClassReading(trees=8, random_state=3).fit(X, D)
    assert not model.predict(X)[:, never].any()
    assert model.diagnostics_["labels_never_highest"] == 2


def test_smoothing_spreads_imaginary_rows_evenly_over_all_labels():
    """Ten drawn rows, all of class 0, and two imaginary ones over four labels."""
    X = np.arange(10.0)[:, None]
    D = np.tile([0.7, 0.1, 0.1, 0.1], (10, 1))
    model = one_leaf(leaf_smoothing=2.0, max_samples=1.0).fit(X, D)
    expected = [[10.5 / 12, 0.5 / 12, 0.5 / 12, 0.5 / 12]]
    np.testing.assert_allclose(model.predict(X[:1]), expected, atol=1e-15)


def test_smoothed_leaf_counts_rows_as_often_as_they_were_drawn():
    X, D = problem()
    plain = RFClassReading(trees=1, random_state=3).fit(X, D)
    smoothed = RFClassReading(trees=1, random_state=3, leaf_smoothing=1.0).fit(X, D)
    tree = plain.estimators_[0]
    leaves = tree.apply(X.astype(np.float32))
    drawn = tree.weighted_n_node_samples[leaves][:, None]
    assert drawn.sum() != tree.n_node_samples[leaves].sum()  # some rows were drawn twice
    expected = (plain.predict(X) * drawn + 0.25) / (drawn + 1.0)
    np.testing.assert_allclose(smoothed.predict(X), expected, atol=1e-12)


@pytest.mark.parametrize("criterion", ["squared_error", "poisson"])
def test_regression_leaves_hold_the_mean_distribution(criterion):
    X, D = exact_degrees()
    reference = same_trees(RandomForestRegressor, criterion=criterion).fit(X, D)
    ours = RFRegression(trees=8, criterion=criterion, random_state=3).fit(X, D)
    np.testing.assert_allclose(ours.predict(X), reference.predict(X), atol=1e-12)


def test_poisson_splits_where_the_divergence_to_the_means_is_least():
    """The first split of a tree against a search over all thresholds of one feature."""
    X, D = problem(q=1)
    model = RFRegression(
        trees=1, max_depth=1, max_samples=1.0, criterion="poisson", random_state=3
    ).fit(X, D)
    reference = same_trees(
        RandomForestRegressor, n_estimators=1, max_depth=1, max_samples=120, criterion="poisson"
    ).fit(X, D)
    rows = reference.estimators_samples_[0]
    x, d = X[rows, 0].astype(np.float32), D[rows]

    def divergence(part: np.ndarray) -> float:
        return float((part * np.log(part / part.mean(axis=0))).sum())

    values = np.unique(x)
    middles = (values[1:] + values[:-1]) / 2
    costs = [divergence(d[x <= m]) + divergence(d[x > m]) for m in middles]
    best = middles[int(np.argmin(costs))]
    assert model.estimators_[0].threshold[0] == pytest.approx(best, rel=1e-6)


def test_label_that_is_always_zero_does_not_forbid_poisson_splits():
    X, D = problem()
    padded = np.insert(D, 1, 0.0, axis=1)
    P = RFRegression(trees=8, criterion="poisson", random_state=3).fit(X, padded).predict(X)
    without = RFRegression(trees=8, criterion="poisson", random_state=3).fit(X, D).predict(X)
    np.testing.assert_array_equal(P, np.insert(without, 1, 0.0, axis=1))


def test_compressed_rows_grow_the_same_classification_trees():
    from scipy.sparse import csr_matrix

    generator = np.random.default_rng(5)
    X = (generator.random((150, 40)) < 0.1).astype(float)
    D = generator.dirichlet(np.ones(3), size=150)
    dense = RFClassReading(trees=8, random_state=3).fit(X, D).predict(X)
    sparse = RFClassReading(trees=8, random_state=3).fit(csr_matrix(X), D).predict(csr_matrix(X))
    np.testing.assert_allclose(sparse, dense, atol=1e-12)


def test_negative_smoothing_is_refused():
    with pytest.raises(ValueError, match="leaf_smoothing must not be negative, got -1"):
        RFClassReading(leaf_smoothing=-1).fit(*problem())
