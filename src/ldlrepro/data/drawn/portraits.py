"""Synthetic portraits with known person, age, emotion and eye points. They show no real person.

Age shows in the shape: a child has a round head and large eyes, an old head a high hairline. It
also shows in grey hair, wrinkles and grain. A person keeps looks and tint.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from ldlrepro.data.drawn.sketches import BACKGROUND, Pen, looks_of, sketch
from ldlrepro.data.images.faces import Eyes
from ldlrepro.data.images.layouts import EMOTIONS
from ldlrepro.data.images.points import moved, similarity

ADULT = 20.0
OLDEST = 80.0
WRINKLE = 3
"""Width of a wrinkle in the enlarged picture."""


@dataclass(frozen=True)
class Person:
    """A synthetic person, who keeps looks and tint."""

    looks: dict[str, float]
    tint: np.ndarray
    """Factors of red, green and blue."""


@dataclass(frozen=True)
class Portrait:
    """A synthetic picture and its points."""

    picture: Any
    """Pillow image, RGB or L."""
    points: np.ndarray
    """68 points in FG-NET's order: outline, brows, eyes with the pupils, nose, mouth."""

    @property
    def eyes(self) -> Eyes:
        (ax, ay), (bx, by) = self.points[31], self.points[36]
        return float(ax), float(ay), float(bx), float(by)


def person(rng: np.random.Generator) -> Person:
    """Draw the looks and tint of a person."""
    return Person(looks_of(rng), np.array([1.0, rng.uniform(0.80, 0.95), rng.uniform(0.65, 0.85)]))


def portrait(
    who: Person,
    age: float,
    feelings: np.ndarray | None,
    size: tuple[int, int],
    rng: np.random.Generator,
    grey: bool = False,
) -> Portrait:
    """Draw one picture of a person at an age, turned and moved a little at random."""
    from PIL import Image

    calm = np.zeros(len(EMOTIONS)) if feelings is None else feelings
    looks = _aged(who.looks, age)
    pen = sketch(looks, calm, partial(_draw_wrinkles, looks=looks, age=age))
    points = np.array([pen.at(x, y) for x, y in _points(looks)]) - 0.5
    matrix = _placement(pen.picture.size, size, rng)
    placed = moved(pen.picture, matrix, size, Image.Resampling.BICUBIC, BACKGROUND)
    levels = np.asarray(placed, dtype=np.float64)
    grain = 1.0 + 6.0 * age / OLDEST
    levels = (levels - 128) * rng.uniform(0.85, 1.1) + 128 + rng.uniform(-15, 15)
    levels += rng.normal(0, grain, size=levels.shape)
    if not grey:
        levels = levels[..., None] * who.tint
    pixels = np.clip(np.rint(levels), 0, 255).astype(np.uint8)
    return Portrait(Image.fromarray(pixels), points @ matrix[:, :2].T + matrix[:, 2])


def _aged(looks: dict[str, float], age: float) -> dict[str, float]:
    child = max(0.0, 1 - age / ADULT)
    old = max(0.0, (age - ADULT) / (OLDEST - ADULT))
    return {
        **looks,
        "length": looks["length"] * (1 - 0.12 * child),
        "hair": looks["hair"] + (225 - looks["hair"]) * old,
        "fringe": looks["fringe"] + 0.06 * old,
        "eyes": looks["eyes"] * (1 + 0.10 * child),
    }


def _draw_wrinkles(pen: Pen, looks: dict[str, float], age: float) -> None:
    stroke, pen.stroke = pen.stroke, WRINKLE
    for number in range(int(max(0.0, age - 25) // 8)):
        y = -0.26 - 0.022 * number
        pen.line([(-0.18, y), (0.0, y - 0.01), (0.18, y)], looks["skin"] - 45)
        for side in (-1, 1):
            x, low = side * looks["eyes"], 0.03 + 0.02 * number
            pen.line([(x - 0.07, low), (x, low + 0.015), (x + 0.07, low)], looks["skin"] - 40)
    pen.stroke = stroke


def _points(looks: dict[str, float]) -> list[tuple[float, float]]:
    """Return 68 places in the pen's units."""
    middle = looks["fringe"] - 0.14
    turns = np.linspace(np.pi, 0, 15)
    outline = [(looks["face"] * np.cos(t), middle + looks["length"] * np.sin(t)) for t in turns]
    brows = [
        (side * looks["eyes"] + 0.1 * k, -0.16) for side in (-1, 1) for k in np.linspace(-1, 1, 6)
    ]
    eyes = []
    for side in (-1, 1):
        x = side * looks["eyes"]
        eyes += [(x - 0.085, -0.06), (x, -0.105), (x + 0.085, -0.06), (x, -0.015), (x, -0.06)]
    nose = [(0.03 * k, 0.10 - 0.02 * abs(k)) for k in np.linspace(-2, 2, 11)]
    mouth = [(0.16 * np.cos(t), 0.24 + 0.05 * np.sin(t)) for t in np.linspace(0, 6.0, 19)]
    return [*outline, *brows, *eyes, *nose, *mouth, (0.0, 0.04)]


def _placement(
    sketch: tuple[int, int], size: tuple[int, int], rng: np.random.Generator
) -> np.ndarray:
    """Return the map from sketch to picture: scaled down, turned up to 8 degrees, moved."""
    scale = 0.85 * min(size[0] / sketch[0], size[1] / sketch[1]) * rng.uniform(0.9, 1.05)
    turn = np.deg2rad(rng.uniform(-8, 8))
    shift = rng.uniform(-0.03, 0.03, size=2) * size
    ahead = scale * np.array([np.cos(turn), np.sin(turn)])
    centre = np.array(sketch) / 2
    target = np.array(size) / 2 + shift
    return similarity(
        np.array([centre, centre + np.array([1, 0])]), np.array([target, target + ahead])
    )
