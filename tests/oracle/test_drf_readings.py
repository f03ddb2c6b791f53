"""Other readings of DRF's leaves: against DRF itself, plain loops, and certain routing."""

import numpy as np
import pytest
import torch

from ldl.soft_forests._leaves import GaussianLeaves
from ldl.soft_forests.drf import DRF
from papers.drf.drf_readings import BinnedLeaves, DRFReading
from tests.oracle.settings import as_stated

QUICK = {"n_estimators": 3, "depth": 4, "units": 8, "max_iter": 100, "leaf_batches": 10}
SHIFT, SCALE, LABELS = 16.4, 12.8, 30
LEAST = 1e-2 / SCALE**2


def ages(seed: int = 0, n: int = 60) -> tuple[np.ndarray, np.ndarray]:
    """Features, and one-hot labels that depend on them."""
    X = np.random.default_rng(seed).normal(size=(n, 4))
    y = np.clip(np.round(15 + 6 * np.tanh(X[:, 0]) + 2 * X[:, 1]), 0, LABELS - 1)
    return X, np.eye(LABELS)[y.astype(int)]


def binned(leaves: int, trees: int = 1, dtype: torch.dtype = torch.float64) -> BinnedLeaves:
    generator = np.random.default_rng(3)
    shape = (trees, leaves)
    first = GaussianLeaves(
        generator.normal(size=shape), generator.gamma(2.0, size=shape), LEAST, dtype=dtype
    )
    return BinnedLeaves(first, SHIFT, SCALE, LABELS)


def update(
    leaves: BinnedLeaves, P: np.ndarray, labels: np.ndarray, counts: np.ndarray, repeats: int
) -> tuple[np.ndarray, np.ndarray]:
    """Means and variances of the first tree after a leaf step, in years."""
    dtype = leaves.mean.dtype
    logs = torch.from_numpy(np.log(np.maximum(P, 1e-300))).to(dtype)
    y = torch.from_numpy((labels - SHIFT) / SCALE)[None].to(dtype)
    leaves.update(0, logs, y, torch.from_numpy(counts).to(dtype), repeats)
    mean, variance = leaves.table()[0].T
    return mean * SCALE + SHIFT, variance * SCALE**2


# ---------------------------------------------------------------------- order of the clusters


@pytest.mark.parametrize("leaf_init", ["random", "kmeans"])
@pytest.mark.parametrize("leaf_rule", ["posterior", "routing"])
def test_ascending_order_gives_the_bits_of_drf(leaf_rule, leaf_init):
    X, D = ages()
    given = {**QUICK, "leaf_rule": leaf_rule, "leaf_init": leaf_init, "random_state": 5}
    theirs = as_stated(DRF, **given).fit(X, D)
    ours = as_stated(DRFReading, **given, leaf_order="ascending").fit(X, D)
    np.testing.assert_array_equal(ours.state_.W, theirs.state_.W)
    np.testing.assert_array_equal(ours.state_.table, theirs.state_.table)
    np.testing.assert_array_equal(ours.predict(X), theirs.predict(X))


def first_of(leaf_order: str, seed: int = 0, leaf_rule: str = "posterior") -> np.ndarray:
    """Means and variances before training, (trees, leaves, 2)."""
    model = as_stated(
        DRFReading,
        leaf_order=leaf_order,
        leaf_rule=leaf_rule,
        leaf_init="kmeans",
        n_estimators=3,
        depth=5,
    )
    y = np.round(np.random.default_rng(1).gamma(2.0, 10.0, 300))
    model.shift_, model.scale_, model.n_labels_ = y.mean(), y.std(), 100
    standard = (y - model.shift_) / model.scale_
    return model._leaves(standard, np.random.default_rng(seed)).table()


@pytest.mark.parametrize("leaf_rule", ["posterior", "binned_dndf"])
def test_random_order_holds_the_same_clusters_in_another_order_in_every_tree(leaf_rule):
    ascending, drawn = first_of("ascending"), first_of("random", leaf_rule=leaf_rule)
    for tree in range(3):
        assert sorted(map(tuple, drawn[tree])) == sorted(map(tuple, ascending[tree]))
        assert (drawn[tree] != ascending[tree]).any()
        assert (drawn[tree] != drawn[tree - 1]).any()


# ---------------------------------------------------------------------- years as classes


def step_by_loops(
    Q: np.ndarray, P: np.ndarray, labels: np.ndarray, counts: np.ndarray, repeats: int
) -> np.ndarray:
    """The rule as it is written, row by row and leaf by leaf; no leaf may take what it lacks."""
    leaves, rows = P.shape
    for _ in range(repeats):
        sums = np.zeros_like(Q)
        for i in range(rows):
            y = labels[i]
            below = sum(P[other, i] * Q[other, y] for other in range(leaves))
            for leaf in range(leaves):
                sums[leaf, y] += counts[i] * P[leaf, i] * Q[leaf, y] / below
        Q = np.array([s / s.sum() if s.sum() > 0 else q for s, q in zip(sums, Q, strict=True)])
    return Q


def moments(q: np.ndarray) -> tuple[float, float]:
    mean = sum(share * year for year, share in enumerate(q))
    return mean, sum(share * (year - mean) ** 2 for year, share in enumerate(q))


@pytest.mark.parametrize("repeats", [1, 4])
def test_two_leaf_steps_equal_plain_loops_and_an_empty_leaf_keeps_what_it_has(repeats):
    generator = np.random.default_rng(repeats)
    labels = generator.integers(3, 9, 14)
    counts = generator.integers(1, 4, 14).astype(float)
    leaves = binned(4)
    empty = leaves.table()[0, 3] * [SCALE, SCALE**2] + [SHIFT, 0.0]
    Q = np.full((4, LABELS), 1.0 / LABELS)
    for reached in (3, 4):
        P = np.zeros((4, 14))
        P[:reached] = generator.dirichlet(np.ones(reached), 14).T
        Q = step_by_loops(Q, P, labels, counts, repeats)
        expected = np.array([moments(q) for q in Q])
        if reached == 3:
            np.testing.assert_allclose(Q[3], 1.0 / LABELS)
            expected[3] = empty
        found = np.transpose(update(leaves, P, labels, counts, repeats))
        np.testing.assert_allclose(found, expected, rtol=1e-7)
        np.testing.assert_allclose(leaves.classes.Q[0].numpy(), Q, atol=1e-10)
