"""Painted faces with light, shade and human proportions, whose eye points are known.

The portraits of the synthetic albums are cartoons, in which a detector that learned from
photographs finds few eyes. The faces here measure such detectors.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ldlrepro.data.images.faces import Eyes

EYE_SHARE = 0.25
"""Distance between the eyes as a share of the picture's side, at scale 1."""
MIDDLE = 0.45
"""Distance of the picture's middle below the eyes, in eye distances."""
BLACK, WHITE = (12.0, 12.0, 14.0), (245.0, 245.0, 245.0)


def painted_face(
    rng: np.random.Generator, side: int, turn: float = 0.0, scale: float = 1.0, light: float = 1.0
) -> tuple[Any, Eyes]:
    """Return a square Pillow image of a person drawn at random, and the pupils.

    ``turn`` is in degrees, clockwise; ``light`` is a factor of all grey levels.
    """
    from PIL import Image

    distance, angle = side * EYE_SHARE * scale, np.deg2rad(turn)
    ahead, down = (
        np.array([np.cos(angle), np.sin(angle)]),
        np.array([-np.sin(angle), np.cos(angle)]),
    )
    centre = (side - 1) / 2
    y, x = np.mgrid[:side, :side] - centre
    canvas = _Canvas(
        (x * ahead[0] + y * ahead[1]) / distance, (x * down[0] + y * down[1]) / distance + MIDDLE
    )
    _paint(canvas, rng)
    levels = canvas.levels * light + rng.normal(0, 2, canvas.levels.shape)
    between = centre - MIDDLE * distance * down
    left, right = between - ahead * distance / 2, between + ahead * distance / 2
    image = Image.fromarray(np.clip(np.rint(levels), 0, 255).astype(np.uint8))
    return image, (float(left[0]), float(left[1]), float(right[0]), float(right[1]))


class _Canvas:
    """Colours at positions. u (right) and v (down) count eye distances from between the eyes."""

    def __init__(self, u: np.ndarray, v: np.ndarray) -> None:
        self.u, self.v = u, v
        self.levels = np.zeros((*u.shape, 3))

    def paint(self, cover: np.ndarray, colour: Any) -> None:
        """Paint a colour over the picture; ``cover`` is 1 where it hides what is below."""
        self.levels += cover[..., None] * (np.asarray(colour, dtype=float) - self.levels)

    def shade(self, factor: np.ndarray) -> None:
        self.levels *= factor[..., None]

    def oval(self, x: float, y: float, rx: float, ry: float, edge: float = 0.03) -> np.ndarray:
        outside = np.hypot((self.u - x) / rx, (self.v - y) / ry) - 1
        return inside(outside * min(rx, ry), edge)

    def blob(self, x: float, y: float, rx: float, ry: float) -> np.ndarray:
        """Return a hill of height 1 that fades away."""
        return np.asarray(np.exp(-(((self.u - x) / rx) ** 2) - ((self.v - y) / ry) ** 2))


def inside(distance: np.ndarray, edge: float) -> np.ndarray:
    """Return 1 where a signed distance is negative and 0 outside, with a soft edge."""
    return np.asarray(1 / (1 + np.exp(np.clip(distance / edge, -50, 50))))


def _paint(canvas: _Canvas, rng: np.random.Generator) -> None:
    red, hair_red = rng.uniform(150, 235), rng.uniform(20, 120)
    green = red * rng.uniform(0.72, 0.82)
    skin = np.array([red, green, green * rng.uniform(0.72, 0.88)])
    hair = hair_red * np.array([1, rng.uniform(0.75, 0.95), rng.uniform(0.55, 0.85)])
    width, length = rng.uniform(1.02, 1.2), rng.uniform(1.45, 1.65)
    canvas.paint(np.ones_like(canvas.u), rng.uniform(60, 200, 3))
    head = canvas.oval(0, 0.15, width + 0.22, length + 0.25, edge=0.05)
    canvas.paint(head, hair)
    canvas.paint(canvas.oval(0, 2.4, 0.6, 1.0) * inside(1 - canvas.v, 0.03), 0.75 * skin)
    _paint_skin(canvas, skin, width, length, side=rng.uniform(-0.35, 0.35))
    _paint_mouth(canvas, skin, width=rng.uniform(0.34, 0.44), bend=rng.uniform(-0.06, 0.1))
    iris = rng.uniform((40, 40, 20), (110, 90, 80))
    for side in (-1, 1):
        _paint_eye(canvas, side, rng.uniform(0.08, 0.1), iris, hair)
    fringe = inside(canvas.v + rng.uniform(0.95, 1.15) + 0.15 * canvas.u**2, 0.05)
    canvas.paint(fringe * head, hair)


