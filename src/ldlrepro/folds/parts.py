"""Folds by the parts that the authors of photographs made: one for training, one for the test."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from ldlrepro.catalogue import DataSet, Protocol
from ldlrepro.core.errors import UserError
from ldlrepro.core.workspace import Workspace
from ldlrepro.folds.splits import Fold

SCHEME = "parts"


def make_folds(protocol: Protocol, data_set: DataSet, data_dir: Path) -> list[Fold]:
    """Make one fold: the two ``parts`` of the data set's images."""
    from ldlrepro.data.images.reading import load_faces

    dataset = data_set.id
    if not Workspace(data=data_dir).faces(dataset).is_file():
        raise UserError(f"scheme: {SCHEME} needs photographs whose authors made parts: {dataset}")
    faces = load_faces(data_set, data_dir)
    train, test = (_rows(faces, part, dataset) for part in protocol.parts)
    return [Fold(0, 0, train, np.array([], dtype=np.int64), test)]


def _rows(faces: Any, part: str, dataset: str) -> np.ndarray:
    rows: np.ndarray = faces.rows_of(part)
    if not len(rows):
        known = sorted({face.subset for face in faces.faces if face.subset})
        raise UserError(
            f"{dataset}: no image is in the part '{part}'. There are: {', '.join(known) or 'none'}"
        )
    return rows
