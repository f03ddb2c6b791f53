"""Decorators and functions that the compiled code of all trees shares.

numba keeps the machine code of a ``cached`` function on disk, and compiles it again when the file
that defines the function changes. It does not notice a change in another file that the function
calls into. So a ``cached`` function either stands in one file with all that it calls, or has the
``source_digest`` of those other files among its closure variables, which are part of numba's key.

Where many processes start at once on a shared disk, point NUMBA_CACHE_DIR at a local folder.
"""

from __future__ import annotations

import hashlib
import inspect
from types import ModuleType

import numpy as np
from numba import njit

compiled = njit(nogil=True, error_model="numpy")
"""Compile a part. Fast math is off, so sums keep their order and results depend on no thread."""
cached = njit(cache=True, nogil=True, error_model="numpy")
"""Compile an entry point, and keep its machine code on disk."""


def source_digest(*modules: ModuleType) -> int:
    """Return a digest of the source of modules, as a number that compiled code can hold."""
    text = "".join(inspect.getsource(module) for module in modules)
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:7], "big")


@compiled
def random_below(state: np.ndarray, bound: int) -> np.int64:
    """Draw a number from 0 to ``bound`` - 1 with SplitMix64, and advance its ``state``."""
    state[0] += np.uint64(0x9E3779B97F4A7C15)
    x = state[0]
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    x = x ^ (x >> np.uint64(31))
    return np.int64((x >> np.uint64(11)) % np.uint64(bound))
