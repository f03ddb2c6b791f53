"""Local binary patterns of a whole grey image, the 243 features of s-JAFFE and s-BU_3DFE.

Each pixel is compared with 16 points on a circle of radius 2. The 2 + 16 * 15 patterns with at most
two changes around the circle have a bin each, in any rotation. All others share one bin.

The points are counted from the right, counterclockwise. scikit-image orders the bins by the number
of points that reach the centre, and then by the place where their run begins (``runs``). The
published files order them by the pattern as a number, where point k is worth 2 to the k
(``codes``). Only in that order do the mean histograms of s-JAFFE and s-BU_3DFE stay the same when
the patterns are mirrored, as those of faces must (docs/images.md). Flat areas have bin 241, and
patterns with more than two changes have bin 242 in both orders.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

from ldlrepro.core.errors import unknown

POINTS = 16
RADIUS = 2
BINS = POINTS * (POINTS - 1) + 3

RUNS, CODES = "runs", "codes"

RECIPE: dict[str, Any] = {
    "extractor": "lbp",
    "points": POINTS,
    "radius": RADIUS,
    "patterns": "uniform, not rotation invariant (scikit-image nri_uniform)",
    "border": f"{RADIUS} pixels dropped on each side",
    "bins": BINS,
    "scale": "counts divided by their sum",
    "order": RUNS,
}


def recipe(order: str) -> dict[str, Any]:
    """Return what to store beside features in this order, so that others can read them."""
    return {**RECIPE, "order": order, "patterns_of_bins": _patterns_in(order)}


@cache
def patterns() -> tuple[int, ...]:
    """Return the patterns of scikit-image's first 242 bins, where point k is worth 2 to the k."""
    found = [0]
    for ones in range(1, POINTS):
        for place in range(POINTS):
            found.append(sum(1 << ((run - place) % POINTS) for run in range(ones)))
    return (*found, 2**POINTS - 1)


def bins_in(order: str) -> np.ndarray:
    """Return scikit-image's bins in an order: ``histogram[bins_in(order)]`` has that order."""
    if order == RUNS:
        return np.arange(BINS)
    if order == CODES:
        return np.append(np.argsort(patterns()), BINS - 1)
    raise unknown("order of bins", order, (RUNS, CODES))


def _patterns_in(order: str) -> list[int | str]:
    return [patterns()[b] if b < BINS - 1 else "all others" for b in bins_in(order)]


def lbp_histogram(image: np.ndarray) -> np.ndarray:
    """Return the share of each of the 243 patterns among the inner pixels of a grey image."""
    from skimage.feature import local_binary_pattern

    image = np.asarray(image)
    if image.ndim != 2 or min(image.shape) <= 2 * RADIUS:
        raise ValueError(f"expected a grey image larger than 4 x 4 pixels, got {image.shape}")
    if not np.issubdtype(image.dtype, np.integer):
        # Interpolated neighbours of equal pixels differ from them by rounding in floats, which
        # would turn flat areas into random patterns.
        raise ValueError(f"expected whole grey levels, got {image.dtype}")
    codes = local_binary_pattern(image, POINTS, RADIUS, method="nri_uniform")
    inner = codes[RADIUS:-RADIUS, RADIUS:-RADIUS].astype(np.int64)
    counts = np.bincount(inner.ravel(), minlength=BINS)
    return counts / counts.sum()
