"""Networks from images to outputs: VGG-16, AlexNet or a small one, each with a new last layer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from ldl.deep.backbones import Backbone
from ldl.deep.weights import (
    PREPROCESSING,
    RANDOM,
    TORCHVISION,
    Loaded,
    begin_classifier,
    load_network,
    random_network,
)
from ldl.errors import UserError

LEAST_SIDE = {"vgg16": 32, "alexnet": 63, "tiny": 8}
"""Pixels below which nothing is left after the poolings."""
TINY_WIDTH = 64
RANDOM_START = (
    "RANDOM START, asked for with random_weights: this network learned from the training images "
    "alone, while the papers begin with weights of another training"
)


class ImageNetwork(nn.Module):
    """A network from pixel values (images, height, width, 3) to blocks of outputs.

    Each of ``widths`` gives one block, a linear layer on the ``reached`` outputs of the trunk.
    """

    shift: Tensor
    factor: Tensor

    def __init__(
        self, trunk: nn.Module, reached: int, widths: Sequence[int], preprocessing: Mapping
    ) -> None:
        super().__init__()
        mean, std = (
            torch.tensor(preprocessing[key]).view(1, 3, 1, 1) / preprocessing["scale"]
            for key in ("mean", "std")
        )
        self.register_buffer("shift", mean)
        self.register_buffer("factor", 1.0 / std)
        self.trunk = trunk
        layers = [nn.Linear(reached, width) for width in widths]
        for layer in layers:
            nn.init.xavier_uniform_(layer.weight)
            nn.init.zeros_(layer.bias)
        self.outputs = nn.ModuleList(layers)

    def forward(self, pixels: Tensor) -> list[Tensor]:
        """Return the blocks of outputs for a batch of images."""
        # Pixels lie with their channels last already; a permutation of the axes copies nothing.
        x = pixels.permute(0, 3, 1, 2).to(self.shift.dtype)
        x = self.trunk((x - self.shift) * self.factor)
        # Ages and splits need more than the eight bits of bfloat16.
        with torch.autocast(x.device.type, enabled=False):
            x = x.to(self.shift.dtype)
            return [layer(x) for layer in self.outputs]


def image_network(
    name: str,
    widths: Sequence[int],
    weights: str | None,
    sha256: str | None,
    random_weights: bool,
    seed: int,
) -> tuple[ImageNetwork, dict[str, Any]]:
    """Return a network with a new last layer, and the facts about its weights for every record."""
    if weights is None and not random_weights:
        raise UserError(
            f"{name}: no weights. Give weights (the path of a file) and sha256 (its checksum), or "
            "set random_weights for a trial that starts from nothing."
        )
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        if random_weights:
            backbone = _tiny() if name == "tiny" else random_network(name, seed).network
            preprocessing = PREPROCESSING[TORCHVISION]
            record = {"network": name, "weights": RANDOM, "warning": RANDOM_START}
        else:
            loaded = _loaded(name, str(weights), sha256)
            backbone, preprocessing, record = loaded.network, loaded.preprocessing, loaded.record
            begin_classifier(backbone)
        last = backbone.classifier.pop(-1)
        assert isinstance(last, nn.Linear)
        network = ImageNetwork(backbone, last.in_features, widths, preprocessing)
    return network, record


def _loaded(name: str, weights: str, sha256: str | None) -> Loaded:
    """Return the network with weights from a file."""
    if name == "tiny":
        raise UserError("tiny: nobody published weights for it; set random_weights.")
    return load_network(name, Path(weights).expanduser(), sha256)


def _tiny() -> Backbone:
    """Return an untrained network for faces of some dozen pixels, on a processor."""
    modules: list[nn.Module] = []
    for before, after in ((3, 16), (16, 32), (32, 64)):
        modules += [nn.Conv2d(before, after, 3, stride=2, padding=1), nn.ReLU(inplace=True)]
    classifier = nn.Sequential(
        nn.Linear(64 * 16, TINY_WIDTH), nn.ReLU(inplace=True), nn.Linear(TINY_WIDTH, 1)
    )
    return Backbone(nn.Sequential(*modules), 4, classifier)
