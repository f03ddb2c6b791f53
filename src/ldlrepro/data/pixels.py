"""Aligned faces of a data set in one file, which is never completely in memory.

``data/ready/<id>.pixels.npy`` holds whole grey levels (rows, height, width, 3), red, green, blue,
with the rows in the order of ``data/ready/<id>.npz``. The size is that of ``crop`` in the data
set's YAML. No paper states a crop at random offsets, only eyes at fixed places. The public code
also mirrors images, which needs no pixels beyond the crop.
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Callable
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from ldlrepro.catalogue import DataSet
from ldlrepro.core.at_once import one_by_one
from ldlrepro.core.errors import UserError
from ldlrepro.core.files import atomically, write_json
from ldlrepro.core.workspace import Workspace
from ldlrepro.data.dataset import DataUnavailable

ROWS_AT_ONCE = 64
HASHED_AT_ONCE = 2**24


class Pixels:
    """Rows of a file of pixels, read when they are needed.

    ``X[rows]`` is the same kind with fewer rows. ``X.read(rows)`` is an array of uint8, for
    positions among the rows of X. A pickle holds a path and the numbers of the rows.
    """

    def __init__(self, path: Path, rows: np.ndarray | None = None) -> None:
        self.path = Path(path)
        self._all = np.load(self.path, mmap_mode="r", allow_pickle=False)
        if self._all.ndim != 4 or self._all.shape[3] != 3 or self._all.dtype != np.uint8:
            raise UserError(f"{path}: no file of pixels. Remove it and run snakemake again.")
        self.rows = np.arange(len(self._all)) if rows is None else np.asarray(rows)

    @property
    def shape(self) -> tuple[int, int, int, int]:
        _, height, width, channels = self._all.shape
        return len(self.rows), height, width, channels

    ndim = 4
    dtype = np.dtype(np.uint8)

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, rows: Any) -> Pixels:
        return Pixels(self.path, np.atleast_1d(self.rows[rows]))

    def read(self, rows: Any = slice(None)) -> np.ndarray:
        wanted = np.atleast_1d(self.rows[rows])
        # In the order of the file, so that the disk is read forwards.
        order = np.argsort(wanted, kind="stable")
        found = np.empty((len(wanted), *self._all.shape[1:]), np.uint8)
        found[order] = self._all[wanted[order]]
        return found

    def __getstate__(self) -> dict[str, Any]:
        return {"path": self.path, "rows": self.rows}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__init__(**state)  # type: ignore[misc]

    def __repr__(self) -> str:
        return f"Pixels({str(self.path)!r}, {'x'.join(map(str, self.shape))})"


# ---------------------------------------------------------------------- making the file


def load_pixels(path: Path) -> tuple[Pixels, dict[str, Any]]:
    """Return a data set's pixels and their description; DataUnavailable where it has none."""
    dataset = path.name.partition(".")[0]
    if not path.is_file():
        raise DataUnavailable(f"needs images: {dataset} has no pixels ({path} is missing)")
    about = json.loads(path.with_suffix(".json").read_text(encoding="utf-8"))
    if not about["available"]:
        raise DataUnavailable(f"needs images: {about['reason']}")
    return Pixels(path), about


def make_pixels(
    data_set: DataSet,
    workspace: Workspace,
    workers: int = 1,
    progress: Callable[[int, int], None] = lambda done, total: None,
) -> Path:
    """Decode and align every usable image; without any, write an empty file that says why."""
    from ldlrepro.data.registry import load_ready, not_prepared

    path = workspace.pixels(data_set.id)
    try:
        ready = load_ready(workspace.ready(data_set.id))
        if data_set.layout is None:
            raise DataUnavailable(f"{data_set.id} is a table of features without photographs")
    except FileNotFoundError:
        raise not_prepared(workspace.ready(data_set.id)) from None
    except DataUnavailable as error:
        _write(path, {"dataset": data_set.id, "available": False, "reason": str(error)})
        return path
    about = _draw(data_set, workspace.data, path, len(ready.D), workers, progress)
    _write(path, {**about, "data_sha256": ready.fingerprint["data_sha256"]})
    return path


def _draw(
    data_set: DataSet,
    data_dir: Path,
    path: Path,
    rows: int,
    workers: int,
    progress: Callable[[int, int], None],
) -> dict[str, Any]:
    """Fill the file in pieces, each by its own process, and describe it."""
    from ldlrepro.data.features.align import Crop
    from ldlrepro.data.images.reading import load_faces

    faces, crop = load_faces(data_set, data_dir), Crop.of(data_set)
    if len(faces) != rows:
        raise UserError(
            f"{data_set.id}: its table of images has {len(faces)} rows, its features {rows}. "
            f"Type `ldlrepro prepare {data_set.id}`."
        )
    paths = faces.paths
    pieces = [
        (start, faces.faces[start : start + ROWS_AT_ONCE], paths[start : start + ROWS_AT_ONCE])
        for start in range(0, rows, ROWS_AT_ONCE)
    ]
    ways: Counter[str] = Counter()

    def fill(part: Path) -> None:
        shape = (rows, crop.height, crop.width, 3)
        _new(part, shape).flush()
        done = 0
        for placed in one_by_one(partial(_fill_piece, part, crop), pieces, workers):
            done += len(placed)
            ways.update(placed)
            progress(done, rows)

    atomically(path, fill)
    names = "\n".join(face.file for face in faces.faces)
    return {
        "dataset": data_set.id,
        "available": True,
        "shape": [rows, crop.height, crop.width, 3],
        "sha256": _content_sha256(path),
        "crop": asdict(crop),
        "placed_by": dict(sorted(ways.items())),
        "images_sha256": hashlib.sha256(names.encode()).hexdigest(),
    }


def _new(path: Path, shape: tuple[int, ...]) -> np.memmap:
    return np.lib.format.open_memmap(path, mode="w+", dtype=np.uint8, shape=shape)


def _fill_piece(part: Path, crop: Any, piece: tuple[int, list[Any], list[Path]]) -> list[str]:
    """Align the faces of a piece, whose first row in the file it names; say what placed each."""
    from ldlrepro.data.features.align import aligned

    into = np.lib.format.open_memmap(part, mode="r+")
    start, faces, paths = piece
    ways = []
    for row, (face, path) in enumerate(zip(faces, paths, strict=True), start=start):
        image, way = aligned(face, path, crop)
        into[row] = np.asarray(image)
        ways.append(way)
    into.flush()
    return ways


def _content_sha256(path: Path) -> str:
    """Return the SHA-256 of the pixels alone, read piece by piece."""
    found = hashlib.sha256()
    with open(path, "rb") as handle:
        # Read, not mapped: a cluster counts every mapped page as memory of the job.
        handle.seek(np.load(path, mmap_mode="r", allow_pickle=False).offset)
        while piece := handle.read(HASHED_AT_ONCE):
            found.update(piece)
    return found.hexdigest()


def _write(path: Path, about: dict[str, Any]) -> None:
    if not about["available"]:
        atomically(path, lambda part: _new(part, (0, 1, 1, 3)).flush())
    write_json(path.with_suffix(".json"), about)
