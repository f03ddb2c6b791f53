"""Eye points: from FG-NET's 68-point files, or from a table ``eyes.csv`` that the user adds."""

from __future__ import annotations

import csv
import math
from pathlib import Path
from typing import Any

import numpy as np

from ldlrepro.data.images.faces import Eyes

PUPILS = (31, 36)
"""Positions of the pupils among FG-NET's 68 points, counted from zero."""
N_POINTS = 68
EYES_TABLE = "eyes.csv"
EYES_HEADER = ["file", "left_x", "left_y", "right_x", "right_y"]


class PointsError(Exception):
    """Says what is wrong with a file of points."""


def read_points(path: Path) -> list[tuple[float, float]]:
    """Read the 68 points of a ``.pts`` file: a header, then ``x y`` lines between braces."""
    text = path.read_text(encoding="latin-1")
    _, opening, body = text.partition("{")
    body, closing, _ = body.partition("}")
    try:
        numbers = [float(word) for word in body.split()]
    except ValueError as error:
        raise PointsError(f"{path.name}: {error}") from None
    if not opening or not closing or len(numbers) != 2 * N_POINTS:
        raise PointsError(f"{path.name}: {len(numbers) // 2} points instead of {N_POINTS}")
    return list(zip(numbers[::2], numbers[1::2], strict=True))


def eyes_of(points: list[tuple[float, float]]) -> Eyes:
    """Return the two pupils, the one on the left of the picture first."""
    (ax, ay), (bx, by) = sorted(points[index] for index in PUPILS)
    return ax, ay, bx, by


def read_eyes_table(path: Path) -> dict[str, Eyes]:
    """Return lower-case file name without its folder -> eye points."""
    try:
        with open(path, encoding="utf-8-sig", newline="") as handle:
            rows = list(csv.reader(handle))
    except (UnicodeDecodeError, csv.Error) as error:
        raise PointsError(f"{path.name}: save it as CSV in UTF-8 ({error})") from None
    width = len(EYES_HEADER)
    if not rows or [cell.strip() for cell in rows[0][:width]] != EYES_HEADER:
        raise PointsError(f"{path.name}: the first columns must be {', '.join(EYES_HEADER)}")
    eyes: dict[str, Eyes] = {}
    for number, row in enumerate(rows[1:], start=2):
        try:
            name, ax, ay, bx, by = row[:width]
            if not any((ax, ay, bx, by)):
                continue  # as in a table of eyes that were found, where none were
            first, second = sorted([(float(ax), float(ay)), (float(bx), float(by))])
        except ValueError:
            raise PointsError(f"{path.name}, line {number}: not a name and four numbers") from None
        eyes[Path(name).name.lower()] = (*first, *second)
    return eyes


def complaint(eyes: Eyes, size: tuple[int, int]) -> str:
    """Say why these points cannot be eyes in a picture of this size; return '' if they can."""
    if not all(math.isfinite(value) for value in eyes):
        return "an eye point is not a number"
    inside = all(0 <= x < size[0] and 0 <= y < size[1] for x, y in (eyes[:2], eyes[2:]))
    if not inside:
        return f"an eye lies outside the {size[0]} x {size[1]} pixels"
    if math.hypot(eyes[2] - eyes[0], eyes[3] - eyes[1]) < 2:
        return "the eyes are less than two pixels apart"
    return ""


def similarity(source: np.ndarray, target: np.ndarray) -> np.ndarray:
    """Return the 2 x 3 matrix that turns, scales and moves ``source`` points closest to ``target``.

    The fit is by least squares, and exact for two points. It never mirrors.
    """
    a, b = np.asarray(source, dtype=float), np.asarray(target, dtype=float)
    # Points as complex numbers: z -> m z + t turns and scales by m.
    za, zb = a @ [1, 1j], b @ [1, 1j]
    centred = za - za.mean()
    spread = float((abs(centred) ** 2).sum())
    if spread == 0:
        raise ValueError("all source points coincide")
    m = (centred.conj() * (zb - zb.mean())).sum() / spread
    t = zb.mean() - m * za.mean()
    return np.array([[m.real, -m.imag, t.real], [m.imag, m.real, t.imag]])


def moved(
    image: Any, matrix: np.ndarray, size: tuple[int, int], resampling: Any, fill: int | None = None
) -> Any:
    """Return a Pillow image whose points were moved by a 2 x 3 matrix, at a size."""
    from PIL import Image

    back = np.linalg.inv(np.vstack([matrix, [0, 0, 1]]))[:2]
    # Pillow counts from the corner of the first pixel, we from its middle.
    back[:, 2] += 0.5 - back[:, :2] @ [0.5, 0.5]
    data = tuple(back.ravel())
    return image.transform(size, Image.Transform.AFFINE, data, resampling, fillcolor=fill)
