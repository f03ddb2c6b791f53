"""Values that parameters may have, and the complaints about others."""

from __future__ import annotations

import numpy as np
import pytest

from ldl._parameters import Interval, Listed, Options


@pytest.mark.parametrize(
    ("constraint", "allowed", "refused"),
    [
        (Interval(1, whole=True), [1, np.int64(7)], [0, 1.5, 2.0, True, "1", None, np.nan]),
        (Interval(0, 1, open_low=True), [1, 0.5, np.float32(0.1)], [0, 1.1, np.nan, "1"]),
        (Interval(0, 1, open_low=True, open_high=True), [0.5], [0, 1]),
        (Interval(0), [0, np.inf], [-1e-300, -np.inf, np.nan]),
        (Interval(2, 5, open_high=True), [2, 4.9], [5, 1]),
        (Options("a", "b"), ["a"], ["c", 1, None]),
        (Listed(Interval(1, whole=True)), [[1, 2], (1,)], [3, [], [1, 0], "1", [1.5]]),
    ],
    ids=str,
)
def test_constraints_tell_what_they_allow(constraint, allowed, refused):
    assert all(constraint.allows(value) for value in allowed)
    assert not any(constraint.allows(value) for value in refused)
