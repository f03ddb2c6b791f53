"""Images as the methods take them. Nothing here needs torch."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np


class Images(Protocol):
    """Pixel values from 0 to 255, (images, height, width, 3), which need not lie in memory."""

    shape: tuple[int, int, int, int]

    def read(self, rows: np.ndarray) -> np.ndarray:
        """Return these images as an array of uint8."""
        ...


class InMemory:
    """Images that lie in an array."""

    def __init__(self, pixels: np.ndarray) -> None:
        self.pixels = pixels
        self.shape = pixels.shape

    def read(self, rows: np.ndarray) -> np.ndarray:
        return self.pixels[rows]


class SomeImages:
    """Some of the images that lie elsewhere."""

    def __init__(self, images: Images, rows: np.ndarray) -> None:
        self.images, self.rows = images, rows
        self.shape = (len(rows), *images.shape[1:])

    def read(self, rows: np.ndarray) -> np.ndarray:
        return self.images.read(self.rows[rows])


def check_images(X: Any) -> Images:
    """Return X as images, or refuse it."""
    shape = tuple(getattr(X, "shape", ()))
    if len(shape) != 4 or shape[3] != 3 or 0 in shape[1:]:
        raise ValueError(f"X must hold images, (rows, height, width, 3), got {shape}")
    if hasattr(X, "read"):
        return X
    if X.dtype != np.uint8:
        raise ValueError(f"X must hold grey levels from 0 to 255 as uint8, got {X.dtype}")
    return InMemory(X)
