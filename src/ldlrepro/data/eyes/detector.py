"""Finds the eyes of the largest face in a picture.

MTCNN finds faces and five points in each. Its points are rough where a face is turned, because the
last network sees it turned. So that network looks again at the face, set upright by its first
points, in three sizes and mirrored. The median of the six answers is taken, and this is done twice.
The spread of the six answers says how sure the points are.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ldlrepro.data.eyes.networks import Network
from ldlrepro.data.features.align import Crop, placed, similarity

LONGEST = 480
"""Faces are searched in a picture shrunk to this side; points come from all its pixels."""
SMALLEST = 20
"""Pixels of the smallest face that is searched, in the shrunk picture."""
WINDOW, STEP, ZOOM = 12, 2, 0.709
PROPOSED, REFINED, ACCEPTED = 0.6, 0.7, 0.7
"""Probabilities of a face that let a box pass each network; with ZOOM, those of MTCNN's authors."""
OF_WINDOWS, OVERLAP = 0.5, 0.7
"""Two boxes, windows of one scale or any others, show one face if they share more than this."""
SURE = 0.97
"""Confidence below which an upright face is searched in turned pictures too."""
FACE = 0.8
"""Probability below which the second look sees no face."""
TURNS = (0, 45, -45, 90, -90, 135, -135, 180)
SIDE = 48
"""Side in pixels of the square that the last network sees."""
CLOSE_UPS = (2.3, 2.5, 2.7)
"""Sides of the squares of the second look, in eye distances."""
BELOW_EYES = 0.42
"""Middle of those squares below the eyes, in the same unit."""
LOOKS = 2
MIRRORED = [1, 0, 2, 4, 3]
"""Points of a mirrored face: eyes and corners of the mouth are swapped."""
BESIDE = 0.4
"""Another face counts if its eye distance is at least this share of the largest one's."""


@dataclass(frozen=True)
class Sighting:
    """The largest face of a picture."""

    points: np.ndarray
    """Left eye, right eye, nose, corners of the mouth, as an upright face shows them; pixels."""
    confidence: float
    """Mean probability of a face in the second look."""
    spread: float
    """Root of the mean square distance of its answers, as a share of the eye distance."""
    faces: int
    """Number of faces of about this size."""

    @property
    def distance(self) -> float:
        """Distance between the eyes in pixels."""
        return _distance(self.points)

    @property
    def turn(self) -> float:
        """Degrees by which the line through the eyes is turned."""
        x, y = self.points[1] - self.points[0]
        return float(np.degrees(np.arctan2(y, x)))


