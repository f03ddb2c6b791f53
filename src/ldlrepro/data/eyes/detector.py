"""Finds the eyes of the largest face in a picture.

MTCNN finds faces and their five points. Its points are rough where a face is turned, because the
last network sees it turned. So that network looks again, at the face set upright by its own first
points, in three sizes and mirrored; the median of the six answers is taken, twice over. How far the
six lie apart says how sure the points are.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ldlrepro.data.eyes.networks import Proposals, as_input, landmarks, refinement

LONGEST = 480
"""Faces are looked for in a picture shrunk to this side; their points come from all its pixels."""
SMALLEST = 20
"""Pixels of the smallest face that is looked for, in the shrunk picture."""
WINDOW, STEP, ZOOM = 12, 2, 0.709
PROPOSED, REFINED, ACCEPTED = 0.6, 0.7, 0.7
"""Probabilities of a face that let a box pass each network; with ZOOM, those of MTCNN's authors."""
SURE = 0.97
"""An upright face below this is looked for in turned pictures too."""
FACE = 0.8
"""Below this the second look sees no face."""
TURNS = (45, -45, 90, -90, 135, -135, 180)
CLOSE_UPS = (2.3, 2.5, 2.7)
"""Sides of the squares of the second look, in distances between the eyes."""
BELOW_EYES = 0.42
"""Middle of those squares below the eyes, in the same unit."""
LOOKS = 2
MIRRORED = [1, 0, 2, 4, 3]
"""Points of a face in a mirror: eyes and corners of the mouth change places."""
BESIDE = 0.4
"""Another face counts if its eyes are at least this share as far apart."""


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
    """Faces of about this size."""

    @property
    def distance(self) -> float:
        """Distance between the eyes in pixels."""
        return float(np.hypot(*(self.points[1] - self.points[0])))

    @property
    def turn(self) -> float:
        """Degrees by which the line through the eyes is turned."""
        x, y = self.points[1] - self.points[0]
        return float(np.degrees(np.arctan2(y, x)))


