"""Faces of a few strokes: eyes, brows, nose and mouth show an emotion."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from ldlrepro.core.files import atomically, csv_text, write_text
from ldlrepro.data.images.layouts import EMOTIONS

WIDTH, HEIGHT = 64, 80
OVERSAMPLING = 4
"""Faces are drawn larger by this factor and shrunk, so that edges are smooth."""
BACKGROUND = 120

Points = Sequence[tuple[float, float]] | np.ndarray


def write_faces(folder: Path, persons: int, images_per_person: int, seed: int) -> None:
    """Draw cartoon faces as PNG files, and ``ratings.csv`` with ratings of six emotions."""
    images = folder / "images"
    shutil.rmtree(images, ignore_errors=True)
    images.mkdir(parents=True)
    rows = [["file", "person", *EMOTIONS]]
    for person in range(persons):
        # A stream for each person: more persons leave the earlier faces as they are.
        rng = np.random.default_rng([seed, person])
        looks = looks_of(rng)
        for number in range(images_per_person):
            name = f"p{person:02d}_{number}.png"
            feelings = feelings_of(rng, strongest=number % len(EMOTIONS))
            picture = _photograph(sketch(looks, feelings).picture, rng)
            atomically(images / name, partial(picture.save, format="PNG"))
            ratings = np.clip(1 + 4 * feelings + rng.normal(0, 0.08, len(EMOTIONS)), 1, 5)
            rows.append([name, f"p{person:02d}", *(f"{rating:.2f}" for rating in ratings)])
    write_text(images / "ratings.csv", csv_text(rows))


def looks_of(rng: np.random.Generator) -> dict[str, float]:
    """Draw what stays the same in all images of one person."""
    return {
        "face": rng.uniform(0.40, 0.46),
        "length": rng.uniform(0.43, 0.47),
        "skin": rng.uniform(165, 215),
        "hair": rng.uniform(25, 95),
        "fringe": rng.uniform(0.14, 0.22),
        "eyes": rng.uniform(0.19, 0.23),
        "stroke": rng.uniform(0.030, 0.045),
    }


def feelings_of(rng: np.random.Generator, strongest: int) -> np.ndarray:
    """Draw intensities in [0, 1]: one emotion leads, another may show, the rest hardly show."""
    feelings = rng.uniform(0.0, 0.12, len(EMOTIONS))
    feelings[rng.integers(len(EMOTIONS))] = rng.uniform(0.0, 0.5)
    feelings[strongest] = rng.uniform(0.55, 1.0)
    return feelings


class Pen:
    """A pen on an enlarged picture; positions are shares of the width, from the middle."""

    def __init__(self, stroke: float) -> None:
        from PIL import Image, ImageDraw

        self.unit = WIDTH * OVERSAMPLING
        self.picture = Image.new("L", (self.unit, HEIGHT * OVERSAMPLING), BACKGROUND)
        self.draw = ImageDraw.Draw(self.picture)
        self.stroke = max(1, round(stroke * self.unit))

    def at(self, x: float, y: float) -> tuple[float, float]:
        return WIDTH * OVERSAMPLING / 2 + x * self.unit, HEIGHT * OVERSAMPLING / 2 + y * self.unit

    def oval(self, x: float, y: float, rx: float, ry: float, grey: float) -> None:
        self.draw.ellipse([self.at(x - rx, y - ry), self.at(x + rx, y + ry)], fill=round(grey))

    def line(self, points: Points, grey: float = 30) -> None:
        positions = [self.at(x, y) for x, y in points]
        self.draw.line(positions, fill=round(grey), width=self.stroke, joint="curve")

    def area(self, points: Points, grey: float) -> None:
        self.draw.polygon([self.at(x, y) for x, y in points], fill=round(grey))


def sketch(
    looks: dict[str, float],
    feelings: np.ndarray,
    wrinkles: Callable[[Pen], None] = lambda pen: None,
) -> Pen:
    """Draw the face, enlarged; ``wrinkles`` are drawn below eyes, nose and mouth."""
    pen = Pen(looks["stroke"])
    pen.oval(0, -0.06, looks["face"] + 0.04, looks["length"] + 0.07, looks["hair"])
    pen.oval(0, looks["fringe"] - 0.14, looks["face"], looks["length"], looks["skin"])
    wrinkles(pen)
    _draw_eyes(pen, looks, feelings)
    _draw_nose(pen, looks, feelings)
    _draw_mouth(pen, feelings)
    return pen


def _draw_eyes(pen: Pen, looks: dict[str, float], feelings: np.ndarray) -> None:
    happy, sad, surprised, angry, disgusted, afraid = feelings
    # Eyes open with surprise and fear and narrow with disgust and joy.
    opening = 0.045 + 0.05 * max(surprised, afraid) - 0.025 * max(disgusted, 0.6 * happy)
    # Brows rise with surprise; anger pulls the inner ends down, sadness and fear lift them.
    height = -0.16 - 0.09 * max(surprised, 0.7 * afraid) + 0.04 * max(angry, disgusted)
    slope = 0.10 * angry + 0.04 * disgusted - 0.09 * max(sad, afraid)
    for side in (-1, 1):
        x = side * looks["eyes"]
        pen.oval(x, -0.06, 0.085, opening, 245)
        pen.oval(x, -0.06, 0.035, min(opening, 0.045), 15)
        pen.line([(x - side * 0.10, height + slope), (x + side * 0.10, height - slope)])


def _draw_nose(pen: Pen, looks: dict[str, float], feelings: np.ndarray) -> None:
    disgusted = feelings[EMOTIONS.index("disgust")]
    pen.line([(0, -0.02), (-0.03, 0.10), (0.03, 0.10)], looks["skin"] - 60)
    for wrinkle in range(round(4 * disgusted)):
        y = -0.02 + 0.035 * wrinkle
        pen.line([(-0.07, y), (0.07, y)], looks["skin"] - 70)


def _draw_mouth(pen: Pen, feelings: np.ndarray) -> None:
    """Draw the mouth: corners up or down, open in surprise and fear, wavy in disgust.

    Anger shows teeth.
    """
    happy, sad, surprised, angry, disgusted, afraid = feelings
    x = np.linspace(-1, 1, 15)
    width = 0.16 + 0.06 * happy - 0.08 * surprised + 0.03 * afraid
    bend = 0.12 * happy - 0.12 * sad - 0.05 * disgusted - 0.03 * angry
    gape = 0.01 + 0.13 * surprised + 0.07 * afraid + 0.05 * happy + 0.04 * angry
    middle = 0.24 + bend * (1 - x**2) + 0.03 * disgusted * np.sin(3 * np.pi * x)
    lips = gape * np.sqrt(1 - x**2)
    upper = np.column_stack([width * x, middle - lips])
    lower = np.column_stack([width * x, middle + lips])
    pen.area(np.concatenate([upper, lower[::-1]]), 60 + 170 * angry)
    pen.line(upper)
    pen.line(lower)


def _photograph(sketch: Any, rng: np.random.Generator) -> Any:
    """Turn the sketch into a small grey image: slightly moved, with other light and specks."""
    from PIL import Image

    shift = rng.uniform(-1.5, 1.5, size=2) * OVERSAMPLING
    moved = sketch.transform(
        sketch.size,
        Image.Transform.AFFINE,
        (1, 0, shift[0], 0, 1, shift[1]),
        resample=Image.Resampling.BILINEAR,
        fillcolor=BACKGROUND,
    )
    small = np.asarray(moved.resize((WIDTH, HEIGHT), Image.Resampling.BOX), dtype=np.float64)
    lit = (small - 128) * rng.uniform(0.85, 1.1) + 128 + rng.uniform(-15, 15)
    # Specks, not grain everywhere: noise in flat areas would fill most of an LBP histogram.
    specks = rng.normal(0, 12, size=lit.shape) * (rng.random(lit.shape) < 0.005)
    return Image.fromarray(np.clip(np.rint(lit) + np.rint(specks), 0, 255).astype(np.uint8))
