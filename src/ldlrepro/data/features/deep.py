"""Activations of a network's layer for a set of faces."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import torch

from ldl.deep.backbones import FC6, FC7, IMAGE_SIDE, Backbone
from ldl.deep.weights import Loaded, lacks_classifier, load_network, random_network
from ldlrepro.catalogue.data_sets import Features
from ldlrepro.core.errors import UserError
from ldlrepro.core.workspace import Workspace
from ldlrepro.data.features.align import Crop, aligned
from ldlrepro.data.images.faces import FaceSet
from ldlrepro.data.weights import weights_facts

BATCH = 4
"""Images in one batch. A larger one exceeds a processor's cache and takes longer per image."""


def deep_features(
    faces: FaceSet, crop: Crop, features: Features, loaded: Loaded
) -> tuple[np.ndarray, dict[str, Any], list[str]]:
    """Return a row for each face, the recipe, and how each face was placed."""
    if (crop.width, crop.height) != (IMAGE_SIDE, IMAGE_SIDE):
        raise UserError(
            f"the networks take {IMAGE_SIDE} x {IMAGE_SIDE} pixels, the crop has {crop.width} x "
            f"{crop.height}. Change crop in the data set's YAML."
        )
    layer = features.layer
    if layer in (FC6, FC7) and lacks_classifier(loaded.network):
        raise UserError(
            f"{loaded.record['weights']}: convolutions alone, so there is no {layer}. Write "
            "layer: pool5 or layer: pool5_mean under features in the data set's YAML."
        )
    network = ready_to_run(loaded.network)
    rows: list[np.ndarray] = []
    ways: list[str] = []
    with torch.inference_mode():
        for pixels, placed in _batches(faces, crop):
            batch = normalised(pixels, loaded.preprocessing)
            rows.append(network.until(batch, layer).numpy().astype(np.float64))
            ways += placed
    recipe = {
        "extractor": features.extractor,
        **loaded.record,
        "layer": f"{layer}, positive parts",
        "preprocessing": loaded.preprocessing,
    }
    return np.concatenate(rows), recipe, ways


def network_of(features: Features, data_dir: Path) -> Loaded:
    """Return the network that ``features`` of a data set's YAML describes."""
    name = features.extractor
    if features.weights:
        weights_facts(features.weights, data_dir)
        return load_network(name, Workspace(data=data_dir).weights(features.weights))
    if features.random_weights is not None:
        return random_network(name, features.random_weights)
    raise UserError(
        f"{name} needs features.weights, such as weights: vgg16; `ldlrepro list weights` lists "
        "them. For a trial without any, write a seed, weights: 0. See docs/images.md."
    )


def ready_to_run(network: Backbone) -> Backbone:
    """Return the network with its weights in the order of pixels, which is a quarter faster."""
    network.features.to(memory_format=torch.channels_last)  # type: ignore[call-overload]
    return network


def normalised(pixels: torch.Tensor, preprocessing: Mapping[str, Any]) -> torch.Tensor:
    """Turn grey levels (images, height, width, 3) into the inputs that the weights expect."""
    x = pixels.permute(0, 3, 1, 2).float() * preprocessing["scale"]
    mean, std = (torch.tensor(preprocessing[key]).view(1, 3, 1, 1) for key in ("mean", "std"))
    return (x - mean) / std


def _batches(faces: FaceSet, crop: Crop) -> Iterator[tuple[torch.Tensor, list[str]]]:
    rows = list(zip(faces.faces, faces.paths, strict=True))
    for start in range(0, len(rows), BATCH):
        images, ways = zip(
            *(aligned(face, path, crop) for face, path in rows[start : start + BATCH]), strict=True
        )
        yield torch.from_numpy(np.stack([np.asarray(image) for image in images])), list(ways)
