"""Bounds by which LDLogitBoost's trees choose the features they look at, against brute force."""

import numpy as np
import pytest
from numba import njit

from ldl.boosting import _newton_trees
from ldl.boosting._bins import ABREAST, make_bins
from ldl.boosting._newton_trees import (
    Rules,
    _bound_bins,
    _bound_rows,
    _fill,
    _sort_rows,
    grow,
    limits_of,
    room_for,
)
from tests.oracle.parts import open_to_python

pack, score = open_to_python(_newton_trees.pack), open_to_python(_newton_trees.score)
unit_of_bounds = open_to_python(_newton_trees.unit_of_bounds)
unpacked = open_to_python(_newton_trees.unpacked)
RULES = Rules(max_leaves=12, min_leaf=5, floor=1e-6, histogram_bytes=2**28)
FEATURES = ABREAST + 8


@njit
def bound_by_bins(bins, words, rows, packing, rules, cuts, bounds):
    sums = np.empty(bins.block_start[-1], np.int64)
    _fill(bins, words, rows, sums)
    _bound_bins(bins, sums, limits_of(words[rows].sum(), packing, rules), cuts, bounds)


@njit
def bound_by_rows(bins, words, rows, packing, rules, cuts, bounds):
    sorted_rows = np.empty((len(bins.codes), len(rows)), np.uint32)
    _sort_rows(bins, rows, sorted_rows, 0, np.empty(257, np.int64))
    limits = limits_of(words[rows].sum(), packing, rules)
    _bound_rows(sorted_rows, 0, len(rows), words, rules.min_leaf, limits, cuts, bounds)


def drawn(seed: int, skewed: bool, n: int = 300) -> tuple[np.ndarray, np.ndarray]:
    """Draw features, and gradients with curvatures; skewed ones differ by ten orders."""
    generator = np.random.default_rng(seed)
    X = generator.normal(size=(n, FEATURES))
    X[:, ::3] = np.round(X[:, ::3])
    h = generator.random(n) / 4
    if skewed:
        h *= 10.0 ** -generator.integers(0, 10, n)
    return X, np.stack([generator.normal(size=n) * np.sqrt(h), h], axis=1)


def best_score(values: np.ndarray, stats: np.ndarray) -> float:
    """Return the best score of both sides over all cuts between distinct values."""
    best = 0.0
    for cut in np.unique(values)[:-1]:
        sides = [stats[values <= cut], stats[values > cut]]
        if min(map(len, sides)) >= RULES.min_leaf:
            best = max(best, sum(score(*side.sum(axis=0), len(side), RULES) for side in sides))
    return best


@pytest.mark.parametrize("skewed", [False, True])
@pytest.mark.parametrize("n", [3, 5000])
def test_packed_sums_are_below_the_true_ones_by_no_more_than_a_unit_for_each_row(n, skewed):
    stats = drawn(1, skewed, n)[1]
    words = np.empty(n, np.int64)
    packing = pack(stats, words)
    generator = np.random.default_rng(2)
    for size in (1, n // 2, n):
        rows = generator.permutation(n)[:size]
        g, h, count = unpacked(words[rows].sum(), packing)
        true_g, true_h = stats[rows].sum(axis=0)
        assert count == size
        assert abs(g * packing.g_unit - true_g) <= size * packing.g_unit
        assert -1e-12 <= true_h - h * packing.h_unit <= size * packing.h_unit


@pytest.mark.parametrize("bound", [bound_by_bins, bound_by_rows])
@pytest.mark.parametrize("skewed", [False, True])
@pytest.mark.parametrize("size", [12, 300])
def test_bound_is_no_lower_than_the_best_score_and_not_far_above(bound, skewed, size):
    X, stats = drawn(size, skewed)
    bins, words = make_bins(X, 256), np.empty(len(X), np.int64)
    packing = pack(stats, words)
    rows = np.sort(np.random.default_rng(3).permutation(len(X))[:size])
    cuts = np.empty((max(256, size), ABREAST), np.int64)
    bounds = np.empty(len(bins.row_slots) * ABREAST, np.float32)
    bound(bins, words, rows, packing, RULES, cuts, bounds)
    unit = unit_of_bounds(packing)
    # Bins hold several values where a feature has more than 256, and cuts lie between bins.
    best = np.array(
        [best_score(bins.codes[bins.place[f], rows], stats[rows]) for f in range(FEATURES)]
    )
    found = bounds[bins.place] * unit
    assert (best > 0).any()
    assert (found * (1 + 1e-5) >= best).all()
    if not skewed:
        assert (found <= best * (1 + 1e-3)).all()


@pytest.mark.parametrize("bins_per_row", [1, 4, 1000])
@pytest.mark.parametrize("skewed", [False, True])
def test_tree_is_the_one_that_looks_at_every_feature(monkeypatch, skewed, bins_per_row):
    monkeypatch.setattr("ldl.boosting._bins._BINS_PER_ROW", bins_per_row)
    X, stats = drawn(4, skewed)
    bins = make_bins(X, 256)
    tree = grow(bins, stats, RULES, np.empty(room_for(bins, RULES)))
    codes = bins.codes[bins.place]
    leaves = [np.arange(len(X))]
    while len(leaves) < RULES.max_leaves:
        gains = []
        for rows in leaves:
            own = score(*stats[rows].sum(axis=0), len(rows), RULES)
            gains.append(max(best_score(of_rows, stats[rows]) for of_rows in codes[:, rows]) - own)
        rows = leaves.pop(int(np.argmax(gains)))
        f = int(np.argmax([best_score(of_rows, stats[rows]) for of_rows in codes[:, rows]]))
        best = best_score(codes[f, rows], stats[rows])
        for cut in np.unique(codes[f, rows]):
            left = codes[f, rows] <= cut
            parts = [rows[left], rows[~left]]
            if min(map(len, parts)) >= RULES.min_leaf and np.isclose(
                sum(score(*stats[part].sum(axis=0), len(part), RULES) for part in parts),
                best,
                rtol=1e-12,
            ):
                leaves += parts
                break
    assert {tuple(np.flatnonzero(tree.leaf_of == i)) for i in range(RULES.max_leaves)} == {
        tuple(rows) for rows in leaves
    }
