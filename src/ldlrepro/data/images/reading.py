"""Makes a FaceSet and its table from a folder of photographs and the data set's YAML."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np

from ldlrepro.catalogue import DataSet
from ldlrepro.core.errors import UserError
from ldlrepro.core.workspace import Workspace
from ldlrepro.data.dataset import DataUnavailable
from ldlrepro.data.images.age_distributions import age_distributions, age_grid
from ldlrepro.data.images.checks import checked
from ldlrepro.data.images.faces import FaceSet
from ldlrepro.data.images.found import BY_FINDING
from ldlrepro.data.images.layouts import LAYOUTS, Folder
from ldlrepro.data.images.setups import apply

AGE_WIDTH = 2.0
"""Standard deviation of the normal density that an age becomes."""


def load_faces(data_set: DataSet, data_dir: Path) -> FaceSet:
    """Return the images of a data set that was fetched and prepared."""
    dataset_id = data_set.id
    table = Workspace(data=data_dir).faces(dataset_id)
    if not table.is_file():
        raise DataUnavailable(
            f"{dataset_id}: there is no table of its images. Type `ldlrepro fetch {dataset_id}` "
            f"and `ldlrepro prepare {dataset_id}`."
        )
    faces = FaceSet.read(table, images_folder(data_set, data_dir))
    record = json.loads((table.parent / f"{dataset_id}.json").read_text(encoding="utf-8"))
    faces.notes = list(record["images"]["notes"])
    return faces


def images_folder(data_set: DataSet, data_dir: Path) -> Path:
    """Return the folder of a data set's images, which another data set may own."""
    return data_dir / "raw" / (data_set.images_of or data_set.id) / "images"


def read_faces(data_set: DataSet, images: Path) -> FaceSet:
    """Check every image of a layout; raise UserError only where the whole set is unusable."""
    assert data_set.layout is not None  # photographs have one
    layout = data_set.layout
    folder = Folder(images)
    listing = LAYOUTS[layout](folder)
    usable, problems = checked(layout, folder, listing)
    faces = FaceSet(images, usable, problems, listing.labels)
    if not usable:
        counts = ", ".join(f"{count} {kind}" for kind, count in faces.counts().items())
        raise UserError(
            f"{images}: no usable image in the layout of {layout} ({counts or 'no image at all'}). "
            f"See docs/images.md, then type `ldlrepro fetch {data_set.id}`."
        )
    found = sum(face.points_from == BY_FINDING for face in usable)
    if found:
        faces.notes.append(f"the eyes of {found} images were found by a program, not given")
    return apply(faces, folder, data_set)


def distributions(faces: FaceSet, data_set: DataSet) -> tuple[np.ndarray, list[str]]:
    """Return label distributions and names: ratings over their sum, or ages by the YAML's rule."""
    if faces.labels:
        ratings = faces.ratings
        return ratings / ratings.sum(axis=1, keepdims=True), faces.labels
    first, last = data_set.ages
    grid = age_grid(first, last)
    return age_distributions(faces.ages, grid, AGE_WIDTH), [f"{age:.0f}" for age in grid]
