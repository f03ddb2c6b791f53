"""Compiled functions that several kinds of trees share."""

from __future__ import annotations

import numpy as np

from ldl._compiled import compiled

START = np.int64(0)
"""Zero as a variable begins: numba compiles a function once more for a number written out."""


@compiled
def random_below(state: np.ndarray, bound: int) -> np.int64:
    """Draw a number from 0 to ``bound`` - 1 with SplitMix64, and advance its ``state``."""
    state[0] += np.uint64(0x9E3779B97F4A7C15)
    x = state[0]
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    x = x ^ (x >> np.uint64(31))
    return np.int64((x >> np.uint64(11)) % np.uint64(bound))


@compiled
def partition(rows: np.ndarray, right: np.ndarray, spare: np.ndarray) -> int:
    """Put rows that go to the left first, each side in its order; return how many those are."""
    a, b = 0, 0
    for i in range(len(rows)):
        row = rows[i]
        if right[row]:
            spare[b] = row
            b += 1
        else:
            rows[a] = row
            a += 1
    # Not a slice: numba takes a second to compile the copy of one.
    for i in range(b):
        rows[a + i] = spare[i]
    return a
