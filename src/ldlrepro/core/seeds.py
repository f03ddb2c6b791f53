"""Seeds that depend on what is computed, and not on when, where or in which order."""

from __future__ import annotations

import hashlib

import numpy as np


def seed_for(*parts: object) -> int:
    """Return a 128-bit seed from the parts' text, such as (2026, 'structrf', 'sjaffe', 0, 3, 'rf').

    Parts are joined with a separator that no id contains, so ('a', 'bc') and ('ab', 'c') differ.
    """
    text = "\x1f".join(str(part) for part in parts)
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:16], "big")


def rng_for(*parts: object) -> np.random.Generator:
    return np.random.default_rng(seed_for(*parts))
