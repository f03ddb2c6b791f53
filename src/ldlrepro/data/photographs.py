"""Makes data sets of photographs, with or without a table of features.

A set without features has labels, persons and ages like any other, but no column in X. Methods that
read images take their pixels from elsewhere (``ldlrepro.data.pixels``).
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from ldlrepro.catalogue import DataSet
from ldlrepro.core.checksums import sha256_of
from ldlrepro.data.archives import is_archive
from ldlrepro.data.dataset import Dataset, fingerprint
from ldlrepro.data.features.extract import extract
from ldlrepro.data.images.faces import FaceSet
from ldlrepro.data.images.reading import distributions, images_folder, load_faces
from ldlrepro.data.readers import dataset_of

# Bytes of digests are no columns, so oddities of columns are not counted.
NO_COLUMNS = {"zero_columns": 0, "duplicate_columns": 0}


def dataset_of_faces(data_set: DataSet, faces: FaceSet, data_dir: Path) -> Dataset:
    """Return the Dataset of a set of faces; it has no column where no features are asked for."""
    if data_set.features is None:
        return _without_features(data_set, faces)
    D, labels = distributions(faces, data_set)
    X, recipe = extract(faces, data_set, data_dir)
    parts: dict[str, Any] = {"X": X, "D": D, "groups": faces.persons}
    if not np.isnan(faces.ages).any():
        parts["target"] = faces.ages
    dataset = dataset_of(data_set, faces.folder, parts, labels)
    dataset.meta["features"] = recipe
    return dataset


def rows_to_compare(data_set: DataSet, data: Dataset, data_dir: Path) -> Any:
    """Return what distinguishes rows: their features, or else the bytes of their images."""
    return data.X if data.X.shape[1] else _digests(load_faces(data_set, data_dir))


def raw_file(data_set: DataSet, name: str, data_dir: Path) -> Path | None:
    """Return where fetch put a named file; None for an archive, which is unpacked and not kept."""
    if data_set.reader != "images":
        return data_dir / "raw" / data_set.id / name
    path = images_folder(data_set, data_dir) / name
    return None if is_archive(path) and not path.exists() else path


def fingerprint_of(data_set: DataSet, data: Dataset, data_dir: Path) -> dict[str, Any]:
    """Compute again the digests and numbers that a prepared data set states about itself."""
    counts = fingerprint(rows_to_compare(data_set, data, data_dir), data.D)
    return counts if data.X.shape[1] else counts | NO_COLUMNS


def _without_features(data_set: DataSet, faces: FaceSet) -> Dataset:
    D, labels = distributions(faces, data_set)
    ages = faces.ages
    counts = fingerprint(_digests(faces), D)
    return Dataset(
        id=data_set.id,
        X=np.empty((len(D), 0)),
        D=D,
        groups=faces.persons,
        target=None if np.isnan(ages).any() else ages,
        labels=labels,
        fingerprint={**counts, **NO_COLUMNS, "renormalised_rows": 0},
    )


def _digests(faces: FaceSet) -> np.ndarray:
    """Return the SHA-256 of each image file, as 32 numbers."""
    return np.array([list(bytes.fromhex(sha256_of(path))) for path in faces.paths], dtype=float)