class Detector:
    """The networks, read once."""

    def __init__(self) -> None:
        self.proposals, self.refinement, self.landmarks = Proposals(), refinement(), landmarks()

    def find(self, image: Any) -> Sighting | None:
        """Return the largest face of a Pillow image, or None where there is none."""
        image = image.convert("RGB")
        best = self._upright(image, image)
        for turn in TURNS:
            if best is not None and best.confidence >= SURE:
                break
            found = self._turned(image, turn)
            if found is not None and (best is None or found.confidence > best.confidence):
                best = found
        return best if best is not None and best.confidence >= FACE else None

    def _turned(self, image: Any, turn: int) -> Sighting | None:
        from PIL import Image

        turned = image.rotate(turn, Image.Resampling.BILINEAR, expand=True)
        angle = np.deg2rad(turn)
        back = np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
        old, new = ((np.array(size) - 1) / 2 for size in (image.size, turned.size))
        return self._upright(turned, image, back, old - back @ new)

    def _upright(
        self,
        shown: Any,
        image: Any,
        matrix: np.ndarray | None = None,
        shift: np.ndarray | None = None,
    ) -> Sighting | None:
        """Look for upright faces in ``shown``, whose points a map takes back to ``image``."""
        small, scale = _shrunk(shown)
        faces = [points / scale + (0.5 / scale - 0.5) for points in self.faces(small)]
        if matrix is not None:
            faces = [points @ matrix.T + shift for points in faces]
        if not faces:
            return None
        distances = np.array([np.hypot(*(points[1] - points[0])) for points in faces])
        largest = int(np.argmax(distances))
        beside = int((distances >= BESIDE * distances[largest]).sum())
        return self._again(image, faces[largest], beside)

    # ------------------------------------------------------------------ MTCNN

    def faces(self, image: Any) -> list[np.ndarray]:
        """Return the five points of every upright face."""
        boxes = self._proposed(image)
        if len(boxes):
            moves, sure = self.refinement(_cut(image, boxes, 24))
            boxes = _kept(boxes, moves, sure, REFINED)
        if not len(boxes):
            return []
        moves, points, sure = self.landmarks(_cut(image, boxes, 48))
        passed = sure >= ACCEPTED
        boxes, moves, points, sure = boxes[passed], moves[passed], points[passed], sure[passed]
        side = boxes[:, 2] - boxes[:, 0]
        # All five x come first; half a pixel less, for we count from the middle of the first one.
        xy = points.reshape(-1, 2, 5).transpose(0, 2, 1) * side[:, None, None]
        xy += boxes[:, None, :2] - 0.5
        return [xy[i] for i in _apart(_moved(boxes, moves), sure, 0.7, of_smaller=True)]

    def _proposed(self, image: Any) -> np.ndarray:
        from PIL import Image

        found, sure = [np.zeros((0, 4))], [np.zeros(0)]
        scale = WINDOW / SMALLEST
        while min(image.size) * scale >= WINDOW:
            size = tuple(int(np.ceil(side * scale)) for side in image.size)
            pixels = np.asarray(image.resize(size, Image.Resampling.BILINEAR))
            moves, faces = self.proposals(as_input(pixels[None]))
            rows, columns = np.nonzero(faces >= PROPOSED)
            corner = np.stack([columns, rows], axis=1) * float(STEP)
            boxes, probable = np.hstack([corner, corner + WINDOW]) / scale, faces[rows, columns]
            keep = _apart(boxes, probable, 0.5)
            found.append(_moved(boxes[keep], moves[rows, columns][keep]))
            sure.append(probable[keep])
            scale *= ZOOM
        boxes = np.concatenate(found)
        return _squares(boxes[_apart(boxes, np.concatenate(sure), 0.7)])

    # ------------------------------------------------------------------ the second look

    def _again(self, image: Any, points: np.ndarray, faces: int) -> Sighting:
        for _ in range(LOOKS):
            answers, sure = self._close_ups(image, points)
            points = np.median(answers, axis=0)
        eyes = answers[:, :2] - points[:2]
        spread = float(np.sqrt((eyes**2).sum(axis=2).mean()))
        distance = max(float(np.hypot(*(points[1] - points[0]))), 1e-9)
        return Sighting(points, float(sure.mean()), spread / distance, faces)

    def _close_ups(self, image: Any, points: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return five points in the picture for each close-up, and its probability of a face."""
        left, right = points[:2]
        distance = max(float(np.hypot(*(right - left))), 1e-9)
        ahead = (right - left) / distance
        down = np.array([-ahead[1], ahead[0]])
        middle = (left + right) / 2 + down * BELOW_EYES * distance
        pixels, maps = [], []
        for size in CLOSE_UPS:
            axes = np.column_stack([ahead, down]) * size * distance / 48
            origin = middle - axes @ [24, 24]
            square = _sampled(image, axes, origin)
            pixels += [square, square[:, ::-1]]
            maps += [(axes, origin, False), (axes, origin, True)]
        _, found, sure = self.landmarks(as_input(np.stack(pixels)))
        answers = []
        for (axes, origin, mirrored), row in zip(maps, found, strict=True):
            xy = row.reshape(2, 5).T * 48
            if mirrored:
                xy = (xy * [-1, 1] + [48, 0])[MIRRORED]
            answers.append(xy @ axes.T + origin)
        return np.array(answers), sure


# ---------------------------------------------------------------------- boxes
# Left, top, right, bottom.


def _apart(
    boxes: np.ndarray, sure: np.ndarray, most: float, of_smaller: bool = False
) -> np.ndarray:
    """Return the boxes, the surest first, that overlap no surer one by more than ``most``.

    An overlap is a share of the two boxes together, or of the smaller one.
    """
    left = np.argsort(-sure, kind="stable")
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


def _kept(boxes: np.ndarray, moves: np.ndarray, sure: np.ndarray, least: float) -> np.ndarray:
    passed = sure >= least
    boxes, moves, sure = boxes[passed], moves[passed], sure[passed]
    keep = _apart(boxes, sure, 0.7)
    return _squares(_moved(boxes[keep], moves[keep]))


def _moved(boxes: np.ndarray, moves: np.ndarray) -> np.ndarray:
    """Move each corner by shares of the box's sides."""
    sides = boxes[:, 2:] - boxes[:, :2]
    return boxes + moves * np.hstack([sides, sides])


def _squares(boxes: np.ndarray) -> np.ndarray:
    middle = (boxes[:, :2] + boxes[:, 2:]) / 2
    half = (boxes[:, 2:] - boxes[:, :2]).max(axis=1, keepdims=True) / 2
    return np.hstack([middle - half, middle + half])


# ---------------------------------------------------------------------- pixels


def _shrunk(image: Any) -> tuple[Any, float]:
    from PIL import Image

    scale = min(1.0, LONGEST / max(image.size))
    if scale == 1.0:
        return image, scale
    size = tuple(max(1, round(side * scale)) for side in image.size)
    return image.resize(size, Image.Resampling.BILINEAR), scale


def _cut(image: Any, boxes: np.ndarray, side: int) -> Any:
    """Return the squares as input of a network; black where they leave the picture."""
    from PIL import Image

    cut = [
        np.asarray(
            image.crop(tuple(int(v) for v in np.rint(box))).resize(
                (side, side), Image.Resampling.BILINEAR
            )
        )
        for box in boxes
    ]
    return as_input(np.stack(cut))


def _sampled(image: Any, axes: np.ndarray, origin: np.ndarray) -> np.ndarray:
    """Return 48 x 48 pixels; ``axes`` and ``origin`` map their corners into the picture."""
    from PIL import Image

    step = float(np.hypot(*axes[:, 0]))
    half = 24 * step * 2
    middle = axes @ [24, 24] + origin
    # Only the neighbourhood is shrunk, so that a large picture costs no more than a small one.
    low = np.floor(np.maximum(middle - half, 0)).astype(int)
    high = np.ceil(np.minimum(middle + half + 1, image.size)).astype(int)
    if (high <= low).any():
        return np.zeros((48, 48, 3), np.uint8)
    near = image.crop((*low.tolist(), *high.tolist()))
    # Bilinear sampling looks at four pixels only and would skip most of a large face.
    factor = max(1, int(step))
    near = near.reduce(factor)
    back = np.column_stack([axes, origin + 0.5 - low]) / factor
    return np.asarray(
        near.transform(
            (48, 48), Image.Transform.AFFINE, tuple(back.ravel()), Image.Resampling.BILINEAR
        )
    )
