"""Bounds by which StructRF passes over blocks of rows, against a look at every threshold."""

from typing import NamedTuple

import numpy as np
import pytest

from ldl.forests._columns import NEW_VALUE, ROW
from ldl.forests._split_search import NO_GAIN, PARENT, _may_exceed, _scan, make_node
from tests.oracle.parts import open_to_python

LOWER = np.uint64(2**32 - 1)
FEATURES = 7
scan_columns, may_exceed = open_to_python(_scan), open_to_python(_may_exceed)


class Searched(NamedTuple):
    """A node whose first cluster follows its last feature, as the scan of its columns reads it."""

    words: np.ndarray
    packed: np.ndarray
    ones: np.ndarray
    zeros: np.ndarray
    both: np.ndarray
    parent: float

    def gains(self, f: int) -> np.ndarray:
        """Return the gain at each place of a column; none where no threshold lies."""
        seen = np.cumsum(self.packed[self.words[f] & ROW])[:-1]
        n_left, one_left = seen >> np.uint64(32), seen & LOWER
        gains = self.ones[one_left] + self.zeros[n_left - one_left] - self.both[n_left]
        return np.where(self.words[f, 1:] >= NEW_VALUE, gains - self.parent, -np.inf)

    def tables(self) -> tuple[np.ndarray, np.ndarray, np.ndarray, float]:
        return self.ones, self.zeros, self.both, self.parent


def node_of(seed: int, rows: int, values: int, signal: float) -> Searched:
    """Draw a node; features have so many values, each row was drawn up to three times."""
    generator = np.random.default_rng(seed)
    X = generator.integers(0, values, (rows, FEATURES))
    weight = generator.integers(1, 4, rows).astype(np.uint64)
    noise = generator.normal(size=rows)
    one = (signal * (X[:, -1] / values - 0.5) + noise > 0).astype(np.uint64)
    one[:2] = 0, 1
    order = np.argsort(X, axis=0, kind="stable").T
    ordered = np.take_along_axis(X.T, order, axis=1)
    begins = np.diff(ordered, axis=1, prepend=ordered[:, :1]) > 0
    m = np.arange(int(weight.sum()) + 1.0)
    table = m * np.log(np.maximum(m, 1.0))
    n, ones = len(m) - 1, int((weight * one).sum())
    sums = [table[: k + 1] + table[k::-1] for k in (ones, n - ones, n)]
    return Searched(
        order.astype(np.uint32) | NEW_VALUE * begins,
        (weight << np.uint64(32)) + weight * one,
        *sums,
        float(table[ones] + table[n - ones] - table[n]),
    )


def scan(node: Searched, bar: float) -> tuple[int, int, float, np.ndarray]:
    features, (rows, drawn) = np.arange(FEATURES), (len(node.packed), len(node.both) - 1)
    room = make_node(rows, FEATURES, drawn, 0, two_valued=False)
    room.queue[:], room.packed[:], room.best[PARENT] = features, node.packed, node.parent
    for line, values in zip(room.tables, (node.ones, node.zeros, node.both), strict=True):
        line[: len(values)] = values
    found = scan_columns(room, features, node.words, 0, rows, 0, FEATURES, bar, False)
    return *found[:3], room.tried


def look_at_all(node: Searched, bar: float) -> tuple[int, int, float, list[int]]:
    best, at = -1, 0
    tried = []
    for f in range(FEATURES):
        gains = node.gains(f)
        tried.append(int(np.isfinite(gains).sum()))
        for place, gain in enumerate(gains, 1):
            if gain > bar:
                best, at, bar = f, place, gain + NO_GAIN
    return best, at, bar, tried


@pytest.mark.parametrize("values", [2, 5, 40, 10**6])
@pytest.mark.parametrize("signal", [0.0, 1.0, 100.0])
def test_the_scan_finds_what_a_look_at_every_threshold_finds(values, signal):
    for seed in range(60):
        rows = int(np.random.default_rng(seed).integers(2, 500))
        node = node_of(seed, rows, values, signal)
        for bar in (NO_GAIN, 1.0):
            found, expected = scan(node, bar), look_at_all(node, bar)
            assert found[:3] == expected[:3]
            assert found[3].tolist() == expected[3]


def test_no_gain_in_a_block_exceeds_its_bound():
    """The bound is the least bar that the block is said not to exceed, by halving."""
    generator = np.random.default_rng(0)
    tight = []
    for seed in range(40):
        node = node_of(seed, 300, 10**6, 3.0)
        for f in range(FEATURES):
            seen = np.cumsum(node.packed[node.words[f] & ROW])
            first = int(generator.integers(0, 280))
            gains = node.gains(f)
            greatest = gains[first : first + 17].max()
            block = seen[first], seen[first + 16]
            assert may_exceed(greatest - 1e-9, *block, *node.tables())
            low, high = greatest - 1e-9, 1e3
            while high - low > 1e-6:
                bar = (low + high) / 2
                low, high = (bar, high) if may_exceed(bar, *block, *node.tables()) else (low, bar)
            tight.append(high - greatest)
    assert 0 < np.median(tight) < 5, "nats; a loose bound would pass over nothing"
