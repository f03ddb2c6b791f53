"""The LBP histogram against what must hold, and against a slow twin written from the definition."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from ldlrepro.core.errors import UserError
from ldlrepro.data.features.lbp import BINS, lbp_features, lbp_histogram


def random_image(seed: int, height: int = 40, width: int = 31, levels: int = 256) -> np.ndarray:
    image = np.random.default_rng(seed).integers(0, levels, size=(height, width))
    return image.astype(np.uint8)


def smooth_image(height: int = 60, width: int = 50) -> np.ndarray:
    y, x = np.mgrid[:height, :width]
    return np.rint(120 + 60 * np.sin(x / 7) * np.cos(y / 5) + 0.4 * x).astype(np.uint8)


def test_the_histogram_has_243_shares_that_sum_to_one() -> None:
    histogram = lbp_histogram(random_image(0))
    assert histogram.shape == (BINS,) == (243,)
    assert histogram.min() >= 0
    assert histogram.sum() == pytest.approx(1.0, abs=1e-14)


def test_shares_are_multiples_of_one_inner_pixel() -> None:
    counts = lbp_histogram(smooth_image(141, 111)) * (137 * 107)
    np.testing.assert_allclose(counts, np.rint(counts), atol=1e-9)


def test_a_constant_image_fills_one_bin_whatever_its_grey() -> None:
    for grey in range(256):
        histogram = lbp_histogram(np.full((9, 8), grey, np.uint8))
        assert histogram[241] == 1.0, f"grey level {grey}"


@pytest.mark.parametrize(("gain", "offset"), [(2, 0), (1, 900), (3, 17)])
def test_brightness_and_contrast_do_not_matter(gain: int, offset: int) -> None:
    image = random_image(1).astype(np.int64)
    np.testing.assert_array_equal(lbp_histogram(gain * image + offset), lbp_histogram(image))


@pytest.mark.parametrize("change", [np.square, np.sqrt, np.log1p])
def test_any_monotone_change_of_a_two_level_image_does_not_matter(
    change: Callable[[np.ndarray], np.ndarray],
) -> None:
    # With more levels the points between pixels are mixtures, which only straight changes keep.
    image = 90 * random_image(2, levels=2).astype(np.int64) + 50
    changed = np.rint(100 * change(image)).astype(np.int64)
    np.testing.assert_array_equal(lbp_histogram(changed), lbp_histogram(image))


def test_shifting_an_image_in_a_constant_frame_does_not_matter() -> None:
    frame = np.full((60, 60), 100, np.uint8)
    moved = frame.copy()
    frame[10:40, 10:40] = random_image(3, 30, 30)
    moved[17:47, 13:43] = random_image(3, 30, 30)
    np.testing.assert_array_equal(lbp_histogram(moved), lbp_histogram(frame))


def test_a_turned_image_has_other_bins_of_the_same_sizes() -> None:
    image = smooth_image()
    histogram, turned = lbp_histogram(image), lbp_histogram(np.rot90(image))
    assert not np.array_equal(histogram, turned)
    np.testing.assert_allclose(np.sort(histogram), np.sort(turned), atol=1e-15)


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


def test_images_that_cannot_be_used_are_refused() -> None:
    with pytest.raises(ValueError, match="larger than 4 x 4"):
        lbp_histogram(np.zeros((4, 9), np.uint8))
    with pytest.raises(ValueError, match="grey image"):
        lbp_histogram(np.zeros((9, 9, 3), np.uint8))
    with pytest.raises(ValueError, match="whole grey levels"):
        lbp_histogram(np.zeros((9, 9)))


def test_files_give_one_row_each_in_their_order(tmp_path: Path) -> None:
    from PIL import Image

    images = [random_image(5), smooth_image()]
    paths = [tmp_path / f"{i}.png" for i in range(2)]
    for image, path in zip(images, paths, strict=True):
        Image.fromarray(image).save(path)
    features = lbp_features(paths)
    np.testing.assert_array_equal(features, [lbp_histogram(image) for image in images])


def test_a_file_that_is_no_image_is_named(tmp_path: Path) -> None:
    path = tmp_path / "broken.png"
    path.write_bytes(b"not an image")
    with pytest.raises(UserError, match=r"broken\.png: not a readable image"):
        lbp_features([path])
