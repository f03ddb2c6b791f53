"""LDLogitBoost and AOSO-LDLogitBoost against brute force, closed forms and binary LogitBoost."""

import numpy as np
import pytest

from ldl.boosting import _newton_trees, _pair_trees
from ldl.boosting._bins import Bins, make_bins
from ldl.boosting._pair_trees import EXACT_PAIR, SMO_PAIR, Rules
from ldl.boosting._tree import BoostedTree
from ldl.boosting.logitboost import AOSOLDLogitBoost, LDLogitBoost
from tests.oracle.settings import as_stated

BOTH = pytest.mark.parametrize("kind", [LDLogitBoost, AOSOLDLogitBoost])
FIXED = {"n_iter_no_change": None}
DIAGONAL = -1
KINDS = pytest.mark.parametrize("kind", [DIAGONAL, EXACT_PAIR, SMO_PAIR])


def problem(seed: int = 0, n: int = 150, q: int = 6, c: int = 4) -> tuple[np.ndarray, np.ndarray]:
    """Draw features of which half have many values, a quarter few, and the others two or one."""
    generator = np.random.default_rng(seed)
    X = generator.normal(size=(n, q))
    D = np.exp(X @ generator.normal(size=(q, c)) + 0.5 * generator.normal(size=(n, c)))
    X[:, q // 2] = np.round(X[:, q // 2])
    X[:, q // 2 + 1 : q - 1] = X[:, q // 2 + 1 : q - 1] > 0.8
    X[:, q - 1] = 3.0
    return X, D / D.sum(axis=1, keepdims=True)


def make_rules(kind: int, **changes: float) -> Rules:
    settings = {"labels": 4, "max_leaves": 9, "min_leaf": 5, "floor": 1e-6}
    return Rules(**{"kind": kind, **settings, "histogram_bytes": 2**28, **changes})


def grown(bins: Bins, stats: np.ndarray, rules: Rules) -> BoostedTree:
    """Grow a tree of any kind; newton trees get memory that others have left full."""
    if rules.kind != DIAGONAL:
        return _pair_trees.grow(bins, stats, rules)
    newton = newton_rules(rules)
    memory = np.full(_newton_trees.room_for(bins, newton), np.nan)
    return _newton_trees.grow(bins, stats, newton, memory)


def newton_rules(rules: Rules) -> _newton_trees.Rules:
    return _newton_trees.Rules(rules.max_leaves, rules.min_leaf, rules.floor, rules.histogram_bytes)


def kl(D: np.ndarray, P: np.ndarray) -> float:
    return float((D * np.log(D / P)).sum())


def curvatures(P: np.ndarray) -> np.ndarray:
    return np.array([np.diag(p) - np.outer(p, p) for p in P])


def drawn_statistics(kind: int, seed: int = 1, n: int = 150, c: int = 4) -> np.ndarray:
    generator = np.random.default_rng(seed)
    D, P = generator.dirichlet(np.ones(c), size=(2, n))
    if kind == DIAGONAL:
        return as_stated(LDLogitBoost)._statistics(D, P)[1]
    return as_stated(AOSOLDLogitBoost)._statistics(D, P)[0]


# ---------------------------------------------------------------------- a twin in plain NumPy


def node_score(stats: np.ndarray, rules: Rules) -> float:
    """Return twice the second-order gain of a node, from its rows."""
    return pair_gains(stats, rules).max()


def pair_gains(stats: np.ndarray, rules: Rules) -> np.ndarray:
    total, least = stats.sum(axis=0), rules.floor * len(stats)
    if rules.kind == DIAGONAL:
        return np.array([total[0] ** 2 / max(total[1], least)])
    c = rules.labels
    r, s = np.triu_indices(c, 1)
    gains = (total[r] - total[s]) ** 2 / np.maximum(total[c:], least)
    if rules.kind == SMO_PAIR:
        steepest = total[:c].argmax()
        gains = gains[(r == steepest) | (s == steepest)]
    return gains


def best_cut(X: np.ndarray, stats: np.ndarray, rules: Rules) -> tuple[float, int, float]:
    """Try every value of every feature; return gain, feature and lower value of the best split."""
    best = (1e-9, -1, 0.0)
    for f in range(X.shape[1]):
        for value in np.unique(X[:, f])[:-1]:
            left = X[:, f] <= value
            if min(left.sum(), (~left).sum()) < rules.min_leaf:
                continue
            gain = node_score(stats[left], rules) + node_score(stats[~left], rules)
            gain -= node_score(stats, rules)
            if gain > best[0] * (1 + 1e-9):
                best = (gain, f, value)
    return best


def grow_slowly(X: np.ndarray, stats: np.ndarray, rules: Rules) -> list[np.ndarray]:
    """Split the leaf with the greatest gain first, and return the rows of each leaf."""
    leaves = [np.arange(len(X))]
    cuts = [best_cut(X, stats, rules)]
    while len(leaves) < rules.max_leaves:
        i = int(np.argmax([gain if f >= 0 else 0.0 for gain, f, _ in cuts]))
        rows, (_, f, value) = leaves[i], cuts[i]
        if f < 0:
            break
        halves = [rows[X[rows, f] <= value], rows[X[rows, f] > value]]
        leaves[i : i + 1] = halves
        cuts[i : i + 1] = [best_cut(X[part], stats[part], rules) for part in halves]
    return leaves


def as_partition(leaf_of: np.ndarray) -> set[tuple[int, ...]]:
    return {tuple(np.flatnonzero(leaf_of == leaf)) for leaf in np.unique(leaf_of)}


@KINDS
@pytest.mark.parametrize("min_leaf", [1, 5])
@pytest.mark.parametrize("seed", range(2))
def test_tree_is_the_one_that_brute_force_grows(kind, min_leaf, seed):
    X, _ = problem(seed)
    stats = drawn_statistics(kind, seed)
    rules = make_rules(kind, min_leaf=min_leaf)
    tree = grown(make_bins(X, 256), stats, rules)
    expected = grow_slowly(X, stats, rules)
    assert len(expected) > 4
    assert as_partition(tree.leaf_of) == {tuple(rows) for rows in expected}


# ---------------------------------------------------------------------- single steps


def test_one_leaf_of_ldlogitboost_is_the_centred_diagonal_newton_step():
    X, D = problem()
    model = as_stated(LDLogitBoost, max_iter=1, learning_rate=0.1, max_leaf_nodes=1, **FIXED).fit(
        X, D
    )
    c = 4
    hessian = curvatures(np.full(D.shape, 1 / c)).sum(axis=0)
    step = (D - 1 / c).sum(axis=0) / np.diag(hessian)
    expected = 0.1 * (c - 1) / c * (step - step.mean())
    np.testing.assert_allclose(model.decision_function(X[:1])[0], expected, atol=1e-14)


def test_one_leaf_of_aoso_is_the_newton_step_along_the_best_pair():
    X, D = problem()
    model = as_stated(
        AOSOLDLogitBoost, max_iter=1, learning_rate=0.1, max_leaf_nodes=1, **FIXED
    ).fit(X, D)
    gradient = (D - 0.25).sum(axis=0)
    hessian = curvatures(np.full(D.shape, 0.25)).sum(axis=0)
    steps = []
    for r in range(4):
        for s in range(r):
            direction = np.eye(4)[r] - np.eye(4)[s]
            size = gradient @ direction / (direction @ hessian @ direction)
            steps.append((size * (gradient @ direction) / 2, size * direction))
    _, best = max(steps, key=lambda step: step[0])
    np.testing.assert_allclose(model.decision_function(X[:1])[0], 0.1 * best, atol=1e-14)


# ---------------------------------------------------------------------- the course of boosting


def binary_logitboost(X: np.ndarray, d: np.ndarray, rounds: int, rate: float, rules: Rules):
    """Fit Friedman's LogitBoost of two classes with soft targets: F grows by half a tree."""
    F = np.zeros(len(X))
    for _ in range(rounds):
        p = 1 / (1 + np.exp(-2 * F))
        stats = np.stack([d - p, p * (1 - p)], axis=1)
        for rows in grow_slowly(X, stats, rules):
            g, w = stats[rows].sum(axis=0)
            F[rows] += rate * 0.5 * g / w
    return 1 / (1 + np.exp(-2 * F))


@BOTH
def test_two_labels_are_binary_logitboost_with_soft_labels(kind):
    X, D = problem(c=2)
    rules = make_rules(DIAGONAL, labels=2, max_leaves=6)
    expected = binary_logitboost(X, D[:, 0], rounds=12, rate=0.1, rules=rules)
    model = kind(max_iter=12, max_leaf_nodes=6, learning_rate=0.1, **FIXED).fit(X, D)
    np.testing.assert_allclose(model.predict(X)[:, 0], expected, atol=1e-12)


@BOTH
def test_validation_curve_is_the_score_of_models_fitted_without_the_held_rows(kind, monkeypatch):
    from ldl._holdouts import holdouts

    X, D = problem(n=90)
    monkeypatch.setattr("ldl.boosting.logitboost._ROWS_TO_SCORE", 20)
    model = kind(max_iter=5, random_state=3).fit(X, D)
    splits = holdouts(90, 1 / 9, 20, 3)
    assert len(splits) == 2
    for t in (1, 5):
        scores = [
            kl(D[held], kind(max_iter=t, **FIXED).fit(X[rows], D[rows]).predict(X[held])) / 10
            for rows, held in splits
        ]
        assert model.validation_curve_[t - 1] == pytest.approx(np.mean(scores), rel=1e-10)
