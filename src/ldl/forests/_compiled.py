"""Decorators and functions that the compiled code of all trees shares.

Parts are called from compiled code alone: they have no wrapper for Python, which takes time to
compile. numba keeps the machine code of a ``cached`` function on disk.

Where many processes start at once on a shared disk, point NUMBA_CACHE_DIR at a local folder.
"""

from __future__ import annotations

import numpy as np
from numba import njit

compiled = njit(nogil=True, error_model="numpy", no_cpython_wrapper=True, no_cfunc_wrapper=True)
"""Compile a part. Fast math is off, so sums keep their order and results depend on no thread."""
cached = njit(cache=True, nogil=True, error_model="numpy", no_cfunc_wrapper=True)
"""Compile an entry point, and keep its machine code on disk."""


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
