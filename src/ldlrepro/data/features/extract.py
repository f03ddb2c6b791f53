"""Features of a set of faces, and the recipe that computed them."""

from __future__ import annotations

import hashlib
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np

from ldlrepro.catalogue import DataSet
from ldlrepro.data.features.align import Crop, aligned
from ldlrepro.data.images.faces import FaceSet


def extract(faces: FaceSet, data_set: DataSet, data_dir: Path) -> tuple[np.ndarray, dict[str, Any]]:
    """Return a row for each face and the recipe, by ``features`` and ``crop`` of the YAML."""
    features, crop = data_set.features, Crop.of(data_set)
    assert features is not None  # else there is nothing to extract
    if features.order:
        X, recipe, ways = _lbp(faces, crop, features.order)
    else:
        from ldlrepro.data.features.deep import deep_features, network_of

        network = network_of(features, data_dir)
        X, recipe, ways = deep_features(faces, crop, features, network)
    names = "\n".join(face.file for face in faces.faces)
    return X, {
        **recipe,
        "crop": crop.to_dict(),
        "placed_by": dict(sorted(Counter(ways).items())),
        "images_sha256": hashlib.sha256(names.encode()).hexdigest(),
    }


def _lbp(faces: FaceSet, crop: Crop, order: str) -> tuple[np.ndarray, dict[str, Any], list[str]]:
    from ldlrepro.data.features.lbp import bins_in, lbp_histogram, recipe

    rows, ways = [], []
    for face, path in zip(faces.faces, faces.paths, strict=True):
        image, way = aligned(face, path, crop, mode="L")
        rows.append(lbp_histogram(np.asarray(image)))
        ways.append(way)
    return np.array(rows)[:, bins_in(order)], recipe(order), ways
