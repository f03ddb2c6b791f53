# mypy: disable-error-code="no-untyped-def"
"""Steps of Adam; compiled."""

from __future__ import annotations

import numpy as np

from ldl._compiled import cached

_FIRST, _SECOND = 0.9, 0.999
"""Shares of the moments that a step keeps."""
_SMALLEST = 1e-8


@cached
def adam(slopes, values, first, second, step, rate):
    """Take a step from 1 on: change values and both moments in place."""
    one, two = 1.0 - _FIRST**step, 1.0 - _SECOND**step
    for i in range(len(values)):
        first[i] += (1.0 - _FIRST) * (slopes[i] - first[i])
        second[i] += (1.0 - _SECOND) * (slopes[i] * slopes[i] - second[i])
        values[i] -= rate * (first[i] / one) / (np.sqrt(second[i] / two) + _SMALLEST)
