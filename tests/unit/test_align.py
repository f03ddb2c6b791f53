"""Alignment: eyes land where the crop wants them, and the result says how it was placed."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from ldlrepro.data.features.align import Crop, aligned
from ldlrepro.data.images.faces import Face
from ldlrepro.data.images.points import similarity


def test_similarity_never_mirrors() -> None:
    points = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 2.0]])
    matrix = similarity(points, points * [-1, 1])
    assert np.linalg.det(matrix[:, :2]) >= 0


def test_coinciding_points_have_no_similarity() -> None:
    with pytest.raises(ValueError, match="coincide"):
        similarity(np.ones((2, 2)), np.array([[0.0, 0.0], [1.0, 1.0]]))


def dotted(path: Path, eyes: tuple[float, float, float, float], size: tuple[int, int]) -> Face:
    """A black picture with a white spot at each eye."""
    x, y = np.meshgrid(np.arange(size[0]), np.arange(size[1]))
    width = 0.012 * size[0]
    spots = [
        np.exp(-((x - a) ** 2 + (y - b) ** 2) / (2 * width**2)) for a, b in (eyes[:2], eyes[2:])
    ]
    Image.fromarray(np.rint(255 * np.maximum(*spots)).astype(np.uint8)).save(path)
    return Face(path.name, "1", eyes=eyes, points_from="eyes.csv")


def spots_in(image: Image.Image) -> np.ndarray:
    """Centres of brightness of the left and the right half."""
    levels = np.asarray(image, dtype=float)
    half = levels.shape[1] // 2
    found = []
    for part, shift in ((levels[:, :half], 0), (levels[:, half:], half)):
        y, x = np.mgrid[: part.shape[0], : part.shape[1]]
        found.append([(x * part).sum() / part.sum() + shift, (y * part).sum() / part.sum()])
    return np.array(found)


@pytest.mark.parametrize(
    ("eyes", "size"),
    [
        ((80.0, 90.0, 120.0, 90.0), (200, 200)),
        ((70.0, 110.0, 130.0, 80.0), (200, 240)),
        ((60.5, 60.25, 90.5, 75.75), (150, 180)),
        ((800.0, 700.0, 1200.0, 790.0), (2000, 1500)),
    ],
)
def test_eyes_land_where_the_crop_wants_them(
    tmp_path: Path, eyes: tuple[float, float, float, float], size: tuple[int, int]
) -> None:
    crop = Crop(100, 120, eye_x=0.3, eye_y=0.4)
    face = dotted(tmp_path / "face.png", eyes, size)
    image, way = aligned(face, tmp_path / "face.png", crop, mode="L")
    assert way == "eyes"
    assert image.size == (100, 120)
    np.testing.assert_allclose(spots_in(image), np.reshape(crop.eyes, (2, 2)), atol=0.3)


@pytest.mark.parametrize("size", [(301, 200), (200, 333), (64, 64), (17, 1000)])
def test_without_points_the_largest_box_in_the_middle_is_taken(
    tmp_path: Path, size: tuple[int, int]
) -> None:
    crop = Crop(64, 48)
    # Brightness tells the place, so the mean of the crop is that of the middle.
    ramp = np.add.outer(np.linspace(0, 60, size[1]), np.linspace(0, 120, size[0]))
    path = tmp_path / "face.png"
    Image.fromarray(np.rint(ramp).astype(np.uint8)).save(path)
    image, way = aligned(Face("face.png", "1"), path, crop, mode="L")
    assert way == "centre"
    assert image.size == (64, 48)
    assert np.asarray(image, dtype=float).mean() == pytest.approx(90, abs=1.5)