def _paint_skin(
    canvas: _Canvas, skin: np.ndarray, width: float, length: float, side: float
) -> None:
    """Paint the head, lit from one side, with sockets, nose and chin."""
    face = canvas.oval(0, 0.42, width, length)
    canvas.paint(face, skin)
    away = (canvas.u / width - side) ** 2 + 0.8 * ((canvas.v - 0.42) / length + 0.1) ** 2
    canvas.shade(1 - face * 0.38 * np.clip(away, 0, 1.5))
    for x in (-0.5, 0.5):
        canvas.shade(1 - 0.28 * canvas.blob(0.94 * x, -0.04, 0.34, 0.19))
        canvas.shade(1 - 0.12 * canvas.blob(x, 0.2, 0.25, 0.08))
    for x in (-0.11, 0.11):
        canvas.shade(1 - 0.55 * canvas.blob(x, 0.73, 0.055, 0.035))
    canvas.shade(1 - 0.25 * canvas.blob(0, 0.8, 0.24, 0.07))
    canvas.shade(1 - 0.16 * canvas.blob(0.16 if side > 0 else -0.16, 0.4, 0.07, 0.3))
    canvas.shade(1 + 0.10 * canvas.blob(0, 0.5, 0.07, 0.35))
    canvas.shade(1 - 0.15 * canvas.blob(0, 1.42, 0.35, 0.07))


def _paint_mouth(canvas: _Canvas, skin: np.ndarray, width: float, bend: float) -> None:
    across = 1 - (canvas.u / width) ** 2
    below = canvas.v - 1.08 - bend * across
    within = inside(abs(canvas.u) - width, 0.03)
    lips = within * inside(abs(below) - 0.085 * np.clip(across, 0, 1), 0.025)
    canvas.paint(0.8 * lips, skin * [0.82, 0.55, 0.6])
    canvas.shade(1 - 0.6 * within * np.exp(-((below / 0.022) ** 2)))


def _paint_eye(
    canvas: _Canvas, side: int, opening: float, iris: np.ndarray, hair: np.ndarray
) -> None:
    u, v = canvas.u - 0.5 * side, canvas.v
    across = np.clip(1 - (u / 0.25) ** 2, 0, 1)
    upper, lower = -opening * across, 0.075 * across
    opened = inside(np.maximum(upper - v, v - lower), 0.012) * inside(abs(u) - 0.25, 0.012)
    canvas.paint(opened, (212, 205, 200))
    for radius, colour in ((0.115, iris), (0.05, BLACK)):
        canvas.paint(opened * inside(np.hypot(u, v) - radius, 0.012), colour)
    canvas.paint(opened * inside(np.hypot(u + 0.03, v + 0.035) - 0.022, 0.01), WHITE)
    canvas.shade(1 - 0.7 * inside(abs(u) - 0.27, 0.02) * np.exp(-(((v - upper) / 0.028) ** 2)))
    canvas.shade(1 - 0.3 * inside(abs(u) - 0.24, 0.02) * np.exp(-(((v - lower) / 0.02) ** 2)))
    brow = -0.36 + 0.06 * (u / 0.3) ** 2 - 0.03 * side * u
    drawn = inside(abs(u - 0.03 * side) - 0.31, 0.04) * inside(abs(v - brow) - 0.05, 0.02)
    canvas.paint(0.75 * drawn, 0.7 * hair)