class Detector:
    """The networks, loaded once."""

    def __init__(self) -> None:
        self.proposals, self.refinement, self.landmarks = map(Network, ("pnet", "rnet", "onet"))

    def find(self, image: Any) -> Sighting | None:
        """Return the largest face of a Pillow image, or None where there is none."""
        image, best = image.convert("RGB"), None
        for turn in TURNS:
            found = self._turned(image, turn)
            if found is not None and (best is None or found.confidence > best.confidence):
                best = found
            if best is not None and best.confidence >= SURE:
                break
        return best if best is not None and best.confidence >= FACE else None

    def _turned(self, image: Any, turn: int) -> Sighting | None:
        """Look for faces that are upright once the picture is turned by so many degrees."""
        from PIL import Image

        shown = image.rotate(turn, Image.Resampling.BILINEAR, expand=True)
        cos, sin = np.cos(np.deg2rad(turn)), np.sin(np.deg2rad(turn))
        old, new = ((np.array(size) - 1) / 2 for size in (image.size, shown.size))
        faces = [old + (points - new) @ [[cos, sin], [-sin, cos]] for points in self.faces(shown)]
        if not faces:
            return None
        distances = np.array([_distance(points) for points in faces])
        beside = int((distances >= BESIDE * distances.max()).sum())
        points = faces[int(np.argmax(distances))]
        for _ in range(LOOKS):
            answers, sure = self._close_ups(image, points)
            points = np.median(answers, axis=0)
        spread = np.sqrt(((answers[:, :2] - points[:2]) ** 2).sum(axis=2).mean())
        return Sighting(points, float(sure.mean()), float(spread) / _distance(points), beside)

    def faces(self, image: Any) -> list[np.ndarray]:
        """Return the five points of every upright face."""
        from PIL import Image

        small = image.copy()
        small.thumbnail((LONGEST, LONGEST), Image.Resampling.BILINEAR, reducing_gap=None)
        boxes = self._proposed(small)
        if len(boxes):
            moves, sure = _at_one_place(self.refinement(_cut(small, boxes, 24)))
            kept = _apart(boxes, sure[:, 0], REFINED)
            boxes = _squares(_moved(boxes[kept], moves[kept]))
        if not len(boxes):
            return []
        moves, points, sure = _at_one_place(self.landmarks(_cut(small, boxes, SIDE)))
        kept = _apart(_moved(boxes, moves), sure[:, 0], ACCEPTED, of_smaller=True)
        # All five x come first; half a pixel less, for we count from the middle of the first one.
        sides = (boxes[kept, 2] - boxes[kept, 0])[:, None, None]
        xy = boxes[kept, None, :2] + points[kept].reshape(-1, 2, 5).transpose(0, 2, 1) * sides
        return list(xy * (np.array(image.size) / small.size) - 0.5)

    def _proposed(self, image: Any) -> np.ndarray:
        from PIL import Image

        found, sure = [np.zeros((0, 4))], [np.zeros(0)]
        scale = WINDOW / SMALLEST
        while min(image.size) * scale >= WINDOW:
            size = tuple(int(np.ceil(side * scale)) for side in image.size)
            pixels = np.asarray(image.resize(size, Image.Resampling.BILINEAR))
            moves, faces = (output[0] for output in self.proposals(pixels[None]))
            rows, columns = np.nonzero(faces[..., 0] >= PROPOSED)
            corners = np.stack([columns, rows], axis=1) * float(STEP)
            boxes = np.hstack([corners, corners + WINDOW]) / scale
            kept = _apart(boxes, faces[rows, columns, 0], PROPOSED, OF_WINDOWS)
            found.append(_moved(boxes[kept], moves[rows, columns][kept]))
            sure.append(faces[rows, columns, 0][kept])
            scale *= ZOOM
        boxes = np.concatenate(found)
        return _squares(boxes[_apart(boxes, np.concatenate(sure), PROPOSED)])

    def _close_ups(self, image: Any, points: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return five points in the picture for each close-up, and its probability of a face."""
        squares, backs = [], []
        last, middle = SIDE - 1, (SIDE - 1) / 2
        for size in CLOSE_UPS:
            x, y = middle - SIDE / size / 2, middle - SIDE / size * BELOW_EYES
            crop = Crop(SIDE, SIDE, x / last, y / last)
            square = np.asarray(placed(image, points[:2], crop))
            squares += [square, square[:, ::-1]]
            backs += [similarity(np.array([(x, y), (last - x, y)]), points[:2])] * 2
        _, found, sure = _at_one_place(self.landmarks(np.stack(squares)))
        seen = found.reshape(-1, 2, 5).transpose(0, 2, 1) * SIDE - 0.5
        seen[1::2] = (seen[1::2] * [-1, 1] + [last, 0])[:, MIRRORED]
        turns, shifts = np.split(np.array(backs), [2], axis=2)
        return seen @ turns.transpose(0, 2, 1) + shifts.transpose(0, 2, 1), sure


def _at_one_place(outputs: list[np.ndarray]) -> list[np.ndarray]:
    """Take the answers of a network for squares of its own size."""
    return [output[:, 0, 0] for output in outputs]


def _distance(points: np.ndarray) -> float:
    return max(float(np.hypot(*(points[1] - points[0]))), 1e-9)


# ---------------------------------------------------------------------- boxes
# Left, top, right, bottom.


def _moved(boxes: np.ndarray, moves: np.ndarray) -> np.ndarray:
    """Move each corner by shares of the box's sides."""
    sides = boxes[:, 2:] - boxes[:, :2]
    return boxes + moves * np.hstack([sides, sides])


def _apart(
    boxes: np.ndarray,
    sure: np.ndarray,
    least: float,
    most: float = OVERLAP,
    of_smaller: bool = False,
) -> np.ndarray:
    """Return the sure boxes, surest first, that share no more than ``most`` with any surer box.

    The share is that of both boxes together, or of the smaller one.
    """
    left = np.argsort(-sure, kind="stable")[: np.count_nonzero(sure >= least)]
    area = (boxes[:, 2] - boxes[:, 0]) * (boxes[:, 3] - boxes[:, 1])
    kept = []
    while len(left):
        first, left = left[0], left[1:]
        kept.append(first)
        corner = np.maximum(boxes[first, :2], boxes[left, :2])
        sides = np.maximum(np.minimum(boxes[first, 2:], boxes[left, 2:]) - corner, 0)
        common = sides[:, 0] * sides[:, 1]
        smaller = np.minimum(area[first], area[left])
        whole = smaller if of_smaller else area[first] + area[left] - common
        left = left[common <= most * whole]
    return np.array(kept, dtype=int)


def _squares(boxes: np.ndarray) -> np.ndarray:
    middle = (boxes[:, :2] + boxes[:, 2:]) / 2
    half = (boxes[:, 2:] - boxes[:, :2]).max(axis=1, keepdims=True) / 2
    return np.hstack([middle - half, middle + half])


def _cut(image: Any, boxes: np.ndarray, side: int) -> np.ndarray:
    """Return the contents of squares, black outside the picture."""
    from PIL import Image

    whole = np.rint(boxes).astype(int).tolist()
    cut = [image.crop(box).resize((side, side), Image.Resampling.BILINEAR) for box in whole]
    return np.stack([np.asarray(square) for square in cut])
