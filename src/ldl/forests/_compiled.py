"""What the compiled code of all trees shares."""

from __future__ import annotations

import hashlib
import inspect
from types import ModuleType

import numpy as np

from ldl._compiled import cached, compiled

__all__ = ["cached", "compiled", "random_below", "source_digest"]


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
