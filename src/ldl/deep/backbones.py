"""VGG-16 and AlexNet with torchvision's names of the layers, without torchvision.

``Sizes`` lets tests use small networks; the published weights have the standard sizes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import torch
from torch import nn

POOL5, POOL5_MEAN = "pool5", "pool5_mean"
FC6, FC7 = "fc6", "fc7"
IMAGE_SIDE = 224


@dataclass(frozen=True)
class Sizes:
    """Widths of a network's layers.

    Parameters
    ----------
    channels : tuple of int
        Channels of the convolutions, in order.
    hidden : int, default=4096
        Width of fc6 and fc7.
    classes : int, default=1000
        Number of classes.
    """

    channels: tuple[int, ...]
    hidden: int = 4096
    classes: int = 1000


VGG16_BLOCKS = (2, 2, 3, 3, 3)
STANDARD = {
    "vgg16": Sizes((64,) * 2 + (128,) * 2 + (256,) * 3 + (512,) * 6),
    "alexnet": Sizes((64, 192, 384, 256, 256)),
}


class Backbone(nn.Module):
    """Convolutions, a pooling to a fixed size, and three fully connected layers."""

    def __init__(self, features: nn.Sequential, side: int, classifier: nn.Sequential) -> None:
        super().__init__()
        self.features = features
        self.avgpool = nn.AdaptiveAvgPool2d((side, side))
        self.classifier = classifier

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Return the outputs of the last layer for images (images, 3, height, width)."""
        return self.classifier(torch.flatten(self.avgpool(self.features(x)), 1))

    def until(self, x: torch.Tensor, layer: str) -> torch.Tensor:
        """Return the outputs of a layer after its ReLU.

        Parameters
        ----------
        x : Tensor of shape (images, 3, height, width)
            Preprocessed images.
        layer : {'pool5', 'pool5_mean', 'fc6', 'fc7'}
            Name of the layer; ``'pool5'`` is what the last pooling gives, place by place, and
            ``'pool5_mean'`` its average over all places.

        Returns
        -------
        Tensor of shape (images, outputs)
            The outputs, negative ones set to 0.
        """
        x = self.features(x)
        if layer == POOL5_MEAN:
            return x.mean(dim=(2, 3))
        x = torch.flatten(self.avgpool(x), 1)
        if layer == POOL5:
            return x
        wanted = (FC6, FC7).index(layer)
        seen = -1
        for module in self.classifier:
            x = module(x)
            seen += isinstance(module, nn.ReLU)
            if seen == wanted:
                return x
        raise ValueError(f"there is no layer {layer}")


def vgg16(sizes: Sizes = STANDARD["vgg16"]) -> Backbone:
    """Build VGG-16.

    Parameters
    ----------
    sizes : Sizes, default=STANDARD['vgg16']
        Widths of the layers.

    Returns
    -------
    Backbone
        The network, its weights drawn from torch's random numbers.
    """
    modules: list[nn.Module] = []
    before, rest = 3, list(sizes.channels)
    for length in VGG16_BLOCKS:
        for _ in range(length):
            after = rest.pop(0)
            modules += [nn.Conv2d(before, after, 3, padding=1), nn.ReLU(inplace=True)]
            before = after
        modules.append(nn.MaxPool2d(2, 2))
    hidden, classes = sizes.hidden, sizes.classes
    classifier = nn.Sequential(
        nn.Linear(before * 49, hidden),
        nn.ReLU(inplace=True),
        nn.Dropout(),
        nn.Linear(hidden, hidden),
        nn.ReLU(inplace=True),
        nn.Dropout(),
        nn.Linear(hidden, classes),
    )
    return Backbone(nn.Sequential(*modules), 7, classifier)


def alexnet(sizes: Sizes = STANDARD["alexnet"]) -> Backbone:
    """Build AlexNet.

    Parameters
    ----------
    sizes : Sizes, default=STANDARD['alexnet']
        Widths of the layers.

    Returns
    -------
    Backbone
        The network, its weights drawn from torch's random numbers.
    """
    a, b, c, d, e = sizes.channels
    features = nn.Sequential(
        nn.Conv2d(3, a, 11, stride=4, padding=2),
        nn.ReLU(inplace=True),
        nn.MaxPool2d(3, 2),
        nn.Conv2d(a, b, 5, padding=2),
        nn.ReLU(inplace=True),
        nn.MaxPool2d(3, 2),
        nn.Conv2d(b, c, 3, padding=1),
        nn.ReLU(inplace=True),
        nn.Conv2d(c, d, 3, padding=1),
        nn.ReLU(inplace=True),
        nn.Conv2d(d, e, 3, padding=1),
        nn.ReLU(inplace=True),
        nn.MaxPool2d(3, 2),
    )
    hidden, classes = sizes.hidden, sizes.classes
    classifier = nn.Sequential(
        nn.Dropout(),
        nn.Linear(e * 36, hidden),
        nn.ReLU(inplace=True),
        nn.Dropout(),
        nn.Linear(hidden, hidden),
        nn.ReLU(inplace=True),
        nn.Linear(hidden, classes),
    )
    return Backbone(features, 6, classifier)


BUILDERS = {"vgg16": vgg16, "alexnet": alexnet}


def vgg_face_names() -> dict[str, str]:
    """Return torchvision's names of VGG-16's layers by VGG-Face's.

    Returns
    -------
    dict
        Names such as ``features.0``, by conv1_1 ... conv5_3, fc6, fc7 and fc8.
    """
    names, position = {}, 0
    for block, length in enumerate(VGG16_BLOCKS, start=1):
        for number in range(1, length + 1):
            names[f"conv{block}_{number}"] = f"features.{position}"
            position += 2
        position += 1
    return {**names, "fc6": "classifier.0", "fc7": "classifier.3", "fc8": "classifier.6"}


def sizes_of(state: Mapping[str, torch.Tensor]) -> Sizes:
    """Return the widths of the layers that a network's weights are made for.

    Parameters
    ----------
    state : mapping of str to Tensor
        The weights by name, in the order of the layers.

    Returns
    -------
    Sizes
        Widths of the layers.
    """
    weights: Sequence[torch.Tensor] = [v for k, v in state.items() if k.endswith(".weight")]
    channels = tuple(int(w.shape[0]) for w in weights if w.ndim == 4)
    linear = [w for w in weights if w.ndim == 2]
    if not linear:  # convolutions alone
        return Sizes(channels)
    return Sizes(channels, int(linear[0].shape[0]), int(linear[-1].shape[0]))
