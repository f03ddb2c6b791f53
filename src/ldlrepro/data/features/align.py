"""Places the eyes of a face where a crop wants them; without eyes it cuts out the centre."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ldlrepro.catalogue import DataSet
from ldlrepro.core.errors import UserError
from ldlrepro.data.images.faces import Eyes, Face
from ldlrepro.data.images.pictures import PictureError, open_picture
from ldlrepro.data.images.points import moved, similarity

BY_EYES, BY_LANDMARKS, CENTRE = "eyes", "landmarks", "centre"


@dataclass(frozen=True)
class Crop:
    """Size of the result, and the places of the eyes as shares of its width and height."""

    width: int
    height: int
    eye_x: float = 0.3
    """The eye on the left of the picture; the other one lies mirrored."""
    eye_y: float = 0.4

    @classmethod
    def of(cls, data_set: DataSet) -> Crop:
        """Return the crop of a data set of photographs, which has one."""
        return cls(*data_set.crop, *data_set.eyes)

    @property
    def eyes(self) -> Eyes:
        left, right = self.eye_x * (self.width - 1), (1 - self.eye_x) * (self.width - 1)
        y = self.eye_y * (self.height - 1)
        return left, y, right, y

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)


def aligned(face: Face, path: Path, crop: Crop, mode: str = "RGB") -> tuple[Any, str]:
    """Return the cropped Pillow image, and what placed it: eyes, landmarks or the centre."""
    try:
        image = open_picture(path).image.convert(mode)
    except PictureError as error:
        raise UserError(
            f"{path}: {error}. It was another file when the data set was prepared. Type "
            "`ldlrepro fetch ID` and `ldlrepro prepare ID`."
        ) from None
    if face.eyes is None:
        return _centre(image, crop), CENTRE
    way = BY_LANDMARKS if face.points_from.lower().endswith(".pts") else BY_EYES
    return placed(image, _pairs(face.eyes), crop), way


def placed(image: Any, eyes: np.ndarray, crop: Crop) -> Any:
    """Return the part of an image in which two eyes, (x, y) each, lie where the crop wants them."""
    from PIL import Image

    matrix = similarity(eyes, _pairs(crop.eyes))
    scale = float(np.hypot(matrix[0, 0], matrix[1, 0]))
    if scale < 0.5:
        # Bilinear sampling looks at four pixels only and would skip most of a large picture.
        shrunk_size = tuple(max(1, round(side * 2 * scale)) for side in image.size)
        ratio = np.divide(shrunk_size, image.size)
        image = image.resize(shrunk_size, Image.Resampling.BOX)
        shrunk = (eyes + 0.5) * ratio - 0.5
        matrix = similarity(shrunk, _pairs(crop.eyes))
    return moved(image, matrix, (crop.width, crop.height), Image.Resampling.BILINEAR)


def _centre(image: Any, crop: Crop) -> Any:
    """Return the largest box of the crop's shape in the middle, resized."""
    from PIL import Image

    width, height = image.size
    scale = min(width / crop.width, height / crop.height)
    # Rounding may leave the picture by a hair, which Pillow refuses.
    left = max(0.0, (width - crop.width * scale) / 2)
    top = max(0.0, (height - crop.height * scale) / 2)
    box = (left, top, width - left, height - top)
    return image.resize((crop.width, crop.height), Image.Resampling.BILINEAR, box=box)


def _pairs(eyes: Eyes) -> np.ndarray:
    return np.array(eyes).reshape(2, 2)
