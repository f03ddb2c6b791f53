"""The LBP histogram against what must hold, and against a slow twin written from the definition."""

from __future__ import annotations

import numpy as np
import pytest

from ldlrepro.data.features.lbp import lbp_histogram


def random_image(seed: int, height: int = 40, width: int = 31, levels: int = 256) -> np.ndarray:
    image = np.random.default_rng(seed).integers(0, levels, size=(height, width))
    return image.astype(np.uint8)


def smooth_image(height: int = 60, width: int = 50) -> np.ndarray:
    y, x = np.mgrid[:height, :width]
    return np.rint(120 + 60 * np.sin(x / 7) * np.cos(y / 5) + 0.4 * x).astype(np.uint8)


@pytest.mark.parametrize("image", [random_image(4, 14, 12), smooth_image(24, 20)])
def test_the_histogram_equals_that_of_a_slow_twin(image: np.ndarray) -> None:
    np.testing.assert_allclose(lbp_histogram(image), slow_histogram(image), atol=1e-15)


def slow_histogram(image: np.ndarray) -> np.ndarray:
    """Straight from the definition: 16 points on the circle, bilinear, uniform patterns.

    Bins: no point reaches the centre (0), then by the number of points that do, each with the 16
    places where their run may begin; all do (241); more than one run (242).
    """
    image = image.astype(float)
    counts = np.zeros(243)
    for r in range(2, image.shape[0] - 2):
        for c in range(2, image.shape[1] - 2):
            bits = [point_value(image, r, c, k) >= image[r, c] - 1e-9 for k in range(16)]
            counts[pattern_bin(bits)] += 1
    return counts / counts.sum()


def point_value(image: np.ndarray, r: int, c: int, k: int) -> float:
    angle = 2 * np.pi * k / 16
    y, x = r - round(2 * np.sin(angle), 5), c + round(2 * np.cos(angle), 5)
    top, left = int(np.floor(y)), int(np.floor(x))
    value = 0.0
    for row in (top, top + 1):
        for column in (left, left + 1):
            weight = (1 - abs(y - row)) * (1 - abs(x - column))
            if weight > 0:
                value += weight * image[row, column]
    return value


def pattern_bin(bits: list[bool]) -> int:
    ones = sum(bits)
    begins = [k for k in range(16) if bits[k] and not bits[k - 1]]
    if len(begins) > 1:
        return 242
    if ones in (0, 16):
        return 241 if ones else 0
    return 1 + (ones - 1) * 16 + (16 - begins[0]) % 16
